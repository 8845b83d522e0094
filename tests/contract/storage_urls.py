"""Addresses of blobs and containers that carry a signature."""

from __future__ import annotations

import datetime as dt
from typing import TYPE_CHECKING, Any

from azure.storage.blob import generate_container_sas
from blob_server import ACCOUNT, KEY

if TYPE_CHECKING:
    from azbatch_core.local.runtime.base import BlobPlace


IDENTITY = {"resourceId": "/subscriptions/s/resourceGroups/g/providers/x/userAssignedIdentities/i"}


def in_an_hour() -> dt.datetime:
    return dt.datetime.now(dt.timezone.utc) + dt.timedelta(hours=1)


def container_url(blobs: BlobPlace, permission: str, name: str = "box", **more: Any) -> str:
    sas = generate_container_sas(
        ACCOUNT, name, account_key=KEY, permission=permission, **{"expiry": in_an_hour(), **more}
    )
    return f"{blobs.endpoint}/{name}?{sas}"
