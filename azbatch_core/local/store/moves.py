"""Moves of tasks that wait until somebody reads the tables: what begins and ends meanwhile is one write.

A task's start and its end are most of what is ever written. Nobody can tell that they wait: `Database` writes
them before it gives out its connection, and in each commit.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Iterable

__all__ = ["Moves"]

_PLACE = """
UPDATE tasks SET previous=state, previous_since=since, state=?, since=?, pool_id=?, node_id=?, node=?,
  launches=launches+?, started=?, placed=1, ended=NULL, exit_code=NULL, failure=NULL, container=NULL,
  expires=NULL, cleaned=0, stopping=NULL WHERE seq=?
"""
_COMPLETE = """
UPDATE tasks SET previous=state, previous_since=since, state='completed', since=?, started=?, placed=?,
  ended=?, exit_code=?, failure=?, container=?, expires=?, satisfied=MAX(satisfied,?) WHERE seq=?
"""
_BOTH = """
UPDATE tasks SET previous=?, previous_since=?, pool_id=?, node_id=?, node=?, cleaned=0, stopping=NULL,
  launches=launches+?, state='completed', since=?, started=?, placed=?,
  ended=?, exit_code=?, failure=?, container=?, expires=?, satisfied=MAX(satisfied,?) WHERE seq=?
"""


class Moves:
    """What is not written yet: the values of a statement, by the number of the task."""

    def __init__(self) -> None:
        self._placed: dict[int, tuple[Any, ...]] = {}
        self._completed: dict[int, tuple[Any, ...]] = {}
        self._both: dict[int, tuple[Any, ...]] = {}

    def __len__(self) -> int:
        return len(self._placed) + len(self._completed) + len(self._both)

    def any_of(self, seqs: Iterable[int]) -> bool:
        """Whether one of these tasks has moved."""
        return any(seq in self._placed or seq in self._completed or seq in self._both for seq in seqs)

    def place(self, seq: int, *values: Any) -> None:
        """Active to preparing or running; values as `_PLACE` has them."""
        self._placed[seq] = values

    def complete(self, seq: int, *values: Any) -> None:
        """To completed; values as `_COMPLETE` has them."""
        placed = self._placed.pop(seq, None)
        if placed is None:
            self._completed[seq] = values
        else:
            self._both[seq] = placed[:-1] + values  # but for when it started: the end knows

    def write(self, connection: sqlite3.Connection) -> None:
        """Write them all, inside a transaction."""
        for statement, held in ((_PLACE, self._placed), (_COMPLETE, self._completed), (_BOTH, self._both)):
            # Neighbours in the table follow one another.
            connection.executemany(statement, ((*held[seq], seq) for seq in sorted(held)))
            held.clear()

    def forget(self) -> None:
        """They are not to be written any more."""
        self._placed.clear()
        self._completed.clear()
        self._both.clear()
