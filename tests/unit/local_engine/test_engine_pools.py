"""Pools: documents, resizing, deletion, quotas."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from engine_fakes import BASE, Service, refused

from azbatch_core.local.errors import BatchError

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.asyncio


async def test_defaults_are_filled_in_as_the_real_service_echoes_them(service: Service) -> None:
    doc = service.engine.pools.create(
        {
            "id": "Pool",
            "vmSize": "STANDARD_D2S_V3",
            "virtualMachineConfiguration": {
                "imageReference": {"publisher": "canonical", "offer": "ubuntu-24_04-lts", "sku": "server"},
                "nodeAgentSKUId": "batch.node.ubuntu 24.04",
            },
            "startTask": {"commandLine": "true"},
            "metadata": [],
            "networkConfiguration": {"enableAcceleratedNetworking": True},
        }
    )
    assert doc["networkConfiguration"] == {
        "dynamicVNetAssignmentScope": "none",
        "enableAcceleratedNetworking": True,
    }
    assert doc["allocationState"] == "resizing"
    assert doc["state"] == "active"
    assert doc["url"] == f"{BASE}/pools/Pool"
    assert doc["vmSize"] == "standard_d2s_v3"
    assert doc["resizeTimeout"] == "PT15M"
    assert doc["taskSlotsPerNode"] == 1
    assert doc["taskSchedulingPolicy"] == {"nodeFillType": "spread"}
    assert doc["enableAutoScale"] is doc["enableInterNodeCommunication"] is False
    assert (doc["targetDedicatedNodes"], doc["targetLowPriorityNodes"]) == (0, 0)
    assert doc["virtualMachineConfiguration"]["imageReference"]["version"] == "latest"
    assert doc["startTask"] == {
        "commandLine": "true",
        "maxTaskRetryCount": 0,
        "userIdentity": {"autoUser": {"scope": "pool", "elevationLevel": "nonadmin"}},
        "waitForSuccess": True,
    }
    assert "metadata" not in doc
    assert doc["eTag"].startswith("0x8D")
    assert doc["lastModified"] == doc["creationTime"] == "2026-01-01T00:00:00Z"


async def test_passwords_are_never_shown(service: Service) -> None:
    doc = service.engine.pools.create(
        {
            "id": "p",
            "vmSize": "standard_d2",
            "userAccounts": [{"name": "u", "password": "hidden-1"}],
            "virtualMachineConfiguration": {
                "containerConfiguration": {
                    "type": "dockerCompatible",
                    "containerRegistries": [{"registryServer": "r", "username": "u", "password": "hidden-2"}],
                }
            },
            "mountConfiguration": [
                {
                    "azureBlobFileSystemConfiguration": {
                        "accountName": "a",
                        "accountKey": "hidden-3",
                        "relativeMountPath": "b",
                    }
                }
            ],
        }
    )
    assert "hidden" not in str(doc)
    assert doc["userAccounts"] == [{"name": "u"}]


async def test_an_empty_pool_is_resizing_before_it_is_steady(service: Service) -> None:
    assert service.engine.pools.create({"id": "p", "vmSize": "standard_d2"})["allocationState"] == "resizing"
    await service.pass_time()
    assert service.engine.pools.get("P")["allocationState"] == "steady"


async def test_background_moves_leave_the_etag_alone_and_writes_change_it(service: Service) -> None:
    made = service.engine.pools.create({"id": "p", "vmSize": "standard_d2", "targetDedicatedNodes": 1})
    await service.pass_time(1)
    steady = service.engine.pools.get("p")
    assert (steady["eTag"], steady["lastModified"]) == (made["eTag"], made["lastModified"])
    patched = service.engine.pools.patch("p", {"metadata": [{"name": "a", "value": "b"}]})
    resized = service.engine.pools.resize("p", {"targetDedicatedNodes": 2})
    tags = [made["eTag"], patched["eTag"], resized["eTag"]]
    assert len(set(tags)) == 3
    assert service.engine.pools.stop_resize("p")["eTag"] == resized["eTag"]


async def test_ids_are_compared_without_case(service: Service) -> None:
    await service.pool("Pool")
    with refused("PoolExists"):
        service.engine.pools.create({"id": "POOL", "vmSize": "standard_d2"})
    assert service.engine.pools.get("pOOl")["id"] == "Pool"


@pytest.mark.parametrize(
    ("body", "code"),
    [
        ({"id": "a b"}, "InvalidPropertyValue"),
        ({"id": ""}, "InvalidPropertyValue"),
        ({"id": "x" * 65}, "InvalidPropertyValue"),
        ({"id": "p", "vmSize": "thisisinvalid"}, "InvalidPropertyValue"),
        ({"id": "p", "taskSlotsPerNode": 257}, "InvalidPropertyValue"),
        ({"id": "p", "taskSlotsPerNode": 0}, "InvalidPropertyValue"),
        ({"id": "p", "targetDedicatedNodes": -1}, "InvalidPropertyValue"),
        ({"id": "p", "resizeTimeout": "PT4M"}, "InvalidPropertyValue"),
        ({"id": "p", "metadata": [{"name": "", "value": "x"}]}, "EmptyMetadataKey"),
        ({"id": "p", "applicationPackageReferences": [{"applicationId": "a"}]}, "InvalidApplicationPackage"),
        ({"id": "p", "startTask": {"commandLine": "x", "maxTaskRetryCount": -2}}, "InvalidPropertyValue"),
    ],
)
async def test_a_refused_pool_changes_nothing(service: Service, body: dict, code: str) -> None:
    with pytest.raises(BatchError, match=f"^{code}"):
        service.engine.pools.create({"vmSize": "standard_d2", **body})
    assert service.engine.pools.page() == ([], None)


async def test_missing_packages_are_named(service: Service) -> None:
    with pytest.raises(BatchError) as caught:
        service.engine.pools.create(
            {"id": "p", "vmSize": "standard_d2", "applicationPackageReferences": [{"applicationId": "app"}]}
        )
    assert caught.value.values == [("app", "The specified application package does not exist.")]


async def test_growing_keeps_nodes_and_shrinking_takes_idle_ones_first(service: Service) -> None:
    await service.pool(nodes=2)
    service.job()
    service.task("t", "hang")
    await service.pass_time()
    busy = service.engine.tasks.get("job", "t")["nodeInfo"]["nodeId"]
    service.engine.pools.resize("pool", {"targetDedicatedNodes": 4})
    await service.pass_time()
    assert len(service.nodes()) == 4
    service.engine.pools.resize("pool", {"targetDedicatedNodes": 1})
    await service.pass_time()
    assert [node["id"] for node in service.nodes()] == [busy]
    assert service.state("t") == "running"


async def test_targets_that_a_resize_omits_become_zero(service: Service) -> None:
    await service.pool(nodes=1, targetLowPriorityNodes=2)
    service.engine.pools.resize("pool", {"targetDedicatedNodes": 1})
    await service.pass_time()
    doc = service.engine.pools.get("pool")
    assert (doc["targetLowPriorityNodes"], doc["currentLowPriorityNodes"]) == (0, 0)
    assert doc["currentDedicatedNodes"] == 1


async def test_the_timeout_of_a_resize_shows_only_while_it_lasts(service: Service) -> None:
    await service.pool(nodes=0)
    doc = service.engine.pools.resize("pool", {"targetDedicatedNodes": 1, "resizeTimeout": "PT20M"})
    assert doc["resizeTimeout"] == "PT20M"
    await service.pass_time()
    assert service.engine.pools.get("pool")["resizeTimeout"] == "PT15M"


async def test_a_resize_needs_a_steady_pool(service: Service) -> None:
    service.engine.pools.create({"id": "pool", "vmSize": "standard_d2"})
    with refused("PoolBeingResized"):
        service.engine.pools.resize("pool", {"targetDedicatedNodes": 1})
    await service.pass_time()
    service.engine.pools.resize("pool", {"targetDedicatedNodes": 1})


async def test_stopping_a_resize_keeps_what_is_there_and_says_what_is_short(tmp_path: Path) -> None:
    service = await Service(tmp_path, resize_time=60).start()
    service.engine.pools.create(
        {"id": "pool", "vmSize": "standard_d2", "targetDedicatedNodes": 2, "targetLowPriorityNodes": 1}
    )
    await service.pass_time(1)
    assert service.engine.pools.stop_resize("pool")["allocationState"] == "stopping"
    await service.pass_time(120)
    doc = service.engine.pools.get("pool")
    assert doc["allocationState"] == "steady"
    assert doc["targetDedicatedNodes"] == 2
    assert service.nodes() == []
    assert [(error["code"], error["message"].split(" could")[0]) for error in doc["resizeErrors"]] == [
        ("ResizeStopped", "Desired number of dedicated nodes"),
        ("ResizeStopped", "Desired number of low priority nodes"),
    ]
    assert service.engine.pools.stop_resize("pool") == doc
    service.engine.pools.resize("pool", {"targetDedicatedNodes": 0})
    await service.pass_time(61)
    assert "resizeErrors" not in service.engine.pools.get("pool")
    await service.engine.stop()


async def test_requeued_tasks_of_a_shrunk_pool_count_as_requeued(service: Service) -> None:
    await service.pool(nodes=1)
    service.job()
    service.task("t", "hang")
    await service.pass_time()
    service.engine.pools.resize("pool", {"targetDedicatedNodes": 0, "nodeDeallocationOption": "requeue"})
    await service.pass_time(1)
    assert service.state("t") == "active"
    info = service.info("t")
    assert (info["requeueCount"], info["retryCount"]) == (1, 0)
    assert "lastRequeueTime" in info
    assert "nodeInfo" not in service.engine.tasks.get("job", "t")
    assert service.nodes() == []


async def test_a_shrink_may_terminate_tasks(service: Service) -> None:
    await service.pool(nodes=1)
    service.job()
    service.task("t", "hang")
    await service.pass_time()
    service.engine.pools.resize("pool", {"targetDedicatedNodes": 0, "nodeDeallocationOption": "terminate"})
    await service.pass_time()
    assert service.state("t") == "completed"
    assert service.info("t")["failureInfo"]["code"] == "TaskEnded"


async def test_a_shrink_may_wait_for_tasks(service: Service) -> None:
    await service.pool(nodes=1, taskSlotsPerNode=2)
    service.job()
    service.task("t", "sleep 10")
    await service.pass_time()
    service.engine.pools.resize(
        "pool", {"targetDedicatedNodes": 0, "nodeDeallocationOption": "taskcompletion"}
    )
    service.task("late")
    await service.pass_time(5)
    assert service.engine.pools.get("pool")["allocationState"] == "resizing"
    assert [node["state"] for node in service.nodes()] == ["leavingpool"]
    assert service.state("late") == "active"
    await service.pass_time(6)
    assert service.info("t")["result"] == "success"
    assert service.engine.pools.get("pool")["allocationState"] == "steady"
    assert service.nodes() == []


async def test_a_stopped_shrink_gives_waiting_nodes_back(service: Service) -> None:
    await service.pool(nodes=1, taskSlotsPerNode=2)
    service.job()
    service.task("t", "sleep 10")
    await service.pass_time()
    service.engine.pools.resize(
        "pool", {"targetDedicatedNodes": 0, "nodeDeallocationOption": "taskcompletion"}
    )
    await service.pass_time(1)
    service.engine.pools.stop_resize("pool")
    service.task("late", "hang")
    await service.pass_time(1)
    assert service.state("late") == "running"
    assert [node["state"] for node in service.nodes()] == ["running"]


async def test_more_nodes_than_the_quota_are_an_error_of_the_resize(tmp_path: Path) -> None:
    service = await Service(tmp_path, node_quota=3).start()
    await service.pool("first", nodes=1)
    doc = await service.pool("greedy", nodes=1_000_000, targetLowPriorityNodes=1)
    assert (doc["allocationState"], doc["currentDedicatedNodes"], doc["currentLowPriorityNodes"]) == (
        "steady",
        2,
        0,
    )
    codes = [error["code"] for error in doc["resizeErrors"]]
    assert codes == ["AccountCoreQuotaReached", "AccountSpotCoreQuotaReached"]
    service.engine.pools.resize("greedy", {"targetDedicatedNodes": 1})
    await service.pass_time()
    shrunk = service.engine.pools.get("greedy")
    assert (shrunk["currentDedicatedNodes"], shrunk.get("resizeErrors")) == (1, None)
    await service.engine.stop()


async def test_a_shrink_may_wait_for_retained_data(service: Service) -> None:
    await service.pool(nodes=1)
    service.job()
    service.task("t", constraints={"retentionTime": "PT1H"})
    await service.pass_time()
    service.engine.pools.resize("pool", {"targetDedicatedNodes": 0, "nodeDeallocationOption": "retaineddata"})
    await service.pass_time(1800)
    assert len(service.nodes()) == 1
    await service.pass_time(1900)
    assert service.nodes() == []


async def test_deleting_a_pool_requeues_its_tasks_and_removes_its_nodes(service: Service) -> None:
    await service.pool(nodes=1)
    service.job()
    service.task("t", "hang")
    await service.pass_time()
    folder = service.engine.nodes.directory("pool", service.nodes()[0]["id"])
    assert service.engine.pools.delete("pool")["state"] == "deleting"
    with refused("PoolBeingDeleted"):
        service.engine.pools.delete("pool")
    with refused("PoolBeingDeleted"):
        service.engine.pools.create({"id": "pool", "vmSize": "standard_d2"})
    await service.pass_time()
    with refused("PoolNotFound"):
        service.engine.pools.get("pool")
    assert not folder.exists()
    assert service.state("t") == "active"
    assert service.engine.jobs.get("job")["state"] == "active"
    await service.pool(nodes=1)
    assert service.state("t") == "running"


async def test_update_properties_removes_what_it_omits(service: Service) -> None:
    await service.pool(nodes=0, startTask={"commandLine": "a"}, metadata=[{"name": "x", "value": "y"}])
    doc = service.engine.pools.patch("pool", {"metadata": [{"name": "k", "value": "v"}]})
    assert doc["startTask"]["commandLine"] == "a"
    doc = service.engine.pools.replace("pool", {"metadata": [], "applicationPackageReferences": []})
    assert "startTask" not in doc
    assert "metadata" not in doc


async def test_slots_cannot_change_under_nodes(service: Service) -> None:
    await service.pool(nodes=1)
    with refused("OperationInvalidForCurrentState"):
        service.engine.pools.patch("pool", {"taskSlotsPerNode": 4})
    service.engine.pools.resize("pool", {"targetDedicatedNodes": 0})
    await service.pass_time()
    assert service.engine.pools.patch("pool", {"taskSlotsPerNode": 4})["taskSlotsPerNode"] == 4


async def test_the_quota_of_pools_holds(tmp_path: Path) -> None:
    service = await Service(tmp_path, pool_quota=1).start()
    await service.pool("a")
    with refused("PoolQuotaReached"):
        service.engine.pools.create({"id": "b", "vmSize": "standard_d2"})
    await service.engine.stop()


async def test_lists_come_in_pages_by_id(service: Service) -> None:
    for name in ("c", "A", "b"):
        service.engine.pools.create({"id": name, "vmSize": "standard_d2"})
    first, after = service.engine.pools.page(limit=2)
    assert [doc["id"] for doc in first] == ["A", "b"]
    service.engine.pools.create({"id": "a2", "vmSize": "standard_d2"})
    assert [doc["id"] for doc in service.engine.pools.page(after=after)[0]] == ["c"]
    found, after = service.engine.pools.page(match=lambda doc: doc["id"] != "b", limit=3)
    assert ([doc["id"] for doc in found], after) == (["A", "a2", "c"], None)
    assert service.engine.pools.page(hints={"state": "deleting"}) == ([], None)
