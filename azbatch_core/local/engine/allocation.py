"""Pools grow, shrink and go."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING

from azbatch_core.local.engine.nodes import begin_leaving, boot, stay
from azbatch_core.local.rules.nodes import address_of, node_id
from azbatch_core.local.rules.pools import fill, resize_error
from azbatch_core.local.store.records import Node, Pool

if TYPE_CHECKING:
    from azbatch_core.local.engine.world import World
    from azbatch_core.local.store.records import Doc

__all__ = ["advance", "begin_delete", "begin_resize", "current", "new_pool", "stop_resize"]


def current(world: World, pool: Pool) -> tuple[int, int]:
    """How many dedicated and spot nodes a pool has, leaving ones included."""
    nodes = world.pool_nodes[pool.key].values()
    dedicated = sum(node.dedicated for node in nodes)
    return dedicated, len(nodes) - dedicated


def new_pool(world: World, pool_id: str, body: Doc) -> Pool:
    """Make a pool and begin its first resize; what may be refused has been checked."""
    now = world.stamp()
    spec = fill(body)
    spec["id"] = pool_id
    pool = Pool(
        key=world.store.next_key("pools"),
        id=pool_id,
        spec=spec,
        created=now,
        modified=now,
        since=now,
        allocation_since=now,
    )
    world.add_pool(pool)
    begin_resize(world, pool, body, now)
    return pool


def begin_resize(world: World, pool: Pool, body: Doc, now: int) -> None:
    """Go for new targets; one that is not given is 0 (recorded)."""
    pool.dedicated = body.get("targetDedicatedNodes") or 0
    pool.spot = body.get("targetLowPriorityNodes") or 0
    pool.resize_timeout = body.get("resizeTimeout") or "PT15M"
    pool.deallocation = body.get("nodeDeallocationOption") or "requeue"
    pool.resize_errors = []
    pool.resize_started = False
    _set_allocation(world, pool, "resizing", now)
    world.after("resize", pool.key, world.settings.resize_time, lambda: start_resize(world, pool))


def _set_allocation(world: World, pool: Pool, state: str, now: int) -> None:
    pool.allocation, pool.allocation_since = state, now
    world.touch(pool)
    world.due_pools[pool.key] = None


def start_resize(world: World, pool: Pool) -> None:
    """Add or take away the nodes that the targets ask for."""
    pool.resize_started = True
    world.touch(pool)
    for dedicated, target in ((True, pool.dedicated), (False, pool.spot)):
        nodes = [
            node
            for node in world.pool_nodes[pool.key].values()
            if node.dedicated == dedicated and node.leaving is None
        ]
        for _ in range(target - len(nodes)):
            _add_node(world, pool, dedicated=dedicated)
        surplus = len(nodes) - target
        if surplus > 0:
            for node in sorted(nodes, key=lambda node: _worth(world, node))[:surplus]:
                begin_leaving(world, node, pool.deallocation)
    world.due_pools[pool.key] = None


def _worth(world: World, node: Node) -> tuple[bool, int, int]:
    # The real choice is not documented: nodes that are of no use first, then those with the least to lose.
    busy = sum(execution.kind == "task" for execution in world.on_node[node.key])
    return node.state in {"idle", "running"}, busy, -node.key


def _add_node(world: World, pool: Pool, *, dedicated: bool) -> None:
    key = world.store.next_key("nodes")
    number = key - 1
    while address_of(number) in world.addresses:
        number += 1
    now = world.now()
    digest = hashlib.sha256(f"{world.settings.account_name}/{pool.id}/{key}/{now}".encode()).hexdigest()
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
    world.add_node(node)
    world.touch(node)
    boot(world, node)


def stop_resize(world: World, pool: Pool) -> None:
    """Keep the nodes that are there; what is short of the targets becomes a resize error."""
    world.forget_timer("resize", pool.key)
    for node in tuple(world.pool_nodes[pool.key].values()):
        if node.leaving in {"taskcompletion", "retaineddata"}:
            stay(world, node)
    _set_allocation(world, pool, "stopping", world.now())


def begin_delete(world: World, pool: Pool) -> None:
    """Requeue what runs, remove all nodes, then forget the pool."""
    now = world.stamp()
    world.forget_timer("resize", pool.key)
    pool.modified = now
    pool.state, pool.since = "deleting", now
    pool.dedicated = pool.spot = 0
    pool.resize_started = True
    _set_allocation(world, pool, "resizing", now)
    for node in tuple(world.pool_nodes[pool.key].values()):
        begin_leaving(world, node, "requeue")
    world.wake()


def advance(world: World, pool: Pool) -> None:
    """Take the next step of a pool if what it waited for has come."""
    if pool.state == "deleting":
        if not world.pool_nodes[pool.key]:
            world.drop_pool(pool)
        return
    if pool.allocation == "stopping":
        dedicated, spot = current(world, pool)
        if dedicated != pool.dedicated:
            pool.resize_errors.append(resize_error("dedicated"))
        if spot != pool.spot:
            pool.resize_errors.append(resize_error("low priority"))
        _set_allocation(world, pool, "steady", world.now())
    elif (
        pool.allocation == "resizing"
        and pool.resize_started
        and current(world, pool) == (pool.dedicated, pool.spot)
    ):
        _set_allocation(world, pool, "steady", world.now())
