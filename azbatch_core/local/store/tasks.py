"""The tasks table: a task's spec as compact JSON, its state in columns beside it.

States are the wire's. `waiting` counts dependencies that are not met yet; a task is ready when it is
`active` and waits for nothing. `satisfied` is set when tasks that depend on this one may go on, and stays.
`stopping` is what a request will make of a task on a node when its processes are gone; else it means nothing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, Protocol

from azbatch_core.local.store.narrowing import narrowed
from azbatch_core.local.store.task_rows import ReadyTask, Task

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Iterable, Iterator, Sequence

    from azbatch_core.local.odata.parser import Condition
    from azbatch_core.local.store.moves import Moves
    from azbatch_core.local.store.records import Node
    from azbatch_core.local.store.task_rows import NewTask

__all__ = ["TaskTable"]

_CHUNK = 500


class Home(Protocol):
    """The database, as its tables see it."""

    moves: Moves
    tables: sqlite3.Connection
    """The connection while `moves` are not written: for reading what they do not change."""

    @property
    def connection(self) -> sqlite3.Connection:
        """The connection."""

    def begin(self) -> sqlite3.Connection:
        """The connection, inside a transaction."""


_COLUMNS = ",".join(Task._fields)
_READY = ",".join(ReadyTask._fields)


class TaskTable:
    """All tasks of all jobs."""

    SCHEMA = """
