"""A job schedule's moves: its jobs made when they are due, itself ended by its plan or its user."""

from __future__ import annotations

from typing import TYPE_CHECKING

from azbatch_core.local.engine import allocation, jobs
from azbatch_core.local.engine.new_jobs import new_job
from azbatch_core.local.engine.trouble import goes_slowly, linger
from azbatch_core.local.rules.jobs import ENDING, QUOTA_STATES
from azbatch_core.local.rules.schedules import Turn, is_over, next_turn, plan_of

if TYPE_CHECKING:
    from azbatch_core.local.engine.account import Account
    from azbatch_core.local.store.records import Job, Schedule, ScheduleState

__all__ = ["add", "advance", "begin_delete", "begin_terminate", "jobs_of", "set_anchor", "set_state"]

_TICKS_PER_MICROSECOND = 10
_LONGEST_WAIT = 3600.0
"""Seconds after which a far moment is looked at again: the timers of a machine that slept are late."""


def add(account: Account, schedule: Schedule) -> None:
    """Take a schedule into the maps."""
    account.schedules[schedule.key] = schedule
    account.schedule_ids[schedule.id.lower()] = schedule
    account.due_schedules[schedule.key] = None


def jobs_of(account: Account, schedule: Schedule) -> list[Job]:
    """A schedule's jobs that are still there, oldest first."""
    return [job for job in account.jobs.values() if job.schedule == schedule.key]


def set_state(account: Account, schedule: Schedule, state: ScheduleState, now: int) -> None:
    """Move a schedule on."""
    if schedule.state != "terminating":  # recorded: it is passed over, the end comes after `active`
        schedule.previous, schedule.previous_since = schedule.state, schedule.since
    schedule.state, schedule.since = state, now
    account.touch(schedule)
    account.due_schedules[schedule.key] = None


def set_anchor(schedule: Schedule, now: int) -> None:
    """Begin a new or changed plan: at its `doNotRunUntil`, or now; or go on from the latest turn."""
    start = plan_of(schedule.spec).start
    if start is None:
        start = now if schedule.last is None else schedule.last
    schedule.anchor = start


def begin_terminate(account: Account, schedule: Schedule, now: int) -> None:
    """End the schedule's job, then complete."""
    set_state(account, schedule, "terminating", now)
    linger(account, schedule)
    for job in jobs_of(account, schedule):
        if job.state not in ENDING:
            # documented as TerminateJobSchedule, recorded (to 2023) under the schedule's old name
            jobs.begin_terminate(account, job, "TerminateWorkitem")


def begin_delete(account: Account, schedule: Schedule) -> None:
    """Delete all jobs of the schedule, then forget it."""
    set_state(account, schedule, "deleting", account.now())
    linger(account, schedule)
    for job in jobs_of(account, schedule):
        if job.state != "deleting":
            jobs.begin_delete(account, job)


def advance(account: Account, schedule: Schedule) -> None:
    """Take the next step of a schedule if what it waited for has come."""
    account.forget_timer("schedule", schedule.key)
    if schedule.state in {"active", "disabled"}:
        _follow_plan(account, schedule)
        return
    _set_next_run(account, schedule, None)
    if goes_slowly(account, schedule):
        return
    if schedule.state == "terminating" and not _has_open_job(account, schedule):
        _complete(account, schedule)
    elif schedule.state == "deleting" and not jobs_of(account, schedule):
        _drop(account, schedule)


def _has_open_job(account: Account, schedule: Schedule) -> bool:
    """Whether the latest job is not over; there is never another that is not."""
    job = account.jobs.get(schedule.recent) if schedule.recent is not None else None
    return job is not None and job.state in QUOTA_STATES


def _may_act(account: Account, schedule: Schedule) -> bool:
    return schedule.state == "active" and not _has_open_job(account, schedule)


def _follow_plan(account: Account, schedule: Schedule) -> None:
    now, plan = account.now(), plan_of(schedule.spec)
    turn = next_turn(plan, schedule.anchor, schedule.last, now)
    if _may_act(account, schedule) and turn is not None and turn.due <= now:
        _make_job(account, schedule, turn)
        turn = next_turn(plan, schedule.anchor, schedule.last, now)
    if _may_act(account, schedule) and is_over(plan, turn, now):
        _complete(account, schedule)
        return
    _set_next_run(account, schedule, None if turn is None else turn.due)
    _arm(account, schedule, turn, plan.end, now)


def _set_next_run(account: Account, schedule: Schedule, due: int | None) -> None:
    if schedule.next_run != due:
        schedule.next_run = due
        account.touch(schedule)


def _make_job(account: Account, schedule: Schedule, turn: Turn) -> None:
    schedule.runs += 1
    schedule.last = turn.due
    account.touch(schedule)
    job_id = f"{schedule.id}:job-{schedule.runs}"
    schedule.recent = new_job(account, job_id, schedule.spec["jobSpecification"], schedule).key


def _arm(account: Account, schedule: Schedule, turn: Turn | None, end: int | None, now: int) -> None:
    """Look again when the turn is due, when it is lost, or when the plan has ended."""
    if turn is not None:
        when = turn.due if turn.due > now else turn.until
    elif end is not None and end >= now:
        when = end + 1
    else:
        return
    # Rounded up: a clock may know microseconds only, and must not fire before the moment again and again.
    seconds = -((now - when) // _TICKS_PER_MICROSECOND) / 1_000_000

    def look() -> None:
        account.due_schedules[schedule.key] = None

    account.after("schedule", schedule.key, min(seconds, _LONGEST_WAIT), look)


def _complete(account: Account, schedule: Schedule) -> None:
    schedule.next_run = None
    schedule.ended = account.now()
    set_state(account, schedule, "completed", schedule.ended)
    _drop_pool(account, schedule)


def _drop_pool(account: Account, schedule: Schedule) -> None:
    """Delete the auto pool that the jobs shared, unless it is to be kept (`keepAlive`)."""
    auto = schedule.spec["jobSpecification"]["poolInfo"].get("autoPoolSpecification") or {}
    pool = account.pool_ids.get(schedule.pool_id.lower())
    if pool is not None and pool.state != "deleting" and not auto.get("keepAlive"):
        allocation.begin_delete(account, pool)


def _drop(account: Account, schedule: Schedule) -> None:
    _drop_pool(account, schedule)
    del account.schedules[schedule.key], account.schedule_ids[schedule.id.lower()]
    account.due_schedules.pop(schedule.key, None)
    account.store.delete(schedule)
