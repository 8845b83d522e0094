"""Jobs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from azbatch_core.local.http import casing

if TYPE_CHECKING:
    from azbatch_core.local.http.call import Call
    from azbatch_core.local.http.response import Response


def create(call: Call) -> Response:
    """POST /jobs; recorded: the job is called `job-1` in both headers that name it."""
    return call.created(call.engine.jobs.create(call.body), "job-1")


def list_jobs(call: Call) -> Response:
    """GET /jobs."""
    page = call.page()
    documents, after = call.engine.jobs.page(page.match, page.after, page.limit, hints=page.hints)
    return call.listing(documents, after, casing.JOB)


def get(call: Call) -> Response:
    """GET /jobs/{jobId}."""
    return call.element(call.engine.jobs.get(call.ids["jobId"]), casing.JOB)


def patch(call: Call) -> Response:
    """PATCH /jobs/{jobId}."""
    return call.written(call.engine.jobs.patch(call.ids["jobId"], call.body))


def replace(call: Call) -> Response:
    """PUT /jobs/{jobId}."""
    return call.written(call.engine.jobs.replace(call.ids["jobId"], call.body))


def delete(call: Call) -> Response:
    """DELETE /jobs/{jobId}.

    `force` is accepted; nothing here can keep a job from being deleted in the ordinary way.
    """
    call.query.flag("force")
    call.engine.jobs.delete(call.ids["jobId"])
    return call.done()


def disable(call: Call) -> Response:
    """POST /jobs/{jobId}/disable."""
    return call.written(call.engine.jobs.disable(call.ids["jobId"], call.body))


def enable(call: Call) -> Response:
    """POST /jobs/{jobId}/enable."""
    return call.written(call.engine.jobs.enable(call.ids["jobId"]))


def terminate(call: Call) -> Response:
    """POST /jobs/{jobId}/terminate; `force` as in `delete`."""
    call.query.flag("force")
    return call.written(call.engine.jobs.terminate(call.ids["jobId"], call.body))


def task_counts(call: Call) -> Response:
    """GET /jobs/{jobId}/taskcounts."""
    return call.element(call.engine.jobs.task_counts(call.ids["jobId"]), tagged=False)


def preparation_status(call: Call) -> Response:
    """GET /jobs/{jobId}/jobpreparationandreleasetaskstatus."""
    page = call.page()
    documents, after = call.engine.jobs.preparation_status(
        call.ids["jobId"], page.match, page.after, page.limit
    )
    return call.listing(documents, after, casing.PREPARATION)
