"""What time it is for a local service whose clock stands until it is moved."""

from __future__ import annotations

from typing import TYPE_CHECKING

from azbatch_core.errors import AzBatchError
from azbatch_core.service.documents import requests
from azbatch_core.service.documents.wire import moment

if TYPE_CHECKING:
    from datetime import datetime

    from azbatch_core.service.connect.connection import Connection


def virtual_time(connection: Connection) -> datetime | None:
    """The service's time if its clock is a virtual one; None for all other services.

    One request, and only to a service on this machine: no other has such a clock.
    """
    if not connection.is_local:
        return None
    try:
        told = requests.send(connection, "GET", "_local", "clock")
    except AzBatchError:
        return None  # something else at this address, or nobody: what is done next tells
    return moment(told.get("now")) if isinstance(told, dict) and told.get("virtual") else None
