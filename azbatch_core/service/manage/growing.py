"""Managed pools that grow and shrink: the formula of one that is there, written anew where a job needs it.

Batch takes a formula only while the pool's size is not changing, and not twice within 30 seconds
(BatchClient.enable_pool_auto_scale).
"""

from __future__ import annotations

import logging
from datetime import datetime, timezone
from typing import TYPE_CHECKING, Any

from azbatch_core.errors import Conflict, NotFound
from azbatch_core.plan.scaling import EVALUATION, PoolNow, change, formula, read_formula
from azbatch_core.service.documents import requests
from azbatch_core.service.documents.wire import moment
from azbatch_core.service.watch import pool_health
from azbatch_core.service.watch.watcher import Intervals
from azbatch_core.specs import iso_duration

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from azbatch_core.plan.scaling import Change, Scaling
    from azbatch_core.service.connect.connection import Connection

LOG = logging.getLogger("azbatch")

_WITHIN = 120.0
_BUSY = frozenset({"PoolBeingResized", "TooManyEnableAutoScaleRequests", "PoolBeingCreated"})
_USEFUL = frozenset(
    {"idle", "running", "creating", "starting", "waitingforstarttask", "rebooting", "reimaging"}
)


def adjust(connection: Connection, pool_id: str, wanted: Scaling, pool: Mapping[str, Any]) -> None:
    """Have a pool grow as a submission wants it, and at once if it has no room for the submission's tasks.

    Where the service does not take a formula now, this waits up to two minutes if the job's first node or a
    changed setting hangs on it; else the present formula sees the tasks within five minutes.
    """
    clock = connection.clock
    deadline = clock.monotonic() + _WITHIN
    pace = Intervals.of(connection)
    interval = pace.first
    while True:
        wish = change(wanted, _now(connection, pool_id, wanted, pool))
        if wish is None:
            return
        try:
            _enable(connection, pool_id, wish, pool)
        except Conflict as error:
            if error.code not in _BUSY or not wish.must:
                LOG.debug("the formula of pool %s stays as it is: %s", pool_id, error.message)
                return
            left = deadline - clock.monotonic()
            if left <= 0:
                LOG.warning("the formula of pool %s was not changed: %s", pool_id, error.message)
                return
        else:
            return
        clock.sleep(min(interval, left))
        interval = min(pace.longest, interval * pace.factor)
        try:
            pool = requests.send(connection, "GET", "pools", pool_id)
        except NotFound:
            return


def _enable(connection: Connection, pool_id: str, wish: Change, pool: Mapping[str, Any]) -> None:
    body = {"autoScaleFormula": formula(wish.scaling)}
    usual = iso_duration(EVALUATION)
    if wish.at_once:
        # A new interval starts a new schedule at the time of the request (documented); the old one would not.
        same = pool.get("autoScaleEvaluationInterval") == usual
        body["autoScaleEvaluationInterval"] = iso_duration(EVALUATION * 1.2) if same else usual
    elif not pool.get("enableAutoScale"):
        body["autoScaleEvaluationInterval"] = usual
    requests.send(connection, "POST", "pools", pool_id, "enableautoscale", body=body)


def _now(connection: Connection, pool_id: str, wanted: Scaling, pool: Mapping[str, Any]) -> PoolNow:
    targets = int(pool.get("targetDedicatedNodes") or 0) + int(pool.get("targetLowPriorityNodes") or 0)
    slots = int(pool.get("taskSlotsPerNode") or 1)
    path = ("pools", pool_id, "nodes")
    nodes = list(requests.listing(connection, *path, select=pool_health.NODE_SELECT)) if targets else []
    # Those that are asked for and not there yet are as good as free.
    to_come = max(0, targets - len(nodes)) * wanted.tasks_per_node
    created = moment(pool.get("creationTime"))
    return PoolNow(
        scaling=read_formula(pool.get("autoScaleFormula")) if pool.get("enableAutoScale") else None,
        as_of=_as_of(pool) or connection.clock.now(),
        created=created or datetime(1970, 1, 1, tzinfo=timezone.utc),
        target_nodes=targets,
        free_tasks=sum(_free(nodes, slots, slots // wanted.tasks_per_node)) + to_come,
    )


def _as_of(pool: Mapping[str, Any]) -> datetime | None:
    """The newest time in the document: the service's own clock, while the one here may be wrong."""
    run = pool.get("autoScaleRun") or {}
    stated = (run.get("timestamp"), pool.get("lastModified"), pool.get("allocationStateTransitionTime"))
    return max((found for text in stated if (found := moment(text)) is not None), default=None)


def _free(nodes: Iterable[Mapping[str, Any]], slots: int, each: int) -> Iterator[int]:
    """How many tasks of so many slots could start on each node."""
    for node in nodes:
        enabled = str(node.get("schedulingState", "enabled")).lower() == "enabled"
        if enabled and pool_health.state_of(node) in _USEFUL:
            yield (slots - int(node.get("runningTaskSlotsCount") or 0)) // each
