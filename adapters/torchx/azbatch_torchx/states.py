"""How an app and its replicas stand, in TorchX's words, from azbatch's records. Pure and total.

States are given by name (``"RUNNING"``): both TorchX lines have the same names.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Final

from azbatch_core import JobState, TaskState

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from azbatch_core import JobStatus, MemberStatus, TaskStatus

APP_STATES: Final[Mapping[JobState, str]] = {
    JobState.PENDING: "PENDING",
    JobState.RUNNING: "RUNNING",
    JobState.SUCCEEDED: "SUCCEEDED",
    JobState.FAILED: "FAILED",
    JobState.CANCELLED: "CANCELLED",
    # Nothing of it can run any more; with a state that is not terminal, `torchx run --wait` would never end.
    JobState.STUCK: "FAILED",
    JobState.DELETING: "CANCELLED",
}
REPLICA_STATES: Final[Mapping[TaskState, str]] = {
    TaskState.WAITING: "PENDING",
    TaskState.QUEUED: "PENDING",
    TaskState.PREPARING: "PENDING",
    TaskState.RUNNING: "RUNNING",
    TaskState.SUCCEEDED: "SUCCEEDED",
    TaskState.FAILED: "FAILED",
    TaskState.CANCELLED: "CANCELLED",
    TaskState.BLOCKED: "CANCELLED",
}


def app_state(status: JobStatus, tasks: Iterable[TaskStatus]) -> str:
    """The app's state. An app none of whose tasks is on a node waits, whatever it did before.

    So an app that lost its nodes is pending again.
    """
    state = APP_STATES[status.state]
    if state != "RUNNING":
        return state
    alive = [task.state for task in tasks if not task.state.final]
    waits = alive and all(REPLICA_STATES[one] == "PENDING" for one in alive)
    return "PENDING" if waits else state


def replica_state(task: TaskStatus | MemberStatus | None) -> str:
    """A replica's state; None is a task that the service does not list yet."""
    return REPLICA_STATES[task.state] if task is not None else "PENDING"


def restarts(tasks: Iterable[TaskStatus]) -> int:
    """How often Batch counts that a task was started again: after a failure, or as somebody took its node.

    Not after a node was preempted, rebooted or lost: Batch counts none of these.
    """
    return sum(task.retries + task.requeues for task in tasks)


def message(status: JobStatus) -> str:
    """One line that says why it failed or was cancelled; empty while all is well."""
    first = status.failures[0] if status.failures else None
    if first is not None and first.category is not None and status.reason:
        return f"{first.category}: {status.reason}"
    return status.reason or ""


def error_file(task: TaskStatus | MemberStatus | None) -> str | None:
    """A failure as torchelastic's error file has it, the one form that both TorchX lines read; or None."""
    if task is None or task.state is not TaskState.FAILED:
        return None
    text = f"{task.category}: {task.message}" if task.category else task.message or "it failed"
    ended = int(task.ended.timestamp()) if task.ended else 0
    code = task.exit_code if task.exit_code is not None else task.code
    return json.dumps({"message": {"message": text, "errorCode": code, "extraInfo": {"timestamp": ended}}})


def first_error_file(status: JobStatus) -> str | None:
    """That of the failure that came first."""
    return error_file(status.failures[0]) if status.failures else None
