"""`AzureBatch.check` looks at each thing itself, storage too."""

from __future__ import annotations

import socket
from typing import TYPE_CHECKING

import pytest

from azbatch_core import AzureBatch
from azbatch_core.specs import AccountSpec, Secret, StorageSpec

if TYPE_CHECKING:
    from collections.abc import Iterator

    from azbatch_core.local import LocalBatch
    from azbatch_core.service.states import CheckItem

WRONG_KEY = "bm90IHRoZSBrZXk="


@pytest.fixture
def nobody() -> Iterator[str]:
    """An address where nobody listens."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        yield f"http://127.0.0.1:{taken.getsockname()[1]}"


def looked_at(local: LocalBatch, storage: StorageSpec | None) -> CheckItem:
    spec = AccountSpec(
        name="here",
        endpoint=local.endpoint,
        account_name=local.account_name,
        account_key=Secret(local.account_key),
        storage=storage,
    )
    with AzureBatch(spec) as batch:
        found = batch.check()
    item = next(item for item in found.items if item.name == "storage")
    assert found.ok == item.ok
    return item


def storage_of(local: LocalBatch, **changes: object) -> StorageSpec:
    storage = StorageSpec(
        blob_endpoint=local.blob_endpoint, account_name=local.blob_account, account_key=Secret(local.blob_key)
    )
    return storage.replace(**changes)


def test_storage_that_answers_is_well(local: LocalBatch) -> None:
    item = looked_at(local, storage_of(local))
    assert item.ok
    assert local.blob_endpoint in item.text


def test_no_storage_is_well(local: LocalBatch) -> None:
    assert looked_at(local, None).ok


def test_storage_where_nobody_listens_is_not(local: LocalBatch, nobody: str) -> None:
    item = looked_at(local, storage_of(local, blob_endpoint=f"{nobody}/{local.blob_account}"))
    assert (item.ok, nobody.removeprefix("http://") in item.text, bool(item.hint)) == (False, True, True)


def test_storage_with_another_key_is_not(local: LocalBatch) -> None:
    item = looked_at(local, storage_of(local, account_key=Secret(WRONG_KEY)))
    assert not item.ok
    assert WRONG_KEY not in item.text


def test_a_server_that_is_no_storage_is_not(local: LocalBatch) -> None:
    assert not looked_at(local, storage_of(local, blob_endpoint=f"{local.endpoint}/x")).ok
