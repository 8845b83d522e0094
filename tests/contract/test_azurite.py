"""Files staged from and to Azurite, with the genuine storage client and the local service between them."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta, timezone
from typing import TYPE_CHECKING, Any

import pytest
from azure.batch import BatchClient, models
from azure.core.credentials import AzureNamedKeyCredential
from azure.storage.blob import BlobServiceClient, generate_blob_sas, generate_container_sas
from azurite_server import azurite_server

from azbatch_core.local import LocalBatch
from azbatch_core.local.storage_account import StorageAccount, StorageAccountError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from azure.storage.blob import ContainerClient

HOUR = timedelta(hours=1)
IDENTITY = models.BatchNodeIdentityReference(
    resource_id="/subscriptions/s/resourceGroups/g/providers/Microsoft.ManagedIdentity/userAssignedIdentities/i"
)


@dataclass
class Place:
    """A local service whose storage account is in Azurite, and clients of both."""

    batch: BatchClient
    blobs: BlobServiceClient
    storage: StorageAccount
    box: ContainerClient
    count: int = 0

    def sas(self, permissions: str, *, blob: str | None = None, age: timedelta = -HOUR) -> str:
        """A URL of the container, or a blob of it, with a signature that expired `age` ago."""
        facts: dict[str, Any] = {
            "account_name": self.storage.name,
            "account_key": self.storage.key,
            "permission": permissions,
            "expiry": datetime.now(timezone.utc) - age,
            "container_name": self.box.container_name,
        }
        if blob is None:
            return f"{self.box.url}?{generate_container_sas(**facts)}"
        return f"{self.box.url}/{blob}?{generate_blob_sas(**facts, blob_name=blob)}"

    def run(self, command: str, **fields: Any) -> tuple[models.BatchTask, str]:
        """The completed task, and its standard output."""
        self.count += 1
        name = f"t{self.count}"
        task = models.BatchTaskCreateOptions(id=name, command_line=f"/bin/sh -c '{command}'", **fields)
        self.batch.create_task("j", task)
        while (found := self.batch.get_task("j", name)).state != "completed":
            assert found.creation_time is not None
            assert datetime.now(timezone.utc) - found.creation_time < timedelta(seconds=60)
        try:
            text = b"".join(self.batch.download_task_file("j", name, "stdout.txt")).decode()
        except Exception:  # noqa: BLE001 - a task that never started has no output
            text = ""
        return found, text


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Place]:
    with azurite_server(tmp_path_factory.mktemp("azurite")) as storage:
        connection = f"BlobEndpoint={storage.endpoint};AccountName={storage.name};AccountKey={storage.key}"
        key = {"account_name": storage.name, "account_key": storage.key}
        with (
            LocalBatch(storage=connection) as local,
            BlobServiceClient(local.blob_endpoint, credential=key) as blobs,
            BatchClient(
                local.endpoint, AzureNamedKeyCredential(local.account_name, local.account_key)
            ) as batch,
        ):
            box = blobs.create_container("box")
            for name in ("data/a 1.txt", "data/sub/ü.txt", "other.txt"):
                box.upload_blob(name, f"<{name}>")
            batch.create_pool(_pool())
            batch.create_job(models.BatchJobCreateOptions(id="j", pool_info={"poolId": "p"}))
            yield Place(batch, blobs, storage, box)


def _pool() -> models.BatchPoolCreateOptions:
    image = {"publisher": "canonical", "offer": "ubuntu-24_04-lts", "sku": "server"}
    machine = {"imageReference": image, "nodeAgentSKUId": "batch.node.ubuntu 24.04"}
    return models.BatchPoolCreateOptions(
        id="p",
        vm_size="standard_d2s_v3",
        virtual_machine_configuration=machine,
        target_dedicated_nodes=1,
    )


def _output(pattern: str, **container: Any) -> models.OutputFile:
    return models.OutputFile(
        file_pattern=pattern,
        destination=models.OutputFileDestination(
            container=models.OutputFileBlobContainerDestination(**container)
        ),
        upload_options=models.OutputFileUploadConfiguration(upload_condition="taskcompletion"),
    )


def test_a_blob_by_its_signed_url(place: Place) -> None:
    file = models.ResourceFile(http_url=place.sas("r", blob="other.txt"), file_path="in/x.txt")
    task, said = place.run("cat in/x.txt", resource_files=[file])
    assert (task.execution_info.result, said) == ("success", "<other.txt>")


def test_a_container_by_its_signed_url_and_prefix(place: Place) -> None:
    file = models.ResourceFile(storage_container_url=place.sas("rl"), blob_prefix="data/", file_path="in")
    task, said = place.run('find in -type f | sort; cat "in/data/a 1.txt"', resource_files=[file])
    assert task.execution_info.result == "success"
    assert said == "in/data/a 1.txt\nin/data/sub/ü.txt\n<data/a 1.txt>"


def test_the_account_s_own_storage_by_the_container_s_name(place: Place) -> None:
    file = models.ResourceFile(auto_storage_container_name="box", blob_prefix="other")
    task, said = place.run("cat other.txt", resource_files=[file])
    assert (task.execution_info.result, said) == ("success", "<other.txt>")


@pytest.mark.parametrize(
    "file",
    [
        {"http_url": "{box}/other.txt", "file_path": "other.txt"},
        {"storage_container_url": "{box}", "blob_prefix": "other"},
    ],
)
def test_an_identity_opens_the_account_s_own_storage(place: Place, file: dict[str, Any]) -> None:
    facts = {name: value.format(box=place.box.url) for name, value in file.items()}
    task, said = place.run(
        "cat other.txt", resource_files=[models.ResourceFile(**facts, identity_reference=IDENTITY)]
    )
    assert (task.execution_info.result, said) == ("success", "<other.txt>")


@pytest.mark.parametrize(
    ("kind", "age", "permissions", "code"),
    [
        ("blob", HOUR, "r", "BlobAccessDenied"),
        ("blob", -HOUR, "w", "BlobAccessDenied"),
        ("container", HOUR, "rl", "ResourceContainerAccessDenied"),
        ("container", -HOUR, "r", "ResourceContainerAccessDenied"),
    ],
)
def test_what_has_expired_or_allows_something_else(
    place: Place, kind: str, age: timedelta, permissions: str, code: str
) -> None:
    if kind == "blob":
        url = place.sas(permissions, blob="other.txt", age=age)
        file = models.ResourceFile(http_url=url, file_path="x")
    else:
        file = models.ResourceFile(storage_container_url=place.sas(permissions, age=age))
    task, _ = place.run("true", resource_files=[file])
    failure = task.execution_info.failure_info
    assert (task.execution_info.exit_code, failure.code) == (None, code)
    assert "sig=" not in str(failure.as_dict())


@pytest.mark.parametrize(
    ("file", "code"),
    [
        ({"auto_storage_container_name": "nobox"}, "ResourceContainerNotFound"),
        (
            {"http_url": "{box}/nothing", "file_path": "x", "identity_reference": IDENTITY},
            "BlobNotFound",
        ),
    ],
)
def test_what_is_not_there(place: Place, file: dict[str, Any], code: str) -> None:
    facts = {
        name: value.format(box=place.box.url) if isinstance(value, str) else value
        for name, value in file.items()
    }
    task, _ = place.run("true", resource_files=[models.ResourceFile(**facts)])
    assert task.execution_info.failure_info.code == code


def test_output_files_by_signature_and_by_identity(place: Place) -> None:
    command = "mkdir -p out/deep && printf one > out/1.txt && printf two > out/deep/2.txt; exit 3"
    files = [
        _output("out/**/*.txt", container_url=place.sas("w"), path="signed"),
        _output("../stdout.txt", container_url=place.box.url, path="log/o.txt", identity_reference=IDENTITY),
    ]
    task, _ = place.run(command, output_files=files)
    assert (task.execution_info.exit_code, task.execution_info.failure_info.code) == (3, "FailureExitCode")
    names = {blob.name for blob in place.box.list_blobs() if blob.name.startswith(("signed/", "log/"))}
    assert names == {"signed/1.txt", "signed/deep/2.txt", "log/o.txt"}
    assert place.box.download_blob("signed/deep/2.txt").readall() == b"two"


def test_an_output_signature_that_has_expired_fails_the_task_and_keeps_its_exit_code(place: Place) -> None:
    task, _ = place.run("echo x > x", output_files=[_output("x", container_url=place.sas("w", age=HOUR))])
    found = task.execution_info
    assert (found.exit_code, found.result, found.failure_info.code) == (
        0,
        "failure",
        "FileUploadAccessDenied",
    )


def test_a_wrong_connection_string_is_refused_without_its_key() -> None:
    with pytest.raises(StorageAccountError, match=r"AccountKey .* is not base64") as refused:
        LocalBatch(storage="AccountName=a;AccountKey=secret*;BlobEndpoint=http://127.0.0.1:1/a")
    assert "secret" not in str(refused.value)
