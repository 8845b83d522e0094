"""Tasks."""

from __future__ import annotations

from typing import TYPE_CHECKING

from azbatch_core.local.http import casing

if TYPE_CHECKING:
    from azbatch_core.local.http.call import Call
    from azbatch_core.local.http.response import Response


def create(call: Call) -> Response:
    """POST /jobs/{jobId}/tasks."""
    return call.created(call.engine.tasks.create(call.ids["jobId"], call.body))


def add_collection(call: Call) -> Response:
    """POST /jobs/{jobId}/addtaskcollection."""
    return call.listing(call.engine.tasks.add_collection(call.ids["jobId"], call.body["value"]))


def list_tasks(call: Call) -> Response:
    """GET /jobs/{jobId}/tasks."""
    page = call.page()
    documents, after = call.engine.tasks.page(
        call.ids["jobId"], page.match, page.after, page.limit, condition=page.condition
    )
    return call.listing(documents, after, casing.TASK)


def get(call: Call) -> Response:
    """GET /jobs/{jobId}/tasks/{taskId}."""
    return call.element(call.engine.tasks.get(call.ids["jobId"], call.ids["taskId"]), casing.TASK)


def replace(call: Call) -> Response:
    """PUT /jobs/{jobId}/tasks/{taskId}."""
    return call.written(call.engine.tasks.replace(call.ids["jobId"], call.ids["taskId"], call.body))


def delete(call: Call) -> Response:
    """DELETE /jobs/{jobId}/tasks/{taskId}."""
    call.engine.tasks.delete(call.ids["jobId"], call.ids["taskId"])
    return call.done()


def terminate(call: Call) -> Response:
    """POST /jobs/{jobId}/tasks/{taskId}/terminate."""
    return call.written(call.engine.tasks.terminate(call.ids["jobId"], call.ids["taskId"]))


def reactivate(call: Call) -> Response:
    """POST /jobs/{jobId}/tasks/{taskId}/reactivate."""
    document = call.engine.tasks.reactivate(call.ids["jobId"], call.ids["taskId"])
    return call.written(document, named=False)


def subtasks(call: Call) -> Response:
    """GET /jobs/{jobId}/tasks/{taskId}/subtasksinfo; never paged."""
    documents = call.engine.tasks.subtasks(call.ids["jobId"], call.ids["taskId"])
    return call.listing(documents, casing=casing.SUBTASK)
