"""Files of this machine, staged into the account's storage and read by tasks."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import pytest
from azure.storage.blob import BlobServiceClient
from azurite_server import azurite_server
from waiting import WITHIN

from azbatch_core import (
    AccountSpec,
    AzureBatch,
    ConfigurationError,
    JobSpec,
    JobState,
    SpecError,
    StorageSpec,
)
from azbatch_core.local import LocalBatch

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

Make = Callable[..., JobSpec]


@pytest.mark.parametrize("gang", [None, 2])
def test_what_is_staged_is_read_on_every_node(
    client: AzureBatch, make_job: Make, tmp_path: Path, job_name: str, gang: int | None
) -> None:
    file = tmp_path / "input"
    file.write_text("staged\n")
    name = f"{job_name}.txt"
    assert client.stage(file, "staged-files", name)
    assert not client.stage(file, "staged-files", name), "it is there already"
    files = [{"container": "staged-files", "blob_prefix": name, "file_path": "in"}]
    job = client.submit(
        make_job(t={"command": ["cat", f"in/{name}"], "resource_files": files, "gang": gang})
    ).job
    assert job.wait(WITHIN).state is JobState.SUCCEEDED
    said = [chunk.text for chunk in job.logs("t") if chunk.stream == "stdout"]
    assert said == ["staged\n"] * (gang or 1)
    file.write_text("staged anew\n")
    assert client.stage(file, "staged-files", name), "its length differs"


@pytest.fixture(scope="module", params=["own blob service", "Azurite"])
def batch(
    request: pytest.FixtureRequest, account: AccountSpec, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[AzureBatch]:
    """A client whose account has its storage with the local service, or in Azurite."""
    if request.param == "own blob service":
        with AzureBatch(account) as client:
            yield client
        return
    with azurite_server(tmp_path_factory.mktemp("azurite")) as place:
        words = f"BlobEndpoint={place.endpoint};AccountName={place.name};AccountKey={place.key}"
        with LocalBatch(storage=words) as local:
            storage = StorageSpec(
                blob_endpoint=local.blob_endpoint, account_name=local.blob_account, account_key=local.blob_key
            )
            spec = account.replace(endpoint=local.endpoint, account_key=local.account_key, storage=storage)
            with AzureBatch(spec) as client:
                yield client


def blobs_of(batch: AzureBatch) -> BlobServiceClient:
    """The SDK's client of the storage."""
    storage = batch.account.storage
    assert storage is not None
    assert storage.account_key is not None
    key = {"account_name": storage.account_name, "account_key": storage.account_key.reveal()}
    return BlobServiceClient(storage.blob_endpoint, credential=key)


@pytest.mark.parametrize("content", [b"", b"secret\x00\xff", b"long" * 500_000])
def test_bytes_are_staged_and_read_back(batch: AzureBatch, content: bytes) -> None:
    name = f"in/{len(content)} ü.bin"
    assert batch.stage(content, "staged-bytes", name)
    assert not batch.stage(content, "staged-bytes", name), "it is there already"
    assert batch.staged("staged-bytes", name) == content


def test_what_is_there_is_replaced_only_when_asked(batch: AzureBatch, tmp_path: Path) -> None:
    file = tmp_path / "input"
    file.write_bytes(b"two")
    assert batch.stage(b"one", "staged-anew", "x", replace=True), "its container is made"
    assert not batch.stage(file, "staged-anew", "x"), "its length is the same"
    assert batch.staged("staged-anew", "x") == b"one"
    assert batch.stage(file, "staged-anew", "x", replace=True)
    assert batch.staged("staged-anew", "x") == b"two"
    assert batch.stage(b"", "staged-anew", "x", replace=True)
    assert batch.staged("staged-anew", "x") == b""


def test_what_was_never_staged_is_none(batch: AzureBatch) -> None:
    assert batch.staged("no-such-container", "x") is None
    batch.stage(b"x", "staged-one", "x")
    assert batch.staged("staged-one", "X") is None


def test_all_of_a_prefix_is_unstaged_and_nothing_else(batch: AzureBatch) -> None:
    for name in ("job-1/a b", "job-1/deep/ü", "job-10/a", "job-1", "JOB-1/a"):
        batch.stage(b"x", "staged-away", name)
    with blobs_of(batch) as storage:
        box = storage.get_container_client("staged-away")
        assert batch.unstage("staged-away", "job-1/") == 2
        assert sorted(box.list_blob_names()) == ["JOB-1/a", "job-1", "job-10/a"]
        assert batch.unstage("staged-away", "job-1/") == 0
        assert batch.unstage("no-such-container", "job-1/") == 0
        assert batch.unstage("staged-away", "job-1") == 2
        assert list(box.list_blob_names()) == ["JOB-1/a"]


@pytest.mark.parametrize(
    ("call", "field"),
    [
        (lambda batch: batch.unstage("staged-away", ""), "prefix"),
        (lambda batch: batch.unstage("", "x"), "container"),
        (lambda batch: batch.staged("staged-away", ""), "name"),
        (lambda batch: batch.stage(b"x", "staged-away", ""), "name"),
    ],
)
def test_an_empty_name_or_prefix_is_refused(client: AzureBatch, call: Any, field: str) -> None:
    with pytest.raises(SpecError, match="is empty") as refused:
        call(client)
    assert refused.value.field == field


@pytest.mark.parametrize(
    "call",
    [
        lambda batch: batch.stage(b"x", "staged-files", "x"),
        lambda batch: batch.staged("staged-files", "x"),
        lambda batch: batch.unstage("staged-files", "x"),
    ],
)
def test_without_storage_nothing_is_staged(account: AccountSpec, call: Any) -> None:
    with (
        AzureBatch(account.replace(storage=None)) as bare,
        pytest.raises(ConfigurationError, match="no storage"),
    ):
        call(bare)
