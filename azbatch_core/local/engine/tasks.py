"""A task's moves: onto a node, and to whatever its end leads to."""

from __future__ import annotations

from typing import TYPE_CHECKING

import orjson

from azbatch_core.local.engine import jobs, preparation, retention
from azbatch_core.local.engine.launching import launch
from azbatch_core.local.engine.world import Execution
from azbatch_core.local.rules.documents import failure
from azbatch_core.local.rules.exits import consequence, wants_retry
from azbatch_core.local.rules.nodes import with_recent
from azbatch_core.local.rules.tasks import number_of, recent_info
from azbatch_core.local.rules.times import ticks_of

if TYPE_CHECKING:
    from azbatch_core.local.engine.world import World
    from azbatch_core.local.runtime.base import Outcome
    from azbatch_core.local.store.records import Doc, Job, Node
    from azbatch_core.local.store.tasks import ReadyTask

__all__ = ["end_active", "ended_by_request", "make_ready", "run", "settle", "start"]


def start(world: World, job: Job, row: ReadyTask, spec: Doc, node: Node) -> None:
    """Put a ready task on a node: it runs, or waits there for the job's preparation."""
    execution = Execution(
        "task", node, job, row.id, spec, row.seq, row.slots, row.retries, row.requeues, row.launches
    )
    world.queues[job.key].drop(row.seq)
    counts = world.counts[job.key]
    counts.ready -= 1
    counts.move("active", "running", row.slots)
    world.enter(execution)
    world.set_node_state(node, "running")
    if preparation.may_run(world, job, node):
        run(world, execution, waited=False)
    else:
        world.store.tasks.place(row.seq, "preparing", world.now(), node, None)


def run(world: World, execution: Execution, *, waited: bool) -> None:
    """Launch a task on the node it is on; `waited` tells that it was preparing."""
    job, node = execution.job, execution.node
    if job is None:
        raise AssertionError("a task has a job")
    found = world.preparations[job.key].get(node.key)
    if found is not None and not found.ran:
        found.ran = True
        world.touch(found)
    started = launch(world, execution)
    now = max(world.now(), started)
    if waited:
        world.store.tasks.run(execution.seq, now, started)
    else:
        world.store.tasks.place(execution.seq, "running", now, node, started)
    _note(world, execution, job, "running", recent_info(started, execution.retries, execution.requeues))


def _note(world: World, execution: Execution, job: Job, state: str, info: Doc) -> None:
    node = execution.node
    entry = {"jobId": job.id, "taskId": execution.task_id, "taskState": state, "executionInfo": info}
    node.recent = with_recent(node.recent, entry)
    world.touch(node)


def settle(world: World, execution: Execution, outcome: Outcome | None) -> None:
    """A task's try has ended, or it was told to stop before there was one (no outcome)."""
    job, node, fate = execution.job, execution.node, execution.fate
    if job is None:
        raise AssertionError("a task has a job")
    world.leave(execution)
    if not any(other.kind == "task" for other in world.on_node[node.key]) and node.state == "running":
        world.set_node_state(node, "idle")
    world.dying.pop((job.key, execution.task_id.lower()), None)
    world.due_jobs[job.key] = None
    if fate == "delete":
        world.runtime.clear_task(world.place(node), job.id, execution.task_id)
        return
    now = world.now()
    if outcome is not None and outcome.stopped is None:
        # It ended by itself, be it a moment before it was to be stopped.
        fate = None
    if fate in {"lost", "requeue"}:
        _go_back(world, execution, job, str(fate), now)
    elif fate == "terminate" or outcome is None:
        _complete(world, execution, job, outcome, ended_by_request(), judged=False)
    elif wants_retry(outcome.exit_code, outcome.failure, execution.retries, _retries(execution.spec)):
        _go_back(world, execution, job, "retry", now)
    else:
        _complete(world, execution, job, outcome, outcome.failure, judged=True)


