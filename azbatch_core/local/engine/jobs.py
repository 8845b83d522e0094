"""A job's moves: disabled and enabled, ended by its user, its tasks or its clock, deleted."""

from __future__ import annotations

from typing import TYPE_CHECKING

from azbatch_core.local.engine import allocation, preparation
from azbatch_core.local.engine.trouble import goes_slowly, linger
from azbatch_core.local.rules.jobs import ENDING
from azbatch_core.local.rules.managers import ends_job
from azbatch_core.local.rules.times import limit_seconds
from azbatch_core.local.wire.durations import TICKS_PER_SECOND

if TYPE_CHECKING:
    from azbatch_core.local.engine.account import Account
    from azbatch_core.local.runtime.base import TaskKind
    from azbatch_core.local.store.records import DisableOption, Job

__all__ = [
    "advance",
    "arm_wall_clock",
    "begin_delete",
    "begin_disable",
    "begin_enable",
    "begin_terminate",
    "end_with_manager",
]

_DELETE_BATCH = 2000


def arm_wall_clock(account: Account, job: Job) -> None:
    """Have the job end when its wall clock runs out, counted from its creation."""
    account.forget_timer("wall clock", job.key)
    seconds = limit_seconds(job.spec["constraints"]["maxWallClockTime"])
    if seconds is None or job.state in ENDING:
        return
    left = seconds - (account.now() - job.started) / TICKS_PER_SECOND

    def expire() -> None:
        if job.state not in ENDING:
            begin_terminate(account, job, "MaxWallClockTimeExpiry")

    account.after("wall clock", job.key, max(0.0, left), expire)


def begin_disable(account: Account, job: Job, option: DisableOption) -> None:
    """Start no task any more; running ones are requeued, terminated or waited for."""
    job.disable = option
    account.set_job_state(job, "disabling", account.now())
    if option == "wait":
        return
    for execution in tuple(account.of_job[job.key]):
        if execution.kind == "task":
            account.stop(execution, "terminate" if option == "terminate" else "requeue")


def begin_enable(account: Account, job: Job) -> None:
    """Let a disabled job go on, in the next tick."""
    job.disable = None
    account.set_job_state(job, "enabling", account.now())


def begin_terminate(account: Account, job: Job, reason: str) -> None:
    """End running tasks, then run release tasks, then complete. Active tasks stay active."""
    job.reason = reason
    account.forget_timer("wall clock", job.key)
    account.set_job_state(job, "terminating", account.now())
    linger(account, job)
    _stop_all(account, job)


def end_with_manager(account: Account, job: Job, seq: int) -> None:
    """A task has completed, however: if it is a manager that its job ends with, the job ends."""
    if seq == job.manager and job.state not in ENDING and ends_job(job.spec["jobManagerTask"]):
        begin_terminate(account, job, "JMComplete")


def begin_delete(account: Account, job: Job) -> None:
    """End running tasks, then run release tasks, then forget everything about the job."""
    account.forget_timer("wall clock", job.key)
    account.set_job_state(job, "deleting", account.now())
    linger(account, job)
    _stop_all(account, job)


def _stop_all(account: Account, job: Job) -> None:
    for execution in tuple(account.of_job[job.key]):
        if execution.kind in {"task", "preparation"}:
            account.stop(execution, "terminate")


def advance(account: Account, job: Job) -> None:
    """Take the next step of a job if what it waited for has come."""
    if job.state == "active":
        _end_if_all_complete(account, job)
    elif job.state == "disabling" and not _any(account, job, "task"):
        account.set_job_state(job, "disabled", account.now())
    elif job.state == "enabling":
        account.set_job_state(job, "active", account.now())
    elif job.state in {"terminating", "deleting"} and not _any(account, job, "task", "preparation"):
        preparation.start_releases(account, job)
        if account.of_job[job.key] or goes_slowly(account, job):
            return
        if job.state == "terminating":
            _complete(account, job)
        else:
            _wipe(account, job)


def _any(account: Account, job: Job, *kinds: TaskKind) -> bool:
    return any(execution.kind in kinds for execution in account.of_job[job.key])


def _end_if_all_complete(account: Account, job: Job) -> None:
    # A job without tasks counts as complete (SDK BatchAllTasksCompleteMode).
    if job.spec["onAllTasksComplete"] == "terminatejob" and not account.counts[job.key].unfinished:
        begin_terminate(account, job, "AllTasksComplete")


def _complete(account: Account, job: Job) -> None:
    job.ended = account.now()
    account.set_job_state(job, "completed", job.ended)
    _drop_auto_pool(account, job)


def _drop_auto_pool(account: Account, job: Job) -> None:
    auto = job.spec["poolInfo"].get("autoPoolSpecification")
    if not job.auto_pool or auto is None or auto.get("keepAlive"):
        return
    if auto["poolLifetimeOption"] == "jobschedule":
        return  # it is the schedule's
    pool = account.pool_ids.get(job.pool_id.lower())
    if pool is not None and pool.state != "deleting":
        allocation.begin_delete(account, pool)


def _wipe(account: Account, job: Job) -> None:
    """Forget a part of the job's tasks, and the job once none is left."""
    table = account.store.tasks
    seqs = table.some_of(job.key, _DELETE_BATCH)
    if not seqs or len(seqs) < _DELETE_BATCH:
        holders = table.nodes_of(job.key) | account.store.subtasks.nodes_of(job.key)
        holders |= set(account.preparations[job.key])
        for key in holders & account.nodes.keys():
            account.runtime.clear_job(account.place(account.nodes[key]), job.id)
    table.delete(seqs)
    account.store.subtasks.forget(seqs)
    account.store.dependencies.forget(seqs)
    if len(seqs) == _DELETE_BATCH:
        # One part a turn, so that requests are served in between.
        account.after("wipe", job.key, 0.0, lambda: account.due_jobs.setdefault(job.key))
        return
    _drop_auto_pool(account, job)
    account.drop_job(job)
