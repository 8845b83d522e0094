"""Job schedules: when their jobs are due, what is refused, what is filled in, what is shown."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from azbatch_core.local.errors import BatchError, invalid_property
from azbatch_core.local.rules import jobs
from azbatch_core.local.rules.checks import check_id, check_metadata, check_seconds
from azbatch_core.local.rules.documents import put_transitions, put_written, without_secrets
from azbatch_core.local.rules.times import moment, ticks_at
from azbatch_core.local.wire.durations import parse_duration

if TYPE_CHECKING:
    from azbatch_core.local.store.records import Doc, Schedule

__all__ = [
    "Plan",
    "Turn",
    "check_changes",
    "check_new",
    "fill",
    "is_over",
    "next_turn",
    "patched",
    "plan_of",
    "refuse_unless_live",
    "replaced",
    "schedule_document",
]

_LEAST_SECONDS = 60.0
_NEVER = ticks_at("9999-12-31T23:59:59.9999999Z") + 1
"""Later than every moment that there is."""
_REFUSAL = {
    "completed": "JobScheduleCompleted",
    "terminating": "JobScheduleBeingTerminated",
    "deleting": "JobScheduleBeingDeleted",
}
_CHANGEABLE = ("schedule", "jobSpecification", "metadata")


class Plan(NamedTuple):
    """When a schedule's jobs are due, in ticks (SDK BatchJobScheduleConfiguration).

    Attributes:
        start: `doNotRunUntil`, None for at once.
        end: `doNotRunAfter`, None for never.
        window: `startWindow`, None for infinite.
        interval: `recurrenceInterval`, None for a single job.
    """

    start: int | None = None
    end: int | None = None
    window: int | None = None
    interval: int | None = None


class Turn(NamedTuple):
    """One moment of a plan.

    Attributes:
        due: When its job is to be made.
        until: From when on it is too late for it.
    """

    due: int
    until: int


def plan_of(spec: Doc) -> Plan:
    """The plan of a schedule's document; without `schedule` it is one job at once."""
    given: Doc = spec.get("schedule") or {}
    start, end = given.get("doNotRunUntil"), given.get("doNotRunAfter")
    window, interval = given.get("startWindow"), given.get("recurrenceInterval")
    return Plan(
        None if start is None else ticks_at(start),
        None if end is None else ticks_at(end),
        None if window is None else parse_duration(window),
        None if interval is None else parse_duration(interval),
    )


def next_turn(plan: Plan, anchor: int, last: int | None, now: int) -> Turn | None:
    """The turn that is due now, or the next one to come; None if there is none any more.

    Turns lie one interval apart, from `anchor` on; those up to `last` have had their job. A turn that has no
    job when its window or its interval has passed is lost, it is not carried forward (SDK
    BatchJobScheduleConfiguration.start_window).
    """
    if plan.interval is None:
        return None if last is not None and last >= anchor else _turn(plan, anchor, now)
    number = max(0, (now - anchor) // plan.interval)
    if last is not None and last >= anchor:
        number = max(number, (last - anchor) // plan.interval + 1)
    due = anchor + number * plan.interval
    return _turn(plan, due, now) or _turn(plan, due + plan.interval, now)


def _turn(plan: Plan, due: int, now: int) -> Turn | None:
    until = min(
        _NEVER if plan.window is None else due + plan.window,
        _NEVER if plan.interval is None else due + plan.interval,
        _NEVER if plan.end is None else plan.end + 1,
    )
    return Turn(due, until) if due < until and now < until else None


def is_over(plan: Plan, turn: Turn | None, now: int) -> bool:
    """Whether a schedule without an open job is complete; `turn` is its next one.

    A single job's is as soon as its job is over or was missed, a recurring one's only when `doNotRunAfter`
    has passed.
    """
    if turn is not None:
        return False
    return plan.interval is None or (plan.end is not None and now > plan.end)


def refuse_unless_live(schedule: Schedule) -> None:
    """Refuse an operation on a schedule that has ended or is about to."""
    code = _REFUSAL.get(schedule.state)
    if code:
        raise BatchError(code)


def check_new(body: Doc) -> None:
    """Refuse a schedule that the service would refuse."""
    check_id(body.get("id"))
    check_changes(body)


def check_changes(body: Doc) -> None:
    """Refuse wrong values in what creation, PATCH and PUT may set."""
    given = body.get("schedule")
    if given:
        check_seconds(given, "startWindow", least=_LEAST_SECONDS)
        check_seconds(given, "recurrenceInterval", least=_LEAST_SECONDS)
        start, end = given.get("doNotRunUntil"), given.get("doNotRunAfter")
        if start is not None and end is not None and ticks_at(end) <= ticks_at(start):
            raise invalid_property("doNotRunAfter", end, "The value must be later than doNotRunUntil.")
    if body.get("jobSpecification") is not None:
        jobs.check_specification(body["jobSpecification"], scheduled=True)
    check_metadata(body)


def fill(body: Doc) -> Doc:
    """The user's part of a schedule as echoed."""
    spec = {key: value for key, value in body.items() if value is not None and key != "id"}
    spec["jobSpecification"] = jobs.fill(spec["jobSpecification"])
    if not spec.get("metadata"):
        spec.pop("metadata", None)
    return spec


def patched(spec: Doc, body: Doc) -> Doc:
    """A schedule's spec after PATCH: each property that is given is replaced as a whole."""
    given = {name: body[name] for name in _CHANGEABLE if body.get(name) is not None}
    return fill({**spec, **given})


def replaced(spec: Doc, body: Doc) -> Doc:
    """A schedule's spec after PUT: what is omitted is removed (SDK replace_job_schedule)."""
    kept = {name: value for name, value in spec.items() if name not in _CHANGEABLE}
    return fill({**kept, **{name: body.get(name) for name in _CHANGEABLE}})


def schedule_document(schedule: Schedule, base: str) -> Doc:
    """A schedule as GET shows it."""
    doc: Doc = without_secrets(schedule.spec)
    doc["id"] = schedule.id
    doc["url"] = f"{base}/jobschedules/{schedule.id}"
    put_written(doc, schedule.created, schedule.modified)
    put_transitions(doc, schedule.state, schedule.since, schedule.previous, schedule.previous_since)
    execution: Doc = {}
    if schedule.next_run is not None:
        execution["nextRunTime"] = moment(schedule.next_run)
    if schedule.runs:
        job_id = f"{schedule.id}:job-{schedule.runs}"
        execution["recentJob"] = {"id": job_id, "url": f"{base}/jobs/{job_id}"}
    if schedule.ended is not None:
        execution["endTime"] = moment(schedule.ended)
    doc["executionInfo"] = execution
    return doc
