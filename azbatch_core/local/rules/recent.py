"""A node's `recentTasks`: kept small, since every task that begins or ends anywhere writes its node's."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

from azbatch_core.local.rules.times import moment

if TYPE_CHECKING:
    from collections.abc import Sequence

    from azbatch_core.local.store.records import Doc, TaskState

__all__ = ["RECENT_MOST", "Recent", "put_recent", "recent_document"]

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


def put_recent(recent: list[Row], row: Row) -> None:
    """Put a task that began or ended into the rows of a node, oldest first; each task is there once."""
    job, task = row[:2]
    for place in range(len(recent) - 1, -1, -1):  # what ends has mostly begun last
        earlier = recent[place]
        if earlier[1] == task and earlier[0] == job:
            del recent[place]
            break
    recent.append(row)
    if len(recent) > RECENT_MOST:
        del recent[0]


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
