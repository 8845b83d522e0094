"""Nodes that have to have container images before they take tasks."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from engine_fakes import Service

pytestmark = pytest.mark.asyncio

REGISTRY = {"registryServer": "r.example", "username": "u", "password": "hidden"}
MACHINE = {
    "imageReference": {"publisher": "microsoft-dsvm", "offer": "ubuntu-hpc", "sku": "2204"},
    "nodeAgentSKUId": "batch.node.ubuntu 22.04",
    "containerConfiguration": {
        "type": "dockerCompatible",
        "containerImageNames": ["r.example/a:1", "b"],
        "containerRegistries": [REGISTRY],
    },
}
START = {"commandLine": "sleep 10", "waitForSuccess": True}
FAILED = {
    "category": "UserError",
    "code": "ContainerInvalidImage",
    "message": "no",
    "details": [{"name": "Message", "value": "manifest unknown"}],
}


async def test_the_start_task_waits_for_the_images(service: Service) -> None:
    await service.pool(virtualMachineConfiguration=MACHINE, startTask=START)
    ((images, registries, fetched),) = service.runtime.fetches
    assert (images, registries) == (("r.example/a:1", "b"), (REGISTRY,))
    assert service.nodes()[0]["state"] == "starting"
    assert not service.runtime.launches
    fetched.set_result(None)
    await service.pass_time(0)
    assert service.nodes()[0]["state"] == "waitingforstarttask"
    assert service.runtime.launches[0].registries == (REGISTRY,)
    await service.pass_time(10)
    assert service.nodes()[0]["state"] == "idle"


async def test_a_node_without_its_images_is_unusable_and_says_why(service: Service) -> None:
    await service.pool(virtualMachineConfiguration=MACHINE)
    service.runtime.fetches[0][2].set_result(FAILED)
    await service.pass_time(0)
    node = service.nodes()[0]
    assert node["state"] == "unusable"
    assert node["errors"] == [
        {"code": FAILED["code"], "message": "no", "errorDetails": FAILED["details"]},
    ]
    await service.pass_time(3600)
    assert len(service.runtime.fetches) == 1, "it is not tried again"


async def test_a_node_that_leaves_meanwhile_needs_no_images(service: Service) -> None:
    await service.pool(virtualMachineConfiguration=MACHINE)
    service.engine.pools.resize("pool", {"targetDedicatedNodes": 0})
    await service.pass_time(1)
    assert service.nodes() == []
    assert service.runtime.fetches[0][2].cancelled()


async def test_images_are_had_again_after_a_kill(service: Service) -> None:
    await service.pool(virtualMachineConfiguration=MACHINE)
    heir = await service.killed()
    await heir.pass_time(0)
    ((_, _, fetched),) = heir.runtime.fetches
    fetched.set_result(None)
    await heir.pass_time(0)
    assert heir.nodes()[0]["state"] == "idle"
    await heir.engine.stop()


SETTINGS = {"containerSettings": {"imageName": "a"}}


async def test_tasks_without_container_settings_fail_on_a_container_pool(service: Service) -> None:
    await service.pool(
        virtualMachineConfiguration={**MACHINE, "containerConfiguration": {"type": "dockerCompatible"}},
        startTask=START,
    )
    await service.pass_time(10)
    service.job(jobPreparationTask={"commandLine": "true"})
    service.task("plain")
    service.task("in-one", **SETTINGS)
    await service.pass_time(10)
    assert service.info("in-one")["result"] == "success"
    info = service.info("plain")
    assert info["failureInfo"]["code"] == "ContainerTaskSettingsNotFound"
    assert "exitCode" not in info


async def test_tasks_with_container_settings_fail_on_a_plain_pool(service: Service) -> None:
    await service.pool()
    service.job()
    service.task("in-one", **SETTINGS, constraints={"maxTaskRetryCount": 3})
    service.task("plain")
    await service.pass_time(10)
    assert service.info("plain")["result"] == "success"
    info = service.info("in-one")
    assert (info["failureInfo"]["code"], info["retryCount"]) == ("ContainerPoolNotSupported", 0)
