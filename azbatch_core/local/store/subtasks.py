"""The subtasks table: members of multi-instance tasks but for the primaries, which are the tasks themselves.

Rows belong to the latest try of their task: they come when it is placed and go when it is queued again.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import orjson

if TYPE_CHECKING:
    from collections.abc import Iterable

    from azbatch_core.local.store.tasks import Home

__all__ = ["Subtask", "SubtaskState", "SubtaskTable"]

SubtaskState = Literal["preparing", "running", "completed"]


@dataclass
class Subtask:
    """A subtask. Moments are ticks.

    Attributes:
        task: Number of its task.
        id: 1 to n-1.
        node: Key of its node.
        exit_code: That of its coordination command; means something once it is completed.
        failure: `failureInfo` as on the wire.
        container: `containerInfo` as on the wire.
    """

    task: int
    id: int
    node: int
    pool_id: str
    node_id: str
    state: SubtaskState
    since: int
    previous: SubtaskState | None = None
    previous_since: int | None = None
    started: int | None = None
    ended: int | None = None
    exit_code: int | None = None
    failure: dict[str, Any] | None = None
    container: dict[str, Any] | None = None


class SubtaskTable:
    """All subtasks of all tasks."""

    SCHEMA = """
ALTER TABLE tasks ADD COLUMN instances INTEGER NOT NULL DEFAULT 0;
CREATE INDEX tasks_ready_gangs ON tasks (job) WHERE state='active' AND waiting=0 AND instances>0;
CREATE TABLE subtasks (
  task INTEGER NOT NULL, id INTEGER NOT NULL, node INTEGER NOT NULL, over INTEGER NOT NULL,
  body BLOB NOT NULL,
  PRIMARY KEY (task, id)
) WITHOUT ROWID;
CREATE INDEX subtasks_by_node ON subtasks (node);
"""
    """With the column of tasks that is 0 for plain ones."""

    def __init__(self, home: Home) -> None:
        self._home = home

    def of_task(self, task: int) -> list[Subtask]:
        """A task's subtasks, by id."""
        rows = self._home.connection.execute("SELECT body FROM subtasks WHERE task=? ORDER BY id", (task,))
        return [Subtask(**orjson.loads(body)) for (body,) in rows]

    def unfinished(self) -> list[Subtask]:
        """Subtasks that are not completed."""
        rows = self._home.connection.execute("SELECT body FROM subtasks WHERE over=0")
        return [Subtask(**orjson.loads(body)) for (body,) in rows]

    def expected(self, job: int) -> int:
        """How many subtasks the ready multi-instance tasks of a job will have."""
        row = self._home.connection.execute(
            "SELECT SUM(instances-1) FROM tasks WHERE job=? AND state='active' AND waiting=0 AND instances>0",
            (job,),
        ).fetchone()
        return int(row[0] or 0)

    def nodes_of(self, job: int) -> set[int]:
        """Keys of the nodes that hold or held files of subtasks of a job."""
        rows = self._home.connection.execute(
            "SELECT DISTINCT subtasks.node FROM subtasks JOIN tasks ON tasks.seq=subtasks.task WHERE job=?",
            (job,),
        )
        return {row[0] for row in rows}

    def retained_on(self, node: int) -> bool:
        """Whether a node still holds a subtask's directory of a completed task."""
        row = self._home.connection.execute(
            "SELECT 1 FROM subtasks JOIN tasks ON tasks.seq=subtasks.task"
            " WHERE subtasks.node=? AND expires IS NOT NULL LIMIT 1",
            (node,),
        ).fetchone()
        return row is not None

    def add(self, subtasks: Iterable[Subtask]) -> None:
        """Add the subtasks of a task that is being placed; it has none."""
        self._home.begin().executemany(
            "INSERT INTO subtasks VALUES (?,?,?,?,?)",
            [
                (item.task, item.id, item.node, item.state == "completed", orjson.dumps(item))
                for item in subtasks
            ],
        )

    def write(self, subtask: Subtask) -> None:
        """Write a subtask that has changed; one that was forgotten stays so."""
        self._home.begin().execute(
            "UPDATE subtasks SET over=?, body=? WHERE task=? AND id=?",
            (subtask.state == "completed", orjson.dumps(subtask), subtask.task, subtask.id),
        )

    def forget(self, tasks: Iterable[int]) -> None:
        """Forget the subtasks of tasks."""
        self._home.begin().executemany("DELETE FROM subtasks WHERE task=?", [(seq,) for seq in tasks])
