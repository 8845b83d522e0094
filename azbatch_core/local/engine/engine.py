"""One Batch account as the routes see it: started, stopped, and asked by resource."""

from __future__ import annotations

import sqlite3
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING

from azbatch_core.local.clock import VirtualClock
from azbatch_core.local.engine import striking
from azbatch_core.local.engine.account import Account
from azbatch_core.local.engine.commands.faults import FaultCommands
from azbatch_core.local.engine.commands.jobs import JobCommands
from azbatch_core.local.engine.commands.node_access import NodeAccessCommands
from azbatch_core.local.engine.commands.nodes import NodeCommands
from azbatch_core.local.engine.commands.packages import PackageCommands
from azbatch_core.local.engine.commands.pools import PoolCommands
from azbatch_core.local.engine.commands.schedules import ScheduleCommands
from azbatch_core.local.engine.commands.tasks import TaskCommands
from azbatch_core.local.engine.recovery import recover
from azbatch_core.local.engine.tick import tick
from azbatch_core.local.errors import BatchError
from azbatch_core.local.faults import Faults
from azbatch_core.local.rules.jobs import PASSING
from azbatch_core.local.rules.nodes import COMING, USABLE
from azbatch_core.local.rules.times import time_of
from azbatch_core.local.store.database import Database

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from azbatch_core.local.clock import Clock
    from azbatch_core.local.runtime.base import Runtime
    from azbatch_core.local.settings import Settings

__all__ = ["Engine"]


class Engine:
    """One Batch account on this machine; requests call `pools`, `nodes`, `jobs`, `tasks` and `schedules`.

    Made, started and used in one event loop's thread. The database is `state_dir/batch.sqlite3`; a virtual
    clock goes on from the time of what was written there last, be it by a real one. `gave_up` is
    called when it cannot be written: this engine answers nothing any more and is to be stopped.
    """

    def __init__(
        self,
        settings: Settings,
        clock: Clock,
        runtime: Runtime,
        gave_up: Callable[[], object] = lambda: None,
        faults: Faults | None = None,
    ) -> None:
        settings.state_dir.mkdir(parents=True, exist_ok=True)
        store = Database(settings.state_dir / "batch.sqlite3")
        self.account = Account(settings, clock, runtime, store, faults or Faults())
        store.now = self.account.now
        if isinstance(clock, VirtualClock):
            noted = store.noted_time()
            if noted is not None:
                clock.go_on_from(time_of(noted))
            clock.arrived = self._arrived
        self.account.tick = lambda: tick(self.account)
        self.account.gave_up = gave_up
        self.account.befall = lambda node: striking.befall(self.account, node)
        self.faults = FaultCommands(self.account)
        self.pools = PoolCommands(self.account)
        self.nodes = NodeCommands(self.account)
        self.packages = PackageCommands(self.account)
        self.node_access = NodeAccessCommands(self.account)
        self.jobs = JobCommands(self.account)
        self.tasks = TaskCommands(self.account)
        self.schedules = ScheduleCommands(self.account)

    @property
    def trash(self) -> Path:
        """Where folders wait to be deleted: a start deletes what is left in it."""
        return self.account.settings.state_dir / "trash"

    def _arrived(self) -> None:
        if not self.account.stopping:
            with self.account.whole():
                self.account.store.note_time()
                self.account.store.commit()

    async def start(self) -> None:
        """Take up what an earlier process left; on return nothing that it started is alive."""
        self.account.runtime.kill_orphans()
        recover(self.account)
        for fault in self.account.faults:
            striking.arm(self.account, fault)
        self.account.store.commit()
        self.account.wake()

    async def stop(self) -> None:
        """Stop at once. What runs is killed and goes back to active at the next start."""
        self.account.halt()
        await self.account.runtime.close()
        with suppress(sqlite3.Error):
            self.account.store.close()

    @contextmanager
    def guard(self) -> Iterator[None]:
        """A request's calls: they do all that they were to do, or raise and have changed nothing.

        Raises:
            BatchError: ServerBusy: the database cannot be written.
        """
        if not self.account.stopping:
            with self.account.whole():
                yield
        if self.account.stopping:
            raise BatchError("ServerBusy")

    def under_way(self) -> bool:
        """Whether anything is on its way that ends by itself: tasks, pools and nodes, jobs that end.

        The next turn of a schedule is not: until it comes nothing happens, and after it there is another.
        """
        account = self.account
        return (
            self._works()
            or any(pool.allocation != "steady" for pool in account.pools.values())
            or any(job.state in PASSING for job in account.jobs.values())
            or any(node.state in COMING for node in account.nodes.values())
        )

    def busy(self) -> bool:
        """Whether anything runs, a schedule is to make a job, or a ready task has a node to hope for."""
        schedules = self.account.schedules.values()
        waits = any(schedule.state == "active" and schedule.next_run is not None for schedule in schedules)
        return waits or self._works()

    def _works(self) -> bool:
        account = self.account
        if any(account.on_node.values()) or account.due_jobs:
            return True
        for name, jobs in account.pool_jobs.items():
            pool = account.pool_ids.get(name)
            if pool is None or not any(account.counts[key].ready for key in jobs):
                continue
            hopeful = any(node.state in USABLE | COMING for node in account.pool_nodes[pool.key].values())
            if hopeful or pool.allocation == "resizing" or pool.spec["enableAutoScale"]:
                return True
        return False
