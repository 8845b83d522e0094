"""Signatures for containers, beside those of the storage's own SDK."""

from __future__ import annotations

import base64
from datetime import datetime, timedelta, timezone
from urllib.parse import parse_qs

import pytest
from azure.storage.blob import generate_container_sas

from azbatch_core.service.connect import shared_key
from azbatch_core.specs import Secret, StorageSpec

KEY = base64.b64encode(b"a key with + and / in its signatures").decode()
STORAGE = StorageSpec(
    blob_endpoint="https://mystore.blob.core.windows.net", account_name="mystore", account_key=Secret(KEY)
)


@pytest.mark.parametrize("hours", range(8))
@pytest.mark.parametrize("https_only", [True, False])
@pytest.mark.parametrize("permission", ["racwl", "acw", "rl"])
def test_a_signature_says_what_the_sdks_says(
    permission: str, hours: int, *, https_only: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of the same version of the protocol: what is signed has not changed since ours."""
    expiry = datetime(2026, 3, 1, 12, 30, tzinfo=timezone(timedelta(hours=hours)))
    theirs = generate_container_sas(
        "mystore",
        "results",
        KEY,
        permission=permission,
        expiry=expiry,
        protocol="https" if https_only else None,
    )
    pairs = parse_qs(theirs)
    monkeypatch.setattr(shared_key, "VERSION", pairs["sv"][0])

    ours = shared_key.sign_container(
        STORAGE, KEY, "results", permission=permission, expiry=expiry, https_only=https_only
    )

    assert parse_qs(ours) == pairs
