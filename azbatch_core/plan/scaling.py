"""Pools that grow and shrink: the formula by which Batch follows the tasks, and when it is written anew.

A formula runs when scaling is enabled and every few minutes from then on, on samples that are half a minute
old and more, and none at all at first ("Automatically scale compute nodes in an Azure Batch pool"). So a
job's first nodes are not left to the samples: each submission that finds too few nodes writes "at least so
many until then" into the formula, in place. The other way, to resize by hand and enable the formula
afterwards, leaves nodes running for ever where a submitter dies in between.

Functions and methods are those of the documented language that have been there from the start; targets come
out whole or a fraction above what is needed, because how Batch makes them whole is not documented.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass, replace
from datetime import datetime, timedelta, timezone
from typing import Any

from azbatch_core.specs import format_duration

EVALUATION = timedelta(minutes=5)
"""How often a formula runs: the shortest that Batch allows."""
_SAMPLE = timedelta(seconds=30)
_YOUNG = timedelta(minutes=30)
"""Counting samples tells a pool's age up to here; how many Batch keeps is not documented."""
_TIME = "%Y-%m-%dT%H:%M:%SZ"
_NEVER = datetime(2000, 1, 1, tzinfo=timezone.utc)
_SET = re.compile(r'^(\w+) = (?:time\("([^"]*)"\)|(\d+));$', re.MULTILINE)


@dataclass(frozen=True)
class Scaling:
    """How a pool grows and shrinks.

    Attributes:
        max_nodes: The most nodes.
        tasks_per_node: Tasks that a node runs at the same time.
        start_nodes: Nodes to have without waiting for samples of what waits.
        min_nodes: Nodes that stay when there is nothing to do.
        idle_time: How long a node stays that nothing has needed.
        spot: Spot nodes instead of dedicated ones.
        start_until: Until when `start_nodes` are kept, on the service's clock; None: while the pool is young.
        max_given: Whether somebody asked for this `max_nodes`; otherwise a pool that is there keeps its own.
    """

    max_nodes: int
    tasks_per_node: int = 1
    start_nodes: int = 1
    min_nodes: int = 0
    idle_time: timedelta = timedelta(minutes=15)
    spot: bool = False
    start_until: datetime | None = None
    max_given: bool = True

    @property
    def start_time(self) -> timedelta:
        """How long start nodes are kept: past the second evaluation, which sees what waits."""
        return min(max(self.idle_time, EVALUATION + 2 * _SAMPLE), _YOUNG)

    def to_json(self) -> dict[str, Any]:
        """The same as JSON data."""
        return {
            "maxNodes": self.max_nodes,
            "minNodes": self.min_nodes,
            "startNodes": self.start_nodes,
            "tasksPerNode": self.tasks_per_node,
            "idleTime": format_duration(self.idle_time),
            "spot": self.spot,
        }


def formula(scaling: Scaling) -> str:
    """The formula, for an evaluation every `EVALUATION`.

    A waiting gang counts as many times as it has nodes in ``$PendingTasks`` (documented). The newest samples
    by their number, unlike those of a window of time, are never too few for Batch.
    """
    target, other = "$TargetDedicatedNodes", "$TargetLowPriorityNodes"
    if scaling.spot:
        target, other = other, target
    until = scaling.start_until or _NEVER
    return f"""// Made by azbatch, which writes it anew: change max_nodes and its like in the job's pool.
maxNodes = {scaling.max_nodes};
minNodes = {scaling.min_nodes};
tasksPerNode = {scaling.tasks_per_node};
idleSamples = {_samples(scaling.idle_time)};
startNodes = {scaling.start_nodes};
startSamples = {0 if scaling.start_until else _samples(scaling.start_time)};
startUntil = time("{until.astimezone(timezone.utc):{_TIME}}");
pending = max(0, $PendingTasks.GetSample(idleSamples));
needed = pending > 0 ? (pending + tasksPerNode - 1) / tasksPerNode : 0;
starting = $PendingTasks.Count() < startSamples || time() < startUntil ? startNodes : 0;
{target} = min(maxNodes, max(minNodes, needed, starting));
{other} = 0;
$NodeDeallocationOption = taskcompletion;"""


