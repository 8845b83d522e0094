"""Rows of the tasks table: as they are read, as scheduling reads them, as they are added."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, NamedTuple

if TYPE_CHECKING:
    from azbatch_core.local.store.records import TaskState

__all__ = ["NewTask", "ReadyTask", "Task"]


class Task(NamedTuple):
    """A row, by the names of its columns."""

    seq: int
    job: int
    id: str
    state: TaskState
    waiting: int
    slots: int
    satisfied: int
    created: int
    modified: int
    since: int
    previous: TaskState | None
    previous_since: int | None
    retries: int
    requeues: int
    retried: int | None
    requeued: int | None
    started: int | None
    ended: int | None
    exit_code: int | None
    failure: bytes | None
    container: bytes | None
    pool_id: str | None
    node_id: str | None
    node: int | None
    placed: int
    launches: int
    expires: int | None
    cleaned: int
    stopping: Literal["requeue", "terminate"] | None
    spec: bytes

    @property
    def result(self) -> str | None:
        """`success` or `failure` once completed."""
        if self.state != "completed":
            return None
        return "success" if self.failure is None else "failure"


class ReadyTask(NamedTuple):
    """What scheduling needs of a ready task.

    `instances` is 0 but for multi-instance tasks, whose `slots` are those of all members.
    """

    seq: int
    id: str
    slots: int
    instances: int
    retries: int
    requeues: int
    launches: int
    spec: bytes


class NewTask(NamedTuple):
    """What an insertion needs."""

    job: int
    id: str
    number: int | None
    waiting: int
    slots: int
    modified: int
    spec: bytes
    instances: int = 0
