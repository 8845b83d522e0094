"""Which task goes where, and when."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from engine_fakes import Service

pytestmark = pytest.mark.asyncio


def node_of(service: Service, task_id: str) -> str:
    found: str = service.engine.tasks.get("job", task_id)["nodeInfo"]["nodeId"]
    return found


async def test_tasks_start_in_the_order_they_were_added(service: Service) -> None:
    await service.pool()
    service.job()
    names = [f"t{n}" for n in (5, 1, 9, 2)]
    service.engine.tasks.add_collection("job", [{"id": name, "commandLine": "sleep 1"} for name in names])
    await service.pass_time(10)
    assert service.runtime.tasks == names


async def test_more_tasks_than_the_window_holds_run_in_order(service: Service) -> None:
    await service.pool(vmSize="standard_d32s_v3", taskSlotsPerNode=100)
    service.job()
    for start in range(0, 900, 100):
        service.engine.tasks.add_collection(
            "job", [{"id": f"t{n}", "commandLine": "sleep 1"} for n in range(start, start + 100)]
        )
    await service.pass_time(20)
    assert service.runtime.tasks == [f"t{n}" for n in range(900)]


async def test_a_retry_goes_before_later_tasks(service: Service) -> None:
    await service.pool()
    service.job()
    service.task("first", "sleep 1; exit 1", constraints={"maxTaskRetryCount": 1})
    service.task("second", "sleep 1")
    await service.pass_time(10)
    assert service.runtime.tasks == ["first", "first", "second"]


async def test_the_job_of_higher_priority_goes_first(service: Service) -> None:
    await service.pool()
    service.job("low", priority=-5)
    service.job("old")
    service.job("high", priority=10)
    service.job("late")
    for job_id in ("low", "old", "high", "late"):
        service.task(job_id, "sleep 1", job_id=job_id)
    service.engine.jobs.patch("late", {"priority": 11})
    await service.pass_time(10)
    assert service.runtime.tasks == ["late", "high", "old", "low"]


async def test_running_tasks_are_not_displaced(service: Service) -> None:
    await service.pool()
    service.job("low")
    service.task("t", "sleep 5", job_id="low")
    await service.pass_time(1)
    service.job("high", priority=1000)
    service.task("u", job_id="high")
    await service.pass_time(1)
    assert service.state("u", "high") == "active"


async def test_slots_bound_what_runs_at_once(service: Service) -> None:
    await service.pool(taskSlotsPerNode=4)
    service.job()
    for n in range(3):
        service.task(f"t{n}", "sleep 5", requiredSlots=2)
    await service.pass_time(1)
    assert service.counts()["running"] == 2
    await service.pass_time(5)
    assert service.counts()["running"] == 1


async def test_a_task_that_fits_no_node_waits_and_holds_up_nobody(service: Service) -> None:
    await service.pool(taskSlotsPerNode=2)
    service.job()
    service.engine.tasks.add_collection(
        "job", [{"id": f"w{n}", "commandLine": "", "requiredSlots": 3} for n in range(100)]
    )
    for start in (100, 200):
        service.engine.tasks.add_collection(
            "job",
            [{"id": f"w{start + n}", "commandLine": "", "requiredSlots": 3} for n in range(100)],
        )
    service.task("small")
    await service.pass_time(1)
    assert service.runtime.tasks == ["small"]
    assert service.state("w0") == "active"


async def test_a_small_task_that_comes_later_passes_one_that_waits_for_room(service: Service) -> None:
    await service.pool(taskSlotsPerNode=4)
    service.job()
    service.task("a", "sleep 9", requiredSlots=3)
    service.task("wide", "sleep 9", requiredSlots=2)
    await service.pass_time(1)
    service.task("small", "sleep 3")
    await service.pass_time(1)
    assert service.runtime.tasks == ["a", "small"]
    assert service.state("wide") == "active"


async def test_smaller_tasks_pass_one_that_waits_for_room(service: Service) -> None:
    await service.pool(taskSlotsPerNode=4)
    service.job()
    service.task("a", "sleep 9", requiredSlots=2)
    service.task("wide", "sleep 9", requiredSlots=4)
    service.task("b", "sleep 3", requiredSlots=2)
    await service.pass_time(1)
    assert service.runtime.tasks == ["a", "b"]
    await service.pass_time(9)
    assert service.state("wide") == "running"


@pytest.mark.parametrize(("fill", "used"), [("spread", 3), ("pack", 1)])
async def test_nodes_are_filled_as_the_pool_says(service: Service, fill: str, used: int) -> None:
    await service.pool(nodes=3, taskSlotsPerNode=3, taskSchedulingPolicy={"nodeFillType": fill})
    service.job()
    for n in range(3):
        service.task(f"t{n}", "hang")
    await service.pass_time(1)
    assert len({node_of(service, f"t{n}") for n in range(3)}) == used


async def test_no_more_tasks_run_than_the_job_allows(service: Service) -> None:
    await service.pool(nodes=4)
    service.job(maxParallelTasks=2)
    service.job("free")
    for n in range(4):
        service.task(f"t{n}", "sleep 5")
    service.task("other", "sleep 5", job_id="free")
    await service.pass_time(1)
    assert (service.counts()["running"], service.state("other", "free")) == (2, "running")
    service.engine.jobs.patch("job", {"maxParallelTasks": 3})
    await service.pass_time(1)
    assert service.counts()["running"] == 3
    await service.pass_time(10)
    assert service.counts()["completed"] == 4


async def test_an_affinity_is_a_wish(service: Service) -> None:
    await service.pool(nodes=3)
    service.job()
    wanted = service.nodes()[1]["affinityId"]
    service.task("a", "hang", affinityInfo={"affinityId": wanted})
    service.task("b", "hang", affinityInfo={"affinityId": wanted})
    service.task("c", "hang", affinityInfo={"affinityId": "TVM:gone"})
    await service.pass_time(1)
    assert "TVM:" + node_of(service, "a") == wanted
    assert len({node_of(service, name) for name in "abc"}) == 3


async def test_pools_do_not_take_each_others_tasks(service: Service) -> None:
    await service.pool("one")
    await service.pool("two")
    service.job(pool_id="one")
    service.task("a", "hang")
    service.task("b", "hang")
    await service.pass_time(1)
    assert service.counts() == {"active": 1, "running": 1, "succeeded": 0, "failed": 0, "completed": 0}


async def test_a_task_that_finished_as_its_node_was_taken_keeps_its_result(service: Service) -> None:
    await service.pool()
    service.job()
    service.task("t", "hang")
    await service.pass_time(1)
    service.runtime.tries[0].end(0, None)
    service.engine.pools.resize("pool", {"targetDedicatedNodes": 0})
    await service.pass_time(1)
    assert service.info("t")["result"] == "success"
    assert service.info("t")["requeueCount"] == 0


async def test_busy_means_that_something_can_happen(service: Service) -> None:
    assert not service.engine.busy()
    service.job()
    service.task("t", "sleep 5")
    await service.pass_time()
    assert not service.engine.busy()
    service.engine.pools.create({"id": "pool", "vmSize": "standard_d2", "targetDedicatedNodes": 1})
    assert service.engine.busy()
    await service.pass_time(1)
    assert service.engine.busy()
    await service.pass_time(10)
    assert not service.engine.busy()
