"""Files of this machine that tasks are to read, put into the account's own storage."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING

from azbatch_core.service.connect.storage import StorageResolver

if TYPE_CHECKING:
    from pathlib import Path

    from azbatch_core.service.connect.connection import Connection

_SIGNED_FOR = timedelta(hours=1)


def stage(connection: Connection, path: Path, container: str, name: str) -> bool:
    """Have the file in a container; whether it had to be sent.

    Raises:
        ConfigurationError: The account has no storage.
        AzBatchError: The storage is out of reach, or nobody here may write to it.
        OSError: The file cannot be read.
    """
    storage = StorageResolver(
        connection.account,
        lifetime=_SIGNED_FOR,
        credential=connection.credential,
        clock=connection.clock,
    )
    return storage.put(container, name, path)
