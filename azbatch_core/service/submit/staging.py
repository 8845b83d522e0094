"""What tasks are to read, put into the account's own storage; looked at and taken away again."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING

from azbatch_core.errors import SpecError
from azbatch_core.service.connect.storage import StorageResolver

if TYPE_CHECKING:
    from pathlib import Path

    from azbatch_core.service.connect.connection import Connection

_SIGNED_FOR = timedelta(hours=1)


def stage(
    connection: Connection, content: Path | bytes, container: str, name: str, *, replace: bool = False
) -> bool:
    """Have a file or bytes in a container; whether they had to be sent.

    Raises:
        SpecError: The name of the container or the blob is empty.
        ConfigurationError: The account has no storage.
        AzBatchError: The storage is out of reach, or nobody here may write to it.
        OSError: The file cannot be read.
    """
    _check_given(container=container, name=name)
    return _storage(connection).put(container, name, content, replace=replace)


def staged(connection: Connection, container: str, name: str) -> bytes | None:
    """What a blob holds; None where there is no such blob or container.

    Raises:
        SpecError: The name of the container or the blob is empty.
        ConfigurationError: The account has no storage.
        AzBatchError: The storage is out of reach, or nobody here may read from it.
    """
    _check_given(container=container, name=name)
    return _storage(connection).get(container, name)


def unstage(connection: Connection, container: str, prefix: str) -> int:
    """Delete the blobs whose names start so; how many there were.

    Raises:
        SpecError: The name of the container or the prefix is empty.
        ConfigurationError: The account has no storage.
        AzBatchError: The storage is out of reach, or nobody here may list it or delete from it.
    """
    _check_given(container=container, prefix=prefix)
    return _storage(connection).remove(container, prefix)


def _check_given(**given: str) -> None:
    """Refuse what is empty: it would mean a whole container, or all of them."""
    for what, value in given.items():
        if not value:
            raise SpecError(f"{what} is empty: it must name what is meant", field=what)


def _storage(connection: Connection) -> StorageResolver:
    return StorageResolver(
        connection.account,
        lifetime=_SIGNED_FOR,
        credential=connection.credential,
        clock=connection.clock,
    )
