"""Applications through the SDK: their packages on nodes, in the environment of tasks, and missing."""

from __future__ import annotations

import zipfile
from typing import TYPE_CHECKING

import pytest
import sdk_bodies as bodies
from azure.batch import BatchClient, models
from azure.core.exceptions import HttpResponseError
from sdk_client import connect
from waiting import until

from azbatch_core.local import LocalBatch

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


@pytest.fixture(scope="module")
def batch() -> Iterator[LocalBatch]:
    with LocalBatch() as service:
        yield service


@pytest.fixture(scope="module")
def client(batch: LocalBatch) -> Iterator[BatchClient]:
    with connect(batch) as client:
        yield client


@pytest.fixture(scope="module")
def apps(batch: LocalBatch) -> Path:
    """The folder of packages, with the application `greeter`, two versions of it, and one that is no zip."""
    folder = batch.state_dir / "applications" / "greeter"
    folder.mkdir(parents=True)
    for version in ("1.0", "2.0"):
        with zipfile.ZipFile(folder / f"{version}.zip", "w") as archive:
            script = zipfile.ZipInfo("bin/greet")
            script.external_attr = 0o100755 << 16
            archive.writestr(script, f"#!/bin/sh\necho hello from {version}\n")
            archive.writestr("../../escaped", "no")
    (folder / "broken.zip").write_bytes(b"no zip file")
    (folder / "application.json").write_text('{"displayName": "Greeter", "defaultVersion": "1.0"}')
    return folder.parent


def reference(version: str | None = None) -> models.BatchApplicationPackageReference:
    return models.BatchApplicationPackageReference(application_id="greeter", version=version)


def make_pool(
    client: BatchClient, pool_id: str, references: list[models.BatchApplicationPackageReference]
) -> None:
    client.create_pool(bodies.pool(pool_id, 1, application_package_references=references))
    client.create_job(
        models.BatchJobCreateOptions(id=pool_id, pool_info=models.BatchPoolInfo(pool_id=pool_id))
    )


def run(
    client: BatchClient,
    job_id: str,
    task_id: str,
    command: str,
    references: list[models.BatchApplicationPackageReference] | None = None,
) -> models.BatchTaskExecutionInfo:
    client.create_task(
        job_id,
        models.BatchTaskCreateOptions(
            id=task_id, command_line=command, application_package_references=references
        ),
    )
    until(lambda: client.get_task(job_id, task_id).state == "completed")
    info = client.get_task(job_id, task_id).execution_info
    assert info is not None
    return info


def output(client: BatchClient, job_id: str, task_id: str) -> str:
    return b"".join(client.download_task_file(job_id, task_id, "stdout.txt")).decode()


def test_applications_are_listed(client: BatchClient, apps: Path) -> None:
    (apps / "another").mkdir()
    listed = {found.id: found for found in client.list_applications(max_results=1)}
    assert set(listed) == {"another", "greeter"}
    assert listed["greeter"].display_name == "Greeter"
    assert listed["greeter"].versions == ["1.0", "2.0", "broken"]
    assert client.get_application("GREETER").id == "greeter"
    with pytest.raises(HttpResponseError) as error:
        client.get_application("nothing")
    assert error.value.error is not None
    assert (error.value.status_code, error.value.error.code) == (404, "ApplicationNotFound")


@pytest.mark.usefixtures("apps")
def test_tasks_find_their_pools_packages_and_their_own(client: BatchClient, batch: LocalBatch) -> None:
    make_pool(client, "pooled", [reference()])
    run(client, "pooled", "pools", "/bin/sh -c $AZ_BATCH_APP_PACKAGE_GREETER/bin/greet")
    assert output(client, "pooled", "pools") == "hello from 1.0\n"
    own = "/bin/sh -c '$AZ_BATCH_APP_PACKAGE_greeter_2_0/bin/greet; env | grep -c AZ_BATCH_APP_PACKAGE'"
    run(client, "pooled", "own", own, [reference("2.0")])
    assert output(client, "pooled", "own") == "hello from 2.0\n4\n"
    run(client, "pooled", "again", own, [reference("2.0")])
    assert output(client, "pooled", "again") == "hello from 2.0\n4\n"
    [node] = client.list_nodes("pooled")
    folders = [found.name for found in client.list_node_files("pooled", node.id) if found.name]
    assert "applications" in folders
    names = [
        str(found.name)
        for found in client.list_node_files("pooled", node.id, recursive=True)
        if str(found.name).startswith("applications/")
    ]
    assert len([name for name in names if name.endswith("/bin/greet")]) == 2
    assert not [path for path in batch.state_dir.rglob("escaped") if "applications" not in path.parts]


@pytest.mark.usefixtures("apps")
def test_packages_that_cannot_be_had_are_refused_or_fail_the_task(client: BatchClient) -> None:
    make_pool(client, "plain", [])
    with pytest.raises(HttpResponseError) as error:
        run(client, "plain", "missing", "/bin/true", [reference("9.9")])
    assert error.value.error is not None
    assert (error.value.status_code, error.value.error.code) == (409, "InvalidApplicationPackageReferences")
    info = run(client, "plain", "broken", "/bin/true", [reference("broken")])
    assert info.failure_info is not None
    assert info.failure_info.code == "ApplicationPackageError"
    assert info.exit_code is None
    make_pool(client, "unusable", [reference("broken")])
    until(lambda: [node.state for node in client.list_nodes("unusable")] == ["unusable"])
    [node] = client.list_nodes("unusable")
    assert node.errors is not None
    assert node.errors[0].code == "ApplicationPackageError"


@pytest.mark.usefixtures("apps")
def test_a_job_manager_has_its_packages(client: BatchClient) -> None:
    make_pool(client, "managed", [])
    client.create_job(
        models.BatchJobCreateOptions(
            id="manages",
            pool_info=models.BatchPoolInfo(pool_id="managed"),
            job_manager_task=models.BatchJobManagerTask(
                id="manager",
                command_line="/bin/sh -c $AZ_BATCH_APP_PACKAGE_greeter_2_0/bin/greet",
                application_package_references=[reference("2.0")],
                kill_job_on_completion=False,
            ),
        )
    )
    until(lambda: client.get_task("manages", "manager").state == "completed")
    assert output(client, "manages", "manager") == "hello from 2.0\n"
