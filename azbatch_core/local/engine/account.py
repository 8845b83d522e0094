"""What the engine holds in memory: records, live executions, counts and what is due.

SQLite is the truth. What lies here is either a record that is written through (`touch`) or can be counted
again from the tables (see `recovery`). Tasks are not here, only those that occupy a node at this moment.
"""

from __future__ import annotations

import logging
import sqlite3
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

from azbatch_core.local.engine.execution import Execution, StopReason
from azbatch_core.local.engine.history import History
from azbatch_core.local.engine.queue import ReadyQueue
from azbatch_core.local.rules.placement import FreeSlots
from azbatch_core.local.rules.times import ticks_of
from azbatch_core.local.runtime.base import NodePlace

if TYPE_CHECKING:
    import asyncio
    from collections.abc import Callable, Iterator
    from datetime import datetime

    from azbatch_core.local.clock import Cancellable, Clock
    from azbatch_core.local.engine.gangs import Hold
    from azbatch_core.local.engine.scaling import Samples
    from azbatch_core.local.faults import Faults
    from azbatch_core.local.runtime.base import Outcome, Running, Runtime
    from azbatch_core.local.settings import Settings
    from azbatch_core.local.store.database import Database
    from azbatch_core.local.store.records import (
        Job,
        JobState,
        Node,
        NodeState,
        Pool,
        Preparation,
        Record,
        Schedule,
    )

__all__ = ["Account", "Counts", "Execution", "StopReason", "TimerName"]

_LOG = logging.getLogger(__name__)

TimerName = Literal[
    "boot",
    "resize",
    "wall clock",
    "wipe",
    "retention",
    "sample",
    "evaluation",
    "schedule",
    "hold",
    "fault",
    "lifetime",
    "notice",
]


@dataclass
class Counts:
    """A job's tasks, and the slots they need, by what the service counts them as.

    Attributes:
        ready: Active tasks that wait for nothing.
    """

    tasks: dict[str, int] = field(
        default_factory=lambda: {"active": 0, "running": 0, "succeeded": 0, "failed": 0}
    )
    slots: dict[str, int] = field(
        default_factory=lambda: {"active": 0, "running": 0, "succeeded": 0, "failed": 0}
    )
    ready: int = 0

    def add(self, kind: str, tasks: int, slots: int) -> None:
        """Count some tasks in (or out, with negative numbers)."""
        self.tasks[kind] += tasks
        self.slots[kind] += slots

    def move(self, old: str, new: str, slots: int) -> None:
        """Count one task as something else."""
        self.add(old, -1, -slots)
        self.add(new, 1, slots)

    @property
    def unfinished(self) -> int:
        """Tasks that are not completed."""
        return self.tasks["active"] + self.tasks["running"]


