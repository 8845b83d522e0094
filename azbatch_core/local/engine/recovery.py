"""From the tables to an account that goes on where the last process stopped, even if it was killed."""

from __future__ import annotations

from typing import TYPE_CHECKING

from azbatch_core.local.engine import allocation, jobs, nodes, retention, scaling
from azbatch_core.local.store.records import Job, Node, Pool, Preparation

if TYPE_CHECKING:
    from azbatch_core.local.engine.account import Account

__all__ = ["recover"]


def recover(account: Account) -> None:
    """Restore records, put tasks that were on a node back to active, resume what was under way.

    Neither retries nor requeues are counted: no user asked for it (SDK BatchTaskExecutionInfo.requeue_count).
    Start tasks that completed are not run again; preparations that did not complete are.
    """
    _load(account)
    for task in account.store.tasks.live():
        account.store.tasks.back(task.seq, account.now())
    _count(account)
    for node in tuple(account.nodes.values()):
        _resume_node(account, node)
    for pool in account.pools.values():
        account.due_pools[pool.key] = None
        if pool.allocation == "resizing" and not pool.resize_started:
            _resume_resize(account, pool)
        if pool.spec["enableAutoScale"] and pool.state != "deleting":
            scaling.resume(account, pool)
    for job in tuple(account.jobs.values()):
        account.due_jobs[job.key] = None
        jobs.arm_wall_clock(account, job)
    retention.arm(account)


def _load(account: Account) -> None:
    for pool in account.store.load(Pool):
        account.add_pool(pool)
        account.stamped_until(pool.modified)
    for node in account.store.load(Node):
        account.add_node(node)
    for job in account.store.load(Job):
        account.add_job(job)
        account.stamped_until(job.modified)
    account.stamped_until(account.store.tasks.last_modified())
    for preparation in account.store.load(Preparation):
        if preparation.state == "running":
            account.store.delete(preparation)
            continue
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
    elif node.state in {"creating", "starting", "waitingforstarttask"}:
        nodes.boot(account, node)
    elif node.state not in {"starttaskfailed", "unusable"} and nodes.make_folders(account, node):
        nodes.open_node(account, node)


def _resume_resize(account: Account, pool: Pool) -> None:
    account.after(
        "resize", pool.key, account.settings.resize_time, lambda: allocation.start_resize(account, pool)
    )
