"""What the service half hands out besides how jobs and tasks stand: plain, frozen records.

No azure import here and no I/O. They are not among `states` because submitting and waiting do without them,
and making a class takes longer than sending a task.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from collections.abc import Mapping
    from datetime import datetime

    from azbatch_core.service.states import JobState

LogStream = Literal["stdout", "stderr", "both"]


@dataclass(frozen=True)
class JobSummary:
    """One line of a list of jobs.

    `state` looks at task counts; where they say that a job of up to 1,000 tasks may be stuck on a failed
    dependency, at its tasks as well. What only time tells, that its pool gets no node, only `wait` finds out.
    """

    handle: str
    id: str
    state: JobState
    display_name: str | None = None
    user: str | None = None
    pool_id: str | None = None
    created: datetime | None = None
    ended: datetime | None = None
    active: int = 0
    running: int = 0
    succeeded: int = 0
    failed: int = 0
    reason: str | None = None
    metadata: Mapping[str, str] = field(default_factory=dict, repr=False)

    @property
    def total(self) -> int:
        """All tasks of the job."""
        return self.active + self.running + self.succeeded + self.failed


@dataclass(frozen=True)
class JobPhase:
    """A job as the service itself calls it, whatever its tasks did.

    Attributes:
        id: The job's id, in the case it was created with.
        state: The service's word: ``active``, ``disabling``, ``disabled``, ``enabling``, ``terminating``,
            ``completed`` or ``deleting``.
        terminate_reason: Why it ended, such as ``AllTasksComplete``, or a user's own text; None before.
        pool_id: The pool that it runs on; None while the service has not made its auto pool.
        metadata: What the job carries, azbatch's own names among it.
    """

    id: str
    state: str
    terminate_reason: str | None = None
    pool_id: str | None = None
    created: datetime | None = None
    metadata: Mapping[str, str] = field(default_factory=dict, repr=False)

    @property
    def open(self) -> bool:
        """Whether tasks of it may still run, now or once somebody enables it."""
        return self.state in {"active", "enabling", "disabled", "disabling"}


@dataclass(frozen=True)
class PoolSummary:
    """One pool. `errors` are the service's current resize errors and scaling errors, one line each."""

    id: str
    state: str
    allocation_state: str
    vm_size: str
    dedicated_nodes: int = 0
    target_dedicated_nodes: int = 0
    spot_nodes: int = 0
    target_spot_nodes: int = 0
    task_slots_per_node: int = 1
    autoscale: bool = False
    errors: tuple[str, ...] = ()
    managed: bool = False
    created: datetime | None = None


@dataclass(frozen=True)
class NodeSummary:
    """One node of a pool. `errors` say what is wrong with it, one line each."""

    id: str
    pool_id: str
    state: str
    running_tasks: int = 0
    is_dedicated: bool = True
    ip: str | None = None
    errors: tuple[str, ...] = ()


@dataclass(frozen=True)
class Explanation:
    """One reason why something waits or failed. `subject` names a task, a node, a pool or the job."""

    subject: str
    text: str
    hint: str | None = None


@dataclass(frozen=True)
class LogChunk:
    """A piece of a task's output, line ends kept, never split inside a character.

    `stream` is ``notice`` for azbatch's own remarks (the task was requeued, the node is gone), one line each.
    In `text`, bytes that are no UTF-8 are U+FFFD; `data` has them as the task wrote them (none for a notice).
    `member` is the rank of the node that wrote it; None for a task that is no gang.
    """

    task_id: str
    stream: Literal["stdout", "stderr", "notice"]
    text: str
    data: bytes = field(default=b"", repr=False)
    member: int | None = None


@dataclass(frozen=True)
class FileInfo:
    """A file of a task, named relative to the task's folder (`stdout.txt`, `wd/out.csv`); size in bytes."""

    name: str
    size: int
    is_directory: bool
    last_modified: datetime | None


@dataclass(frozen=True)
class CheckItem:
    """One thing that an account check looked at."""

    name: str
    ok: bool
    text: str
    hint: str | None = None


@dataclass(frozen=True)
class AccountCheck:
    """The result of an account check: every item, good and bad."""

    account: str
    endpoint: str
    is_local: bool
    items: tuple[CheckItem, ...]

    @property
    def ok(self) -> bool:
        """Whether the account can be worked with."""
        return all(item.ok for item in self.items)
