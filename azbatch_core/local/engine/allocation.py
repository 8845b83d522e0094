"""Pools grow, shrink and go."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING

from azbatch_core.local.engine.nodes import begin_leaving, boot, stay
from azbatch_core.local.engine.trouble import goes_slowly, grant, linger
from azbatch_core.local.rules.nodes import address_of, node_id
from azbatch_core.local.rules.pools import fill, resize_error
from azbatch_core.local.rules.times import seconds_of
from azbatch_core.local.store.records import Node, Pool

if TYPE_CHECKING:
    from azbatch_core.local.engine.account import Account
    from azbatch_core.local.store.records import Allocation, Doc

__all__ = [
    "advance",
    "begin_delete",
    "begin_removal",
    "begin_resize",
    "current",
    "is_short",
    "new_pool",
    "stop_resize",
]


def current(account: Account, pool: Pool) -> tuple[int, int]:
    """How many dedicated and spot nodes a pool has, leaving ones included."""
    nodes = account.pool_nodes[pool.key].values()
    dedicated = sum(node.dedicated for node in nodes)
    return dedicated, len(nodes) - dedicated


def new_pool(account: Account, pool_id: str, body: Doc) -> Pool:
    """Make a pool and begin its first resize; what may be refused has been checked."""
    now = account.stamp()
    spec = fill(body)
    spec["id"] = pool_id
    pool = Pool(
        key=account.store.next_key("pools"),
        id=pool_id,
        spec=spec,
        created=now,
        modified=now,
        since=now,
        allocation_since=now,
    )
    account.add_pool(pool)
    begin_resize(account, pool, body, now)
    return pool


def begin_resize(account: Account, pool: Pool, body: Doc, now: int) -> None:
    """Go for new targets; one that is not given is 0 (recorded)."""
    pool.dedicated = body.get("targetDedicatedNodes") or 0
    pool.spot = body.get("targetLowPriorityNodes") or 0
    pool.resize_timeout = body.get("resizeTimeout") or "PT15M"
    pool.deallocation = body.get("nodeDeallocationOption") or "requeue"
    pool.resize_errors = []
    pool.resize_started = False
    _set_allocation(account, pool, "resizing", now)
    account.after("resize", pool.key, account.settings.resize_time, lambda: start_resize(account, pool))


def _set_allocation(account: Account, pool: Pool, state: Allocation, now: int) -> None:
    pool.allocation, pool.allocation_since = state, now
    account.touch(pool)
    account.due_pools[pool.key] = None


def start_resize(account: Account, pool: Pool) -> None:
    """Add or take away the nodes that the targets ask for."""
    pool.resize_started = True
    account.touch(pool)
    late: list[Doc] = []
    for dedicated, target in ((True, pool.dedicated), (False, pool.spot)):
        nodes = [
            node
            for node in account.pool_nodes[pool.key].values()
            if node.dedicated == dedicated and node.leaving is None
        ]
        got = grant(account, pool, target - len(nodes), dedicated=dedicated)
        pool.resize_errors += got.errors
        late += got.late
        for _ in range(got.nodes):
            _add_node(account, pool, dedicated=dedicated)
        surplus = len(nodes) - target
        if surplus > 0:
            for node in sorted(nodes, key=lambda node: _worth(account, node))[:surplus]:
                begin_leaving(account, node, pool.deallocation)
    account.due_pools[pool.key] = None
    if late:
        seconds = seconds_of(pool.resize_timeout)
        account.after("resize", pool.key, seconds, lambda: _time_out(account, pool, late))


def _time_out(account: Account, pool: Pool, errors: list[Doc]) -> None:
    pool.resize_errors += errors
    account.touch(pool)
    account.due_pools[pool.key] = None


def is_short(account: Account, pool: Pool) -> bool:
    """Whether a resize that has begun waits for nodes that it has not got: then it is to begin again."""
    staying = [node for node in account.pool_nodes[pool.key].values() if node.leaving is None]
    return pool.state == "active" and not pool.resize_errors and len(staying) < pool.dedicated + pool.spot


def _worth(account: Account, node: Node) -> tuple[bool, bool, int, int]:
    # The real choice is not documented but for managers (SDK BatchJobManagerTask: their nodes are preserved
    # longest): nodes that are of no use first, then those with the least to lose.
    tasks = [execution for execution in account.on_node[node.key] if execution.kind == "task"]
    managers = any(task.job is not None and task.seq == task.job.manager for task in tasks)
    return node.state in {"idle", "running"}, managers, len(tasks), -node.key


def _add_node(account: Account, pool: Pool, *, dedicated: bool) -> None:
    key = account.store.next_key("nodes")
    number = key - 1
    while address_of(number) in account.addresses:
        number += 1
    now = account.now()
    digest = hashlib.sha256(f"{account.settings.account_name}/{pool.id}/{key}/{now}".encode()).hexdigest()
    node = Node(
        key=key,
        id=node_id(digest, dedicated=dedicated),
        pool=pool.key,
        pool_id=pool.id,
        dedicated=dedicated,
        address=address_of(number),
        allocated=now,
        since=now,
    )
    account.add_node(node)
    account.touch(node)
    boot(account, node)


def begin_removal(account: Account, pool: Pool, nodes: list[Node], body: Doc, now: int) -> None:
    """Take these nodes away; the pool's targets become what is left."""
    pool.resize_timeout = body.get("resizeTimeout") or "PT15M"
    pool.deallocation = body.get("nodeDeallocationOption") or "requeue"
    pool.resize_errors = []
    pool.resize_started = True
    dedicated, spot = current(account, pool)
    going = sum(node.dedicated for node in nodes)
    pool.dedicated, pool.spot = dedicated - going, spot - (len(nodes) - going)
    _set_allocation(account, pool, "resizing", now)
    for node in nodes:
        begin_leaving(account, node, pool.deallocation)