class Account:
    """The engine's state, and the few moves that every part of the engine makes."""

    def __init__(
        self, settings: Settings, clock: Clock, runtime: Runtime, store: Database, faults: Faults
    ) -> None:
        self.settings = settings
        self.clock = clock
        self.runtime = runtime
        self.store = store
        self.faults = faults
        self.base = settings.endpoint
        self.tick: Callable[[], None] = lambda: None
        self.gave_up: Callable[[], object] = lambda: None
        self.befall: Callable[[Node], None] = lambda _: None
        self.no_capacity: dict[int, int] = {}
        self.pools: dict[int, Pool] = {}
        self.pool_ids: dict[str, Pool] = {}
        self.nodes: dict[int, Node] = {}
        self.pool_nodes: dict[int, dict[int, Node]] = {}
        self.addresses: set[str] = set()
        self.free: dict[int, FreeSlots] = {}
        self.jobs: dict[int, Job] = {}
        self.job_ids: dict[str, Job] = {}
        self.pool_jobs: dict[str, dict[int, Job]] = {}
        self._scheduled_on: dict[int, str] = {}
        self.counts: dict[int, Counts] = {}
        self.queues: dict[int, ReadyQueue] = {}
        self.preparations: dict[int, dict[int, Preparation]] = {}
        self.barred: dict[int, set[int]] = {}
        self.live: dict[int, Execution] = {}
        self.on_node: dict[int, dict[Execution, None]] = {}
        self.of_job: dict[int, dict[Execution, None]] = {}
        self.holds: dict[int, Hold] = {}
        self.dying: dict[tuple[int, str], int] = {}
        self.finished: list[tuple[Execution, Outcome | None]] = []
        self.due_pools: dict[int, None] = {}
        self.due_nodes: dict[int, None] = {}
        self.due_jobs: dict[int, None] = {}
        self.schedules: dict[int, Schedule] = {}
        self.schedule_ids: dict[str, Schedule] = {}
        self.due_schedules: dict[int, None] = {}
        self.timers: dict[tuple[TimerName, int], Cancellable] = {}
        self.histories: dict[int, Samples] = {}
        self.turns = 0
        self.history = History()
        self.expiry: int | None = None
        self.stopping = False
        self._places: dict[int, NodePlace] = {}
        self._stamp = 0
        self._when: datetime | None = None
        self._ticks = 0
        self._awake: Cancellable | None = None

    # Time

    def now(self) -> int:
        """The present in ticks."""
        when = self.clock.now()
        if when is not self._when:  # a virtual clock stands still for many calls
            self._when, self._ticks = when, ticks_of(when)
        return self._ticks

    def stamp(self) -> int:
        """The moment of a user's write: never the same twice, since the ETag is made of it."""
        self._stamp = max(self.now(), self._stamp + 1)
        return self._stamp

    def stamped_until(self, ticks: int) -> None:
        """Stamps up to `ticks` have been given by an earlier run."""
        self._stamp = max(self._stamp, ticks)

    def after(self, name: TimerName, key: int, seconds: float, action: Callable[[], object]) -> None:
        """Call `action` and then tick, `seconds` from now; replaces the timer of the same name and key."""

        def fire() -> None:
            with self.whole():
                action()
            self.wake()

        self.quietly_after(name, key, seconds, fire)

    def quietly_after(self, name: TimerName, key: int, seconds: float, action: Callable[[], object]) -> None:
        """Call `action`, which changes nothing, `seconds` from now; otherwise as `after`."""
        self.forget_timer(name, key)

        def fire() -> None:
            self.timers.pop((name, key), None)
            action()

        self.timers[name, key] = self.clock.call_later(seconds, fire)

    def forget_timer(self, name: TimerName, key: int) -> None:
        """Call a timer off; fine if there is none."""
        timer = self.timers.pop((name, key), None)
        if timer is not None:
            timer.cancel()

    def wake(self) -> None:
        """Let the engine tick in the loop's next turn, once however often this is called."""
        if self._awake is None and not self.stopping:
            self._awake = self.clock.call_later(0.0, self._wake_up)

    def _wake_up(self) -> None:
        self._awake = None
        with self.whole():
            self.tick()

    @contextmanager
    def whole(self) -> Iterator[None]:
        """What goes on inside happens wholly, or the engine stops: everything from outside enters here.

        When the database refuses, because the disk is full above all, the changes in hand are undone in the
        tables, but memory has moved on. To go on from the tables is what a start is for, so the service is
        told to stop (`gave_up`); nothing that was acknowledged is lost.
        """
        try:
            yield
        except sqlite3.Error as error:
            _LOG.critical(
                "the database cannot be written (%s); stopping, jobs go on at the next start", error
            )
            self.halt()
            with suppress(sqlite3.Error):
                self.store.rollback()
            self.gave_up()

    def halt(self) -> None:
        """No tick and no timer from now on."""
        self.stopping = True
        for timer in self.timers.values():
            timer.cancel()
        self.timers.clear()
        if self._awake is not None:
            self._awake.cancel()
            self._awake = None

    # Records

    def touch(self, record: Record) -> None:
        """Write `record` at the next commit."""
        self.store.touch(record)

    def add_pool(self, pool: Pool) -> None:
        """Take a pool into the maps."""
        self.pools[pool.key] = pool
        self.pool_ids[pool.id.lower()] = pool
        self.pool_nodes.setdefault(pool.key, {})
        self.free.setdefault(pool.key, FreeSlots())

    def drop_pool(self, pool: Pool) -> None:
        """Forget a pool that has no nodes."""
        del self.pools[pool.key], self.pool_nodes[pool.key], self.free[pool.key]
        del self.pool_ids[pool.id.lower()]
        self.due_pools.pop(pool.key, None)
        self.history.forget_pool(pool.key)
        self.store.delete(pool)

    def stop_scaling(self, pool: Pool) -> None:
        """Take no samples of a pool and evaluate its formula no more; fine if it has none."""
        self.forget_timer("sample", pool.key)
        self.forget_timer("evaluation", pool.key)
        self.histories.pop(pool.key, None)

    def add_node(self, node: Node) -> None:
        """Take a node into the maps."""
        self.nodes[node.key] = node
        self.pool_nodes[node.pool][node.key] = node
        self.on_node.setdefault(node.key, {})
        self.addresses.add(node.address)
        self.history.node_moved(node.pool, None, node.state)

    def drop_node(self, node: Node) -> None:
        """Forget a node on which nothing runs."""
        self.free[node.pool].drop(node.key)
        del self.nodes[node.key], self.pool_nodes[node.pool][node.key], self.on_node[node.key]
        self._places.pop(node.key, None)
        self.no_capacity.pop(node.key, None)
        self.addresses.discard(node.address)
        self.due_nodes.pop(node.key, None)
        self.due_pools[node.pool] = None
        self.history.node_moved(node.pool, node.state, None)
        self.store.delete(node)

    def add_job(self, job: Job) -> None:
        """Take a job into the maps."""
        self.jobs[job.key] = job
        self.job_ids[job.id.lower()] = job
        self.counts.setdefault(job.key, Counts())
        self.preparations.setdefault(job.key, {})
        self.of_job.setdefault(job.key, {})
        self.queues[job.key] = ReadyQueue(job.key)
        self.schedule_job(job)

    def schedule_job(self, job: Job) -> None:
        """Let the scheduler see a job exactly if it is active."""
        self._unschedule_job(job)
        if job.state == "active":
            name = job.pool_id.lower()
            self._scheduled_on[job.key] = name
            self.pool_jobs.setdefault(name, {})[job.key] = job
            pool = self.pool_ids.get(name)
            if pool is not None:
                self.due_pools[pool.key] = None

    def _unschedule_job(self, job: Job) -> None:
        name = self._scheduled_on.pop(job.key, None)
        if name is None:
            return
        jobs = self.pool_jobs[name]
        del jobs[job.key]
        if not jobs:
            del self.pool_jobs[name]

    def drop_job(self, job: Job) -> None:
        """Forget a job that has no tasks."""
        self._unschedule_job(job)
        del self.jobs[job.key], self.job_ids[job.id.lower()], self.counts[job.key]
        del self.of_job[job.key], self.queues[job.key]
        for preparation in self.preparations.pop(job.key).values():
            self.store.delete(preparation)
        self.barred.pop(job.key, None)
        self.due_jobs.pop(job.key, None)
        self.store.delete(job)

    def set_job_state(self, job: Job, state: JobState, now: int) -> None:
        """Move a job on."""
        job.previous, job.previous_since = job.state, job.since
        job.state, job.since = state, now
        self.touch(job)
        self.schedule_job(job)
        self.due_jobs[job.key] = None

    def set_node_state(self, node: Node, state: NodeState) -> None:
        """Move a node on."""
        if node.state != state:
            self.history.node_moved(node.pool, node.state, state)
            node.state, node.since = state, self.now()
            self.touch(node)

    def place(self, node: Node) -> NodePlace:
        """A node as the runtime knows it."""
        place = self._places.get(node.key)
        if place is None:
            root = self.settings.state_dir / "nodes" / node.pool_id / f"n{node.key}"
            place = NodePlace(node.pool_id, node.id, root, node.address, node.dedicated)
            self._places[node.key] = place
        return place

    # Executions

    def enter(self, execution: Execution) -> None:
        """An execution occupies its node from now on."""
        self.on_node[execution.node.key][execution] = None
        if execution.job is not None:
            self.of_job[execution.job.key][execution] = None
        if execution.kind == "task":
            if not execution.subtask:
                self.live[execution.seq] = execution
                self.history.task_placed(execution.node.pool, 1)
            self.free[execution.node.pool].take(execution.node.key, execution.taken)

    def leave(self, execution: Execution) -> None:
        """An execution has ended; its slots are free."""
        node = execution.node
        self.on_node[node.key].pop(execution, None)
        if execution.job is not None and execution.job.key in self.of_job:
            self.of_job[execution.job.key].pop(execution, None)
        if execution.kind == "task":
            if not execution.subtask:
                self.live.pop(execution.seq, None)
                self.history.task_placed(node.pool, -1)
            self.free[node.pool].take(node.key, -execution.taken)
        self.due_pools[node.pool] = None
        if node.leaving is not None or node.waits is not None:
            self.due_nodes[node.key] = None

    def watch(self, execution: Execution, running: Running) -> None:
        """Have the end of a try looked at in a tick."""
        execution.running = running

        def ended(future: asyncio.Future[Any]) -> None:
            if not future.cancelled():
                self.finished.append((execution, future.result()))
                self.wake()

        running.done.add_done_callback(ended)

    def stop(self, execution: Execution, reason: StopReason) -> None:
        """Have an execution end, for that reason; what has not begun ends in the next tick.

        A member of a multi-instance task takes all others with it.
        """
        for member in (execution,) if execution.gang is None else execution.gang.members:
            self._stop_one(member, reason)

    def _stop_one(self, execution: Execution, reason: StopReason) -> None:
        execution.give_reason(reason)
        told = execution.stop_reason
        if execution.kind == "task" and not execution.subtask and told in {"requeue", "terminate"}:
            self.store.tasks.doom(execution.seq, told)
        if execution.running is not None:
            execution.running.stop("user" if reason in {"terminate", "delete"} else "node")
        elif not any(waiting is execution for waiting, _ in self.finished):
            self.finished.append((execution, None))
            self.wake()
