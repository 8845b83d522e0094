"""No task lives on for more than 180 days from when it was added (SDK create_task: then it is terminated)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from azbatch_core.local.engine.tasks import end_active
from azbatch_core.local.store.ages import older, oldest
from azbatch_core.local.wire.durations import TICKS_PER_SECOND

if TYPE_CHECKING:
    from azbatch_core.local.engine.account import Account

__all__ = ["arm"]

_MOST = 180 * 86_400 * TICKS_PER_SECOND
_PAUSE = 60 * TICKS_PER_SECOND


def arm(account: Account) -> None:
    """Look at the tasks when the oldest of them is due; those to come are younger."""
    now, first = account.now(), oldest(account.store)
    # One that was told to end may take a moment over it: it is not to be told again and again meanwhile.
    wait = max(_PAUSE, (now if first is None else first) + _MOST + TICKS_PER_SECOND - now)
    account.after("lifetime", 0, wait / TICKS_PER_SECOND, lambda: _sweep(account))


def _sweep(account: Account) -> None:
    for task in older(account.store, account.now() - _MOST):
        job, execution = account.jobs[task.job], account.live.get(task.seq)
        if execution is not None:
            account.stop(execution, "terminate")
        elif job.state != "deleting":
            end_active(account, job, task.seq, task.slots, ready=not task.waiting)
    arm(account)