def stop_resize(account: Account, pool: Pool) -> None:
    """Keep the nodes that are there; what is short of the targets becomes a resize error."""
    account.forget_timer("resize", pool.key)
    for node in tuple(account.pool_nodes[pool.key].values()):
        if node.leaving in {"taskcompletion", "retaineddata"}:
            stay(account, node)
    _set_allocation(account, pool, "stopping", account.now())


def begin_delete(account: Account, pool: Pool) -> None:
    """Requeue what runs, remove all nodes, then forget the pool."""
    now = account.stamp()
    account.forget_timer("resize", pool.key)
    account.stop_scaling(pool)
    pool.modified = now
    pool.state, pool.since = "deleting", now
    pool.dedicated = pool.spot = 0
    pool.resize_started = True
    _set_allocation(account, pool, "resizing", now)
    for node in tuple(account.pool_nodes[pool.key].values()):
        begin_leaving(account, node, "requeue")
    linger(account, pool)
    account.wake()


def advance(account: Account, pool: Pool) -> None:
    """Take the next step of a pool if what it waited for has come."""
    if pool.state == "deleting":
        if not account.pool_nodes[pool.key] and not goes_slowly(account, pool):
            account.drop_pool(pool)
        return
    if pool.allocation == "stopping":
        dedicated, spot = current(account, pool)
        if dedicated != pool.dedicated:
            pool.resize_errors.append(resize_error("dedicated"))
        if spot != pool.spot:
            pool.resize_errors.append(resize_error("low priority"))
        _set_allocation(account, pool, "steady", account.now())
    elif pool.allocation == "resizing" and pool.resize_started and _settled(account, pool):
        _set_allocation(account, pool, "steady", account.now())


def _settled(account: Account, pool: Pool) -> bool:
    """Whether the pool has what it can get: its targets, or what a quota left of them."""
    if pool.resize_errors:
        return all(node.leaving is None for node in account.pool_nodes[pool.key].values())
    return current(account, pool) == (pool.dedicated, pool.spot)
