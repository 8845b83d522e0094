"""A task's moves: onto a node, and to whatever its end leads to."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

import orjson

from azbatch_core.local.engine import jobs, preparation, retention
from azbatch_core.local.engine.execution import Execution
from azbatch_core.local.engine.launching import launch
from azbatch_core.local.engine.recent import note
from azbatch_core.local.engine.trouble import notice
from azbatch_core.local.rules.exits import consequence, wants_retry
from azbatch_core.local.rules.nodes import resting_state
from azbatch_core.local.rules.tasks import number_of
from azbatch_core.local.rules.times import ticks_of
from azbatch_core.local.runtime.failures import failure

if TYPE_CHECKING:
    from azbatch_core.local.engine.account import Account
    from azbatch_core.local.runtime.base import Outcome
    from azbatch_core.local.store.records import Doc, Job, Node
    from azbatch_core.local.store.task_rows import ReadyTask

__all__ = [
    "Fate",
    "begin",
    "conclude",
    "end_active",
    "fate",
    "look_again",
    "make_ready",
    "run",
    "settle",
    "start",
    "vacate",
]

Fate = Literal["lost", "requeue", "retry", "terminate", "delete", "judge"]
"""What becomes of a task whose try is over: the first three put it back to active."""


def start(account: Account, job: Job, row: ReadyTask, spec: Doc, node: Node, *, reserved: int = 0) -> None:
    """Put a ready task on a node: it runs, or waits there for the job's preparation.

    `reserved` slots of the node are kept from others, if they are more than the task needs.
    """
    execution = Execution(
        "task", node, job, row.id, spec, row.seq, row.slots, row.retries, row.requeues, row.launches
    )
    execution.reserved = reserved
    account.queues[job.key].drop(row.seq)
    counts = account.counts[job.key]
    counts.ready -= 1
    counts.move("active", "running", row.slots)
    account.enter(execution)
    account.set_node_state(node, "running")
    if preparation.may_run(account, job, node):
        run(account, execution, waited=False)
    else:
        account.store.tasks.place(row.seq, "preparing", account.now(), node, None)


def run(account: Account, execution: Execution, *, waited: bool) -> None:
    """Launch a task on the node it is on; `waited` tells that it was preparing."""
    job, node = execution.job, execution.node
    if job is None:
        raise AssertionError("a task has a job")
    started = begin(account, execution, job)
    now = max(account.now(), started)
    if waited:
        account.store.tasks.run(execution.seq, now, started)
    else:
        account.store.tasks.place(execution.seq, "running", now, node, started)


def begin(account: Account, execution: Execution, job: Job) -> int:
    """Launch a try on its node; its start in ticks."""
    node = execution.node
    found = account.preparations[job.key].get(node.key)
    if found is not None and not found.ran:
        found.ran = True
        account.touch(found)
    started = launch(account, execution)
    notice(account, node)
    return started


def settle(account: Account, execution: Execution, outcome: Outcome | None) -> None:
    """A task's try has ended, or it was told to stop before there was one (no outcome)."""
    vacate(account, execution)
    conclude(account, execution, outcome, fate(execution, outcome))
    if execution.job is not None:
        account.dying.pop((execution.job.key, execution.task_id.lower()), None)


def vacate(account: Account, execution: Execution) -> None:
    """Give up the node of a task, or subtask, that has ended."""
    node = execution.node
    account.leave(execution)
    if node.state == "running" and not account.has_tasks(node):
        account.set_node_state(node, resting_state(node.scheduling))


def fate(execution: Execution, outcome: Outcome | None) -> Fate:
    """What becomes of a task whose try has ended so."""
    reason = execution.stop_reason
    if reason == "delete":
        return "delete"
    if outcome is None or (outcome.stopped is not None and reason is not None):
        return reason or "terminate"
    # It ended by itself, be it a moment before it was to be stopped.
    if reason != "terminate" and wants_retry(
        outcome.exit_code,
        outcome.failure,
        execution.retries,
        execution.spec["constraints"]["maxTaskRetryCount"],
    ):
        return "retry"
    return "judge"


def conclude(account: Account, execution: Execution, outcome: Outcome | None, what: Fate) -> None:
    """Do with a task whose try has ended what its fate is."""
    job, node = execution.job, execution.node
    if job is None:
        raise AssertionError("a task has a job")
    account.due_jobs[job.key] = None
    if what == "delete":
        account.runtime.clear_task(account.place(node), job.id, execution.task_id)
    elif what in {"lost", "requeue", "retry"}:
        _go_back(account, execution, job, what, account.now())
    elif what == "terminate" or outcome is None:
        _complete(account, execution, job, outcome, failure("TaskEnded"), judged=False)
    else:
        _complete(account, execution, job, outcome, outcome.failure, judged=True)


