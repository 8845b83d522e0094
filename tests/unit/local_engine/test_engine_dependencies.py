"""Dependencies: ids, ranges, ids that do not exist yet, exit conditions."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from azbatch_core.local.errors import BatchError

if TYPE_CHECKING:
    from engine_fakes import Service

pytestmark = pytest.mark.asyncio


def ids(*names: str) -> dict:
    return {"taskIds": list(names)}


def span(start: int, end: int) -> dict:
    return {"taskIdRanges": [{"start": start, "end": end}]}


async def test_a_task_waits_for_all_that_it_depends_on(service: Service) -> None:
    await service.pool(taskSlotsPerNode=4)
    service.job(usesTaskDependencies=True)
    service.task("sum", dependsOn=ids("A", "b", "a"))
    service.task("a", "sleep 5")
    service.task("b", "sleep 9")
    await service.pass_time(6)
    assert service.state("sum") == "active"
    await service.pass_time(3)
    assert service.runtime.tasks == ["a", "b", "sum"]
    assert service.engine.tasks.get("job", "sum")["dependsOn"] == ids("A", "b", "a")


async def test_a_dependent_starts_at_the_moment_of_the_completion(service: Service) -> None:
    await service.pool()
    service.job(usesTaskDependencies=True)
    service.task("a", "sleep 5")
    service.task("b", "hang", dependsOn=ids("a"))
    await service.pass_time(60)
    assert service.info("b")["startTime"] == service.info("a")["endTime"]


async def test_ids_may_be_added_after_those_that_wait_for_them(service: Service) -> None:
    await service.pool()
    service.job(usesTaskDependencies=True)
    service.task("late", dependsOn=ids("not-yet"))
    await service.pass_time(60)
    assert service.state("late") == "active"
    service.task("not-yet")
    await service.pass_time()
    assert service.runtime.tasks == ["not-yet", "late"]


async def test_what_has_succeeded_before_is_met_at_once(service: Service) -> None:
    await service.pool()
    service.job(usesTaskDependencies=True)
    service.task("1")
    service.task("x")
    await service.pass_time()
    service.task("next", dependsOn={**ids("X"), **span(1, 1)})
    await service.pass_time()
    assert service.state("next") == "completed"


async def test_a_failure_blocks_for_ever(service: Service) -> None:
    await service.pool()
    service.job(usesTaskDependencies=True, onAllTasksComplete="noaction")
    service.task("a", "exit 3")
    service.task("b", dependsOn=ids("a"))
    service.task("c", dependsOn=ids("b"))
    await service.pass_time(1000)
    assert (service.state("b"), service.state("c")) == ("active", "active")
    service.task("d", dependsOn=ids("a"))
    await service.pass_time(1000)
    assert service.state("d") == "active"
    assert not service.engine.busy()


async def test_a_failure_may_satisfy(service: Service) -> None:
    await service.pool()
    service.job(usesTaskDependencies=True)
    service.task(
        "a",
        "exit 3",
        exitConditions={"exitCodes": [{"code": 3, "exitOptions": {"dependencyAction": "satisfy"}}]},
    )
    service.task("b", dependsOn=ids("a"))
    await service.pass_time()
    assert service.state("b") == "completed"


async def test_a_task_that_was_ended_satisfies_nobody(service: Service) -> None:
    await service.pool()
    service.job(usesTaskDependencies=True)
    service.task("a", "hang", exitConditions={"default": {"dependencyAction": "satisfy"}})
    service.task("b", dependsOn=ids("a"))
    await service.pass_time()
    service.engine.tasks.terminate("job", "a")
    await service.pass_time()
    assert (service.state("a"), service.state("b")) == ("completed", "active")


async def test_success_may_block(service: Service) -> None:
    await service.pool()
    service.job(usesTaskDependencies=True)
    service.task(
        "a", exitConditions={"exitCodes": [{"code": 0, "exitOptions": {"dependencyAction": "block"}}]}
    )
    service.task("b", dependsOn=ids("a"))
    await service.pass_time()
    assert (service.state("a"), service.state("b")) == ("completed", "active")


async def test_a_retry_that_succeeds_lets_dependents_go(service: Service) -> None:
    await service.pool()
    service.job(usesTaskDependencies=True)
    service.task("a", "exit 3")
    service.task("b", dependsOn=ids("a"))
    await service.pass_time()
    service.engine.tasks.delete("job", "a")
    service.task("a")
    await service.pass_time()
    assert service.state("b") == "completed"


async def test_a_dependency_is_met_once_however_often_its_id_succeeds(service: Service) -> None:
    await service.pool()
    service.job(usesTaskDependencies=True)
    service.task("sum", dependsOn=ids("x", "y"))
    for _ in range(2):
        service.task("x")
        await service.pass_time()
        service.engine.tasks.delete("job", "x")
    assert service.state("sum") == "active"
    service.task("y")
    await service.pass_time()
    assert service.state("sum") == "completed"


async def test_a_range_waits_for_every_integer_in_it(service: Service) -> None:
    await service.pool(taskSlotsPerNode=4)
    service.job(usesTaskDependencies=True)
    service.task("sum", dependsOn=span(9, 12))
    for name in ("9", "10", "011", "012", "12", "13"):
        service.task(name)
    await service.pass_time()
    assert service.state("sum") == "active"
    service.task("11")
    await service.pass_time()
    assert service.state("sum") == "completed"


async def test_ids_and_ranges_may_overlap(service: Service) -> None:
    await service.pool()
    service.job(usesTaskDependencies=True)
    ranges = [{"start": 1, "end": 3}, {"start": 2, "end": 4}]
    service.task("sum", dependsOn={"taskIds": ["2", "x"], "taskIdRanges": ranges})
    for name in ("1", "2", "3", "4"):
        service.task(name)
    await service.pass_time()
    assert service.state("sum") == "active"
    service.task("x")
    await service.pass_time()
    assert service.state("sum") == "completed"


async def test_a_deleted_task_of_a_range_is_needed_again(service: Service) -> None:
    await service.pool()
    service.job(usesTaskDependencies=True)
    service.task("sum", dependsOn=span(1, 2))
    service.task("1")
    await service.pass_time()
    service.engine.tasks.delete("job", "1")
    service.task("2")
    await service.pass_time()
    assert service.state("sum") == "active"
    service.task("1")
    await service.pass_time()
    assert service.state("sum") == "completed"


async def test_a_task_of_a_range_that_runs_twice_counts_once(service: Service) -> None:
    await service.pool()
    service.job(usesTaskDependencies=True)
    satisfy = {"default": {"dependencyAction": "satisfy"}}
    service.task("sum", dependsOn=span(1, 2))
    service.task("1", "exit 1", exitConditions=satisfy)
    await service.pass_time()
    service.engine.tasks.reactivate("job", "1")
    await service.pass_time()
    assert service.runtime.tasks == ["1", "1"]
    assert service.state("sum") == "active"


async def test_a_large_range_is_cheap(service: Service) -> None:
    service.job(usesTaskDependencies=True)
    service.task("sum", dependsOn=span(0, 2**31 - 1))
    assert service.state("sum") == "active"


async def test_a_waiting_task_may_be_ended_and_reactivated(service: Service) -> None:
    await service.pool()
    service.job(usesTaskDependencies=True)
    service.task("b", dependsOn=ids("a"))
    service.engine.tasks.terminate("job", "b")
    await service.pass_time()
    service.engine.tasks.reactivate("job", "b")
    await service.pass_time()
    assert service.state("b") == "active"
    service.task("a")
    await service.pass_time()
    assert service.state("b") == "completed"
    assert service.counts() == {"active": 0, "running": 0, "succeeded": 2, "failed": 0, "completed": 2}


async def test_deleting_a_waiting_task_forgets_it(service: Service) -> None:
    await service.pool()
    service.job(usesTaskDependencies=True)
    service.task("b", dependsOn={**ids("a"), **span(1, 1)})
    service.engine.tasks.delete("job", "b")
    service.task("a")
    service.task("1")
    await service.pass_time()
    assert service.counts() == {"active": 0, "running": 0, "succeeded": 2, "failed": 0, "completed": 2}


@pytest.mark.parametrize(
    ("depends", "code"),
    [
        ({"taskIds": ["x" * 64] * 1001}, "TaskDependencyListTooLong"),
        ({"taskIdRanges": [{"start": 5, "end": 4}]}, "InvalidPropertyValue"),
        ({"taskIdRanges": [{"start": 1000, "end": 2000}] * 3000}, "TaskDependencyRangesTooLong"),
    ],
)
async def test_wrong_dependencies_are_refused(service: Service, depends: dict, code: str) -> None:
    service.job(usesTaskDependencies=True)
    with pytest.raises(BatchError, match=rf"^{code} "):
        service.task("t", dependsOn=depends)


async def test_empty_dependencies_need_no_permission(service: Service) -> None:
    service.job()
    service.task("t", dependsOn={"taskIds": [], "taskIdRanges": []})
    await service.pool()
    assert service.state("t") == "completed"
