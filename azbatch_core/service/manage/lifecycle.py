"""Ending and removing jobs and pools. Everything here can be done twice.

Cancelling keeps the record; deleting is another verb. What is on its way out, or out, counts as done.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from azbatch_core.errors import AzBatchError, Conflict, NotFound, WaitTimeout
from azbatch_core.service.documents import requests
from azbatch_core.service.watch.status import CANCEL_REASON
from azbatch_core.service.watch.watcher import Intervals

if TYPE_CHECKING:
    from collections.abc import Callable

    from azbatch_core.service.connect.connection import Connection

_OVER = frozenset({"JobCompleted", "JobBeingTerminated", "JobBeingDeleted", "JobNotFound"})
_GONE = frozenset({"JobBeingDeleted", "JobNotFound"})
_POOL_GONE = frozenset({"PoolBeingDeleted", "PoolNotFound"})


def cancel(connection: Connection, job_id: str) -> bool:
    """End a job and keep its record; returns once the service has accepted. A job that is over is fine.

    Returns:
        Whether there was something to end: False where the service had ended the job, or was about to.
    """
    from azbatch_core.service.connect import sdk

    return _unless(
        _OVER, lambda: connection.call(sdk.terminate_job, connection.client, job_id, CANCEL_REASON)
    )


def delete(connection: Connection, job_id: str, *, wait: bool = False, timeout: float = 600.0) -> None:
    """Delete a job; with `wait`, return when it is gone. A job that is not there is fine.

    A job that is just being terminated may have to end first, which is waited for.

    Raises:
        WaitTimeout: It was still there, or still being terminated, at the bound.
    """
    from azbatch_core.service.connect import sdk

    def ask() -> None:
        _unless(_GONE, lambda: connection.call(sdk.delete_job, connection.client, job_id))

    _once_terminated(connection, job_id, timeout, ask)
    if wait:
        _until_gone(connection, "jobs", job_id, timeout)


def delete_pool(connection: Connection, pool_id: str, *, wait: bool = False, timeout: float = 900.0) -> None:
    """Delete a pool; with `wait`, return when it is gone. A pool that is not there is fine.

    Raises:
        WaitTimeout: It was still there at the bound.
    """
    from azbatch_core.service.connect import sdk

    _unless(_POOL_GONE, lambda: connection.call(sdk.delete_pool, connection.client, pool_id))
    if wait:
        _until_gone(connection, "pools", pool_id, timeout)


def _unless(done: frozenset[str], act: Callable[[], object]) -> bool:
    """Do it, unless the service says that it is done already; whether it was not."""
    try:
        act()
    except NotFound:
        return False
    except AzBatchError as error:
        if error.code not in done:
            raise
        return False
    return True


def _once_terminated(connection: Connection, job_id: str, timeout: float, act: Callable[[], object]) -> None:
    """Do it, again while the service says that the job is still being terminated."""
    clock = connection.clock
    deadline = clock.monotonic() + timeout
    pace = Intervals.of(connection)
    interval = pace.first
    while True:
        try:
            act()
        except Conflict as error:
            if error.code != "JobBeingTerminated":
                raise
            left = deadline - clock.monotonic()
            if left <= 0:
                raise WaitTimeout(
                    f"job {job_id} is still being terminated after {timeout:g} s, and cannot be deleted",
                    hint="try again later",
                ) from error
        else:
            return
        clock.sleep(min(interval, left))
        interval = min(pace.longest, interval * pace.factor)


def _until_gone(connection: Connection, kind: Literal["jobs", "pools"], name: str, timeout: float) -> None:
    clock = connection.clock
    deadline = clock.monotonic() + timeout
    pace = Intervals.of(connection)
    interval = pace.first
    while True:
        try:
            state = requests.send(connection, "GET", kind, name, query={"$select": "state"})["state"]
        except NotFound:
            return
        if str(state).lower() != "deleting":
            # Somebody made a new one of the same name meanwhile: the old one is gone.
            return
        left = deadline - clock.monotonic()
        if left <= 0:
            raise WaitTimeout(
                f"{kind[:-1]} {name} is still being deleted after {timeout:g} s",
                hint="the service goes on deleting it: try again later",
            )
        clock.sleep(min(interval, left))
        interval = min(pace.longest, interval * pace.factor)
