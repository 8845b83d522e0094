"""A job's ready tasks in the order of creation, a window of them in memory."""

from __future__ import annotations

from bisect import insort
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

    from azbatch_core.local.store.task_rows import ReadyTask
    from azbatch_core.local.store.tasks import TaskTable

__all__ = ["ReadyQueue"]

_WINDOW = 256


class ReadyQueue:
    """Ready tasks up to a horizon are held here, those beyond it only in the table.

    So a job may hold a million tasks, and taking the next one still costs no query. A task that becomes
    ready again (a retry, a met dependency) is offered: up to the horizon it is held, beyond it the table has
    it in its turn.
    """

    def __init__(self, job: int) -> None:
        self._job = job
        self._rows: dict[int, ReadyTask] = {}
        self._order: list[int] = []
        self._horizon = 0
        self._limit = 0

    def offer(self, row: ReadyTask) -> None:
        """A task is ready."""
        if row.seq <= self._horizon and (row.slots <= self._limit or row.instances):
            if row.seq not in self._rows:
                insort(self._order, row.seq)
            self._rows[row.seq] = row

    def drop(self, seq: int) -> None:
        """A task is not ready any more."""
        self._rows.pop(seq, None)

    def walk(self, table: TaskTable, limit: int) -> Iterator[ReadyTask]:
        """Ready tasks in order, but for those that need more than `limit` slots (those of a whole node).

        The caller drops those that it starts; the others stay for the next walk. What they leave of the
        window is filled from the table: a task that waits for more room than there is holds up nobody.
        """
        if limit != self._limit:
            # Another pool, or the pool's nodes have changed: what was passed over may fit now.
            self._rows.clear()
            self._order.clear()
            self._horizon, self._limit = 0, limit
        self._order = [seq for seq in self._order if seq in self._rows]
        order = tuple(self._order)
        while True:
            for seq in order:
                row = self._rows.get(seq)
                if row is not None:
                    yield row
            order = self._read(table)
            if not order:
                return

    def _read(self, table: TaskTable) -> tuple[int, ...]:
        """Fill the window; the tasks that came in."""
        room = _WINDOW - len(self._rows)
        rows = table.ready(self._job, self._horizon, room, self._limit) if room > 0 else []
        if rows:
            self._rows.update((row.seq, row) for row in rows)
            self._horizon = rows[-1].seq
        order = tuple(row.seq for row in rows)
        self._order += order
        return order
