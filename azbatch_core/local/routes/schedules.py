"""Job schedules."""

from __future__ import annotations

from typing import TYPE_CHECKING

from azbatch_core.local.http import casing

if TYPE_CHECKING:
    from azbatch_core.local.http.call import Call
    from azbatch_core.local.http.response import Response


def create(call: Call) -> Response:
    """POST /jobschedules."""
    return call.created(call.engine.schedules.create(call.body))


def list_schedules(call: Call) -> Response:
    """GET /jobschedules."""
    page = call.page()
    documents, after = call.engine.schedules.page(page.match, page.after, page.limit, hints=page.hints)
    return call.listing(documents, after, casing.SCHEDULE)


def list_jobs(call: Call) -> Response:
    """GET /jobschedules/{jobScheduleId}/jobs."""
    page = call.page()
    documents, after = call.engine.schedules.jobs(
        call.ids["jobScheduleId"], page.match, page.after, page.limit
    )
    return call.listing(documents, after, casing.JOB)


def get(call: Call) -> Response:
    """GET /jobschedules/{jobScheduleId}."""
    return call.element(call.engine.schedules.get(call.ids["jobScheduleId"]), casing.SCHEDULE)


def exists(call: Call) -> Response:
    """HEAD /jobschedules/{jobScheduleId}."""
    return call.written(call.engine.schedules.get(call.ids["jobScheduleId"]), named=False)


def patch(call: Call) -> Response:
    """PATCH /jobschedules/{jobScheduleId}."""
    return call.written(call.engine.schedules.patch(call.ids["jobScheduleId"], call.body))


def replace(call: Call) -> Response:
    """PUT /jobschedules/{jobScheduleId}."""
    return call.written(call.engine.schedules.replace(call.ids["jobScheduleId"], call.body))


def delete(call: Call) -> Response:
    """DELETE /jobschedules/{jobScheduleId}; `force` as for jobs: accepted, nothing keeps one from going."""
    call.query.flag("force")
    call.engine.schedules.delete(call.ids["jobScheduleId"])
    return call.done()


def disable(call: Call) -> Response:
    """POST /jobschedules/{jobScheduleId}/disable."""
    return call.written(call.engine.schedules.disable(call.ids["jobScheduleId"]))


def enable(call: Call) -> Response:
    """POST /jobschedules/{jobScheduleId}/enable."""
    return call.written(call.engine.schedules.enable(call.ids["jobScheduleId"]))


def terminate(call: Call) -> Response:
    """POST /jobschedules/{jobScheduleId}/terminate; `force` as in `delete`."""
    call.query.flag("force")
    return call.written(call.engine.schedules.terminate(call.ids["jobScheduleId"]))
