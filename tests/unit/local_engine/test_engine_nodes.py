"""Nodes: booting, start tasks, documents."""

from __future__ import annotations

import errno
import re
from typing import TYPE_CHECKING

import pytest
from engine_fakes import Service, refused

from azbatch_core.local.errors import BatchError

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.asyncio

START = {"commandLine": "sleep 10", "waitForSuccess": True}


async def test_a_node_boots_on_the_clock(tmp_path: Path) -> None:
    service = await Service(tmp_path, boot_time=60).start()
    await service.pool(nodes=1, startTask=START)
    node = service.nodes()[0]
    assert node["state"] == "creating"
    assert "lastBootTime" not in node
    assert "startTaskInfo" not in node
    assert service.engine.pools.get("pool")["allocationState"] == "steady"
    with pytest.raises(BatchError, match="NodeBeingCreated"):
        service.engine.nodes.directory("pool", node["id"])
    await service.pass_time(31)
    assert service.nodes()[0]["state"] == "starting"
    await service.pass_time(30)
    node = service.nodes()[0]
    assert node["state"] == "waitingforstarttask"
    assert node["startTaskInfo"]["state"] == "running"
    assert node["lastBootTime"] == node["nodeAgentInfo"]["lastUpdateTime"] == "2026-01-01T00:01:00Z"
    await service.pass_time(10)
    node = service.nodes()[0]
    assert node["state"] == "idle"
    assert node["startTaskInfo"] == {
        "state": "completed",
        "startTime": "2026-01-01T00:01:00Z",
        "endTime": "2026-01-01T00:01:10Z",
        "exitCode": 0,
        "result": "success",
        "retryCount": 0,
    }
    await service.engine.stop()


async def test_no_task_runs_before_the_start_task_is_done(service: Service) -> None:
    await service.pool(startTask=START)
    service.job()
    service.task("t")
    await service.pass_time(9)
    assert service.state("t") == "active"
    await service.pass_time(1)
    assert service.state("t") == "completed"


async def test_a_start_task_that_is_not_waited_for_runs_beside_tasks(service: Service) -> None:
    await service.pool(startTask={**START, "waitForSuccess": False})
    service.job()
    service.task("t", "sleep 5")
    await service.pass_time(1)
    node = service.nodes()[0]
    assert (service.state("t"), node["state"]) == ("running", "running")
    assert node["runningTasksCount"] == 1
    assert node["startTaskInfo"]["state"] == "running"
    await service.pass_time(10)
    assert service.nodes()[0]["startTaskInfo"]["state"] == "completed"


async def test_a_failed_start_task_keeps_tasks_away(service: Service) -> None:
    await service.pool(startTask={"commandLine": "exit 3", "maxTaskRetryCount": 2, "waitForSuccess": True})
    service.job()
    service.task("t")
    await service.pass_time(60)
    node = service.nodes()[0]
    assert node["state"] == "starttaskfailed"
    info = node["startTaskInfo"]
    assert (info["exitCode"], info["result"], info["retryCount"]) == (3, "failure", 2)
    assert info["failureInfo"]["code"] == "FailureExitCode"
    assert "lastRetryTime" in info
    assert [launch.attempt for launch in service.runtime.launches] == [0, 1, 2]
    assert service.state("t") == "active"
    assert not service.engine.busy()


async def test_a_failed_start_task_that_is_not_waited_for_is_only_noted(service: Service) -> None:
    await service.pool(startTask={"commandLine": "exit 3", "waitForSuccess": False})
    service.job()
    service.task("t")
    await service.pass_time(1)
    assert service.nodes()[0]["startTaskInfo"]["result"] == "failure"
    assert service.state("t") == "completed"


async def test_a_node_looks_as_real_ones_do(service: Service) -> None:
    await service.pool(nodes=2, targetLowPriorityNodes=1)
    dedicated = [node for node in service.nodes() if node["isDedicated"]]
    spot = [node for node in service.nodes() if not node["isDedicated"]]
    assert (len(dedicated), len(spot)) == (2, 1)
    assert all(re.fullmatch(r"tvmps_[0-9a-f]{64}_d", node["id"]) for node in dedicated)
    assert all(re.fullmatch(r"tvmps_[0-9a-f]{64}_p", node["id"]) for node in spot)
    addresses = {node["ipAddress"] for node in service.nodes()}
    assert len(addresses) == 3
    assert all(address.startswith("127.") and address != "127.0.0.1" for address in addresses)
    node = dedicated[0]
    assert node["affinityId"] == "TVM:" + node["id"]
    assert node["schedulingState"] == "enabled"
    assert node["vmSize"] == "standard_d2s_v3"
    assert "recentTasks" not in node
    assert service.engine.nodes.get("POOL", node["id"]) == node
    with pytest.raises(BatchError, match="NodeNotFound"):
        service.engine.nodes.get("pool", "tvmps_0_d")


