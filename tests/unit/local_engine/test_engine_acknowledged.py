"""What a user was told survives a kill in the moment after it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from engine_fakes import Service

from azbatch_core.local.engine import node_actions

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

pytestmark = pytest.mark.asyncio


async def running(folder: Path, **job: Any) -> Service:
    """A service with one task that runs until it is stopped."""
    service = await Service(folder).start()
    await service.pool(nodes=1, taskSlotsPerNode=2)
    service.job(**job)
    service.task("t", "hang")
    await service.pass_time()
    assert service.state("t") == "running"
    return service


def node_of(service: Service) -> str:
    return str(service.nodes()[0]["id"])


ENDS: dict[str, Callable[[Service], object]] = {
    "task terminated": lambda service: service.engine.tasks.terminate("job", "t"),
    "job terminated": lambda service: service.engine.jobs.terminate("job"),
    "job disabled": lambda service: service.engine.jobs.disable("job", {"disableTasks": "terminate"}),
    "node rebooted": lambda service: service.engine.nodes.go_down(
        "pool", node_of(service), "rebooting", "terminate"
    ),
    "node removed": lambda service: service.engine.pools.remove_nodes(
        "pool", {"nodeList": [node_of(service)], "nodeDeallocationOption": "terminate"}
    ),
}


@pytest.mark.parametrize("end", ENDS.values(), ids=ENDS.keys())
async def test_a_task_that_was_to_end_does_not_run_again(
    tmp_path: Path, end: Callable[[Service], object]
) -> None:
    service = await running(tmp_path)
    end(service)
    heir = await service.killed()
    await heir.pass_time(10)
    assert heir.runtime.tasks == []
    info = heir.info("t")
    assert (heir.state("t"), info["failureInfo"]["code"], info["retryCount"]) == ("completed", "TaskEnded", 0)
    assert heir.counts()["failed"] == 1
    for node in heir.nodes():
        (recent,) = node["recentTasks"]
        assert (recent["taskState"], recent["executionInfo"]["result"]) == ("completed", "failure")
        assert (node["totalTasksRun"], node["totalTasksSucceeded"]) == (1, 0)
    await heir.engine.stop()


async def test_a_requeue_of_a_job_that_was_disabled_is_counted(tmp_path: Path) -> None:
    service = await running(tmp_path)
    service.engine.jobs.disable("job", {"disableTasks": "requeue"})
    service.engine.jobs.enable("job")
    heir = await service.killed()
    assert (heir.state("t"), heir.info("t")["requeueCount"]) == ("running", 1)
    # What was told of that try says nothing about the next.
    last = await heir.killed()
    assert (last.state("t"), last.info("t")["requeueCount"]) == ("running", 1)
    await last.engine.stop()


async def test_a_job_ends_with_its_manager_also_if_that_was_ended_at_a_kill(tmp_path: Path) -> None:
    service = await Service(tmp_path).start()
    await service.pool(nodes=1)
    service.job(jobManagerTask={"id": "m", "commandLine": "hang"})
    await service.pass_time()
    service.engine.tasks.terminate("job", "m")
    heir = await service.killed()
    await heir.pass_time(1)
    job = heir.engine.jobs.get("job")
    assert (job["state"], job["executionInfo"]["terminateReason"]) == ("completed", "JMComplete")
    await heir.engine.stop()


async def test_a_try_that_died_with_the_service_leaves_no_folder(tmp_path: Path) -> None:
    service = await running(tmp_path)
    folder = service.engine.tasks.directory("job", "t")
    assert folder.exists()
    service.engine.nodes.disable_scheduling("pool", node_of(service), "requeue")
    (before,) = service.nodes()[0]["recentTasks"]
    assert (before["taskId"], before["taskState"]) == ("t", "running")
    heir = await service.killed()
    assert not folder.exists()
    (recent,) = heir.nodes()[0]["recentTasks"]
    assert (recent["taskState"], "startTime" in recent["executionInfo"]) == ("active", False)
    await heir.engine.stop()


async def test_a_start_task_that_nobody_waits_for_runs_again(tmp_path: Path) -> None:
    service = await Service(tmp_path).start()
    await service.pool(startTask={"commandLine": "sleep 50", "waitForSuccess": False})
    assert service.nodes()[0]["state"] == "idle"
    heir = await service.killed()
    assert (heir.nodes()[0]["state"], heir.nodes()[0]["startTaskInfo"]["state"]) == ("idle", "running")
    await heir.pass_time(60)
    assert heir.nodes()[0]["startTaskInfo"]["result"] == "success"
    last = await heir.killed()
    assert last.runtime.launches == []
    await last.engine.stop()


async def test_a_release_task_that_ended_is_not_run_again(tmp_path: Path) -> None:
    service = await Service(tmp_path).start()
    await service.pool(nodes=2)
    service.job(
        jobPreparationTask={"commandLine": "exit 0"}, jobReleaseTask={"id": "r", "commandLine": "sleep 50"}
    )
    service.task("a")
    service.task("b")
    await service.pass_time(1)
    service.engine.jobs.terminate("job")
    await service.pass_time(1)
    first, second = [item for item in service.runtime.tries if item.launch.kind == "release"]
    first.end(0, None)
    await service.pass_time(1)
    heir = await service.killed()
    (launch,) = heir.runtime.launches
    assert (launch.kind, launch.node.node_id) == ("release", second.launch.node.node_id)
    await heir.pass_time(60)
    assert heir.engine.jobs.get("job")["state"] == "completed"
    await heir.engine.stop()


async def test_a_gang_that_was_to_end_ends_with_its_subtasks(tmp_path: Path) -> None:
    service = await Service(tmp_path).start()
    await service.pool(nodes=2, enableInterNodeCommunication=True)
    service.job()
    settings = {"numberOfInstances": 2, "coordinationCommandLine": "exit 0"}
    service.task("g", "hang", multiInstanceSettings=settings)
    await service.pass_time(1)
    service.engine.tasks.terminate("job", "g")
    heir = await service.killed()
    assert (heir.state("g"), heir.runtime.tasks) == ("completed", [])
    assert [item["state"] for item in heir.engine.tasks.subtasks("job", "g")] == ["completed"]
    assert [node["state"] for node in heir.nodes()] == ["idle", "idle"]
    await heir.engine.stop()


async def test_a_deleted_gang_leaves_neither_folders_nor_records(tmp_path: Path) -> None:
    service = await Service(tmp_path).start()
    await service.pool(nodes=2, enableInterNodeCommunication=True)
    service.job()
    settings = {"numberOfInstances": 2, "coordinationCommandLine": "exit 0"}
    service.task("g", "hang", multiInstanceSettings=settings)
    await service.pass_time(1)
    places = [launch.node for launch in service.runtime.launches]
    folders = [service.runtime.task_directory(place, "job", "g") for place in places]
    assert all(folder.exists() for folder in folders)
    service.engine.tasks.delete("job", "g")
    heir = await service.killed()
    assert not any(folder.exists() for folder in folders)
    assert heir.engine.account.store.connection.execute("SELECT COUNT(*) FROM subtasks").fetchone() == (0,)
    await heir.engine.stop()


async def test_a_task_that_runs_again_elsewhere_leaves_no_files_where_it_failed(tmp_path: Path) -> None:
    service = await Service(tmp_path).start()
    await service.pool(nodes=2)
    service.job()
    service.task("t", "exit 3")
    await service.pass_time(1)
    (first,) = service.runtime.launches
    folder = service.runtime.task_directory(first.node, "job", "t")
    assert folder.exists()
    service.engine.nodes.disable_scheduling("pool", first.node.node_id, "requeue")
    service.engine.tasks.reactivate("job", "t")
    await service.pass_time(1)
    assert service.runtime.launches[-1].node != first.node
    assert not folder.exists()
    await service.engine.stop()


@pytest.mark.parametrize("seconds", [None, 0, 10, 31, 34, 36])
async def test_a_preempted_node_comes_back_whenever_its_service_is_killed(
    tmp_path: Path, seconds: float | None
) -> None:
    service = await Service(tmp_path, boot_time=5.0).start()
    await service.pool(nodes=0, targetLowPriorityNodes=1)
    await service.pass_time(10)
    service.job()
    service.task("t", "sleep 50")
    await service.pass_time()
    (node,) = service.engine.account.nodes.values()
    node_actions.preempt(service.engine.account, node, 30.0)
    service.engine.account.store.commit()
    if seconds is not None:
        await service.pass_time(seconds)
    heir = await service.killed()
    await heir.pass_time(40)
    (doc,) = heir.nodes()
    assert (doc["id"], doc["state"], doc["runningTasksCount"]) == (node.id, "running", 1)
    await heir.pass_time(50)
    info = heir.info("t")
    assert (heir.state("t"), info["requeueCount"], info["retryCount"]) == ("completed", 0, 0)
    await heir.engine.stop()
