"""The engine: what the service does between requests, and the calls that requests make.

`Engine` is all that the routes see. Its calls come from `pool_commands`, `job_commands` and
`task_commands`; what goes on by itself is in `tick` and the modules that it calls, over the state in
`world`.
"""

from __future__ import annotations

import sqlite3
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING

from azbatch_core.local.engine.pool_commands import PoolCommands
from azbatch_core.local.engine.recovery import recover
from azbatch_core.local.engine.task_commands import TaskCommands
from azbatch_core.local.engine.tick import tick
from azbatch_core.local.engine.world import World
from azbatch_core.local.errors import BatchError
from azbatch_core.local.rules.nodes import COMING, USABLE
from azbatch_core.local.store.database import Database

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from azbatch_core.local.clock import Clock
    from azbatch_core.local.runtime.base import Runtime
    from azbatch_core.local.settings import Settings

__all__ = ["Engine"]


class Engine(PoolCommands, TaskCommands):
    """One Batch account on this machine.

    Made, started and used in one event loop's thread. The database is `state_dir/batch.sqlite3`. `gave_up` is
    called when it cannot be written: this engine answers nothing any more and is to be stopped.
    """

    def __init__(
        self,
        settings: Settings,
        clock: Clock,
        runtime: Runtime,
        gave_up: Callable[[], object] = lambda: None,
    ) -> None:
        settings.state_dir.mkdir(parents=True, exist_ok=True)
        store = Database(settings.state_dir / "batch.sqlite3")
        self.world = World(settings, clock, runtime, store)
        self.world.tick = lambda: tick(self.world)
        self.world.gave_up = gave_up

    async def start(self) -> None:
        """Take up what an earlier process left; on return nothing that it started is alive."""
        self.world.runtime.kill_orphans()
        recover(self.world)
        self.done()

    async def stop(self) -> None:
        """Stop at once. What runs is killed and goes back to active at the next start."""
        self.world.halt()
        await self.world.runtime.close()
        with suppress(sqlite3.Error):
            self.world.store.close()

    @contextmanager
    def guard(self) -> Iterator[None]:
        """A request's calls: they do all that they were to do, or raise and have changed nothing.

        Raises:
            BatchError: ServerBusy: the database cannot be written.
        """
        if not self.world.stopping:
            with self.world.whole():
                yield
        if self.world.stopping:
            raise BatchError("ServerBusy")

    def busy(self) -> bool:
        """Whether anything runs, or a ready task has a node to hope for."""
        world = self.world
        if any(world.on_node.values()) or world.due_jobs:
            return True
        for name, jobs in world.pool_jobs.items():
            pool = world.pool_ids.get(name)
            if pool is None or not any(world.counts[key].ready for key in jobs):
                continue
            hopeful = any(node.state in USABLE | COMING for node in world.pool_nodes[pool.key].values())
            if hopeful or pool.allocation == "resizing":
                return True
        return False
