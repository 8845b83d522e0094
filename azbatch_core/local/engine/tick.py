"""One turn of the engine.

What has ended is settled, what that allows is begun, all of it is committed once.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

from azbatch_core.local.engine import allocation, jobs, nodes, preparation, tasks
from azbatch_core.local.engine.dispatch import fill_pool

if TYPE_CHECKING:
    from collections.abc import Iterator

    from azbatch_core.local.engine.world import Execution, World
    from azbatch_core.local.runtime.base import Outcome

__all__ = ["tick"]

_R = TypeVar("_R")


def tick(world: World) -> None:
    """Do all that can be done now.

    What a task's end allows, dependents above all, starts in the same turn.
    """
    if world.stopping:
        return
    while world.finished or world.due_nodes or world.due_jobs or world.due_pools:
        _turn(world)
    world.store.commit()


def _turn(world: World) -> None:
    finished, world.finished = world.finished, []
    for execution, outcome in finished:
        _settle(world, execution, outcome)
    for node in _drain(world.due_nodes, world.nodes):
        nodes.check_leaving(world, node)
    for job in _drain(world.due_jobs, world.jobs):
        jobs.advance(world, job)
    for pool in _drain(world.due_pools, world.pools):
        allocation.advance(world, pool)
        if pool.key in world.pools:
            fill_pool(world, pool)


def _drain(due: dict[int, None], records: dict[int, _R]) -> Iterator[_R]:
    keys = tuple(due)
    due.clear()
    for key in keys:
        if key in records:
            yield records[key]


def _settle(world: World, execution: Execution, outcome: Outcome | None) -> None:
    if execution not in world.on_node.get(execution.node.key, {}):
        return
    if execution.kind == "task":
        tasks.settle(world, execution, outcome)
    elif outcome is None:
        raise AssertionError("only tasks end without a try")
    elif execution.kind == "start":
        nodes.settle_start(world, execution, outcome)
    elif execution.kind == "preparation":
        for waiting in preparation.settle(world, execution, outcome):
            tasks.run(world, waiting, waited=True)
    else:
        preparation.settle_release(world, execution, outcome)
