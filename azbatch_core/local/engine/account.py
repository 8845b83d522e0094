"""What the engine holds in memory: records, live executions, counts and what is due.

SQLite is the truth. What lies here is either a record that is written through (`touch`) or can be counted
again from the tables (see `recovery`). Tasks are not here, only those that occupy a node at this moment.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from azbatch_core.local.engine.counts import Counts
from azbatch_core.local.engine.history import History
from azbatch_core.local.engine.queue import ReadyQueue
from azbatch_core.local.engine.timing import Timing
from azbatch_core.local.rules.placement import FreeSlots
from azbatch_core.local.runtime.base import NodePlace

if TYPE_CHECKING:
    from collections.abc import Callable

    from azbatch_core.local.clock import Clock
    from azbatch_core.local.engine.execution import Execution, StopReason
    from azbatch_core.local.engine.holds import Hold
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

__all__ = ["Account"]


class Account(Timing):
    """The engine's state, and the few moves that every part of the engine makes.

    Keys are those of the tables, ids are in lower case. Sets that are gone through are dicts of
    None: these keep their order, so that two runs of one story are the same.

    Attributes:
        base: The service's URL, no slash at the end.
        befall: Lets faults strike a node; put in by the engine.
        node_ids: All nodes by id, which no two pools share.
        addresses: Loopback addresses that nodes have.
        free: Slots of the nodes of a pool that take tasks.
        capacity_back: When (in ticks) there is room again for a preempted node.
        holds: The multi-instance task that a pool keeps free nodes for.
        samples: What the formula of a pool that scales by itself is told.
        pool_jobs: Active jobs by the id of their pool, which need not exist.
        counts: Tasks of a job by state.
        queues: Ready tasks of a job.
        preparations: Of a job, by node.
        barred: Nodes where a job's preparation failed, so that its tasks may not run there.
        live: Tasks on nodes by their number: for a multi-instance task, its primary.
        on_node: Whatever occupies a node.
        of_job: The same by job.
        dying: Deleted tasks whose processes are not gone, by job and id, with their number; the id is taken.
        finished: Ended executions for the next turn to settle; without an outcome, they had not begun.
        due_pools: Records that the next turn is to look at; so for the other `due_`.
        turns: How many there were: what was computed in a turn holds until the next.
        history: What the page shows of the past.
        expiry: When (in ticks) the next task directory is to go.
    """

    def __init__(
        self, settings: Settings, clock: Clock, runtime: Runtime, store: Database, faults: Faults
    ) -> None:
        super().__init__(clock, store)
        self.settings = settings
        self.runtime = runtime
        self.faults = faults
        self.base = settings.endpoint
        self.befall: Callable[[Node], None] = lambda _: None

        self.pools: dict[int, Pool] = {}
        self.pool_ids: dict[str, Pool] = {}
        self.pool_nodes: dict[int, dict[int, Node]] = {}
        self.free: dict[int, FreeSlots] = {}
        self.holds: dict[int, Hold] = {}
        self.samples: dict[int, Samples] = {}

        self.nodes: dict[int, Node] = {}
        self.node_ids: dict[str, Node] = {}
        self.addresses: set[str] = set()
        self.capacity_back: dict[int, int] = {}
        self._places: dict[int, NodePlace] = {}

        self.jobs: dict[int, Job] = {}
        self.job_ids: dict[str, Job] = {}
        self.pool_jobs: dict[str, dict[int, Job]] = {}
        self._scheduled_on: dict[int, str] = {}
        self.counts: dict[int, Counts] = {}
        self.queues: dict[int, ReadyQueue] = {}
        self.preparations: dict[int, dict[int, Preparation]] = {}
        self.barred: dict[int, set[int]] = {}

        self.schedules: dict[int, Schedule] = {}
        self.schedule_ids: dict[str, Schedule] = {}

        self.live: dict[int, Execution] = {}
        self.on_node: dict[int, dict[Execution, None]] = {}
        self.of_job: dict[int, dict[Execution, None]] = {}
        self.dying: dict[tuple[int, str], int] = {}

        self.finished: list[tuple[Execution, Outcome | None]] = []
        self.due_pools: dict[int, None] = {}
        self.due_nodes: dict[int, None] = {}
        self.due_jobs: dict[int, None] = {}
        self.due_schedules: dict[int, None] = {}
        self.turns = 0
        self.history = History()
        self.expiry: int | None = None

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
        self.samples.pop(pool.key, None)

    def add_node(self, node: Node) -> None:
        """Take a node into the maps."""
        self.nodes[node.key] = node
        self.node_ids[node.id] = node
        self.pool_nodes[node.pool][node.key] = node
        self.on_node.setdefault(node.key, {})
        self.addresses.add(node.address)
        self.history.node_moved(node.pool, None, node.state)

    def drop_node(self, node: Node) -> None:
        """Forget a node on which nothing runs."""
        self.free[node.pool].drop(node.key)
        del self.nodes[node.key], self.node_ids[node.id]
        del self.pool_nodes[node.pool][node.key], self.on_node[node.key]
        self._places.pop(node.key, None)
        self.capacity_back.pop(node.key, None)
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

    def find_node(self, pool: Pool, node_id: str) -> Node | None:
        """A pool's node by id, in any case."""
        node = self.node_ids.get(node_id.lower())
        return node if node is not None and node.pool == pool.key else None

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

    def has_tasks(self, node: Node) -> bool:
        """Whether tasks occupy a node."""
        others = self.on_node[node.key]
        return bool(others) and any(other.kind == "task" for other in others)

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
        running.when_over(partial(self._ended, execution))

    def _ended(self, execution: Execution, outcome: Outcome) -> None:
        self.finished.append((execution, outcome))
        self.wake()

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
