"""Ready tasks onto free slots: jobs by priority, then age; a job's tasks in the order they were added."""

from __future__ import annotations

from typing import TYPE_CHECKING

import orjson

from azbatch_core.local.engine import gangs, managers, tasks
from azbatch_core.local.engine.holds import Kept
from azbatch_core.local.rules.tasks import wanted_node

if TYPE_CHECKING:
    from azbatch_core.local.engine.account import Account
    from azbatch_core.local.rules.placement import FreeSlots
    from azbatch_core.local.store.records import Doc, Job, Pool
    from azbatch_core.local.store.task_rows import ReadyTask

__all__ = ["fill_pool"]

_AFFINITY = b'"affinityInfo"'
_UNLIMITED = -1


def fill_pool(account: Account, pool: Pool) -> None:
    """Start as many ready tasks of a pool's jobs as there is room for."""
    free = account.free[pool.key]
    if pool.state != "active" or not free.largest:
        return
    jobs = [
        job for job in account.pool_jobs.get(pool.id.lower(), {}).values() if account.counts[job.key].ready
    ]
    jobs.sort(key=lambda job: (-job.spec["priority"], job.key))
    kept = Kept()
    for job in jobs:
        if not free.largest:
            return
        _fill_from(account, pool, free, job, kept)


def _fill_from(account: Account, pool: Pool, free: FreeSlots, job: Job, kept: Kept) -> None:
    pack = pool.spec["taskSchedulingPolicy"]["nodeFillType"] == "pack"
    barred = account.barred.get(job.key, ())
    parallel = job.spec["maxParallelTasks"]
    counts = account.counts[job.key]
    smallest_refused = pool.spec["taskSlotsPerNode"] + 1
    for row in account.queues[job.key].walk(account.store.tasks, pool.spec["taskSlotsPerNode"]):
        if parallel != _UNLIMITED and counts.tasks["running"] >= parallel:
            return
        if account.dying and (job.key, row.id.lower()) in account.dying:
            continue
        if row.instances:
            gangs.place(account, pool, job, row, kept)
            continue
        if row.slots >= smallest_refused:
            continue
        spec: Doc = orjson.loads(row.spec)
        preferred = _preferred(account, pool, spec) if _AFFINITY in row.spec else None
        if row.seq == job.manager:
            if not _start_manager(account, pool, job, row, spec, closed=kept.nodes):
                return
            continue
        closed = kept.nodes.union(barred) if kept.nodes else barred
        key = free.find(row.slots, pack=pack, barred=closed, preferred=preferred)
        if key is not None:
            tasks.start(account, job, row, spec, account.nodes[key])
        elif row.slots == 1:
            return
        else:
            smallest_refused = row.slots


def _start_manager(
    account: Account, pool: Pool, job: Job, row: ReadyTask, spec: Doc, *, closed: set[int]
) -> bool:
    """Start a job's manager; whether the job's other tasks may have what is free now."""
    key, slots = managers.find_node(account, pool, job, closed)
    if key is None:
        return not managers.is_waited_for(account, pool, job)
    tasks.start(account, job, row, spec, account.nodes[key], reserved=slots)
    return True


def _preferred(account: Account, pool: Pool, spec: Doc) -> int | None:
    node = account.find_node(pool, wanted_node(spec))
    return None if node is None else node.key
