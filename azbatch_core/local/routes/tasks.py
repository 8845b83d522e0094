"""Tasks."""

from __future__ import annotations

from typing import TYPE_CHECKING

from azbatch_core.local.http import casing

if TYPE_CHECKING:
    from azbatch_core.local.http.call import Call
    from azbatch_core.local.http.response import Response


def create(call: Call) -> Response:
    """POST /jobs/{jobId}/tasks."""
    return call.created(call.engine.create_task(call.ids["jobId"], call.body))


def add_collection(call: Call) -> Response:
    """POST /jobs/{jobId}/addtaskcollection."""
    return call.listing(call.engine.add_tasks(call.ids["jobId"], call.body["value"]))


def list_tasks(call: Call) -> Response:
    """GET /jobs/{jobId}/tasks."""
    page = call.page()
    documents, after = call.engine.list_tasks(
        call.ids["jobId"], page.match, page.after, page.limit, hints=page.hints
    )
    return call.listing(documents, after, casing.TASK)


def get(call: Call) -> Response:
    """GET /jobs/{jobId}/tasks/{taskId}."""
    return call.element(call.engine.get_task(call.ids["jobId"], call.ids["taskId"]), casing.TASK)


def replace(call: Call) -> Response:
    """PUT /jobs/{jobId}/tasks/{taskId}."""
    return call.written(call.engine.replace_task(call.ids["jobId"], call.ids["taskId"], call.body))


def delete(call: Call) -> Response:
    """DELETE /jobs/{jobId}/tasks/{taskId}."""
    call.engine.delete_task(call.ids["jobId"], call.ids["taskId"])
    return call.done()


def terminate(call: Call) -> Response:
    """POST /jobs/{jobId}/tasks/{taskId}/terminate."""
    return call.written(call.engine.terminate_task(call.ids["jobId"], call.ids["taskId"]))


def reactivate(call: Call) -> Response:
    """POST /jobs/{jobId}/tasks/{taskId}/reactivate."""
    document = call.engine.reactivate_task(call.ids["jobId"], call.ids["taskId"])
    return call.written(document, named=False)


def subtasks(call: Call) -> Response:
    """GET /jobs/{jobId}/tasks/{taskId}/subtasksinfo; never paged."""
    documents = call.engine.list_subtasks(call.ids["jobId"], call.ids["taskId"])
    return call.listing(documents, casing=casing.SUBTASK)
