"""Nodes that are rebooted, reimaged, deallocated, started and taken offline."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from node_action_fakes import START, down, only, started

from azbatch_core.local.errors import BatchError

if TYPE_CHECKING:
    from pathlib import Path

    from engine_fakes import Service

    from azbatch_core.local.rules.nodes import GoingDown
    from azbatch_core.local.store.records import Deallocation

pytestmark = pytest.mark.asyncio


async def test_a_reboot_takes_its_time_and_runs_the_start_task_again(tmp_path: Path) -> None:
    service = await started(tmp_path, boot_time=60)
    await service.pool(startTask=START)
    await service.pass_time(75)
    before = only(service)
    down(service, "rebooting")
    await service.pass_time(59)
    during = only(service)
    assert (during["state"], during["schedulingState"]) == ("rebooting", "enabled")
    for name in ("lastBootTime", "startTaskInfo", "allocationTime"):
        assert during[name] == before[name]
    await service.pass_time(2)
    assert only(service)["state"] == "waitingforstarttask"
    assert only(service)["lastBootTime"] > before["lastBootTime"]
    await service.pass_time(10)
    assert only(service)["state"] == "idle"
    assert [launch.kind for launch in service.runtime.launches] == ["start", "start"]
    await service.engine.stop()


@pytest.mark.parametrize("state", ["rebooting", "reimaging", "deallocating"])
async def test_requeued_tasks_run_elsewhere_and_nothing_is_counted(
    service: Service, state: GoingDown
) -> None:
    await service.pool()
    service.job()
    service.task("t", "hang")
    await service.pass_time(1)
    first = only(service)["id"]
    down(service, state)
    service.engine.pools.resize("pool", {"targetDedicatedNodes": 2})
    await service.pass_time(1)
    task = service.engine.tasks.get("job", "t")
    assert task["state"] == "running"
    if state == "deallocating":
        assert task["nodeInfo"]["nodeId"] != first
    assert (task["executionInfo"]["requeueCount"], task["executionInfo"]["retryCount"]) == (0, 0)
    assert service.counts()["running"] == 1


async def test_terminated_tasks_are_over_and_count_as_run(service: Service) -> None:
    await service.pool()
    service.job()
    service.task("t", "hang")
    await service.pass_time(1)
    down(service, "rebooting", "terminate")
    await service.pass_time(1)
    assert service.info("t")["failureInfo"]["code"] == "TaskEnded"
    node = only(service)
    assert (node["state"], node["totalTasksRun"], node["totalTasksSucceeded"]) == ("idle", 1, 0)


async def test_recent_tasks_tell_which_went_back(service: Service) -> None:
    await service.pool()
    service.job()
    service.task("t", "hang")
    await service.pass_time(1)
    service.engine.nodes.disable_scheduling("pool", only(service)["id"], "requeue")
    await service.pass_time(1)
    (recent,) = only(service)["recentTasks"]
    assert (recent["taskId"], recent["taskState"]) == ("t", "active")
    assert recent["executionInfo"] == {"retryCount": 0, "requeueCount": 0}


async def test_a_reboot_waits_for_tasks_and_for_their_retention(service: Service) -> None:
    await service.pool()
    service.job()
    service.task("t", "sleep 100", constraints={"retentionTime": "PT1M"})
    await service.pass_time(1)
    down(service, "rebooting", "retaineddata")
    service.task("next")
    await service.pass_time(100)
    assert (service.state("t"), service.state("next")) == ("completed", "active")
    assert only(service)["state"] == "rebooting"
    await service.pass_time(60)
    assert only(service)["state"] == "idle"
    assert service.state("next") == "completed"


async def test_a_failed_start_task_and_an_unusable_node_are_cured_by_a_reboot(service: Service) -> None:
    await service.pool(startTask={"commandLine": "exit 1"})
    assert only(service)["state"] == "starttaskfailed"
    service.engine.pools.patch("pool", {"startTask": {"commandLine": "exit 0"}})
    down(service, "rebooting")
    await service.pass_time()
    assert only(service)["state"] == "idle"
    node = next(iter(service.engine.account.nodes.values()))
    node.state, node.errors = "unusable", [{"code": "DiskFull", "message": ""}]
    service.engine.account.free[node.pool].drop(node.key)
    down(service, "rebooting")
    await service.pass_time()
    assert only(service)["state"] == "idle"
    assert "errors" not in only(service)


async def test_a_node_is_rebooted_before_it_ever_came_up(tmp_path: Path) -> None:
    service = await started(tmp_path, boot_time=60)
    await service.pool()
    await service.pass_time(1)
    down(service, "rebooting")
    assert only(service)["state"] == "rebooting"
    assert "lastBootTime" not in only(service)
    await service.pass_time(61)
    assert only(service)["state"] == "idle"
    await service.engine.stop()


async def test_reimaging_wipes_the_disk_and_rebooting_does_not(service: Service) -> None:
    await service.pool()
    service.job()
    service.task("t")
    await service.pass_time(1)
    root = service.engine.nodes.directory("pool", only(service)["id"])
    folder = service.engine.tasks.directory("job", "t")
    down(service, "rebooting")
    await service.pass_time()
    assert folder.is_dir()
    down(service, "reimaging")
    await service.pass_time()
    assert (root.is_dir(), folder.is_dir()) == (True, False)
    with pytest.raises(BatchError, match="TaskFilesCleanedup"):
        service.engine.tasks.directory("job", "t")


@pytest.mark.parametrize(
    ("state", "rerun", "runs"), [("rebooting", True, 2), ("rebooting", False, 1), ("reimaging", False, 2)]
)
async def test_preparations_run_again_as_the_job_wants(
    service: Service, state: GoingDown, *, rerun: bool, runs: int
) -> None:
    await service.pool()
    service.job(jobPreparationTask={"commandLine": "exit 0", "rerunOnNodeRebootAfterSuccess": rerun})
    service.task("a")
    await service.pass_time(1)
    down(service, state)
    await service.pass_time(1)
    service.task("b")
    await service.pass_time(1)
    assert service.state("b") == "completed"
    assert [launch.kind for launch in service.runtime.launches].count("preparation") == runs
    (status,) = service.engine.jobs.preparation_status("job")[0]
    assert status["jobPreparationTaskExecutionInfo"]["result"] == "success"


async def test_only_reimaging_cures_a_node_of_a_failed_preparation(service: Service) -> None:
    await service.pool()
    service.job(jobPreparationTask={"commandLine": "exit 1", "constraints": {"maxTaskRetryCount": 0}})
    service.task("t")
    await service.pass_time(1)
    down(service, "rebooting")
    await service.pass_time(1)
    assert [launch.kind for launch in service.runtime.launches] == ["preparation"]
    down(service, "reimaging")
    await service.pass_time(1)
    assert [launch.kind for launch in service.runtime.launches] == ["preparation"] * 2


async def test_a_release_task_runs_after_a_reboot_but_not_on_a_fresh_disk(service: Service) -> None:
    await service.pool()
    for name, state in (("kept", "rebooting"), ("wiped", "reimaging")):
        service.job(
            name, jobPreparationTask={"commandLine": "exit 0"}, jobReleaseTask={"commandLine": "exit 0"}
        )
        service.task("t", job_id=name)
        await service.pass_time(1)
        service.engine.nodes.go_down("pool", only(service)["id"], state, "requeue")  # type: ignore[arg-type]
        await service.pass_time(1)
        service.engine.jobs.terminate(name, {})
        await service.pass_time(1)
        assert service.engine.jobs.get(name)["state"] == "completed"
    assert [launch.job_id for launch in service.runtime.launches if launch.kind == "release"] == ["kept"]


async def test_a_deallocated_node_stays_in_the_pool_and_starts_again(tmp_path: Path) -> None:
    service = await started(tmp_path, boot_time=60)
    await service.pool(startTask={"commandLine": "exit 0"})
    await service.pass_time(61)
    down(service, "deallocating")
    assert only(service)["state"] == "deallocating"
    await service.pass_time()
    node = only(service)
    assert node["state"] == "deallocated"
    assert service.engine.pools.get("pool")["currentDedicatedNodes"] == 1
    with pytest.raises(BatchError, match="OperationInvalidForCurrentState"):
        service.engine.nodes.directory("pool", node["id"])
    with pytest.raises(BatchError, match="OperationInvalidForCurrentState"):
        down(service, "rebooting")
    service.engine.nodes.start("pool", node["id"])
    assert only(service)["state"] == "starting"
    await service.pass_time(59)
    assert only(service)["state"] == "starting"
    await service.pass_time(2)
    assert only(service)["state"] == "idle"
    assert [launch.kind for launch in service.runtime.launches] == ["start", "start"]
    await service.engine.stop()


@pytest.mark.parametrize("state", ["rebooting", "reimaging", "deallocating", "starting"])
async def test_a_node_on_its_way_down_or_up_leaves_its_pool(tmp_path: Path, state: str) -> None:
    service = await started(tmp_path, boot_time=60)
    await service.pool()
    await service.pass_time(61)
    if state == "starting":
        down(service, "deallocating")
        await service.pass_time()
        service.engine.nodes.start("pool", only(service)["id"])
    else:
        down(service, state)  # type: ignore[arg-type]
    service.engine.pools.remove_nodes("pool", {"nodeList": [only(service)["id"]]})
    await service.pass_time(200)
    assert service.nodes() == []
    assert service.engine.pools.get("pool")["allocationState"] == "steady"
    await service.engine.stop()


@pytest.mark.parametrize("option", ["requeue", "terminate", "taskcompletion"])
async def test_a_node_goes_offline_when_its_tasks_are_over(service: Service, option: Deallocation) -> None:
    await service.pool()
    service.job()
    service.task("t", "sleep 10")
    await service.pass_time(1)
    node = only(service)["id"]
    service.engine.nodes.disable_scheduling("pool", node, option)
    await service.pass_time(1)
    waits = option == "taskcompletion"
    assert only(service)["schedulingState"] == "disabled"
    assert only(service)["state"] == ("running" if waits else "offline")
    service.task("next")
    await service.pass_time(20)
    assert only(service)["state"] == "offline"
    expected = {"requeue": "active", "terminate": "failure", "taskcompletion": "success"}[option]
    assert service.info("t").get("result", "active") == expected
    assert service.info("t")["requeueCount"] == 0
    assert service.state("next") == "active"
    with pytest.raises(BatchError, match="NodeAlreadyInTargetSchedulingState"):
        service.engine.nodes.disable_scheduling("pool", node, option)
    service.engine.nodes.enable_scheduling("pool", node)
    assert only(service)["state"] == "idle"
    await service.pass_time(20)
    assert service.state("next") == "completed"
    with pytest.raises(BatchError, match="NodeAlreadyInTargetSchedulingState"):
        service.engine.nodes.enable_scheduling("pool", node)


async def test_an_offline_node_stays_so_when_it_reboots(service: Service) -> None:
    await service.pool()
    service.engine.nodes.disable_scheduling("pool", only(service)["id"], "requeue")
    assert only(service)["state"] == "offline"
    down(service, "rebooting")
    await service.pass_time()
    assert (only(service)["state"], only(service)["schedulingState"]) == ("offline", "disabled")


async def test_a_node_that_is_enabled_with_its_tasks_running_takes_more(service: Service) -> None:
    await service.pool(taskSlotsPerNode=2)
    service.job()
    service.task("t", "sleep 10")
    await service.pass_time(1)
    service.engine.nodes.disable_scheduling("pool", only(service)["id"], "taskcompletion")
    service.task("next", "hang")
    service.task("last", "hang")
    service.engine.nodes.enable_scheduling("pool", only(service)["id"])
    await service.pass_time(1)
    assert service.runtime.alive() == ["t", "next"]
    assert only(service)["runningTaskSlotsCount"] == 2


async def test_states_refuse_what_they_do_not_allow(tmp_path: Path) -> None:
    service = await started(tmp_path, boot_time=60)
    await service.pool()
    node = only(service)["id"]
    nodes = service.engine.nodes
    with pytest.raises(BatchError, match="NodeBeingCreated"):
        nodes.disable_scheduling("pool", node, "requeue")
    await service.pass_time(31)
    with pytest.raises(BatchError, match="NodeBeingStarted"):
        down(service, "deallocating")
    await service.pass_time(31)
    with pytest.raises(BatchError, match="OperationInvalidForCurrentState"):
        nodes.start("pool", node)
    down(service, "rebooting")
    for refused in ("rebooting", "reimaging", "deallocating"):
        with pytest.raises(BatchError, match="NodeBeingRebooted"):
            down(service, refused)  # type: ignore[arg-type]
    await service.pass_time(61)
    down(service, "reimaging")
    with pytest.raises(BatchError, match="NodeBeingReimaged"):
        down(service, "rebooting")
    with pytest.raises(BatchError, match="NodeNotFound"):
        nodes.go_down("pool", "tvmps_0_d", "rebooting", "requeue")
    with pytest.raises(BatchError, match="PoolNotFound"):
        nodes.start("nobody", node)
    await service.engine.stop()


# Removal


# A service that is killed meanwhile
