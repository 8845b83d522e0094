"""Job manager tasks on the virtual clock."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from engine_fakes import Service

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.asyncio


def manager(command: str = "sleep 10", **fields: Any) -> dict[str, Any]:
    return {"id": "manager", "commandLine": command, **fields}


async def test_defaults_are_filled_in_and_the_task_is_there_at_once(service: Service) -> None:
    doc = service.job(jobManagerTask=manager(), constraints={"maxTaskRetryCount": 5})
    shown = doc["jobManagerTask"]
    assert all(shown[name] for name in ("killJobOnCompletion", "runExclusive", "allowLowPriorityNode"))
    assert (shown["requiredSlots"], shown["constraints"]["maxTaskRetryCount"]) == (1, 5)
    task = service.engine.tasks.get("job", "manager")
    assert (task["state"], task["constraints"], task["requiredSlots"]) == ("active", shown["constraints"], 1)
    assert not {"killJobOnCompletion", "runExclusive", "allowLowPriorityNode"} & task.keys()
    assert service.counts()["active"] == 1


async def test_the_end_of_the_manager_ends_the_job(service: Service) -> None:
    await service.pool(nodes=2)
    service.job(jobManagerTask=manager())
    await service.pass_time(1)
    service.task("long", "hang")
    await service.pass_time(1)
    service.task("waits", "hang")
    await service.pass_time(20)
    doc = service.engine.jobs.get("job")
    assert (doc["state"], doc["executionInfo"]["terminateReason"]) == ("completed", "JMComplete")
    assert service.info("long")["failureInfo"]["code"] == "TaskEnded"
    assert (service.state("manager"), service.state("waits")) == ("completed", "active")


@pytest.mark.parametrize("command", ["exit 3", "missing"])
async def test_a_manager_that_fails_ends_the_job_too_once_its_retries_are_used(
    service: Service, command: str
) -> None:
    await service.pool()
    service.job(jobManagerTask=manager(command, constraints={"maxTaskRetryCount": 2}))
    await service.pass_time(1)
    assert service.engine.jobs.get("job")["executionInfo"]["terminateReason"] == "JMComplete"
    assert len(service.runtime.tries) == (3 if command == "exit 3" else 1)


async def test_a_manager_that_a_user_ends_before_it_ran_ends_the_job(service: Service) -> None:
    service.job(jobManagerTask=manager())
    service.engine.tasks.terminate("job", "manager")
    await service.pass_time()
    assert service.engine.jobs.get("job")["executionInfo"]["terminateReason"] == "JMComplete"


async def test_a_manager_that_does_not_end_its_job(service: Service) -> None:
    await service.pool(nodes=2)
    service.job(jobManagerTask=manager(killJobOnCompletion=False), onAllTasksComplete="terminatejob")
    await service.pass_time(1)
    assert service.engine.jobs.get("job")["state"] == "active"
    service.task("more", "sleep 60")
    await service.pass_time(20)
    assert (service.state("manager"), service.engine.jobs.get("job")["state"]) == ("completed", "active")
    await service.pass_time(60)
    assert service.engine.jobs.get("job")["executionInfo"]["terminateReason"] == "AllTasksComplete"


async def test_a_manager_that_added_nothing_leaves_a_job_whose_tasks_are_all_complete(
    service: Service,
) -> None:
    await service.pool()
    service.job(jobManagerTask=manager(killJobOnCompletion=False), onAllTasksComplete="terminatejob")
    await service.pass_time(20)
    assert service.engine.jobs.get("job")["executionInfo"]["terminateReason"] == "AllTasksComplete"


async def test_a_lone_job_stays_when_nothing_ends_it(service: Service) -> None:
    await service.pool()
    service.job(jobManagerTask=manager(killJobOnCompletion=False))
    await service.pass_time(20)
    assert (service.state("manager"), service.engine.jobs.get("job")["state"]) == ("completed", "active")


async def test_a_manager_has_its_node_to_itself(service: Service) -> None:
    await service.pool(taskSlotsPerNode=4)
    service.job(jobManagerTask=manager(killJobOnCompletion=False))
    service.task("t")
    await service.pass_time(1)
    assert service.runtime.tasks == ["manager"]
    assert service.nodes()[0]["runningTaskSlotsCount"] == 1
    await service.pass_time(10)
    assert service.runtime.tasks == ["manager", "t"]


async def test_a_manager_that_shares_its_node(service: Service) -> None:
    await service.pool(taskSlotsPerNode=4)
    service.job(jobManagerTask=manager(runExclusive=False, requiredSlots=3))
    service.task("a", "hang")
    service.task("b", "hang")
    await service.pass_time(1)
    assert service.runtime.tasks == ["manager", "a"]


async def test_a_manager_waits_for_a_node_to_itself_before_tasks_of_its_job(service: Service) -> None:
    await service.pool(taskSlotsPerNode=2)
    service.job("other")
    service.task("first", "sleep 30", job_id="other")
    await service.pass_time(1)
    service.job(jobManagerTask=manager(killJobOnCompletion=False))
    service.task("t", "sleep 30")
    await service.pass_time(1)
    service.task("second", "exit 0", job_id="other")
    await service.pass_time(1)
    assert service.runtime.tasks == ["first", "second"]
    await service.pass_time(30)
    assert service.runtime.tasks == ["first", "second", "manager"]
    await service.pass_time(10)
    assert service.runtime.tasks == ["first", "second", "manager", "t"]


async def test_a_manager_that_may_not_run_on_a_spot_node(service: Service) -> None:
    await service.pool(nodes=0, targetLowPriorityNodes=1)
    service.job(jobManagerTask=manager(allowLowPriorityNode=False))
    service.task("t")
    await service.pass_time(1)
    assert service.runtime.tasks == ["t"]
    service.engine.pools.resize("pool", {"targetDedicatedNodes": 1, "targetLowPriorityNodes": 1})
    await service.pass_time(1)
    assert service.runtime.tasks == ["t", "manager"]
    assert service.engine.tasks.get("job", "manager")["nodeInfo"]["nodeId"].endswith("_d")


async def test_a_shrinking_pool_keeps_the_managers_node(service: Service) -> None:
    await service.pool()
    service.job(jobManagerTask=manager("hang"))
    await service.pass_time(1)
    service.engine.pools.resize("pool", {"targetDedicatedNodes": 3})
    await service.pass_time(1)
    for number in range(2):
        service.task(f"t{number}", "hang")
    await service.pass_time(1)
    kept = service.engine.tasks.get("job", "manager")["nodeInfo"]["nodeId"]
    service.engine.pools.resize("pool", {"targetDedicatedNodes": 1})
    await service.pass_time(1)
    assert [node["id"] for node in service.nodes()] == [kept]


async def test_the_managers_id_is_taken(service: Service) -> None:
    service.job(jobManagerTask=manager())
    with pytest.raises(Exception, match="TaskExists"):
        service.task("Manager")


async def test_a_manager_survives_the_service(tmp_path: Path) -> None:
    service = await Service(tmp_path).start()
    await service.pool(taskSlotsPerNode=4)
    service.job(jobManagerTask=manager("sleep 10"))
    await service.pass_time(1)
    heir = await service.killed()
    heir.task("t")
    await heir.pass_time(1)
    assert heir.runtime.tasks == ["manager"]
    await heir.pass_time(20)
    assert heir.engine.jobs.get("job")["executionInfo"]["terminateReason"] == "JMComplete"
    await heir.engine.stop()


async def test_an_auto_pool_for_schedules_is_refused_for_a_job(service: Service) -> None:
    auto = {"poolLifetimeOption": "jobschedule", "pool": {"vmSize": "standard_d2"}}
    with pytest.raises(Exception, match="poolLifetimeOption"):
        service.engine.jobs.create({"id": "j", "poolInfo": {"autoPoolSpecification": auto}})