CREATE TABLE tasks (
  seq INTEGER PRIMARY KEY AUTOINCREMENT,
  job INTEGER NOT NULL,
  id TEXT NOT NULL COLLATE NOCASE,
  number INTEGER,
  state TEXT NOT NULL DEFAULT 'active',
  waiting INTEGER NOT NULL DEFAULT 0,
  slots INTEGER NOT NULL DEFAULT 1,
  satisfied INTEGER NOT NULL DEFAULT 0,
  created INTEGER NOT NULL,
  modified INTEGER NOT NULL,
  since INTEGER NOT NULL,
  previous TEXT,
  previous_since INTEGER,
  retries INTEGER NOT NULL DEFAULT 0,
  requeues INTEGER NOT NULL DEFAULT 0,
  retried INTEGER,
  requeued INTEGER,
  started INTEGER,
  ended INTEGER,
  exit_code INTEGER,
  failure BLOB,
  container BLOB,
  pool_id TEXT,
  node_id TEXT,
  node INTEGER,
  placed INTEGER NOT NULL DEFAULT 0,
  launches INTEGER NOT NULL DEFAULT 0,
  expires INTEGER,
  cleaned INTEGER NOT NULL DEFAULT 0,
  stopping TEXT,
  spec BLOB NOT NULL
);
CREATE UNIQUE INDEX tasks_by_id ON tasks (job, id);
CREATE INDEX tasks_ready ON tasks (job, seq) WHERE state='active' AND waiting=0;
CREATE INDEX tasks_by_number ON tasks (job, number) WHERE number IS NOT NULL;
CREATE INDEX tasks_live ON tasks (state) WHERE state IN ('preparing','running');
CREATE INDEX tasks_expiring ON tasks (expires) WHERE expires IS NOT NULL;
"""

    def __init__(self, home: Home) -> None:
        self._home = home

    # Reading

    def find(self, job: int, task_id: str) -> Task | None:
        """A task by id, in any case."""
        row = self._home.connection.execute(
            f"SELECT {_COLUMNS} FROM tasks WHERE job=? AND id=?",  # noqa: S608 - constant
            (job, task_id),
        ).fetchone()
        return Task._make(row) if row else None

    def existing(self, job: int, ids: Sequence[str]) -> set[str]:
        """Which of at most a few hundred ids are taken, in lower case."""
        marks = ",".join("?" * len(ids))
        rows = self._home.connection.execute(
            f"SELECT id FROM tasks WHERE job=? AND id IN ({marks})",  # noqa: S608 - constant
            (job, *ids),
        )
        return {row[0].lower() for row in rows}

    def scan(self, job: int, after: str | None, condition: Condition) -> Iterator[Task]:
        """A job's tasks in the order of their ids, those after the id `after`.

        Those that cannot fulfil `condition` (see `odata.parser.Filter`) are left out where SQLite can tell.
        Lazy: stop whenever there is enough.
        """
        expression, values = narrowed(condition)
        sql = f"SELECT {_COLUMNS} FROM tasks WHERE job=? AND id>? AND {expression} ORDER BY id"  # noqa: S608 - constant
        return map(Task._make, self._home.connection.execute(sql, (job, after or "", *values)))

    def ready(self, job: int, beyond: int, limit: int, slots: int) -> list[ReadyTask]:
        """Ready tasks of a job in the order of creation, those after `beyond`.

        None that needs more than `slots` on one node; multi-instance tasks however large.
        """
        sql = (
            f"SELECT {_READY} FROM tasks WHERE job=? AND state='active' AND waiting=0"  # noqa: S608 - constant
            " AND seq>? AND (slots<=? OR instances>0) ORDER BY seq LIMIT ?"
        )
        values = (job, beyond, slots, limit)
        rows = self._home.tables.execute(sql, values).fetchall()
        if self._home.moves.any_of(row[0] for row in rows):
            rows = self._home.connection.execute(sql, values).fetchall()
        return [ReadyTask._make(row) for row in rows]

    def ready_one(self, seq: int) -> ReadyTask | None:
        """A ready task, None if it is not ready."""
        row = self._home.connection.execute(
            f"SELECT {_READY} FROM tasks WHERE seq=? AND state='active' AND waiting=0",  # noqa: S608 - constant
            (seq,),
        ).fetchone()
        return ReadyTask._make(row) if row else None

    def numbered(self, job: int, start: int, end: int) -> int:
        """How many tasks with an integer id in the range are satisfied."""
        row = self._home.connection.execute(
            "SELECT COUNT(*) FROM tasks WHERE job=? AND number BETWEEN ? AND ? AND satisfied=1",
            (job, start, end),
        ).fetchone()
        return int(row[0])

    def satisfied(self, job: int, ids: Sequence[str]) -> set[str]:
        """Which of the ids are satisfied, in lower case."""
        found: set[str] = set()
        for at in range(0, len(ids), _CHUNK):
            part = ids[at : at + _CHUNK]
            marks = ",".join("?" * len(part))
            rows = self._home.connection.execute(
                f"SELECT id FROM tasks WHERE job=? AND satisfied=1 AND id IN ({marks})",  # noqa: S608 - constant
                (job, *part),
            )
            found.update(row[0].lower() for row in rows)
        return found

    def tally(self) -> list[tuple[int, str, int, int, int, int]]:
        """(job, state, waits, failed, tasks, slots) for all tasks, counted."""
        return list(
            self._home.connection.execute(
                "SELECT job, state, waiting>0, failure IS NOT NULL, COUNT(*), SUM(slots) FROM tasks"
                " GROUP BY 1,2,3,4"
            )
        )

    def live(self) -> list[Task]:
        """Tasks that are preparing or running."""
        rows = self._home.connection.execute(
            f"SELECT {_COLUMNS} FROM tasks WHERE state IN ('preparing','running')"  # noqa: S608 - constant
        )
        return [Task._make(row) for row in rows]

    def some_of(self, job: int, limit: int) -> list[int]:
        """Numbers of some tasks of a job: for clearing a job away piece by piece."""
        rows = self._home.connection.execute("SELECT seq FROM tasks WHERE job=? LIMIT ?", (job, limit))
        return [row[0] for row in rows]

    def nodes_of(self, job: int) -> set[int]:
        """Keys of the nodes that hold or held files of a job's tasks."""
        rows = self._home.connection.execute(
            "SELECT DISTINCT node FROM tasks WHERE job=? AND node IS NOT NULL", (job,)
        )
        return {row[0] for row in rows}

    def last_modified(self) -> int:
        """The latest write of a user's, 0 if there is none."""
        row = self._home.connection.execute("SELECT MAX(modified) FROM tasks").fetchone()
        return int(row[0] or 0)

    def next_expiry(self) -> int | None:
        """When the next task directory is due for removal."""
        row = self._home.connection.execute(
            "SELECT MIN(expires) FROM tasks WHERE expires IS NOT NULL"
        ).fetchone()
        return None if row[0] is None else int(row[0])

    def expired(self, now: int, limit: int) -> list[Task]:
        """Tasks whose directories are due."""
        rows = self._home.connection.execute(
            f"SELECT {_COLUMNS} FROM tasks WHERE expires IS NOT NULL"  # noqa: S608 - constant
            " AND expires<=? ORDER BY expires LIMIT ?",
            (now, limit),
        )
        return [Task._make(row) for row in rows]

    def retained_on(self, node: int) -> bool:
        """Whether a node still holds the directory of a completed task."""
        row = self._home.connection.execute(
            "SELECT 1 FROM tasks WHERE expires IS NOT NULL AND node=? LIMIT 1", (node,)
        ).fetchone()
        return row is not None

    # Writing

    def insert(self, rows: Iterable[NewTask]) -> None:
        """Add tasks that are known to be new."""
        self._home.begin().executemany(
            "INSERT INTO tasks (job,id,number,waiting,slots,modified,spec,instances,created,since)"
            " VALUES (?,?,?,?,?,?,?,?,?,?)",
            ((*row, row.modified, row.modified) for row in rows),
        )

    def is_satisfied(self, seq: int) -> bool:
        """Whether tasks that depend on this one were let go before."""
        row = self._home.connection.execute("SELECT satisfied FROM tasks WHERE seq=?", (seq,)).fetchone()
        return bool(row[0])

    def seq_of(self, job: int, task_id: str) -> int:
        """The number of a task that is known to exist."""
        row = self._home.connection.execute(
            "SELECT seq FROM tasks WHERE job=? AND id=?", (job, task_id)
        ).fetchone()
        return int(row[0])

    def place(
        self, seq: int, state: Literal["preparing", "running"], now: int, node: Node, started: int | None
    ) -> None:
        """Active to preparing or running, on a node."""
        launches = state == "running"
        self._home.moves.place(seq, state, now, node.pool_id, node.id, node.key, launches, started)

    def run(self, seq: int, now: int, started: int) -> None:
        """Preparing to running."""
        self._home.begin().execute(
            "UPDATE tasks SET previous=state, previous_since=since, state='running', since=?, started=?,"
            " launches=launches+1 WHERE seq=?",
            (now, started, seq),
        )

    def doom(self, seq: int, fate: Literal["requeue", "terminate"]) -> None:
        """A request is answered before the task's processes are gone: this is what becomes of it then."""
        self._home.begin().execute("UPDATE tasks SET stopping=? WHERE seq=?", (fate, seq))

    def back(self, seq: int, now: int) -> None:
        """To active because its node is gone or its service died: no count moves."""
        self._home.begin().execute(
            "UPDATE tasks SET previous=state, previous_since=since, state='active', since=?, started=NULL,"
            " placed=0 WHERE seq=?",
            (now, seq),
        )

    def retry(self, seq: int, now: int) -> None:
        """To active for another try."""
        self._home.begin().execute(
            "UPDATE tasks SET previous=state, previous_since=since, state='active', since=?, started=NULL,"
            " placed=0, retries=retries+1, retried=? WHERE seq=?",
            (now, now, seq),
        )

    def requeue(self, seq: int, now: int) -> None:
        """To active because a user shrank the pool or disabled the job."""
        self._home.begin().execute(
            "UPDATE tasks SET previous=state, previous_since=since, state='active', since=?, started=NULL,"
            " placed=0, requeues=requeues+1, requeued=? WHERE seq=?",
            (now, now, seq),
        )

    def complete(
        self,
        seq: int,
        now: int,
        *,
        started: int | None,
        ended: int,
        exit_code: int | None,
        failure: bytes | None,
        container: bytes | None = None,
        expires: int | None,
        satisfied: bool,
    ) -> None:
        """To completed. One that never started shows no node."""
        placed = started is not None
        values = (now, started, placed, ended, exit_code, failure, container, expires, satisfied)
        self._home.moves.complete(seq, *values)

    def reactivate(self, seq: int, now: int) -> None:
        """Completed to active, as if it had never run; a write of the user's."""
        self._home.begin().execute(
            "UPDATE tasks SET previous=state, previous_since=since, state='active', since=?, modified=?,"
            " started=NULL, ended=NULL, exit_code=NULL, failure=NULL, expires=NULL, placed=0, retries=0,"
            " retried=NULL WHERE seq=?",
            (now, now, seq),
        )

    def write(self, seq: int, modified: int, spec: bytes | None = None) -> None:
        """A write of the user's: a new ETag, perhaps a new spec."""
        self._home.begin().execute(
            "UPDATE tasks SET modified=?, spec=COALESCE(?,spec) WHERE seq=?", (modified, spec, seq)
        )

    def clean(self, seqs: Iterable[int]) -> None:
        """Their directories are gone."""
        self._home.begin().executemany(
            "UPDATE tasks SET expires=NULL, cleaned=1 WHERE seq=?", [(seq,) for seq in seqs]
        )

    def lose_files(self, node: int) -> None:
        """The disk of a node is gone, and with it the directories of the tasks that ran there."""
        self._home.begin().execute(
            "UPDATE tasks SET expires=NULL, cleaned=1 WHERE expires IS NOT NULL AND node=?", (node,)
        )

    def delete(self, seqs: Iterable[int]) -> None:
        """Forget tasks."""
        self._home.begin().executemany("DELETE FROM tasks WHERE seq=?", [(seq,) for seq in seqs])