async def test_addresses_are_unique_over_pools(service: Service) -> None:
    await service.pool("a", nodes=3)
    await service.pool("b", nodes=3)
    nodes = service.nodes("a") + service.nodes("b")
    assert len({node["ipAddress"] for node in nodes}) == 6
    assert len({service.engine.nodes.directory("a", node["id"]) for node in service.nodes("a")}) == 3


async def test_a_node_without_room_on_the_disk_is_unusable(
    service: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(_: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(service.runtime, "create_node", full)
    pool = await service.pool()
    assert pool["allocationState"] == "steady"
    (node,) = service.nodes()
    assert (node["state"], node["errors"][0]["code"]) == ("unusable", "DiskFull")
    service.runtime.remove_node = lambda _: None
    service.engine.pools.delete("pool")
    await service.pass_time()
    assert service.engine.pools.page() == ([], None)


async def test_counters_and_recent_tasks_tell_what_ran(service: Service) -> None:
    await service.pool(taskSlotsPerNode=2)
    service.job()
    for n in range(12):
        service.task(f"t{n:02}", "sleep 2; exit 1" if n == 11 else "sleep 1")
    service.task("wide", "hang", requiredSlots=2)
    await service.pass_time(30)
    node = service.nodes()[0]
    assert (node["totalTasksRun"], node["totalTasksSucceeded"]) == (12, 11)
    assert (node["runningTasksCount"], node["runningTaskSlotsCount"]) == (1, 2)
    recent = node["recentTasks"]
    assert len(recent) == 10
    assert [item["taskId"] for item in recent] == [f"t{n:02}" for n in range(3, 12)] + ["wide"]
    assert recent[-1]["taskState"] == "running"
    assert recent[-2]["executionInfo"]["exitCode"] == 1
    assert recent[-2]["taskUrl"].endswith("/jobs/job/tasks/t11")


async def test_nodes_are_counted_by_state(service: Service) -> None:
    await service.pool(nodes=2)
    service.job()
    service.task("t", "hang")
    await service.pool("empty", nodes=0)
    await service.pool("failed", nodes=1, startTask={"commandLine": "exit 1"})
    counts = {doc["poolId"]: doc for doc in service.engine.nodes.counts()[0]}
    assert list(counts) == ["empty", "failed", "pool"]
    assert (counts["pool"]["dedicated"]["running"], counts["pool"]["dedicated"]["idle"]) == (1, 1)
    assert counts["pool"]["dedicated"]["total"] == 2
    assert counts["failed"]["dedicated"]["startTaskFailed"] == 1
    assert counts["empty"]["lowPriority"]["total"] == 0


async def test_nodes_are_listed_by_state(service: Service) -> None:
    await service.pool(nodes=3)
    service.job()
    service.task("t", "hang")
    await service.pass_time()
    docs, after = service.engine.nodes.page("pool", hints={"state": "running"})
    assert (len(docs), after) == (1, None)
    docs, after = service.engine.nodes.page("pool", match=lambda doc: doc["state"] == "idle", limit=1)
    more, end = service.engine.nodes.page("pool", match=lambda doc: doc["state"] == "idle", after=after)
    assert {docs[0]["id"], more[0]["id"]} == {n["id"] for n in service.nodes() if n["state"] == "idle"}
    assert end is None


async def test_a_node_is_found_in_its_own_pool_only_in_any_case(service: Service) -> None:
    await service.pool()
    await service.pool("other")
    (node,) = service.nodes()
    assert service.engine.nodes.get("POOL", node["id"].upper())["id"] == node["id"]
    with refused("NodeNotFound"):
        service.engine.nodes.get("other", node["id"])
    service.job()
    service.job("elsewhere", "other")
    service.task("a", "hang", "elsewhere", affinityInfo={"affinityId": node["affinityId"]})
    await service.pass_time()
    assert service.engine.tasks.get("elsewhere", "a")["nodeInfo"]["poolId"] == "other"


async def test_what_users_send_is_in_no_repr(service: Service) -> None:
    secret = [{"name": "TOKEN", "value": "s3cret"}]
    await service.pool(startTask={"commandLine": "hang", "environmentSettings": secret})
    service.job(commonEnvironmentSettings=secret)
    account = service.engine.account
    (starting,) = (execution for found in account.on_node.values() for execution in found)
    for thing in (account.pool_ids["pool"], account.job_ids["job"], starting):
        assert "s3cret" not in repr(thing)
