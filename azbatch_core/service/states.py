"""How jobs and tasks stand: plain, frozen records and the words for states; `summaries` has the others.

No azure import here and no I/O: the command line, the adapters and the pure modules all build on these.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from datetime import datetime, timedelta

    from azbatch_core.service.handle import JobHandle

AddStatus = Literal["added", "exists", "failed"]


class _Word(str, Enum):
    """An enum whose members print as their value."""

    def __str__(self) -> str:
        return str(self.value)


class JobState(_Word):
    """How a job stands, derived from the job and its tasks."""

    PENDING = "pending"
    """No task has started yet."""
    RUNNING = "running"
    SUCCEEDED = "succeeded"
    """Every task ended with success."""
    FAILED = "failed"
    """It is over and at least one task failed or never ran."""
    CANCELLED = "cancelled"
    """A person terminated it."""
    STUCK = "stuck"
    """The service still calls it active, but no task of it can run any more."""
    DELETING = "deleting"

    @property
    def final(self) -> bool:
        """Whether waiting longer changes nothing."""
        return self not in {JobState.PENDING, JobState.RUNNING}


class TaskState(_Word):
    """How a task stands."""

    WAITING = "waiting"
    """Tasks that it depends on have not ended yet."""
    BLOCKED = "blocked"
    """A task that it depends on failed: it will never run."""
    QUEUED = "queued"
    PREPARING = "preparing"
    """On a node, waiting for the job's preparation task."""
    RUNNING = "running"
    SUCCEEDED = "succeeded"
    FAILED = "failed"
    CANCELLED = "cancelled"

    @property
    def final(self) -> bool:
        """Whether the task will not change any more."""
        return self in {TaskState.BLOCKED, TaskState.SUCCEEDED, TaskState.FAILED, TaskState.CANCELLED}


class FailureCategory(_Word):
    """Whose fault a failure is."""

    USER = "user"
    """The command itself: its exit code, or a program that is not there."""
    IMAGE = "image"
    """A container image, its registry or its settings."""
    STAGING = "staging"
    """Files that could not be brought in or out."""
    NODE = "node"
    """The machine: disk full, start task failed, unusable."""
    PREEMPTED = "preempted"
    WALLTIME = "walltime"
    OUT_OF_MEMORY = "out_of_memory"
    QUOTA = "quota"
    SERVICE = "service"
    CANCELLED = "cancelled"
    DEPENDENCY = "dependency"
    """A task that it depends on failed."""

    @property
    def words(self) -> str:
        """What happened, in plain words, for a line that goes on with the details."""
        return _FAILURE_WORDS[self]


_FAILURE_WORDS = {
    FailureCategory.USER: "the command failed",
    FailureCategory.IMAGE: "the container could not be had or started",
    FailureCategory.STAGING: "files could not be brought in or out",
    FailureCategory.NODE: "the machine failed",
    FailureCategory.PREEMPTED: "its spot node was taken away",
    FailureCategory.WALLTIME: "its time was up",
    FailureCategory.OUT_OF_MEMORY: "it took more memory than there was",
    FailureCategory.QUOTA: "a quota of the account is used up",
    FailureCategory.SERVICE: "the service failed",
    FailureCategory.CANCELLED: "it was ended",
    FailureCategory.DEPENDENCY: "a task that it depends on failed",
}


@dataclass(frozen=True)
class TaskStatus:
    """One task as it stands.

    Attributes:
        id: The task's id, in the case it was created with.
        state: How it stands.
        exit_code: The last try's exit code; negative is a signal's number; None when the command never ran.
        category: Whose fault the failure is; None unless it failed, was cancelled or is blocked.
        message: One line that says what went wrong; None when nothing did.
        code: The service's failure code, such as ``FailureExitCode``.
        retries: Tries after the first one.
        requeues: Times a user's action (a shrink, a disable) put it back into the queue.
        depends_on: The ids of tasks that it waits for, id ranges spelled out.
        required_slots: Task slots that it needs on a node.
        nodes: Nodes that it runs on at the same time; None unless it is a gang.
        member: Of a gang that failed: the rank of the member that failed first, where that is known. Exit
            code, category and message are then this member's.
        again: It was on a node, and waits to start anew. Once it has, the service no longer tells of a node
            that was preempted, rebooted or lost.
    """

    id: str
    state: TaskState
    exit_code: int | None = None
    node_id: str | None = None
    pool_id: str | None = None
    started: datetime | None = None
    ended: datetime | None = None
    category: FailureCategory | None = None
    message: str | None = None
    code: str | None = None
    retries: int = 0
    requeues: int = 0
    depends_on: tuple[str, ...] = ()
    required_slots: int = 1
    display_name: str | None = None
    nodes: int | None = None
    member: int | None = None
    again: bool = False

    @property
    def duration(self) -> timedelta | None:
        """From the start of the last try to its end; None before the end."""
        return self.ended - self.started if self.started and self.ended else None


