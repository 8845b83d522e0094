"""A job's moves: disabled and enabled, ended by its user, its tasks or its clock, deleted."""

from __future__ import annotations

from typing import TYPE_CHECKING

from azbatch_core.local.engine import allocation, preparation
from azbatch_core.local.rules.jobs import ENDING
from azbatch_core.local.rules.times import TICKS_PER_SECOND, limit_seconds

if TYPE_CHECKING:
    from azbatch_core.local.engine.world import World
    from azbatch_core.local.store.records import Job

__all__ = ["advance", "arm_wall_clock", "begin_delete", "begin_disable", "begin_enable", "begin_terminate"]

_DELETE_BATCH = 2000


def arm_wall_clock(world: World, job: Job) -> None:
    """Have the job end when its wall clock runs out, counted from its creation."""
    world.forget_timer("wall clock", job.key)
    seconds = limit_seconds(job.spec["constraints"]["maxWallClockTime"])
    if seconds is None or job.state in ENDING:
        return
    left = seconds - (world.now() - job.started) / TICKS_PER_SECOND

    def expire() -> None:
        if job.state not in ENDING:
            begin_terminate(world, job, "MaxWallClockTimeExpiry")

    world.after("wall clock", job.key, max(0.0, left), expire)


def begin_disable(world: World, job: Job, option: str) -> None:
    """Start no task any more; running ones are requeued, terminated or waited for."""
    job.disable = option
    world.set_job_state(job, "disabling", world.now())
    if option == "wait":
        return
    for execution in tuple(world.of_job[job.key]):
        if execution.kind == "task":
            world.stop(execution, "terminate" if option == "terminate" else "requeue")


def begin_enable(world: World, job: Job) -> None:
    """Let a disabled job go on, in the next tick."""
    job.disable = None
    world.set_job_state(job, "enabling", world.now())


def begin_terminate(world: World, job: Job, reason: str) -> None:
    """End running tasks, then run release tasks, then complete. Active tasks stay active."""
    job.reason = reason
    world.forget_timer("wall clock", job.key)
    world.set_job_state(job, "terminating", world.now())
    _stop_all(world, job)


def begin_delete(world: World, job: Job) -> None:
    """End running tasks, then run release tasks, then forget everything about the job."""
    world.forget_timer("wall clock", job.key)
    world.set_job_state(job, "deleting", world.now())
    _stop_all(world, job)


def _stop_all(world: World, job: Job) -> None:
    for execution in tuple(world.of_job[job.key]):
        if execution.kind in {"task", "preparation"}:
            world.stop(execution, "terminate")


def advance(world: World, job: Job) -> None:
    """Take the next step of a job if what it waited for has come."""
    kinds = {execution.kind for execution in world.of_job[job.key]}
    if job.state == "active":
        _end_if_all_complete(world, job)
    elif job.state == "disabling" and "task" not in kinds:
        world.set_job_state(job, "disabled", world.now())
    elif job.state == "enabling":
        world.set_job_state(job, "active", world.now())
    elif job.state in {"terminating", "deleting"} and not kinds & {"task", "preparation"}:
        preparation.start_releases(world, job)
        if world.of_job[job.key]:
            return
        if job.state == "terminating":
            _complete(world, job)
        else:
            _wipe(world, job)


def _end_if_all_complete(world: World, job: Job) -> None:
    # A job without tasks counts as complete (SDK BatchAllTasksCompleteMode).
    if job.spec["onAllTasksComplete"] == "terminatejob" and not world.counts[job.key].unfinished:
        begin_terminate(world, job, "AllTasksComplete")


def _complete(world: World, job: Job) -> None:
    job.ended = world.now()
    world.set_job_state(job, "completed", job.ended)
    _drop_auto_pool(world, job)


def _drop_auto_pool(world: World, job: Job) -> None:
    auto = job.spec["poolInfo"].get("autoPoolSpecification")
    if not job.auto_pool or auto is None or auto.get("keepAlive"):
        return
    pool = world.pool_ids.get(job.pool_id.lower())
    if pool is not None and pool.state != "deleting":
        allocation.begin_delete(world, pool)


def _wipe(world: World, job: Job) -> None:
    """Forget a part of the job's tasks, and the job once none is left."""
    table = world.store.tasks
    seqs = table.some_of(job.key, _DELETE_BATCH)
    if not seqs or len(seqs) < _DELETE_BATCH:
        holders = table.nodes_of(job.key) | set(world.preparations[job.key])
        for key in holders & world.nodes.keys():
            world.runtime.clear_job(world.place(world.nodes[key]), job.id)
    table.delete(seqs)
    world.store.dependencies.forget(seqs)
    if len(seqs) == _DELETE_BATCH:
        # One part a turn, so that requests are served in between.
        world.after("wipe", job.key, 0.0, lambda: world.due_jobs.setdefault(job.key))
        return
    _drop_auto_pool(world, job)
    world.drop_job(job)
