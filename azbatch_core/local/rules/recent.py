"""A node's `recentTasks`: kept small, since every task that begins or ends anywhere writes its node's."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

from azbatch_core.local.rules.times import moment

if TYPE_CHECKING:
    from collections.abc import Sequence

    from azbatch_core.local.store.records import Doc, TaskState

__all__ = ["RECENT_MOST", "Recent", "recent_document", "with_recent"]

RECENT_MOST = 10

Row: TypeAlias = "Sequence[Any]"
"""The fields of a `Recent` in a plain tuple, which the garbage collector passes over (a list, once read)."""


class Recent(NamedTuple):
    """A task that began, ended or went back to active on a node. Times in ticks.

    Attributes:
        subtask: its number in a multi-instance task, None in others.
        started: None if the task went back to active.
        ended: None unless it is completed.
        failed: `failureInfo` as on the wire.
    """

    job: str
    task: str
    state: TaskState
    subtask: int | None
    retries: int
    requeues: int
    started: int | None = None
    ended: int | None = None
    exit_code: int | None = None
    failed: Doc | None = None


def with_recent(recent: Sequence[Row], entry: Recent) -> list[Row]:
    """The rows of a node, oldest first, with a task that began or ended; each task is there once."""
    job, task = entry.job, entry.task
    kept = [row for row in recent if row[1] != task or row[0] != job]
    kept.append(tuple(entry))
    return kept[-RECENT_MOST:]


def recent_document(row: Row, base: str) -> Doc:
    """A member of `recentTasks` as GET shows it."""
    entry = Recent._make(row)
    info: Doc = {"retryCount": entry.retries, "requeueCount": entry.requeues}
    if entry.started is not None:
        info = {"startTime": moment(entry.started), **info}
    if entry.ended is not None:
        info["endTime"] = moment(entry.ended)
        info["result"] = "success" if entry.failed is None else "failure"
        if entry.exit_code is not None:
            info["exitCode"] = entry.exit_code
        if entry.failed is not None:
            info["failureInfo"] = entry.failed
    doc: Doc = {
        "taskUrl": f"{base}/jobs/{entry.job}/tasks/{entry.task}",
        "jobId": entry.job,
        "taskId": entry.task,
        "taskState": entry.state,
        "executionInfo": info,
    }
    if entry.subtask is not None:
        doc["subtaskId"] = entry.subtask
    return doc