@dataclass(frozen=True)
class MemberStatus:
    """One node's part in a gang, as it stands.

    Attributes:
        rank: What the node has as ``AZBATCH_NODE_RANK``; 0 is the main node.
        subtask: Batch's own number; 0 is the primary, which is the main node.
        state: How it stands; ``cancelled`` also for one that was ended because another failed.
        exit_code: Its own; None while it has none, and for the primary when another member ended it.
        address: The node's address, where it was needed to tell the rank.
        category: Whose fault the failure is.
        message: One line that says what went wrong.
        code: The service's failure code.
        folder: The task's folder on the node, for node-file calls; None for the primary.
    """

    rank: int
    subtask: int
    state: TaskState
    exit_code: int | None = None
    node_id: str | None = None
    pool_id: str | None = None
    address: str | None = None
    started: datetime | None = None
    ended: datetime | None = None
    category: FailureCategory | None = None
    message: str | None = None
    code: str | None = None
    folder: str | None = None

    @property
    def duration(self) -> timedelta | None:
        """From its start to its end; None before the end."""
        return self.ended - self.started if self.started and self.ended else None


@dataclass(frozen=True)
class JobStatus:
    """A job as it stands.

    Attributes:
        handle: ``<account>:<job id>``: finds the job from anywhere.
        counts: Tasks in each state; states with no task are left out.
        total: All tasks of the job.
        started: When its first task started, as far as seen.
        reason: Why it ended or cannot go on, in one line; None while all is well.
        failures: The first failed tasks, at most `MAX_FAILURES`, in the order in which they ended.
        metadata: What the job carries, azbatch's own names among it.
        gangs: The first tasks that run on several nodes, at most `MAX_GANGS`, in the service's order.
    """

    handle: str
    id: str
    state: JobState
    counts: Mapping[TaskState, int] = field(default_factory=dict)
    total: int = 0
    pool_id: str | None = None
    created: datetime | None = None
    started: datetime | None = None
    ended: datetime | None = None
    reason: str | None = None
    failures: tuple[TaskStatus, ...] = ()
    display_name: str | None = None
    metadata: Mapping[str, str] = field(default_factory=dict, repr=False)
    gangs: tuple[TaskStatus, ...] = ()

    @property
    def exit_code(self) -> int:
        """What a command that waited for the job exits with: 0 after success, otherwise 1."""
        return 0 if self.state is JobState.SUCCEEDED else 1


MAX_FAILURES = 10
MAX_GANGS = 10


@dataclass(frozen=True)
class TaskAddResult:
    """What became of one task of a submission.

    ``added`` also covers a task that a first request added although its reply was lost; ``exists`` is a task
    of the same id and the same content that was there before; ``failed`` is not in the job, and `error` says
    why.
    """

    id: str
    status: AddStatus
    error: str | None = None
    code: str | None = None


@dataclass(frozen=True)
class Submission:
    """A submitted job and the result of each task, in the order of submission."""

    job: JobHandle
    results: Sequence[TaskAddResult]

    @property
    def failed(self) -> tuple[TaskAddResult, ...]:
        """The tasks that are not in the job."""
        return tuple(result for result in self.results if result.status == "failed")

    @property
    def added(self) -> int:
        """How many tasks are in the job because of this submission."""
        return sum(result.status != "failed" for result in self.results)
