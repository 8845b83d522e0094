"""Trouble on demand: nodes that are preempted or fail, resizes that fall short, tries that break."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from engine_fakes import Service

from azbatch_core.local.errors import BatchError

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.asyncio


async def _fault(service: Service, kind: str, **fields: Any) -> str:
    found = service.engine.faults.add({"kind": kind, **fields})
    await service.pass_time()
    return str(found["id"])


async def _spot(service: Service, nodes: int = 1, **fields: Any) -> dict[str, Any]:
    return await service.pool(nodes=0, targetLowPriorityNodes=nodes, **fields)


def _states(service: Service) -> list[str]:
    return sorted(node["state"] for node in service.nodes())


async def test_a_preempted_node_gives_its_tasks_back_and_returns_with_its_id(service: Service) -> None:
    pool = await _spot(service, taskSlotsPerNode=2)
    service.job()
    service.task("done")
    await service.pass_time()
    service.task("t", "hang", constraints={"maxTaskRetryCount": 0})
    await service.pass_time()
    node = service.nodes()[0]
    await _fault(service, "preempt", count=1, lasts=30)
    assert service.nodes()[0]["state"] == "preempted"
    assert service.state("t") == "active"
    info = service.info("t")
    assert (info["retryCount"], info["requeueCount"], "lastRequeueTime" in info) == (0, 0, False)
    counts = service.engine.nodes.counts()[0][0]["lowPriority"]
    assert (counts["preempted"], counts["total"]) == (1, 1)
    assert service.engine.pools.get("pool")["currentLowPriorityNodes"] == pool["currentLowPriorityNodes"] == 1
    with pytest.raises(BatchError, match="TaskFiles"):
        service.engine.tasks.directory("job", "done")
    with pytest.raises(BatchError, match="OperationInvalidForCurrentState"):
        service.engine.nodes.directory("pool", node["id"])
    await service.pass_time(29)
    assert service.nodes()[0]["state"] == "preempted"
    await service.pass_time(2)
    back = service.nodes()[0]
    assert (back["id"], back["state"], back["allocationTime"]) == (
        node["id"],
        "running",
        node["allocationTime"],
    )
    assert back["lastBootTime"] > node["lastBootTime"]
    assert service.state("t") == "running"
    assert service.runtime.tasks.count("t") == 2


async def test_dedicated_nodes_are_never_preempted(service: Service) -> None:
    await service.pool(nodes=1)
    await _fault(service, "preempt")
    assert _states(service) == ["idle"]


async def test_a_preemption_has_its_time_and_number(service: Service) -> None:
    await _spot(service, 3)
    await _fault(service, "preempt", count=2, after=60, lasts=1000)
    await service.pass_time(59)
    assert _states(service) == ["idle"] * 3
    await service.pass_time(1)
    assert _states(service) == ["idle", "preempted", "preempted"]
    assert service.engine.faults.list()[0]["hits"] == 2


async def test_without_a_number_each_node_is_struck_once(service: Service) -> None:
    await _spot(service)
    await _fault(service, "preempt", lasts=5)
    assert _states(service) == ["preempted"]
    await service.pass_time(1000)
    assert _states(service) == ["idle"]


async def test_with_a_number_a_node_is_struck_again_and_again(service: Service) -> None:
    await _spot(service)
    service.job()
    service.task("t", "sleep 3; exit 0")
    await service.pass_time()
    await _fault(service, "preempt", task="t", count=20, lasts=5)
    await service.pass_time(99)
    assert (service.state("t"), service.info("t")["retryCount"]) == ("active", 0)
    await service.pass_time(10)
    assert service.info("t")["result"] == "success"
    assert service.runtime.tasks.count("t") == 21


async def test_a_moment_on_the_engines_clock(service: Service) -> None:
    await _spot(service)
    await _fault(service, "preempt", at="2026-01-01T00:10:00Z", lasts=1000)
    await service.pass_time(599)
    assert _states(service) == ["idle"]
    await service.pass_time(1)
    assert _states(service) == ["preempted"]


async def test_a_live_fault_waits_for_its_node_and_its_task(service: Service) -> None:
    await _fault(service, "preempt", task="bad*", count=1, lasts=1000)
    await _spot(service, 2)
    service.job()
    service.task("good", "hang")
    await service.pass_time()
    assert _states(service) == ["idle", "running"]
    service.task("bad-1", "hang")
    await service.pass_time()
    assert "preempted" in _states(service)
    assert (service.state("good"), service.state("bad-1")) == ("running", "active")


async def test_a_fault_that_is_taken_back_does_not_strike(service: Service) -> None:
    await _spot(service)
    name = await _fault(service, "preempt", after=10)
    service.engine.faults.remove(name)
    await service.pass_time(20)
    assert _states(service) == ["idle"]


async def test_capacity_is_back_after_a_restart(service: Service) -> None:
    await _spot(service)
    service.job()
    service.task("t", "hang")
    await service.pass_time()
    await _fault(service, "preempt", lasts=10_000)
    heir = await service.killed()
    try:
        assert heir.nodes()[0]["state"] == "running"
        assert heir.state("t") == "running"
        assert heir.info("t")["requeueCount"] == 0
    finally:
        await heir.engine.stop()


async def test_a_shrinking_pool_gives_up_preempted_nodes_first(service: Service) -> None:
    await _spot(service, 3)
    preempted = service.nodes()[1]["id"]
    await _fault(service, "preempt", node=preempted, lasts=1000)
    service.engine.pools.resize("pool", {"targetLowPriorityNodes": 2})
    await service.pass_time()
    assert _states(service) == ["idle", "idle"]
    await service.pass_time(2000)
    assert len(service.nodes()) == 2


async def test_formulas_see_preempted_nodes(service: Service) -> None:
    formula = "$TargetLowPriorityNodes = 2; $TargetDedicatedNodes = $PreemptedNodeCount;"
    service.engine.pools.create(
        {"id": "pool", "vmSize": "STANDARD_D2S_V3", "enableAutoScale": True, "autoScaleFormula": formula}
    )
    await service.pass_time()
    await _fault(service, "preempt", count=1, lasts=10_000)
    await service.pass_time(900)
    assert service.engine.pools.get("pool")["targetDedicatedNodes"] == 1


async def test_the_preparation_runs_again_on_the_fresh_disk(service: Service) -> None:
    await _spot(service)
    service.job(jobPreparationTask={"id": "prep", "commandLine": "exit 0"})
    service.task("a")
    await service.pass_time()
    await _fault(service, "preempt", count=1, lasts=1)
    await service.pass_time(5)
    service.task("b")
    await service.pass_time()
    kinds = [launch.kind for launch in service.runtime.launches]
    assert kinds == ["preparation", "task", "preparation", "task"]


@pytest.mark.parametrize(
    ("fields", "errors"),
    [
        ({}, None),
        ({"code": "DiskFull", "message": "full"}, [{"code": "DiskFull", "message": "full"}]),
    ],
)
async def test_an_unusable_node_gives_its_tasks_back_and_stays_so_until_its_reboot(
    service: Service, fields: dict[str, Any], errors: Any
) -> None:
    await service.pool()
    service.job()
    service.task("t", "hang")
    await service.pass_time()
    await _fault(service, "unusable", count=1, **fields)
    await service.pass_time(100_000)
    node = service.nodes()[0]
    assert (node["state"], node.get("errors")) == ("unusable", errors)
    assert (service.state("t"), service.info("t")["requeueCount"]) == ("active", 0)
    service.engine.nodes.go_down("pool", node["id"], "rebooting", "requeue")
    await service.pass_time()
    assert service.nodes()[0]["state"] == "running"
    assert "errors" not in service.nodes()[0]


async def test_a_start_task_fails_as_often_as_it_is_told_to(service: Service) -> None:
    await _fault(service, "start-task-failure", count=2, exit_code=9)
    start = {"commandLine": "exit 0", "maxTaskRetryCount": 1}
    await service.pool(startTask=start)
    node = service.nodes()[0]
    assert (node["state"], node["startTaskInfo"]["exitCode"]) == ("starttaskfailed", 9)
    service.engine.nodes.go_down("pool", node["id"], "rebooting", "requeue")
    await service.pass_time()
    assert service.nodes()[0]["state"] == "idle"


async def test_slow_boots(tmp_path: Path) -> None:
    service = await Service(tmp_path, boot_time=10.0).start()
    await _fault(service, "slow-boot", seconds=50, count=1)
    await service.pool(nodes=2)
    await service.pass_time(11)
    assert _states(service) == ["creating", "idle"]
    await service.pass_time(50)
    assert _states(service) == ["idle", "idle"]
    await service.engine.stop()


@pytest.mark.parametrize(
    ("kind", "fields", "task", "code"),
    [
        ("disk-full", {}, {}, "DiskFull"),
        (
            "download-failure",
            {},
            {"resourceFiles": [{"httpUrl": "http://x/", "filePath": "x"}]},
            "BlobNotFound",
        ),
        ("image-pull", {}, {"containerSettings": {"imageName": "x"}}, "ContainerInvalidImage"),
        (
            "upload-failure",
            {"code": "FileUploadAccessDenied"},
            {"outputFiles": [{"filePattern": "x"}]},
            "FileUploadAccessDenied",
        ),
    ],
)
async def test_tries_break_where_they_can(
    service: Service, kind: str, fields: dict[str, Any], task: dict[str, Any], code: str
) -> None:
    vm = {
        "imageReference": {"publisher": "microsoft-dsvm", "offer": "ubuntu-hpc", "sku": "2404"},
        "containerConfiguration": {"type": "dockerCompatible"},
    }
    await service.pool(virtualMachineConfiguration=vm if kind == "image-pull" else None)
    service.job()
    await _fault(service, kind, task="t*", count=1, **fields)
    service.task("other", **task)
    service.task("t1", **task)
    await service.pass_time()
    service.task("t2", **task)
    await service.pass_time()
    assert [service.info(name)["result"] for name in ("other", "t1", "t2")] == [
        "success",
        "failure",
        "success",
    ]
    assert service.info("t1")["failureInfo"]["code"] == code


async def test_what_a_task_does_not_do_cannot_fail(service: Service) -> None:
    await service.pool()
    service.job()
    for kind in ("download-failure", "image-pull", "upload-failure"):
        await _fault(service, kind)
    service.task("t")
    await service.pass_time()
    assert service.info("t")["result"] == "success"
    assert [fault["hits"] for fault in service.engine.faults.list()] == [0, 0, 0]


async def test_quotas_of_pools_and_jobs(service: Service) -> None:
    await service.pool("one")
    await _fault(service, "quota", pools=1, jobs=0)
    with pytest.raises(BatchError, match="PoolQuotaReached"):
        await service.pool("two")
    with pytest.raises(BatchError, match="ActiveJobAndScheduleQuotaReached"):
        service.job(pool_id="one")


async def test_a_quota_of_cores_leaves_a_pool_short(service: Service) -> None:
    await _fault(service, "quota", cores=5, spot_cores=100)
    pool = await service.pool(nodes=4, targetLowPriorityNodes=1)
    assert (pool["currentDedicatedNodes"], pool["currentLowPriorityNodes"]) == (2, 1)
    assert pool["allocationState"] == "steady"
    assert [error["code"] for error in pool["resizeErrors"]] == ["AccountCoreQuotaReached"]
    other = await service.pool("other", nodes=1)
    assert other["resizeErrors"][0]["values"][0]["value"] == "4 of 5 cores are in use"


async def test_a_failed_allocation_is_an_error_until_the_next_resize(service: Service) -> None:
    await _fault(service, "allocation-failure", pool="pool", count=1, short=2, message="no image")
    pool = await service.pool(nodes=3)
    assert (pool["currentDedicatedNodes"], pool["targetDedicatedNodes"]) == (1, 3)
    assert pool["resizeErrors"] == [
        {
            "code": "AllocationFailed",
            "message": "Desired number of dedicated nodes could not be allocated",
            "values": [{"name": "Reason", "value": "no image"}],
        }
    ]
    service.engine.pools.resize("pool", {"targetDedicatedNodes": 3})
    await service.pass_time()
    pool = service.engine.pools.get("pool")
    assert (pool["currentDedicatedNodes"], "resizeErrors" in pool) == (3, False)


async def test_an_allocation_that_times_out_takes_its_time(service: Service) -> None:
    await _fault(service, "allocation-failure", code="AllocationTimedout", count=1)
    await service.pool(nodes=1, resizeTimeout="PT10M")
    await service.pass_time(599)
    assert service.engine.pools.get("pool")["allocationState"] == "resizing"
    await service.pass_time(1)
    pool = service.engine.pools.get("pool")
    assert (pool["allocationState"], pool["resizeErrors"][0]["code"]) == ("steady", "AllocationTimedout")


async def test_an_allocation_that_was_to_time_out_begins_anew_after_a_kill(service: Service) -> None:
    await _fault(service, "allocation-failure", code="AllocationTimedout", count=1)
    await service.pool(nodes=2)
    heir = await service.killed()
    try:
        pool = heir.engine.pools.get("pool")
        assert (pool["allocationState"], pool["currentDedicatedNodes"]) == ("steady", 2)
    finally:
        await heir.engine.stop()


async def test_a_gang_that_loses_a_spot_node_starts_anew_as_a_whole(service: Service) -> None:
    await _spot(service, 2, enableInterNodeCommunication=True)
    service.job()
    service.task(
        "g",
        "hang",
        multiInstanceSettings={"numberOfInstances": 2, "coordinationCommandLine": "exit 0"},
    )
    await service.pass_time()
    victim = service.nodes()[0]["id"]
    await _fault(service, "preempt", node=victim, count=1, lasts=10)
    assert service.state("g") == "active"
    assert _states(service) == ["idle", "preempted"]
    await service.pass_time(20)
    info = service.info("g")
    assert (service.state("g"), info["retryCount"], info["requeueCount"]) == ("running", 0, 0)
    assert len(service.runtime.alive()) == 2
