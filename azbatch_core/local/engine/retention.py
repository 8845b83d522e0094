"""Task directories are kept for their retention time, then removed."""

from __future__ import annotations

from typing import TYPE_CHECKING

from azbatch_core.local.rules.times import TICKS_PER_SECOND, limit_seconds

if TYPE_CHECKING:
    from azbatch_core.local.engine.world import World

__all__ = ["arm", "expect", "expiry"]

_BATCH = 500
_FOREVER = 100 * 365 * 86400.0


def expiry(ended: int, retention: str) -> int | None:
    """When a directory goes, in ticks; None for never."""
    seconds = limit_seconds(retention)
    if seconds is None or seconds > _FOREVER:
        return None
    return ended + int(seconds * TICKS_PER_SECOND)


def expect(world: World, expires: int | None) -> None:
    """A directory is to go at `expires`: make sure that it is looked at then."""
    if expires is not None and (world.expiry is None or expires < world.expiry):
        world.expiry = expires
        seconds = (expires - world.now()) / TICKS_PER_SECOND
        world.after("retention", 0, max(0.0, seconds), lambda: _sweep(world))


def arm(world: World) -> None:
    """Look at the table for the next directory to go."""
    world.expiry = None
    expect(world, world.store.tasks.next_expiry())


def _sweep(world: World) -> None:
    rows = world.store.tasks.expired(world.now(), _BATCH)
    for row in rows:
        node = world.nodes.get(row.node) if row.node is not None else None
        job = world.jobs.get(row.job)
        if node is not None and job is not None:
            world.runtime.clear_task(world.place(node), job.id, row.id)
            if node.leaving is not None:
                world.due_nodes[node.key] = None
    world.store.tasks.clean(row.seq for row in rows)
    arm(world)
