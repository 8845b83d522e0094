"""Task directories are kept for their retention time, then removed."""

from __future__ import annotations

from typing import TYPE_CHECKING

from azbatch_core.local.rules.times import limit_seconds
from azbatch_core.local.wire.durations import TICKS_PER_SECOND

if TYPE_CHECKING:
    from azbatch_core.local.engine.account import Account
    from azbatch_core.local.store.records import Job
    from azbatch_core.local.store.task_rows import Task

__all__ = ["arm", "clear", "expect", "expiry"]

_BATCH = 500
_FOREVER = 100 * 365 * 86400.0


def expiry(ended: int, retention: str) -> int | None:
    """When a directory goes, in ticks; None for never."""
    seconds = limit_seconds(retention)
    if seconds is None or seconds > _FOREVER:
        return None
    return ended + int(seconds * TICKS_PER_SECOND)


def expect(account: Account, expires: int | None) -> None:
    """A directory is to go at `expires`: make sure that it is looked at then."""
    if expires is not None and (account.expiry is None or expires < account.expiry):
        account.expiry = expires
        seconds = (expires - account.now()) / TICKS_PER_SECOND
        account.after("retention", 0, max(0.0, seconds), lambda: _sweep(account))


def arm(account: Account) -> None:
    """Look at the table for the next directory to go."""
    account.expiry = None
    expect(account, account.store.tasks.next_expiry())


def clear(account: Account, job: Job, task: Task) -> None:
    """Remove the directories of a task and of its subtasks, where their nodes are still there."""
    keys = [task.node, *(subtask.node for subtask in account.store.subtasks.of_task(task.seq))]
    for node in (account.nodes[key] for key in keys if key in account.nodes):
        account.runtime.clear_task(account.place(node), job.id, task.id)
        if node.leaving is not None or node.waits is not None:
            account.due_nodes[node.key] = None


def _sweep(account: Account) -> None:
    rows = account.store.tasks.expired(account.now(), _BATCH)
    for row in rows:
        job = account.jobs.get(row.job)
        if job is not None:
            clear(account, job, row)
    account.store.tasks.clean(row.seq for row in rows)
    arm(account)
