"""The connection, the schema, and records by table."""

from __future__ import annotations

import sqlite3
from typing import TYPE_CHECKING, TypeVar

import orjson

from azbatch_core.local.store.dependencies import DependencyTable
from azbatch_core.local.store.moves import Moves
from azbatch_core.local.store.records import Job, Node, Pool, Preparation, Schedule
from azbatch_core.local.store.subtasks import SubtaskTable
from azbatch_core.local.store.tasks import TaskTable

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from azbatch_core.local.store.records import Record

__all__ = ["Database", "VersionError"]

_R = TypeVar("_R", Pool, Node, Job, Preparation, Schedule)

_VERSION = 6

_SCHEMA = """
CREATE TABLE meta (name TEXT PRIMARY KEY, value INTEGER NOT NULL) WITHOUT ROWID;
CREATE TABLE pools (key INTEGER PRIMARY KEY, body BLOB NOT NULL);
CREATE TABLE nodes (key INTEGER PRIMARY KEY, body BLOB NOT NULL);
CREATE TABLE jobs (key INTEGER PRIMARY KEY, body BLOB NOT NULL);
CREATE TABLE preparations (key INTEGER PRIMARY KEY, body BLOB NOT NULL);
CREATE TABLE schedules (key INTEGER PRIMARY KEY, body BLOB NOT NULL);
"""

_UPGRADES = {
    1: "CREATE TABLE schedules (key INTEGER PRIMARY KEY, body BLOB NOT NULL);",
    2: "ALTER TABLE tasks ADD COLUMN container BLOB;",
    3: SubtaskTable.SCHEMA,
    4: "ALTER TABLE tasks ADD COLUMN stopping TEXT;",
    # Recent tasks are kept in another form: those of before are forgotten.
    5: "UPDATE nodes SET body=CAST(json_remove(CAST(body AS TEXT), '$.recent') AS BLOB);",
}
"""What makes data of a version those of the next. Fields that records have got since take their defaults.

Whoever changes a table's `SCHEMA` that stands here writes the text as it was in its place first.
"""


class VersionError(ValueError):
    """The data were written by another version of the service."""


class Database:
    """The service's memory.

    A transaction is open from the first change until `commit`; after it a killed process has lost nothing
    (WAL with `synchronous=NORMAL`: only a power cut can take the latest commits, never the file's integrity).
    Records handed to `touch` are written at the next commit, however often they changed.

    Attributes:
        now: The time, in ticks; put in by the engine. What is written has the time of its commit beside it.
    """

    def __init__(self, path: Path | None) -> None:
        """Open or create the file; `None` keeps everything in memory.

        Raises:
            VersionError: the file was written by a later version of the service; earlier ones are upgraded.
        """
        if path is not None:
            path.touch(mode=0o600)  # SQLite gives its other files the same mode; tasks may hold secrets
        self.tables = sqlite3.connect(path or ":memory:", isolation_level=None, cached_statements=256)
        self.moves = Moves()
        self.now: Callable[[], int] = int
        self._noted = 0
        self._touched: dict[tuple[str, int], Record] = {}
        try:
            self._prepare(path)
        except BaseException:
            self.tables.close()
            raise
        self.tasks = TaskTable(self)
        self.dependencies = DependencyTable(self)
        self.subtasks = SubtaskTable(self)

    def _prepare(self, path: Path | None) -> None:
        run = self.tables.execute
        run("PRAGMA journal_mode=WAL")
        run("PRAGMA synchronous=NORMAL")
        run("PRAGMA temp_store=MEMORY")
        run("PRAGMA cache_size=-16384")
        run("PRAGMA wal_autocheckpoint=2000")
        found = run("PRAGMA user_version").fetchone()[0]
        while found in _UPGRADES:
            self.tables.executescript(f"BEGIN;{_UPGRADES[found]}PRAGMA user_version={found + 1};COMMIT;")
            found += 1
        if found not in {0, _VERSION}:
            raise VersionError(
                f"{path} holds version {found} of the local service's data, not {_VERSION}: use the azbatch"
                " that wrote it, or begin anew with `azbatch local reset`, without its jobs"
            )
        if found == 0:
            schema = _SCHEMA + TaskTable.SCHEMA + DependencyTable.SCHEMA + SubtaskTable.SCHEMA
            self.tables.executescript(f"BEGIN;{schema}PRAGMA user_version={_VERSION};COMMIT;")

    @property
    def connection(self) -> sqlite3.Connection:
        """The connection, for reading: what it shows is what has happened so far."""
        return self.begin() if self.moves else self.tables

    def begin(self) -> sqlite3.Connection:
        """The connection, inside a transaction."""
        if not self.tables.in_transaction:
            self.tables.execute("BEGIN IMMEDIATE")
        if self.moves:
            self.moves.write(self.tables)
        return self.tables

    @property
    def pending(self) -> int:
        """How many tasks and records the next commit writes, beside what is in the tables already."""
        return len(self.moves) + len(self._touched)

    def touch(self, record: Record) -> None:
        """Write `record` at the next commit."""
        self._touched[(record.TABLE, record.key)] = record

    def delete(self, record: Record) -> None:
        """Forget `record`."""
        self._touched.pop((record.TABLE, record.key), None)
        self.begin().execute(f"DELETE FROM {record.TABLE} WHERE key=?", (record.key,))  # noqa: S608 - constant

    def commit(self) -> None:
        """On return every change so far survives the process's death.

        Raises:
            sqlite3.Error: nothing of it was written, and SQLite may have undone it all: see `rollback`.
        """
        if self.pending:
            run = self.begin()
            tables: dict[str, list[tuple[int, bytes]]] = {}
            for (table, key), record in self._touched.items():
                tables.setdefault(table, []).append((key, orjson.dumps(record)))
            for table, rows in tables.items():
                run.executemany(f"INSERT OR REPLACE INTO {table} VALUES (?,?)", rows)  # noqa: S608 - constant
        if self.tables.in_transaction:
            self.note_time()
            self.tables.execute("COMMIT")
        self._touched.clear()

    def note_time(self) -> None:
        """Have the next commit write down what time it is."""
        now = self.now()
        if now != self._noted:
            self.begin().execute("INSERT OR REPLACE INTO meta VALUES ('time',?)", (now,))
            self._noted = now

    def noted_time(self) -> int | None:
        """The time, in ticks, of the last commit; None before the first."""
        row = self.tables.execute("SELECT value FROM meta WHERE name='time'").fetchone()
        return None if row is None else int(row[0])

    def rollback(self) -> None:
        """Undo what was not committed. Records in memory are not what the tables say from then on.

        On some errors, a full disk for one, SQLite has done its part of it before.
        """
        self.moves.forget()
        self._touched.clear()
        self._noted = 0
        if self.tables.in_transaction:
            self.tables.execute("ROLLBACK")

    def load(self, kind: type[_R]) -> list[_R]:
        """All records of a kind, oldest first."""
        rows = self.connection.execute(f"SELECT body FROM {kind.TABLE} ORDER BY key")  # noqa: S608 - constant
        return [kind(**orjson.loads(body)) for (body,) in rows]

    def next_key(self, table: str) -> int:
        """A number never given before for this table, even if the row that had the last one is gone."""
        run = self.begin()
        run.execute("INSERT INTO meta VALUES (?,1) ON CONFLICT(name) DO UPDATE SET value=value+1", (table,))
        return int(run.execute("SELECT value FROM meta WHERE name=?", (table,)).fetchone()[0])

    def close(self) -> None:
        """Commit and close; closed, too, if there is no room for the last changes."""
        try:
            self.commit()
        finally:
            self.tables.close()
