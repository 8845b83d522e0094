"""Application packages: which are there, who may ask for them, what nodes and tasks are told."""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING, Any

import pytest

from azbatch_core.local.errors import BatchError
from azbatch_core.local.rules.packages import folder_name, variables
from azbatch_core.local.store import applications

if TYPE_CHECKING:
    from pathlib import Path

    from engine_fakes import Service


def put(state: Path, application: str, *versions: str, **facts: str) -> None:
    folder = state / "applications" / application
    folder.mkdir(parents=True, exist_ok=True)
    for version in versions:
        path = folder / f"{version}.zip"
        path.write_bytes(b"")
        os.utime(path, (0, 0))
    if facts:
        (folder / "application.json").write_text(json.dumps(facts))


def reference(application: str, version: str | None = None) -> dict[str, Any]:
    found = {"applicationId": application}
    return found if version is None else {**found, "version": version}


def test_applications_are_read_from_their_folders(tmp_path: Path) -> None:
    assert applications.read_all(tmp_path) == []
    put(tmp_path, "Blender", "2.70", "2.9-rc1", displayName="The blender", defaultVersion="2.70")
    put(tmp_path, "bare")
    (tmp_path / "applications" / "bare" / "application.json").write_text("no JSON")
    (tmp_path / "applications" / "no id").mkdir()
    (tmp_path / "applications" / "a file").write_text("")
    found = applications.read_all(tmp_path)
    assert [(item.id, item.display_name, list(item.versions)) for item in found] == [
        ("bare", "bare", []),
        ("Blender", "The blender", ["2.70", "2.9-rc1"]),
    ]
    resource = (
        "/subscriptions/s/resourceGroups/g/providers/Microsoft.Batch/batchAccounts/a/applications/blender"
    )
    blender = applications.find(tmp_path, resource)
    assert blender is not None
    assert [
        blender.package(version) and blender.package(version)[0] for version in (None, "2.9-RC1", "3")
    ] == [  # type: ignore[index]
        "2.70",
        "2.9-rc1",
        None,
    ]
    assert applications.find(tmp_path, "other") is None


def test_names_of_folders_and_variables() -> None:
    assert folder_name("App", "1.0", 0) == "App1.01970-01-01-00-00-00"
    assert variables("my-App", "1.0#b", "f") == {
        "AZ_BATCH_APP_PACKAGE_my_App_1_0_b": "f",
        "AZ_BATCH_APP_PACKAGE_MY_APP_1_0_B": "f",
    }
    assert variables("app", None, "f") == {"AZ_BATCH_APP_PACKAGE_app": "f", "AZ_BATCH_APP_PACKAGE_APP": "f"}


@pytest.mark.asyncio
async def test_what_is_not_there_is_refused(service: Service) -> None:
    put(service.folder, "app", "1")
    await service.pool()
    service.job()
    missing = {"applicationPackageReferences": [reference("nothing")]}
    pool = {"id": "other", "vmSize": "standard_d2", "targetDedicatedNodes": 0}
    for call in (
        lambda: service.engine.pools.create({**pool, **missing}),
        lambda: service.engine.pools.patch("pool", missing),
        lambda: service.task("t", **missing),
        lambda: service.task("t", applicationPackageReferences=[reference("app", "2")]),
        lambda: service.job("managed", jobManagerTask={"id": "m", "commandLine": "exit 0", **missing}),
        # A pool needs a version or a default one.
        lambda: service.engine.pools.create({**pool, "applicationPackageReferences": [reference("app")]}),
    ):
        with pytest.raises(BatchError, match="InvalidApplicationPackageReferences"):
            call()
    with pytest.raises(BatchError) as error:
        service.task("t", **missing)
    assert error.value.values == [("nothing", "The specified application package does not exist.")]
    (result,) = service.engine.tasks.add_collection("job", [{"id": "t", "commandLine": "x", **missing}])
    assert result["error"]["code"] == "InvalidApplicationPackageReferences"
    many = {"applicationPackageReferences": [reference("app", "1")] * 11}
    with pytest.raises(BatchError, match="InvalidPropertyValue"):
        service.engine.pools.create({**pool, **many})
    with pytest.raises(BatchError, match="ApplicationNotFound"):
        service.engine.packages.get("nothing")


@pytest.mark.asyncio
async def test_an_auto_pool_with_packages_that_are_not_there_ends_its_job(service: Service) -> None:
    auto = {
        "poolLifetimeOption": "job",
        "pool": {"vmSize": "standard_d2", "applicationPackageReferences": [reference("nothing")]},
    }
    service.engine.jobs.create({"id": "job", "poolInfo": {"autoPoolSpecification": auto}})
    job = service.engine.jobs.get("job")
    assert job["state"] == "completed"
    error = job["executionInfo"]["schedulingError"]
    assert error["code"] == "InvalidApplicationPackageReferencesInAutoPool"


