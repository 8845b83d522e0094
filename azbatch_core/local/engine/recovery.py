"""From the tables to an account that goes on where the last process stopped, even if it was killed."""

from __future__ import annotations

from typing import TYPE_CHECKING

import orjson

from azbatch_core.local.engine import (
    allocation,
    gangs,
    jobs,
    lifetime,
    node_actions,
    nodes,
    retention,
    scaling,
    schedules,
)
from azbatch_core.local.engine.recent import note_killed
from azbatch_core.local.rules.times import moment
from azbatch_core.local.runtime.failures import failure
from azbatch_core.local.store.records import Job, Node, Pool, Preparation, Schedule

if TYPE_CHECKING:
    from azbatch_core.local.engine.account import Account
    from azbatch_core.local.store.task_rows import Task

__all__ = ["recover"]


def recover(account: Account) -> None:
    """Restore records, put tasks that were on a node back to active, resume what was under way.

    Neither retries nor requeues are counted: no user asked for it (SDK BatchTaskExecutionInfo.requeue_count).
    Tasks that a user's request was ending, be it with their node or job, end as they had been told to.
    Start tasks that completed are not run again; those and preparations that did not complete are. A turn of
    a schedule that was missed is made up for if its window is still open (see `rules.schedules.next_turn`).
    """
    _load(account)
    for task in account.store.tasks.live():
        _end_try(account, task)
    gangs.recover(account)
    _count(account)
    for node in tuple(account.nodes.values()):
        _resume_node(account, node)
    for pool in account.pools.values():
        account.due_pools[pool.key] = None
        if pool.allocation == "resizing" and (not pool.resize_started or allocation.is_short(account, pool)):
            _resume_resize(account, pool)
        if pool.spec["enableAutoScale"] and pool.state != "deleting":
            scaling.resume(account, pool)
    for job in tuple(account.jobs.values()):
        account.due_jobs[job.key] = None
        jobs.arm_wall_clock(account, job)
    retention.arm(account)
    lifetime.arm(account)


def _end_try(account: Account, task: Task) -> None:
    """A task was on a node when the service died: its try ends as a user's request wanted, if one did."""
    table, now, job = account.store.tasks, account.now(), account.jobs[task.job]
    if task.stopping == "terminate":
        started, retention_time = task.started, orjson.loads(task.spec)["constraints"]["retentionTime"]
        table.complete(
            task.seq,
            now,
            started=started,
            ended=now,
            exit_code=None,
            failure=orjson.dumps(failure("TaskEnded")),
            expires=None if started is None else retention.expiry(now, retention_time),
            satisfied=False,
        )
        note_killed(account, job, task, completed=(now, failure("TaskEnded")))
        jobs.end_with_manager(account, job, task.seq)
        return
    # It may run elsewhere next: nothing of this try is left behind.
    retention.clear(account, job, task)
    requeued = task.stopping == "requeue"
    note_killed(account, job, task, requeues=int(requeued))
    account.store.subtasks.forget([task.seq])
    if requeued:
        table.requeue(task.seq, now)
    else:
        table.back(task.seq, now)


def _load(account: Account) -> None:
    for pool in account.store.load(Pool):
        account.add_pool(pool)
        account.stamped_until(pool.modified)
    for node in account.store.load(Node):
        account.add_node(node)
    for job in account.store.load(Job):
        account.add_job(job)
        account.stamped_until(job.modified)
    for schedule in account.store.load(Schedule):
        schedules.add(account, schedule)
        account.stamped_until(schedule.modified)
    account.stamped_until(account.store.tasks.last_modified())
    for preparation in account.store.load(Preparation):
        if preparation.state == "running":
            if not preparation.ran:
                account.store.delete(preparation)
                continue
            # It ran again after a reboot; what its job's tasks left on the node is to be released still.
            preparation.state = "stale"
            preparation.info |= {"state": "completed", "endTime": moment(account.now()), "result": "failure"}
        account.preparations[preparation.job][preparation.node] = preparation
        if preparation.state == "failed" and preparation.node in account.nodes:
            _bar(account, preparation)
        if preparation.release is not None and preparation.release["state"] == "running":
            preparation.release = None
            account.jobs[preparation.job].released = False


def _bar(account: Account, preparation: Preparation) -> None:
    task = account.jobs[preparation.job].spec.get("jobPreparationTask")
    if task is not None and task["waitForSuccess"]:
        account.barred.setdefault(preparation.job, set()).add(preparation.node)


def _count(account: Account) -> None:
    for key, state, waits, failed, tasks, slots in account.store.tasks.tally():
        counts = account.counts[key]
        kind = ("failed" if failed else "succeeded") if state == "completed" else state
        counts.add(kind, tasks, slots)
        if state == "active" and not waits:
            counts.ready += tasks


def _resume_node(account: Account, node: Node) -> None:
    if node.leaving is not None:
        account.due_nodes[node.key] = None
    elif node.booted is None and node.state in {"creating", "starting"}:
        nodes.boot(account, node)
    else:
        node_actions.resume(account, node)


def _resume_resize(account: Account, pool: Pool) -> None:
    account.after(
        "resize", pool.key, account.settings.resize_time, lambda: allocation.start_resize(account, pool)
    )
