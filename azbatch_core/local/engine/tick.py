"""One turn of the engine.

What has ended is settled, what that allows is begun, all of it is committed once.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

from azbatch_core.local.clock import VirtualClock
from azbatch_core.local.engine import (
    allocation,
    gangs,
    jobs,
    node_actions,
    nodes,
    preparation,
    schedules,
    tasks,
)
from azbatch_core.local.engine.dispatch import fill_pool
from azbatch_core.local.rules.jobs import QUOTA_STATES

if TYPE_CHECKING:
    from collections.abc import Iterator

    from azbatch_core.local.engine.account import Account
    from azbatch_core.local.engine.execution import Execution
    from azbatch_core.local.runtime.base import Outcome
    from azbatch_core.local.store.records import Job

__all__ = ["tick"]

_R = TypeVar("_R")
_PENDING_MOST = 100_000
_TURNS_AT_ONCE = 4096
"""How much a simulation writes at once: tasks and records, which memory holds until then, or turns."""


def tick(account: Account) -> None:
    """Do all that can be done now.

    What a task's end allows, dependents above all, starts in the same turn.
    """
    if account.stopping:
        return
    while (
        account.finished
        or account.due_nodes
        or account.due_jobs
        or account.due_schedules
        or account.due_pools
    ):
        _turn(account)
    account.turns += 1
    if not _may_wait(account):
        account.store.commit()
    account.history.look(account)


def _may_wait(account: Account) -> bool:
    """Whether what has happened may be written later: nobody is told of it before a clock has been moved."""
    clock = account.clock
    if not (account.settings.simulated and isinstance(clock, VirtualClock) and clock.moving):
        return False
    return account.store.pending < _PENDING_MOST and account.turns % _TURNS_AT_ONCE > 0


def _turn(account: Account) -> None:
    finished, account.finished = account.finished, []
    for execution, outcome in finished:
        _settle(account, execution, outcome)
    for node in _drain(account.due_nodes, account.nodes):
        node_actions.check(account, node)
    for job in _drain(account.due_jobs, account.jobs):
        jobs.advance(account, job)
        _note_pool(account, job)
        if job.schedule is not None and job.state not in QUOTA_STATES:
            account.due_schedules[job.schedule] = None
    for schedule in _drain(account.due_schedules, account.schedules):
        schedules.advance(account, schedule)
    for pool in _drain(account.due_pools, account.pools):
        account.history.pool_changed(pool.key)
        allocation.advance(account, pool)
        if pool.key in account.pools:
            fill_pool(account, pool)


def _note_pool(account: Account, job: Job) -> None:
    pool = account.pool_ids.get(job.pool_id.lower())
    if pool is not None:
        account.history.pool_changed(pool.key)


def _drain(due: dict[int, None], records: dict[int, _R]) -> Iterator[_R]:
    keys = tuple(due)
    due.clear()
    for key in keys:
        if key in records:
            yield records[key]


def _settle(account: Account, execution: Execution, outcome: Outcome | None) -> None:
    if execution not in account.on_node.get(execution.node.key, {}):
        return
    account.history.ended(execution, outcome)
    if execution.gang is not None:
        gangs.settle(account, execution, outcome)
    elif execution.kind == "task":
        tasks.settle(account, execution, outcome)
    elif outcome is None:
        raise AssertionError("only tasks end without a try")
    elif execution.kind == "start":
        nodes.settle_start(account, execution, outcome)
    elif execution.kind == "preparation":
        for waiting in preparation.settle(account, execution, outcome):
            if waiting.gang is None:
                tasks.run(account, waiting, waited=True)
            else:
                gangs.run(account, waiting)
    else:
        preparation.settle_release(account, execution, outcome)