@pytest.mark.asyncio
async def test_nodes_have_their_pools_packages_and_tasks_their_own(service: Service) -> None:
    put(service.folder, "Tools", "1.5", "2.0", defaultVersion="1.5")
    put(service.folder, "data", "7")
    await service.pool(startTask={"commandLine": "exit 0"}, applicationPackageReferences=[reference("tools")])
    service.job()
    service.task("plain")
    service.task("wants", applicationPackageReferences=[reference("data", "7")])
    await service.pass_time(1)
    ((_, installed),) = service.runtime.installed
    assert [(item.application, item.version) for item in installed] == [("Tools", "1.5")]
    start, plain, wants = service.runtime.launches
    root = f"{start.node.root}/applications"
    tools = {
        "AZ_BATCH_APP_PACKAGE_Tools": f"{root}/Tools1.51970-01-01-00-00-00",
        "AZ_BATCH_APP_PACKAGE_TOOLS": f"{root}/Tools1.51970-01-01-00-00-00",
    }
    assert start.extra_environment == plain.extra_environment == tools
    data = {"AZ_BATCH_APP_PACKAGE_data_7", "AZ_BATCH_APP_PACKAGE_DATA_7"}
    assert set(wants.extra_environment) == {*tools, *data}
    assert [item.folder for item in wants.packages] == ["data71970-01-01-00-00-00"]
    assert plain.packages == ()

    # Other references reach the node with its next boot, and so does another default version.
    service.engine.pools.patch("pool", {"applicationPackageReferences": [reference("data", "7")]})
    service.task("before")
    await service.pass_time(1)
    assert service.runtime.launches[-1].extra_environment == tools
    heir = await service.killed()
    heir.task("after-restart")
    await heir.pass_time(1)
    assert heir.runtime.launches[-1].extra_environment == tools
    heir.engine.nodes.go_down("pool", heir.nodes()[0]["id"], "rebooting", "requeue")
    await heir.pass_time(1)
    heir.task("after-boot")
    await heir.pass_time(1)
    assert set(heir.runtime.launches[-1].extra_environment) == data
    await heir.engine.stop()


@pytest.mark.asyncio
async def test_a_node_without_its_packages_is_unusable_until_it_boots_with_them(service: Service) -> None:
    put(service.folder, "app", "1")
    await service.pool(nodes=0, applicationPackageReferences=[reference("app", "1")])
    (service.folder / "applications" / "app" / "1.zip").unlink()
    service.engine.pools.resize("pool", {"targetDedicatedNodes": 1})
    await service.pass_time()
    (node,) = service.nodes()
    assert (node["state"], node["errors"][0]["code"]) == ("unusable", "ApplicationPackageError")
    put(service.folder, "app", "1")
    service.engine.nodes.go_down("pool", node["id"], "rebooting", "requeue")
    await service.pass_time()
    (node,) = service.nodes()
    assert node["state"] == "idle"
    assert "errors" not in node


@pytest.mark.asyncio
async def test_a_task_whose_package_went_away_is_launched_to_fail(service: Service) -> None:
    put(service.folder, "app", "1")
    await service.pool(nodes=0)
    service.job()
    service.task("t", applicationPackageReferences=[reference("app", "1")])
    service.task("none", applicationPackageReferences=[reference("app")])
    (service.folder / "applications" / "app" / "1.zip").unlink()
    service.engine.pools.resize("pool", {"targetDedicatedNodes": 1})
    await service.pass_time(1)
    assert [[item.source for item in launch.packages] for launch in service.runtime.launches] == [[None]] * 2


@pytest.mark.asyncio
async def test_references_are_replaced_and_removed(service: Service) -> None:
    put(service.folder, "app", "1", "2")
    doc = await service.pool(applicationPackageReferences=[reference("app", "1")])
    assert doc["applicationPackageReferences"] == [reference("app", "1")]
    replace = {"metadata": [], "applicationPackageReferences": [reference("app", "2")]}
    assert service.engine.pools.replace("pool", replace)["applicationPackageReferences"] == [
        reference("app", "2")
    ]
    with pytest.raises(BatchError, match="InvalidApplicationPackageReferences"):
        service.engine.pools.replace("pool", {**replace, "applicationPackageReferences": [reference("no")]})
    removed = service.engine.pools.replace("pool", {"metadata": [], "applicationPackageReferences": []})
    assert "applicationPackageReferences" not in removed
