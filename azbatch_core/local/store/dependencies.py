"""Who waits for whom. A row goes when the dependency is met or its waiter is deleted.

An id that does not exist yet is a dependency like any other. A range is one row however many ids it covers,
and stays: each of its ids is met once.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from azbatch_core.local.store.tasks import Home

__all__ = ["DependencyTable"]

_BLOCKED = """
SELECT waiter.id, done.id FROM needs
  JOIN tasks AS done ON done.job=needs.job AND done.id=needs.target
  JOIN tasks AS waiter ON waiter.seq=needs.waiter
  WHERE needs.job=:job AND done.state='completed' AND done.satisfied=0 AND waiter.state='active'
UNION
SELECT waiter.id, done.id FROM ranges
  JOIN tasks AS done ON done.job=ranges.job AND done.number BETWEEN ranges.first AND ranges.last
  JOIN tasks AS waiter ON waiter.seq=ranges.waiter
  WHERE ranges.job=:job AND done.state='completed' AND done.satisfied=0 AND waiter.state='active'
LIMIT :most
"""


class DependencyTable:
    """Dependencies of all jobs."""

    SCHEMA = """
CREATE TABLE needs (
  job INTEGER NOT NULL, target TEXT NOT NULL COLLATE NOCASE, waiter INTEGER NOT NULL,
  PRIMARY KEY (job, target, waiter)
) WITHOUT ROWID;
CREATE INDEX needs_by_waiter ON needs (waiter);
CREATE TABLE ranges (
  job INTEGER NOT NULL, first INTEGER NOT NULL, last INTEGER NOT NULL, waiter INTEGER NOT NULL
);
CREATE INDEX ranges_by_job ON ranges (job, first);
CREATE INDEX ranges_by_waiter ON ranges (waiter);
"""

    def __init__(self, home: Home) -> None:
        self._home = home

    def add(self, job: int, waiter: int, ids: Sequence[str], ranges: Sequence[tuple[int, int]]) -> None:
        """Let `waiter` wait for ids that are not met, and for ranges."""
        run = self._home.begin()
        run.executemany(
            "INSERT OR IGNORE INTO needs VALUES (?,?,?)", [(job, target, waiter) for target in ids]
        )
        run.executemany(
            "INSERT INTO ranges VALUES (?,?,?,?)", [(job, first, last, waiter) for first, last in ranges]
        )

    def meet(self, job: int, target: str, number: int | None) -> list[int]:
        """Which tasks are ready now that `target` is satisfied for the first time."""
        run = self._home.begin()
        waiters = [
            row[0] for row in run.execute("SELECT waiter FROM needs WHERE job=? AND target=?", (job, target))
        ]
        if waiters:
            run.execute("DELETE FROM needs WHERE job=? AND target=?", (job, target))
        if number is not None:
            waiters += self._covering(job, number)
        if not waiters:
            return []
        run.executemany("UPDATE tasks SET waiting=waiting-1 WHERE seq=?", [(seq,) for seq in waiters])
        return [
            seq
            for seq in dict.fromkeys(waiters)
            if run.execute(
                "SELECT 1 FROM tasks WHERE seq=? AND waiting=0 AND state='active'", (seq,)
            ).fetchone()
        ]

    def unmeet(self, job: int, number: int) -> None:
        """A satisfied task with an integer id is deleted.

        Ranges that still wait expect a new one of that id.
        """
        self._home.begin().executemany(
            "UPDATE tasks SET waiting=waiting+1 WHERE seq=? AND waiting>0",
            [(seq,) for seq in self._covering(job, number)],
        )

    def never_met(self, job: int, most: int) -> dict[str, str]:
        """Waiting tasks that depend on one that failed for good, maybe by way of others, with that one.

        Args:
            job: the job.
            most: stop when so many are found.
        """
        found: dict[str, str] = {}
        new = self._directly(job, most)
        while new and len(found) < most:
            found |= new
            new = {
                waiter: cause
                for target, cause in new.items()
                for waiter in self._waiting_for(job, target)
                if waiter not in found
            }
        return found

    def _directly(self, job: int, most: int) -> dict[str, str]:
        """Waiting tasks by the failed one that they name, or that lies in a range of theirs."""
        rows = self._home.connection.execute(_BLOCKED, {"job": job, "most": most})
        return dict(rows.fetchall())

    def _waiting_for(self, job: int, target: str) -> list[str]:
        run = self._home.connection.execute
        waiters = run("SELECT waiter FROM needs WHERE job=? AND target=?", (job, target)).fetchall()
        number = run("SELECT number FROM tasks WHERE job=? AND id=?", (job, target)).fetchone()
        seqs = [row[0] for row in waiters]
        if number is not None and number[0] is not None:
            seqs += self._covering(job, number[0])
        found = [
            run("SELECT id FROM tasks WHERE seq=? AND state='active'", (seq,)).fetchone() for seq in seqs
        ]
        return [row[0] for row in found if row is not None]

    def forget(self, waiters: Iterable[int]) -> None:
        """The waiters are deleted."""
        values = [(seq,) for seq in waiters]
        run = self._home.begin()
        run.executemany("DELETE FROM needs WHERE waiter=?", values)
        run.executemany("DELETE FROM ranges WHERE waiter=?", values)

    def _covering(self, job: int, number: int) -> list[int]:
        rows = self._home.connection.execute(
            "SELECT waiter FROM ranges WHERE job=? AND first<=? AND last>=?", (job, number, number)
        )
        return [row[0] for row in rows]
