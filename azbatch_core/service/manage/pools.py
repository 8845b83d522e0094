"""Pools: make sure that a managed one is there and large enough, and describe the pools and nodes that are.

A managed pool may serve several jobs and several submitters at once: one of a fixed size is only ever grown
here, never shrunk, and the others are left to their formulas (`growing`).
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any

from azbatch_core.catalog import metadata_names
from azbatch_core.errors import Conflict, NotFound, SpecError, WaitTimeout
from azbatch_core.plan.sameness import differences
from azbatch_core.service.documents import requests
from azbatch_core.service.documents.wire import metadata_of, moment
from azbatch_core.service.manage import growing, lifecycle
from azbatch_core.service.watch import pool_health, task_failures
from azbatch_core.service.watch.watcher import Intervals

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from azbatch_core.plan import PlannedPool
    from azbatch_core.service.connect.connection import Connection
    from azbatch_core.service.summaries import NodeSummary, PoolSummary

LOG = logging.getLogger("azbatch")

_STEADY_WITHIN = 120.0
_DELETED_WITHIN = 900.0
_TRIES = 3
_RUNNING_SELECT = ("id", "state", "recentTasks")
_NOT_UP = frozenset({"creating", "starting", "preempted", "deallocated"})
_BUSY = frozenset({"PoolBeingResized", "OperationInvalidForCurrentState", "PoolBeingCreated"})


def ensure(connection: Connection, planned: PlannedPool, reveal: Callable[[Any], Any]) -> None:
    """Make the managed pool of a plan be there, with nodes for the job there or asked for.

    A pool that another submitter makes at the same moment is fine, as is one whose creation got no reply.

    Args:
        connection: The account.
        planned: What is wanted.
        reveal: Puts the secrets into a body.

    Raises:
        Conflict: The pool of that id is not as azbatch makes it: somebody changed it.
        QuotaExceeded: The account has no pool left.
        WaitTimeout: A pool of that id was being deleted, for longer than the bound.
    """
    if planned.action != "ensure" or planned.id is None:
        return
    pool = _get_or_create(connection, planned.id, planned.body, reveal)
    if pool is None:
        return
    changed = differences(planned.fixed or {}, pool)
    if changed:
        more = f" (and {len(changed) - 1} more)" if len(changed) > 1 else ""
        raise Conflict(
            f"the pool {planned.id} is not as azbatch made it: {changed[0]}{more}",
            hint=f"azbatch pools delete {planned.id} has it made anew; pool.name makes another one beside it",
        )
    if planned.scaling is None:
        _grow(connection, planned.id, pool, (planned.nodes, planned.spot_nodes))
    else:
        growing.adjust(connection, planned.id, planned.scaling, pool)


def _get_or_create(
    connection: Connection, pool_id: str, body: Any, reveal: Callable[[Any], Any]
) -> dict[str, Any] | None:
    """The pool that is there; None where it was made now. One that is on its way out is waited for."""
    for tries_left in range(_TRIES - 1, -1, -1):
        pool = _get(connection, pool_id)
        if pool is not None and str(pool.get("state", "")).lower() != "deleting":
            return pool
        if pool is not None:
            lifecycle.delete_pool(connection, pool_id, wait=True, timeout=_DELETED_WITHIN)
        try:
            requests.send(connection, "POST", "pools", body=reveal(body))
        except Conflict as error:
            # Another submitter was faster, or somebody deletes it at this moment.
            if error.code not in {"PoolExists", "PoolBeingDeleted"} or not tries_left:
                raise
        else:
            return None
    return None


def _get(connection: Connection, pool_id: str) -> dict[str, Any] | None:
    """The whole document of a pool; None where there is none."""
    try:
        document: dict[str, Any] = requests.send(connection, "GET", "pools", pool_id)
    except NotFound:
        return None
    return document


def _read(connection: Connection, pool_id: str) -> dict[str, Any]:
    query = {"$select": ",".join(pool_health.POOL_SELECT)}
    try:
        document: dict[str, Any] = requests.send(connection, "GET", "pools", pool_id, query=query)
    except NotFound as error:
        raise NotFound(
            f"the account {connection.account.name} has no pool {pool_id!r}",
            code=error.code,
            request_id=error.request_id,
            hint="`azbatch pools` lists them",
        ) from error
    return document


def growth(pool: Mapping[str, Any], wanted: tuple[int, int]) -> tuple[int, int] | None:
    """The targets (dedicated, spot) to resize a pool to; None when it is fine as it is.

    A pool that came to rest below its targets asks the service again: it does not try by itself.
    """
    if pool.get("enableAutoScale"):
        return None
    targets = (int(pool.get("targetDedicatedNodes") or 0), int(pool.get("targetLowPriorityNodes") or 0))
    here = (int(pool.get("currentDedicatedNodes") or 0), int(pool.get("currentLowPriorityNodes") or 0))
    larger = (max(targets[0], wanted[0]), max(targets[1], wanted[1]))
    steady = str(pool.get("allocationState", "")).lower() == "steady"
    short = steady and bool(pool.get("resizeErrors")) and (here[0] < targets[0] or here[1] < targets[1])
    return larger if larger != targets or short else None


def _grow(connection: Connection, pool_id: str, pool: Mapping[str, Any], wanted: tuple[int, int]) -> None:
    targets = growth(pool, wanted)
    if targets is None:
        return
    try:
        _send_resize(connection, pool_id, targets, timeout=_STEADY_WITHIN)
    except (Conflict, WaitTimeout) as error:
        # The job can run on what is there; a resize that somebody else began is theirs to end.
        LOG.warning("pool %s was not resized to %d + %d nodes: %s", pool_id, *targets, error.message)


def resize(
    connection: Connection, pool_id: str, *, nodes: int | None, spot_nodes: int | None, timeout: float
) -> None:
    """Ask for other numbers of nodes; None leaves a number as it is. Returns once that is accepted.

    Raises:
        NotFound: There is no such pool.
        SpecError: A number is negative, or none is given.
        Conflict: A formula decides on the pool's size, or its state forbids it.
        WaitTimeout: Another change of its size was still under way at the bound.
    """
    for name, number in (("nodes", nodes), ("spot_nodes", spot_nodes)):
        if number is not None and number < 0:
            raise SpecError(f"{name}: {number} is negative: a pool has 0 nodes or more", field=name)
    if nodes is None and spot_nodes is None:
        raise SpecError(
            "how many nodes the pool is to have is missing", hint="give nodes, spot_nodes or both"
        )
    pool = _read(connection, pool_id)
    if pool.get("enableAutoScale"):
        raise Conflict(
            f"a formula decides on the size of the pool {pool_id}",
            hint="change its formula; a pool of azbatch's follows max_nodes of the next job's pool",
        )
    targets = (
        int(pool.get("targetDedicatedNodes") or 0) if nodes is None else nodes,
        int(pool.get("targetLowPriorityNodes") or 0) if spot_nodes is None else spot_nodes,
    )
    _send_resize(connection, pool_id, targets, timeout=timeout)


def _send_resize(connection: Connection, pool_id: str, targets: tuple[int, int], *, timeout: float) -> None:
    """Ask for a size, again while the pool is busy with another change of it, up to a bound."""
    body = {"targetDedicatedNodes": targets[0], "targetLowPriorityNodes": targets[1]}
    clock = connection.clock
    deadline = clock.monotonic() + timeout
    pace = Intervals.of(connection)
    interval = pace.first
    while True:
        try:
            requests.send(connection, "POST", "pools", pool_id, "resize", body=body)
        except Conflict as error:
            if error.code not in _BUSY:
                raise
            left = deadline - clock.monotonic()
            if left <= 0:
                raise WaitTimeout(
                    f"another change of the pool {pool_id} is still under way after {timeout:g} s",
                    hint="try again later",
                ) from error
        else:
            return
        clock.sleep(min(interval, left))
        interval = min(pace.longest, interval * pace.factor)


def summaries(connection: Connection) -> Iterator[PoolSummary]:
    """Every pool of the account."""
    for pool in requests.listing(connection, "pools", select=pool_health.POOL_SELECT):
        yield _summary(pool)


def find(connection: Connection, pool_id: str) -> PoolSummary:
    """One pool.

    Raises:
        NotFound: There is no such pool.
    """
    return _summary(_read(connection, pool_id))


def _summary(pool: Mapping[str, Any]) -> PoolSummary:
    from azbatch_core.service.summaries import PoolSummary

    return PoolSummary(
        id=str(pool.get("id")),
        state=str(pool.get("state", "unknown")).lower(),
        allocation_state=str(pool.get("allocationState", "unknown")).lower(),
        vm_size=str(pool.get("vmSize", "")),
        dedicated_nodes=int(pool.get("currentDedicatedNodes") or 0),
        target_dedicated_nodes=int(pool.get("targetDedicatedNodes") or 0),
        spot_nodes=int(pool.get("currentLowPriorityNodes") or 0),
        target_spot_nodes=int(pool.get("targetLowPriorityNodes") or 0),
        task_slots_per_node=int(pool.get("taskSlotsPerNode") or 1),
        autoscale=bool(pool.get("enableAutoScale")),
        errors=tuple(_errors(pool)),
        managed=any(name.startswith(metadata_names.PREFIX) for name in metadata_of(pool)),
        created=moment(pool.get("creationTime")),
    )


def _errors(pool: Mapping[str, Any]) -> Iterator[str]:
    yield from pool_health.resize_errors(pool)
    error = (pool.get("autoScaleRun") or {}).get("error")
    if error:
        yield f"autoscale: {task_failures.describe(error)}"


def nodes(connection: Connection, pool_id: str) -> Iterator[NodeSummary]:
    """The nodes of a pool.

    Raises:
        NotFound: There is no such pool.
    """
    from azbatch_core.service.summaries import NodeSummary

    for node in requests.listing(connection, "pools", pool_id, "nodes", select=pool_health.NODE_SELECT):
        yield NodeSummary(
            id=str(node.get("id")),
            pool_id=pool_id,
            state=pool_health.state_of(node),
            running_tasks=int(node.get("runningTasksCount") or 0),
            is_dedicated=bool(node.get("isDedicated", True)),
            ip=node.get("ipAddress"),
            errors=tuple(_node_errors(node)),
        )


def running_jobs(connection: Connection, pool_id: str) -> frozenset[str]:
    """The ids of the jobs that have a task running on a node of the pool: one request a page of 1,000 nodes.

    Raises:
        NotFound: There is no such pool.
    """
    listed = requests.listing(connection, "pools", pool_id, "nodes", select=_RUNNING_SELECT)
    return frozenset(job_id for node in listed for job_id in jobs_on(node))


def jobs_on(node: Mapping[str, Any]) -> Iterator[str]:
    """The jobs of the tasks that run on a node, by its own latest word on them.

    A node that is not up cannot take its word back: what it said last is passed over.
    """
    if pool_health.state_of(node) in _NOT_UP:
        return
    for task in node.get("recentTasks") or ():
        # Preparation and release tasks are not among them.
        if str(task.get("taskState", "")).lower() == "running" and task.get("jobId"):
            yield str(task["jobId"])


def _node_errors(node: Mapping[str, Any]) -> Iterator[str]:
    if pool_health.state_of(node) == "starttaskfailed":
        yield pool_health.node_trouble(node)
    for error in node.get("errors") or ():
        yield task_failures.describe(error)
