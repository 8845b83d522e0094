"""The things that are few: pools, nodes, jobs, preparations.

They are kept in memory and written through, one JSON row each. Moments are ticks (see `rules.times`). What
can be counted from tasks is not kept here.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, ClassVar

__all__ = ["Doc", "Job", "Node", "Pool", "Preparation", "Record"]

Doc = dict[str, Any]


@dataclass
class Pool:
    """A pool: what the user asked for (`spec`, defaults filled in) and how far it is.

    Attributes:
        dedicated: Target of dedicated nodes.
        spot: Target of spot ("low priority") nodes.
        resize_timeout: That of the resize under way; the document shows the pool's own when steady.
        deallocation: What happens to tasks of nodes that the resize under way takes away.
        resize_started: Whether the resize under way has chosen its nodes.
    """

    TABLE: ClassVar[str] = "pools"

    key: int
    id: str
    spec: Doc
    created: int
    modified: int
    since: int
    allocation_since: int
    dedicated: int = 0
    spot: int = 0
    state: str = "active"
    allocation: str = "resizing"
    resize_timeout: str = "PT15M"
    deallocation: str = "requeue"
    resize_started: bool = False
    resize_errors: list[Doc] = field(default_factory=list)


@dataclass
class Node:
    """A node of a pool.

    Attributes:
        pool: Key of its pool.
        start: `startTaskInfo` as on the wire; None until the start task has begun.
        leaving: How it leaves the pool (a deallocation option), None while it stays.
        start_tries: Tries of the start task since the last boot.
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
    state: str = "creating"
    scheduling: str = "enabled"
    booted: int | None = None
    start: Doc | None = None
    start_tries: int = 0
    leaving: str | None = None
    tasks_run: int = 0
    tasks_succeeded: int = 0
    recent: list[Doc] = field(default_factory=list)
    errors: list[Doc] = field(default_factory=list)


@dataclass
class Job:
    """A job.

    Attributes:
        pool_id: The pool it runs on (`executionInfo.poolId`).
        disable: What becomes of running tasks while the job is disabling.
        auto_pool: Whether `pool_id` was made for this job.
        released: Whether release tasks have been started, so that a deletion does not start them again.
        managed: Whether a job manager task was added.
    """

    TABLE: ClassVar[str] = "jobs"

    key: int
    id: str
    spec: Doc
    created: int
    modified: int
    since: int
    started: int
    pool_id: str
    state: str = "active"
    previous: str | None = None
    previous_since: int | None = None
    ended: int | None = None
    reason: str | None = None
    scheduling_error: Doc | None = None
    disable: str | None = None
    auto_pool: bool = False
    released: bool = False


@dataclass
class Preparation:
    """What a job's preparation and release tasks did on one node; outlives the node.

    Attributes:
        job: Key of the job.
        node: Key of the node.
        state: `running`, `ready` (tasks may run) or `failed` (the node is barred for the job).
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
    state: str = "running"
    ran: bool = False
    tries: int = 0
    release: Doc | None = None


Record = Pool | Node | Job | Preparation
