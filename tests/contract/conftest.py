"""A local Batch service for the contract tests, and a client on it."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import pytest
from azure.storage.blob import BlobServiceClient
from blob_server import ACCOUNT, KEY, blob_server
from docker_daemon import docker_place
from sdk_calls import Sdk
from web_server import web_server

from azbatch_core import AccountSpec, AzureBatch, JobSpec, StorageSpec, TaskSpec
from azbatch_core.local import LocalBatch
from azbatch_core.local.runtime import download
from azbatch_core.service.connect.retry import RetrySettings

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from http.server import ThreadingHTTPServer

    from azure.storage.blob import ContainerClient
    from docker_daemon import DockerPlace

    from azbatch_core.local.runtime.base import BlobPlace


@pytest.fixture(scope="session")
def local() -> Iterator[LocalBatch]:
    """One local service for the whole run."""
    with LocalBatch() as service:
        yield service


@pytest.fixture(scope="session")
def account(local: LocalBatch) -> AccountSpec:
    """The account of that service, with its storage."""
    return AccountSpec(
        name="here",
        endpoint=local.endpoint,
        account_name=local.account_name,
        credential="shared_key",
        account_key=local.account_key,
        storage=StorageSpec(
            blob_endpoint=local.blob_endpoint, account_name=local.blob_account, account_key=local.blob_key
        ),
    )


@pytest.fixture(scope="session", params=["sync", "aio"])
def sdk(local: LocalBatch, request: pytest.FixtureRequest) -> Iterator[Sdk]:
    """The SDK's two clients, one after the other, on that service."""
    client = Sdk(local, request.param)
    yield client
    client.close()


@pytest.fixture
def client(account: AccountSpec) -> Iterator[AzureBatch]:
    """A client that does not wait long before it tries again."""
    with AzureBatch(account) as batch:
        batch._connection._retry = RetrySettings(first_wait=0.01, max_wait=0.1)
        yield batch


@pytest.fixture
def job_name(request: pytest.FixtureRequest) -> str:
    """A job name of this test's own."""
    return re.sub(r"[^a-z0-9]+", "-", request.node.name.lower())[:40].strip("-")


@pytest.fixture
def make_job(job_name: str) -> Callable[..., JobSpec]:
    """Make a job spec from commands; ``a=[...]`` gives a task its id, a dict gives more of its fields."""

    def make(*commands: Any, job: dict[str, Any] | None = None, **named: Any) -> JobSpec:
        tasks = [TaskSpec(command=command) for command in commands]
        for task_id, what in named.items():
            fields = what if isinstance(what, dict) else {"command": what}
            tasks.append(TaskSpec(id=task_id, **fields))
        return JobSpec(name=job_name, tasks=tuple(tasks), **(job or {}))

    return make


@pytest.fixture(scope="session")
def docker() -> Iterator[DockerPlace]:
    """One Docker daemon and registry for the whole run."""
    with docker_place() as place:
        yield place


@pytest.fixture(scope="module")
def blobs(tmp_path_factory: pytest.TempPathFactory) -> Iterator[BlobPlace]:
    """A blob service without a Batch service."""
    with blob_server(tmp_path_factory.mktemp("blobs")) as place:
        yield place


@pytest.fixture
def box(blobs: BlobPlace) -> Iterator[ContainerClient]:
    """A container with a few blobs."""
    credential = {"account_name": ACCOUNT, "account_key": KEY}
    with BlobServiceClient(blobs.endpoint, credential=credential, retry_total=0) as service:
        container = service.create_container("box")
        for name in ("data/a 1.txt", "data/sub/ü.txt", "other.txt"):
            container.upload_blob(name, f"<{name}>")
        yield container
        container.delete_container()


@pytest.fixture
def web(monkeypatch: pytest.MonkeyPatch) -> Iterator[ThreadingHTTPServer]:
    """A web server with a few tempers; the runtime does not pause before it asks again."""
    monkeypatch.setattr(download, "_PAUSES", (0.0, 0.0))
    with web_server() as server:
        yield server
