"""What a job asks of a pool that grows: how many nodes at once, and how many tasks for each."""

from __future__ import annotations

import contextlib
import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from azbatch_core.errors import SpecError
from azbatch_core.plan import gangs
from azbatch_core.plan.nodes import Nodes, needs_of
from azbatch_core.plan.scaling import Scaling
from azbatch_core.plan.vm_choice import slots_needed
from azbatch_core.specs.pools import DEFAULT_MAX_NODES

if TYPE_CHECKING:
    from azbatch_core.specs import JobSpec, ManagedPool


@dataclass(frozen=True)
class Demand:
    """What a job asks of a pool.

    Attributes:
        tasks: Tasks that can start at once, a gang as often as it has nodes.
        nodes: Nodes that must be there at the same time: those of the largest gang, else 1.
        inter_node: Whether nodes must reach each other, each with one task at a time.
    """

    tasks: int = 1
    nodes: int = 1
    inter_node: bool = False


def demand_of(job: JobSpec) -> Demand:
    """The demand of a job's own tasks; those that are streamed in later count when Batch sees them wait."""
    ready = [task.gang.nodes if task.gang else 1 for task in job.tasks if not task.depends_on]
    most = gangs.largest(job)
    return Demand(
        tasks=max(1, most, sum(ready[: job.max_parallel_tasks])), nodes=max(1, most), inter_node=most > 0
    )


def plan_scaling(pool: ManagedPool, job: JobSpec, nodes: Nodes, demand: Demand) -> Scaling:
    """How a pool grows for a job.

    Raises:
        SpecError: The job needs more nodes at the same time than the pool may have.
    """
    if pool.max_nodes is not None and pool.max_nodes < demand.nodes:
        raise SpecError(
            f"a gang of {demand.nodes} nodes never runs on a pool of at most {pool.max_nodes}",
            field="pool.max_nodes",
            hint=f"max_nodes: {demand.nodes} or more",
        )
    most = pool.max_nodes or max(DEFAULT_MAX_NODES, pool.min_nodes, demand.nodes)
    per_node = 1 if demand.inter_node else _tasks_per_node(job, nodes)
    return Scaling(
        max_nodes=most,
        tasks_per_node=per_node,
        start_nodes=max(demand.nodes, min(most, math.ceil(demand.tasks / per_node))),
        min_nodes=pool.min_nodes,
        idle_time=pool.idle_time,
        spot=pool.spot,
        max_given=pool.max_nodes is not None,
    )


def _tasks_per_node(job: JobSpec, nodes: Nodes) -> int:
    """How many of the job's largest tasks a node runs at the same time."""
    most = 1
    for resources, asked in dict.fromkeys(
        (task.resources or job.resources, task.required_slots) for task in job.tasks
    ):
        if asked is not None:
            most = max(most, asked)
        elif resources is not None and nodes.vm is not None:
            # One that fits no node is refused as a task, by its name.
            with contextlib.suppress(SpecError):
                most = max(most, slots_needed(needs_of(resources), nodes.vm, nodes.slots))
    return max(1, nodes.slots // most)