def read_formula(text: str | None) -> Scaling | None:
    """What a formula of `formula` was made from; None for any other."""
    found = {name: moment or number for name, moment, number in _SET.findall(text or "")}
    try:
        until = datetime.strptime(found["startUntil"], _TIME).replace(tzinfo=timezone.utc)
        made = Scaling(
            max_nodes=int(found["maxNodes"]),
            tasks_per_node=int(found["tasksPerNode"]),
            start_nodes=int(found["startNodes"]),
            min_nodes=int(found["minNodes"]),
            idle_time=int(found["idleSamples"]) * _SAMPLE,
            spot="$TargetDedicatedNodes = 0;" in (text or ""),
            start_until=None if until == _NEVER else until,
        )
    except (KeyError, ValueError):
        return None
    return made if formula(made) == text else None


def most_nodes(text: str | None) -> int | None:
    """Up to how many nodes a formula of `formula` lets a pool grow; None for any other."""
    found = read_formula(text)
    return found.max_nodes if found else None


def _samples(span: timedelta) -> int:
    return math.ceil(span / _SAMPLE)


@dataclass(frozen=True)
class PoolNow:
    """A pool that scales, as it is when a submission finds it.

    Attributes:
        scaling: What its formula was made from; None where it has none, or somebody else's.
        as_of: The latest moment on the service's clock that is known to have passed.
        created: When the pool was made.
        target_nodes: Nodes that it is to have.
        free_tasks: Tasks that could start on nodes that are there or on their way.
    """

    scaling: Scaling | None
    as_of: datetime
    created: datetime
    target_nodes: int
    free_tasks: int


@dataclass(frozen=True)
class Change:
    """A formula to give to a pool.

    Attributes:
        scaling: What to make it from.
        at_once: It brings nodes that a task waits for: the schedule of evaluations is to begin anew.
        must: Without it the job may never run, or not as asked: worth waiting until the service takes it.
    """

    scaling: Scaling
    at_once: bool = False
    must: bool = False


def change(wanted: Scaling, pool: PoolNow) -> Change | None:
    """What a submission changes about a pool that is there; None where it can stay as it is.

    A pool that is in use keeps counting by its largest tasks: more nodes than needed, rather than too few.
    """
    present = pool.scaling
    if present is not None:
        in_use = pool.target_nodes > 0
        wanted = replace(
            wanted,
            max_nodes=wanted.max_nodes if wanted.max_given else max(wanted.max_nodes, present.max_nodes),
            tasks_per_node=min(wanted.tasks_per_node, present.tasks_per_node)
            if in_use
            else wanted.tasks_per_node,
        )
    lacking = wanted.start_nodes - pool.free_tasks // wanted.tasks_per_node
    start = min(wanted.max_nodes, pool.target_nodes + max(0, lacking))
    at_once = start > pool.target_nodes
    differs = present is None or _asked(present) != _asked(wanted)
    other_tasks = present is not None and present.tasks_per_node != wanted.tasks_per_node
    if not (at_once or differs or other_tasks or _fades(pool)):
        return None
    stamped = replace(wanted, start_nodes=start, start_until=pool.as_of + EVALUATION + wanted.start_time)
    return Change(stamped, at_once=at_once, must=differs or pool.target_nodes == 0)


def _asked(scaling: Scaling) -> tuple[object, ...]:
    """What a user decides about a formula."""
    return (scaling.max_nodes, scaling.min_nodes, scaling.idle_time, scaling.spot)


def _fades(pool: PoolNow) -> bool:
    """Whether the last submission was so long ago that idle nodes may go before the new tasks are sampled."""
    scaling = pool.scaling
    if scaling is None:
        return True
    stamped = pool.created
    if scaling.start_until is not None:
        stamped = scaling.start_until - EVALUATION - scaling.start_time
    return pool.as_of - stamped > scaling.start_time / 2


def words(scaling: Scaling) -> str:
    """How the pool grows and shrinks, for people."""
    kind = "spot node" if scaling.spot else "node"
    most, least = _count(scaling.max_nodes, kind), scaling.min_nodes
    start = f"{scaling.start_nodes:,} at once"
    own = "" if scaling.max_given else " (a pool that is there keeps its own limit)"
    each = "each task" if scaling.tasks_per_node == 1 else f"every {scaling.tasks_per_node} tasks"
    return (
        f"{start}, then one for {each}, up to {most}{own}; "
        f"down to {least or 'none'} {format_duration(scaling.idle_time)} after they were needed"
    )


def _count(number: int, what: str) -> str:
    return f"{number:,} {what}{'' if number == 1 else 's'}"
