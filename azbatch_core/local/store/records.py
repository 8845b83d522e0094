"""The things that are few: pools, nodes, jobs, preparations.

They are kept in memory and written through, one JSON row each. Moments are ticks (see `rules.times`). What
can be counted from tasks is not kept here.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar, Literal

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = [
    "Allocation",
    "Deallocation",
    "DisableOption",
    "Doc",
    "Job",
    "JobState",
    "Node",
    "NodeState",
    "Pool",
    "PoolState",
    "Preparation",
    "PreparationState",
    "Record",
    "Schedule",
    "ScheduleState",
    "Scheduling",
    "TaskState",
]

Doc = dict[str, Any]

PoolState = Literal["active", "deleting"]
Allocation = Literal["resizing", "stopping", "steady"]
Deallocation = Literal["requeue", "terminate", "taskcompletion", "retaineddata"]
NodeState = Literal[
    "creating",
    "starting",
    "waitingforstarttask",
    "starttaskfailed",
    "idle",
    "running",
    "offline",
    "rebooting",
    "reimaging",
    "deallocating",
    "deallocated",
    "preempted",
    "leavingpool",
    "unusable",
]
JobState = Literal["active", "disabling", "disabled", "enabling", "terminating", "completed", "deleting"]
ScheduleState = Literal["active", "disabled", "terminating", "completed", "deleting"]
DisableOption = Literal["requeue", "terminate", "wait"]
PreparationState = Literal["running", "ready", "failed", "stale"]
Scheduling = Literal["enabled", "disabled"]
TaskState = Literal["active", "preparing", "running", "completed"]


@dataclass
class Pool:
    """A pool: what the user asked for (`spec`, defaults filled in) and how far it is.

    Attributes:
        dedicated: Target of dedicated nodes.
        spot: Target of spot ("low priority") nodes.
        resize_timeout: That of the resize under way; the document shows the pool's own when steady.
        deallocation: What happens to tasks of nodes that the resize under way takes away.
        resize_started: Whether the resize under way has chosen its nodes.
        auto_scale_run: The last run of the pool's formula as on the wire, None without automatic scaling.
        auto_scale_since: When the schedule of evaluations began.
        auto_scale_enabled: When a user last enabled automatic scaling.
    """

    TABLE: ClassVar[str] = "pools"

    key: int
    id: str
    spec: Doc = field(repr=False)
    created: int
    modified: int
    since: int
    allocation_since: int
    dedicated: int = 0
    spot: int = 0
    state: PoolState = "active"
    allocation: Allocation = "resizing"
    resize_timeout: str = "PT15M"
    deallocation: Deallocation = "requeue"
    resize_started: bool = False
    resize_errors: list[Doc] = field(default_factory=list)
    auto_scale_run: Doc | None = None
    auto_scale_since: int | None = None
    auto_scale_enabled: int | None = None


@dataclass
class Node:
    """A node of a pool.

    Attributes:
        pool: Key of its pool.
        start: `startTaskInfo` as on the wire; None until the start task has begun.
        leaving: How it leaves the pool, None while it stays.
        waits: What becomes of its tasks before it reboots, is reimaged or is deallocated; None while nothing
            waits for them.
        start_tries: Tries of the start task since the last boot.
        users: Users made by `create_node_user`, by name: `isAdmin` and `expiryTime`, never a password or key.
        recent: Its latest tasks (see `rules.recent`).
        packages: Folders below `applications` of the packages that it had at its last boot, by variable.
    """

    TABLE: ClassVar[str] = "nodes"

    key: int
    id: str
    pool: int
    pool_id: str
    dedicated: bool
    address: str
    allocated: int
    since: int
    state: NodeState = "creating"
    scheduling: Scheduling = "enabled"
    booted: int | None = None
    start: Doc | None = None
    start_tries: int = 0
    leaving: Deallocation | None = None
    waits: Deallocation | None = None
    tasks_run: int = 0
    tasks_succeeded: int = 0
    recent: list[Sequence[Any]] = field(default_factory=list)
    errors: list[Doc] = field(default_factory=list)
    users: dict[str, Doc] = field(default_factory=dict)
    packages: dict[str, str] = field(default_factory=dict)


@dataclass
class Job:
    """A job.

    Attributes:
        pool_id: The pool it runs on (`executionInfo.poolId`).
        disable: What becomes of running tasks while the job is disabling.
        auto_pool: Whether `pool_id` was made for this job.
        released: Whether release tasks have been started, so that a deletion does not start them again.
        schedule: Key of the schedule that made it, None for a user's job.
        manager: Number of its manager task, None if it has none.
    """

    TABLE: ClassVar[str] = "jobs"

    key: int
    id: str
    spec: Doc = field(repr=False)
    created: int
    modified: int
    since: int
    started: int
    pool_id: str
    state: JobState = "active"
    previous: JobState | None = None
    previous_since: int | None = None
    ended: int | None = None
    reason: str | None = None
    scheduling_error: Doc | None = None
    disable: DisableOption | None = None
    auto_pool: bool = False
    released: bool = False
    schedule: int | None = None
    manager: int | None = None


@dataclass
class Preparation:
    """What a job's preparation and release tasks did on one node; outlives the node.

    Attributes:
        job: Key of the job.
        node: Key of the node.
        state: When `ready`, tasks may run; when `failed`, the node is barred for the job; when `stale`, it is
            to run again before the next task.
        ran: Whether a task of the job was started there: only then does the release task run.
        info: `jobPreparationTaskExecutionInfo` as on the wire.
        release: `jobReleaseTaskExecutionInfo` as on the wire.
    """

    TABLE: ClassVar[str] = "preparations"

    key: int
    job: int
    node: int
    pool_id: str
    node_id: str
    info: Doc
    state: PreparationState = "running"
    ran: bool = False
    tries: int = 0
    release: Doc | None = None


@dataclass
class Schedule:
    """A job schedule.

    Attributes:
        anchor: The first moment of its plan, from which recurrences are counted.
        last: The moment of the plan for which the latest job was made.
        next_run: The moment of the plan for which a job is to be made next; it has passed while a job that
            is still there is waited for. None if there will be none.
        runs: Jobs made so far; the next is `job-<runs+1>`.
        recent: Key of the latest job.
        pool_id: The auto pool that its jobs share; empty until there is one.
    """

    TABLE: ClassVar[str] = "schedules"

    key: int
    id: str
    spec: Doc = field(repr=False)
    created: int
    modified: int
    since: int
    anchor: int
    state: ScheduleState = "active"
    previous: ScheduleState | None = None
    previous_since: int | None = None
    last: int | None = None
    next_run: int | None = None
    runs: int = 0
    recent: int | None = None
    pool_id: str = ""
    ended: int | None = None


Record = Pool | Node | Job | Preparation | Schedule