def _go_back(
    account: Account, execution: Execution, job: Job, why: Literal["lost", "requeue", "retry"], now: int
) -> None:
    table = account.store.tasks
    {"lost": table.back, "requeue": table.requeue, "retry": table.retry}[why](execution.seq, now)
    if execution.node.leaving is None:
        # It may run elsewhere next: nothing of this try is left behind.
        account.runtime.clear_task(account.place(execution.node), job.id, execution.task_id)
    if execution.running is not None:
        note(account, execution, job, "active", None, retries=why == "retry", requeues=why == "requeue")
    counts = account.counts[job.key]
    counts.move("running", "active", execution.counted)
    counts.ready += 1
    make_ready(account, job, execution.seq)


def make_ready(account: Account, job: Job, seq: int) -> None:
    """Let the scheduler see a task that has become ready; it is counted already."""
    row = account.store.tasks.ready_one(seq)
    if row is not None:
        account.queues[job.key].offer(row)
    look_again(account, job)


def look_again(account: Account, job: Job) -> None:
    """Let the scheduler look at a job's pool: a task of it came, or does not wait for room any more."""
    pool = account.pool_ids.get(job.pool_id.lower())
    if pool is not None:
        account.due_pools[pool.key] = None


def _complete(
    account: Account,
    execution: Execution,
    job: Job,
    outcome: Outcome | None,
    failed: Doc | None,
    *,
    judged: bool,
) -> None:
    """To completed; unless it is `judged`, it ends no job and lets no other task go on."""
    now = account.now()
    node = execution.node
    started = None if outcome is None else ticks_of(outcome.started)
    ended = now if outcome is None else ticks_of(outcome.ended)
    exit_code = None if outcome is None else outcome.exit_code
    made = None if outcome is None else outcome.container
    acts = judged and job.state == "active" and job.spec["onTaskFailure"] == "performexitoptionsjobaction"
    effect = consequence(execution.spec, exit_code, failed, acts=acts)
    satisfied = judged and effect.satisfied
    counts = account.counts[job.key]
    first = satisfied and counts.waiting > 0 and not account.store.tasks.is_satisfied(execution.seq)
    expires = None
    if started is not None:
        expires = retention.expiry(ended, execution.spec["constraints"]["retentionTime"])
    account.store.tasks.complete(
        execution.seq,
        max(now, ended),
        started=started,
        ended=ended,
        exit_code=exit_code,
        failure=None if failed is None else orjson.dumps(failed),
        container=orjson.dumps(made) if made else None,
        expires=expires,
        satisfied=satisfied,
    )
    counts.move("running", "succeeded" if failed is None else "failed", execution.counted)
    if started is not None:
        node.tasks_run += 1
        node.tasks_succeeded += failed is None
        note(
            *(account, execution, job, "completed", started), ended=ended, exit_code=exit_code, failed=failed
        )
        retention.expect(account, expires)
    if first:
        _satisfy(account, job, execution.task_id)
    jobs.end_with_manager(account, job, execution.seq)
    if effect.job_action == "terminate":
        jobs.begin_terminate(account, job, "TaskFailed")
    elif effect.job_action == "disable":
        jobs.begin_disable(account, job, "requeue")


def _satisfy(account: Account, job: Job, task_id: str) -> None:
    ready = account.store.dependencies.meet(job.key, task_id, number_of(task_id))
    account.counts[job.key].ready += len(ready)
    for seq in ready:
        make_ready(account, job, seq)


def end_active(account: Account, job: Job, seq: int, slots: int, *, ready: bool) -> None:
    """Complete a task that never got onto a node, by a user's request."""
    now = account.stamp()
    table = account.store.tasks
    table.complete(
        seq,
        now,
        started=None,
        ended=now,
        exit_code=None,
        failure=orjson.dumps(failure("TaskEnded")),
        expires=None,
        satisfied=False,
    )
    table.write(seq, now)
    account.queues[job.key].drop(seq)
    look_again(account, job)
    counts = account.counts[job.key]
    counts.move("active", "failed", slots)
    counts.ready -= ready
    account.due_jobs[job.key] = None
    jobs.end_with_manager(account, job, seq)
