"""Multi-instance tasks on a virtual clock."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from gang_fakes import gang, gang_pool, members, subtasks

from azbatch_core.local.engine.scaling import _values

if TYPE_CHECKING:
    from engine_fakes import Service

pytestmark = pytest.mark.asyncio


async def test_coordination_everywhere_then_the_command_on_the_primary(service: Service) -> None:
    await gang_pool(service)
    gang(
        service,
        command="sleep 10",
        n=3,
        first="sleep 5",
        resourceFiles=[{"httpUrl": "http://x", "filePath": "x"}],
    )
    await service.pass_time(4)
    launches = [item.launch for item in members(service)]
    assert len({launch.node.node_id for launch in launches}) == 3
    assert [launch.command_line for launch in launches] == ["sleep 10", "", ""]
    assert [len(launch.resource_files) for launch in launches] == [1, 0, 0]
    assert {launch.coordination_command_line for launch in launches} == {"sleep 5"}
    assert service.state("g") == "running"
    assert [doc["state"] for doc in subtasks(service)] == ["running", "running"]
    assert all("previousState" not in doc and "exitCode" not in doc for doc in subtasks(service))
    await service.pass_time(10)
    assert service.state("g") == "running"  # the command began only after coordination
    await service.pass_time(2)
    assert service.state("g") == "completed"
    assert service.info("g")["exitCode"] == 0
    docs = subtasks(service)
    assert [(doc["id"], doc["state"], doc["exitCode"], doc["result"]) for doc in docs] == [
        (1, "completed", 0, "success"),
        (2, "completed", 0, "success"),
    ]
    node = docs[0]["nodeInfo"]
    assert node["taskRootDirectory"] == "workitems/job/job-1/g"
    assert node["nodeId"] in {doc["id"] for doc in service.nodes()}
    assert node["nodeId"] != service.engine.tasks.get("job", "g")["nodeInfo"]["nodeId"]


async def test_all_members_see_the_same_hosts_and_who_is_master(service: Service) -> None:
    await gang_pool(service)
    gang(service, n=3)
    await service.pass_time()
    seen = [item.launch.extra_environment for item in members(service)]
    addresses = [item.launch.node.address for item in members(service)]
    hosts = seen[0]["AZ_BATCH_HOST_LIST"].split(",")
    assert sorted(hosts) == sorted(addresses)
    assert {env["AZ_BATCH_HOST_LIST"] for env in seen} == {",".join(hosts)}
    assert {env["AZ_BATCH_NODE_LIST"] for env in seen} == {";".join(hosts)}
    assert {env["AZ_BATCH_MASTER_NODE"] for env in seen} == {f"{addresses[0]}:6000"}
    assert [env["AZ_BATCH_IS_CURRENT_NODE_MASTER"] for env in seen] == ["true", "false", "false"]
    assert {env["CCP_NODES"] for env in seen} == {f"3 {hosts[0]} 1 {hosts[1]} 1 {hosts[2]} 1"}
    assert hosts[0] != addresses[0]  # clients must not take the first for the master


async def test_a_slow_coordination_holds_the_command_back(service: Service) -> None:
    await gang_pool(service)
    gang(service, first="sleep 5", command="exit 0")
    await service.pass_time(1)
    slow = members(service)[1]
    slow.coordinated = None  # this one never returns
    await service.pass_time(600)
    assert service.state("g") == "running"
    assert subtasks(service)[0]["state"] == "running"


@pytest.mark.parametrize(
    ("fields", "settings"),
    [
        ({"enableInterNodeCommunication": False}, {}),
        ({"taskSlotsPerNode": 2}, {}),
        ({}, {"n": 4}),
        ({}, {"requiredSlots": 2}),
    ],
)
async def test_a_pool_that_cannot_hold_a_gang_lets_it_wait_and_others_run(
    service: Service, fields: dict[str, Any], settings: dict[str, Any]
) -> None:
    await gang_pool(service, **fields)
    gang(service, **settings)
    service.task("t")
    await service.pass_time(3600)
    assert service.state("g") == "active"
    assert service.state("t") == "completed"
    assert subtasks(service) == []
    assert "failureInfo" not in service.info("g")


async def test_a_gang_starts_when_the_pool_has_grown(service: Service) -> None:
    await gang_pool(service, nodes=1)
    gang(service)
    await service.pass_time(60)
    assert service.state("g") == "active"
    service.engine.pools.resize("pool", {"targetDedicatedNodes": 2})
    await service.pass_time(1)
    assert service.state("g") == "running"


async def test_a_failing_coordination_fails_the_whole_task(service: Service) -> None:
    await gang_pool(service)
    gang(service, first="hang", n=3)
    await service.pass_time(1)
    members(service)[1].end(7, {"category": "UserError", "code": "FailureExitCode", "message": "m"})
    await service.pass_time(1)
    assert service.state("g") == "completed"
    info = service.info("g")
    assert (info["exitCode"], info["result"], info["failureInfo"]["code"]) == (
        7,
        "failure",
        "FailureExitCode",
    )
    first, second = subtasks(service)
    failed, killed = (first, second) if first["exitCode"] == 7 else (second, first)
    assert failed["failureInfo"]["code"] == "FailureExitCode"
    assert (killed["exitCode"], killed["result"]) == (-9, "failure")
    assert service.runtime.alive() == []
    assert {node["state"] for node in service.nodes()} == {"idle"}


async def test_a_failed_gang_is_retried_as_a_whole(service: Service) -> None:
    await gang_pool(service)
    gang(service, first="exit 3", command="exit 0", constraints={"maxTaskRetryCount": 2})
    await service.pass_time(60)
    assert service.info("g")["retryCount"] == 2
    assert service.info("g")["failureInfo"]["code"] == "FailureExitCode"
    assert len(service.runtime.tasks) == 6
    assert service.counts()["failed"] == 1
    node = next(doc for doc in service.nodes() if doc.get("recentTasks"))
    assert node["recentTasks"][0]["executionInfo"]["retryCount"] == 2


async def test_a_missing_program_is_no_reason_to_try_again(service: Service) -> None:
    await gang_pool(service)
    gang(service, first="missing", constraints={"maxTaskRetryCount": 2})
    await service.pass_time(10)
    assert service.info("g")["failureInfo"]["code"] == "CommandProgramNotFound"
    assert service.info("g")["retryCount"] == 0
    assert "exitCode" not in service.info("g")


async def test_a_reactivated_gang_begins_anew(service: Service) -> None:
    await gang_pool(service)
    gang(service, first="exit 3")
    await service.pass_time(1)
    assert service.state("g") == "completed"
    service.engine.jobs.disable("job", {"disableTasks": "wait"})
    service.engine.tasks.reactivate("job", "g")
    assert subtasks(service) == []
    service.engine.jobs.enable("job")
    await service.pass_time(1)
    assert [doc["exitCode"] for doc in subtasks(service)] == [3]


async def test_the_wall_time_ends_all_members(service: Service) -> None:
    await gang_pool(service)
    gang(service, constraints={"maxWallClockTime": "PT1M"})
    await service.pass_time(61)
    assert service.info("g")["exitCode"] == -9
    assert service.info("g")["failureInfo"]["code"] == "TaskEnded"
    assert subtasks(service)[0]["exitCode"] == 0
    assert service.runtime.alive() == []


async def test_a_terminated_gang_is_completed_with_its_subtasks(service: Service) -> None:
    await gang_pool(service)
    gang(service)
    await service.pass_time(1)
    service.engine.tasks.terminate("job", "g")
    await service.pass_time(1)
    assert service.info("g")["failureInfo"]["code"] == "TaskEnded"
    assert [doc["state"] for doc in subtasks(service)] == ["completed"]
    assert service.runtime.alive() == []


async def test_a_deleted_gang_leaves_nothing(service: Service) -> None:
    await gang_pool(service)
    gang(service)
    await service.pass_time(1)
    folders = [service.runtime.task_directory(item.launch.node, "job", "g") for item in members(service)]
    assert all(folder.exists() for folder in folders)
    service.engine.tasks.delete("job", "g")
    gang(service, command="exit 0")
    await service.pass_time(1)
    assert service.state("g") == "completed"
    service.engine.tasks.delete("job", "g")
    await service.pass_time()
    assert not any(folder.exists() for folder in folders)
    assert service.engine.account.dying == {}


async def test_a_lost_node_puts_the_whole_task_back(service: Service) -> None:
    await gang_pool(service)
    gang(service)
    await service.pass_time(1)
    victim = subtasks(service)[0]["nodeInfo"]["nodeId"]
    service.engine.pools.remove_nodes("pool", {"nodeList": [victim]})
    await service.pass_time(1)
    assert service.state("g") == "running"
    assert service.info("g")["requeueCount"] == 1
    assert service.info("g")["retryCount"] == 0
    assert len(members(service)) == 2
    assert victim not in {item.launch.node.node_id for item in members(service)}
    assert len(subtasks(service)) == 1


async def test_disabling_the_job_requeues_a_gang(service: Service) -> None:
    await gang_pool(service)
    gang(service)
    await service.pass_time(1)
    service.engine.jobs.disable("job", {"disableTasks": "requeue"})
    await service.pass_time(1)
    assert service.state("g") == "active"
    assert subtasks(service) == []
    assert service.runtime.alive() == []
    assert service.engine.jobs.get("job")["state"] == "disabled"
    service.engine.jobs.enable("job")
    await service.pass_time(1)
    assert service.state("g") == "running"


async def test_a_gang_counts_as_one_task_with_the_slots_of_all(service: Service) -> None:
    await gang_pool(service, nodes=2)
    gang(service, "a")
    gang(service, "b")
    await service.pass_time(1)
    counts = service.engine.jobs.task_counts("job")
    assert (counts["taskCounts"]["running"], counts["taskSlotCounts"]["running"]) == (1, 2)
    assert (counts["taskCounts"]["active"], counts["taskSlotCounts"]["active"]) == (1, 2)
    pool = service.engine.account.pool_ids["pool"]
    values = _values(service.engine.account, pool)
    assert (values["$ActiveTasks"], values["$RunningTasks"], values["$PendingTasks"]) == (2, 2, 4)
    node = service.nodes()[0]
    assert (node["runningTasksCount"], node["runningTaskSlotsCount"]) == (1, 1)
    recent = [doc["recentTasks"][0] for doc in service.nodes()]
    assert sorted(item["subtaskId"] for item in recent) == [0, 1]


async def test_preparation_runs_on_all_nodes_before_any_member(service: Service) -> None:
    await service.pool(nodes=2, enableInterNodeCommunication=True)
    service.job(jobPreparationTask={"commandLine": "sleep 5"})
    gang(service)
    await service.pass_time(1)
    assert service.state("g") == "preparing"
    assert [doc["state"] for doc in subtasks(service)] == ["preparing"]
    assert service.runtime.tasks == []
    await service.pass_time(5)
    assert service.state("g") == "running"
    assert subtasks(service)[0]["previousState"] == "preparing"
    assert len(members(service)) == 2


async def test_a_gang_is_terminated_while_it_waits_for_preparation(service: Service) -> None:
    await service.pool(nodes=2, enableInterNodeCommunication=True)
    service.job(jobPreparationTask={"commandLine": "hang"})
    gang(service)
    await service.pass_time(1)
    service.engine.tasks.terminate("job", "g")
    await service.pass_time(1)
    assert service.state("g") == "completed"
    assert [doc["state"] for doc in subtasks(service)] == ["completed"]
    assert "startTime" not in subtasks(service)[0]


async def test_a_job_that_ends_waits_for_the_last_subtask(service: Service) -> None:
    await service.pool(nodes=2, enableInterNodeCommunication=True)
    service.job(onAllTasksComplete="terminatejob")
    gang(service, command="sleep 5")
    await service.pass_time(1)
    slow = members(service)[1]
    slow.proceed = lambda: None  # type: ignore[method-assign] - it takes its time to die
    slow.stop = lambda cause: None  # type: ignore[method-assign] # noqa: ARG005 - same
    await service.pass_time(5)
    assert service.state("g") == "completed"
    assert service.engine.jobs.get("job")["state"] == "terminating"
    slow.end(-9, None)
    await service.pass_time(1)
    assert service.engine.jobs.get("job")["state"] == "completed"


async def test_affinity_names_the_primarys_node(service: Service) -> None:
    await gang_pool(service)
    wanted = service.nodes()[1]["id"]
    gang(service, affinityInfo={"affinityId": f"TVM:{wanted}"})
    await service.pass_time(1)
    assert service.engine.tasks.get("job", "g")["nodeInfo"]["nodeId"] == wanted


async def test_retention_clears_all_members_nodes(service: Service) -> None:
    await gang_pool(service)
    gang(service, command="exit 0", constraints={"retentionTime": "PT1H"})
    await service.pass_time(1)
    folders = [service.runtime.task_directory(item.node, "job", "g") for item in service.runtime.launches]
    assert len([folder for folder in folders if folder.exists()]) == 2
    await service.pass_time(3600)
    assert not any(folder.exists() for folder in folders)


async def test_dependents_go_on_after_the_primary(service: Service) -> None:
    await service.pool(nodes=2, enableInterNodeCommunication=True)
    service.job(usesTaskDependencies=True)
    gang(service, command="exit 0")
    service.task("after", "exit 0", dependsOn={"taskIds": ["g"]})
    await service.pass_time(1)
    assert service.state("after") == "completed"
