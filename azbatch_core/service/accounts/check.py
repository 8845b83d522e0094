"""Trying an account out: each thing that can be wrong is an item, with what to do about it."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING, Literal

from azbatch_core.errors import AzBatchError, NotFound
from azbatch_core.service.connect.retry import RetrySettings
from azbatch_core.service.documents import requests
from azbatch_core.service.summaries import AccountCheck, CheckItem

if TYPE_CHECKING:
    from collections.abc import Callable

    from azbatch_core.service.connect.connection import Connection

_PROBE = "azbatch-check-that-does-not-exist"
_TRIES = RetrySettings(attempts=2, total_time=30.0)


def check(connection: Connection) -> AccountCheck:
    """Reach the account, log in, read, and look at its storage."""
    account = connection.account
    items = [_try("batch", lambda: _reach(connection))]
    if not items[0].ok:
        # The rest would fail for the same reason, each after its own attempts.
        return AccountCheck(account.name, connection.endpoint, connection.is_local, tuple(items))
    items += [
        _try("pools", lambda: _count(connection, "pools", "pool")),
        _try("jobs", lambda: _count(connection, "jobs", "job")),
        _try("storage", lambda: _storage(connection)),
    ]
    return AccountCheck(account.name, connection.endpoint, connection.is_local, tuple(items))


def _try(name: str, look: Callable[[], str]) -> CheckItem:
    try:
        return CheckItem(name, ok=True, text=look())
    except AzBatchError as error:
        code = f" [{error.code}]" if error.code else ""
        return CheckItem(name, ok=False, text=f"{error.message}{code}", hint=error.hint)


def _reach(connection: Connection) -> str:
    """A pool that is not there: the answer tells that the endpoint is Batch and that it knows us."""
    begun = connection.clock.monotonic()
    try:
        requests.send(connection, "GET", "pools", _PROBE)
    except NotFound as error:
        if error.code != "PoolNotFound":
            raise
    milliseconds = (connection.clock.monotonic() - begun) * 1000
    return f"{connection.endpoint} answers in {milliseconds:.0f} ms"


def _count(connection: Connection, kind: Literal["pools", "jobs"], word: str) -> str:
    number = 0
    limit = 1000
    for _ in requests.listing(connection, kind, select=("id",)):
        number += 1
        if number >= limit:
            return f"{number} or more {word}s"
    return f"{number} {word}{'' if number == 1 else 's'}"


def _storage(connection: Connection) -> str:
    """A blob that is not there: the answer tells that the endpoint is storage and lets us read."""
    from azbatch_core.service.connect.storage import StorageResolver

    storage = connection.account.storage
    if storage is None:
        return "none set: output files need a container URL of their own"
    resolver = StorageResolver(
        connection.account,
        lifetime=timedelta(hours=1),  # nothing is signed
        credential=connection.credential,
        clock=connection.clock,
        retry=_TRIES,
    )
    resolver.get(_PROBE, _PROBE)
    return f"{storage.account_name} at {storage.blob_endpoint} answers"
