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
  placed=1, started=?, ended=NULL, exit_code=NULL, failure=NULL, container=NULL, expires=NULL, cleaned=0,
  stopping=NULL, launches=launches+? WHERE seq=?
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
    """What is not written yet, by the number of the task: a statement and its values."""

    def __init__(self) -> None:
        self._held: dict[int, tuple[str, tuple[Any, ...]]] = {}

    def __len__(self) -> int:
        return len(self._held)

    def any_of(self, seqs: Iterable[int]) -> bool:
        """Whether one of these tasks has moved."""
        return not self._held.keys().isdisjoint(seqs)

    def place(self, seq: int, *values: Any) -> None:
        """Active to preparing or running; values as `_PLACE` has them."""
        self._held[seq] = (_PLACE, (*values, seq))

    def complete(self, seq: int, *values: Any) -> None:
        """To completed; values as `_COMPLETE` has them."""
        held = self._held.get(seq)
        if held is None:
            self._held[seq] = (_COMPLETE, (*values, seq))
        else:
            state, since, pool_id, node_id, node, _, launches, _ = held[1]
            self._held[seq] = (_BOTH, (state, since, pool_id, node_id, node, launches, *values, seq))

    def write(self, connection: sqlite3.Connection) -> None:
        """Write them all, inside a transaction."""
        held = [self._held[seq] for seq in sorted(self._held)]  # neighbours in the table one after the other
        for statement in (_PLACE, _COMPLETE, _BOTH):
            connection.executemany(statement, [values for kind, values in held if kind is statement])
        self._held.clear()

    def forget(self) -> None:
        """They are not to be written any more."""
        self._held.clear()
