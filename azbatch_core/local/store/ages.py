"""Tasks by their age."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from azbatch_core.local.store.database import Database

__all__ = ["OldTask", "older", "oldest"]


class OldTask(NamedTuple):
    """What ending a task needs."""

    seq: int
    job: int
    slots: int
    waiting: int


def oldest(store: Database) -> int | None:
    """When the first of the tasks that are not completed was added; tasks are numbered in that order."""
    row = store.connection.execute(
        "SELECT created FROM tasks WHERE state<>'completed' ORDER BY seq LIMIT 1"
    ).fetchone()
    return None if row is None else int(row[0])


def older(store: Database, created: int) -> list[OldTask]:
    """The tasks that are not completed and were added by then."""
    rows = store.connection.execute(
        "SELECT seq,job,slots,waiting FROM tasks WHERE state<>'completed' AND created<=?", (created,)
    )
    return [OldTask._make(row) for row in rows]
