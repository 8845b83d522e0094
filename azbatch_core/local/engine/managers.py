"""Job manager tasks: added with their job, placed before its other tasks."""

from __future__ import annotations

from typing import TYPE_CHECKING

import orjson

from azbatch_core.local.rules.managers import task_of, wanted_slots
from azbatch_core.local.rules.tasks import number_of
from azbatch_core.local.store.task_rows import NewTask

if TYPE_CHECKING:
    from azbatch_core.local.engine.account import Account
    from azbatch_core.local.store.records import Job, Pool

__all__ = ["add_manager", "find_node", "is_waited_for"]


def add_manager(account: Account, job: Job) -> None:
    """Add a new job's manager task, if it has one, as its first task."""
    manager = job.spec.get("jobManagerTask")
    if manager is None:
        return
    spec, task_id = task_of(manager), manager["id"]
    slots = spec["requiredSlots"]
    row = NewTask(job.key, task_id, number_of(task_id), 0, slots, account.stamp(), orjson.dumps(spec))
    account.store.tasks.insert([row])
    job.manager = account.store.tasks.seq_of(job.key, task_id)
    counts = account.counts[job.key]
    counts.add("active", 1, slots)
    counts.ready += 1


def find_node(account: Account, pool: Pool, job: Job, closed: set[int]) -> tuple[int | None, int]:
    """A node for a job's manager now, None if there is none, and the slots that it takes there.

    `closed` are nodes that are kept for others.
    """
    slots = wanted_slots(job.spec["jobManagerTask"], pool.spec["taskSlotsPerNode"])
    pack = pool.spec["taskSchedulingPolicy"]["nodeFillType"] == "pack"
    barred = _barred(account, pool, job) | closed
    return account.free[pool.key].find(slots, pack=pack, barred=barred), slots


def is_waited_for(account: Account, pool: Pool, job: Job) -> bool:
    """Whether a manager without a node can have one once that is free: till then the job's tasks wait."""
    barred = _barred(account, pool, job)
    free = account.free[pool.key]
    return any(key in free and key not in barred for key in account.pool_nodes[pool.key])


def _barred(account: Account, pool: Pool, job: Job) -> set[int]:
    barred = set(account.barred.get(job.key, ()))
    if not job.spec["jobManagerTask"]["allowLowPriorityNode"]:
        barred.update(key for key, node in account.pool_nodes[pool.key].items() if not node.dedicated)
    return barred