def _retries(spec: Doc) -> int:
    allowed: int = spec["constraints"]["maxTaskRetryCount"]
    return allowed


def _go_back(world: World, execution: Execution, job: Job, why: str, now: int) -> None:
    table = world.store.tasks
    {"lost": table.back, "requeue": table.requeue, "retry": table.retry}[why](execution.seq, now)
    if execution.node.leaving is None:
        # It may run elsewhere next: nothing of this try is left behind.
        world.runtime.clear_task(world.place(execution.node), job.id, execution.task_id)
    counts = world.counts[job.key]
    counts.move("running", "active", execution.slots)
    counts.ready += 1
    make_ready(world, job, execution.seq)


def make_ready(world: World, job: Job, seq: int) -> None:
    """Let the scheduler see a task that has become ready; it is counted already."""
    row = world.store.tasks.ready_one(seq)
    if row is not None:
        world.queues[job.key].offer(row)
    pool = world.pool_ids.get(job.pool_id.lower())
    if pool is not None:
        world.due_pools[pool.key] = None


def ended_by_request() -> Doc:
    """The failure of a task that a user, a job's end or the service ended."""
    return failure("TaskEnded", "Task Was Ended by User Request")


def _complete(
    world: World, execution: Execution, job: Job, outcome: Outcome | None, failed: Doc | None, *, judged: bool
) -> None:
    """To completed; unless it is `judged`, it ends no job and lets no other task go on."""
    now = world.now()
    node = execution.node
    started = None if outcome is None else ticks_of(outcome.started)
    ended = now if outcome is None else ticks_of(outcome.ended)
    exit_code = None if outcome is None else outcome.exit_code
    acts = judged and job.state == "active" and job.spec["onTaskFailure"] == "performexitoptionsjobaction"
    effect = consequence(execution.spec, exit_code, failed, acts=acts)
    satisfied = judged and effect.satisfied
    depended = satisfied and job.spec["usesTaskDependencies"]
    first = depended and not world.store.tasks.is_satisfied(execution.seq)
    expires = None
    if started is not None:
        expires = retention.expiry(ended, execution.spec["constraints"]["retentionTime"])
    world.store.tasks.complete(
        execution.seq,
        max(now, ended),
        started=started,
        ended=ended,
        exit_code=exit_code,
        failure=None if failed is None else orjson.dumps(failed),
        expires=expires,
        satisfied=satisfied,
    )
    world.counts[job.key].move("running", "succeeded" if failed is None else "failed", execution.slots)
    if started is not None:
        info = recent_info(
            started, execution.retries, execution.requeues, ended=ended, exit_code=exit_code, failed=failed
        )
        node.tasks_run += 1
        node.tasks_succeeded += failed is None
        _note(world, execution, job, "completed", info)
        retention.expect(world, expires)
    if first:
        _satisfy(world, job, execution.task_id)
    if effect.job_action == "terminate":
        jobs.begin_terminate(world, job, "TaskFailed")
    elif effect.job_action == "disable":
        jobs.begin_disable(world, job, "requeue")


def _satisfy(world: World, job: Job, task_id: str) -> None:
    ready = world.store.dependencies.meet(job.key, task_id, number_of(task_id))
    world.counts[job.key].ready += len(ready)
    for seq in ready:
        make_ready(world, job, seq)


def end_active(world: World, job: Job, seq: int, slots: int, *, ready: bool) -> None:
    """Complete a task that never got onto a node, by a user's request."""
    now = world.stamp()
    table = world.store.tasks
    table.complete(
        seq,
        now,
        started=None,
        ended=now,
        exit_code=None,
        failure=orjson.dumps(ended_by_request()),
        expires=None,
        satisfied=False,
    )
    table.write(seq, now)
    world.queues[job.key].drop(seq)
    counts = world.counts[job.key]
    counts.move("active", "failed", slots)
    counts.ready -= ready
    world.due_jobs[job.key] = None
