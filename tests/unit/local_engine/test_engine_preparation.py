"""Preparation and release tasks."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from azbatch_core.local.errors import BatchError

if TYPE_CHECKING:
    from engine_fakes import Service

pytestmark = pytest.mark.asyncio


def special(prepare: str = "sleep 5", release: str | None = None, **fields: Any) -> dict[str, Any]:
    tasks: dict[str, Any] = {"jobPreparationTask": {"id": "prep", "commandLine": prepare, **fields}}
    if release is not None:
        tasks["jobReleaseTask"] = {"id": "rel", "commandLine": release}
    return tasks


def kinds(service: Service) -> list[tuple[str, str]]:
    return [(launch.kind, launch.task_id) for launch in service.runtime.launches]


async def test_tasks_prepare_until_the_preparation_is_done(service: Service) -> None:
    await service.pool(taskSlotsPerNode=2)
    service.job(**special())
    service.task("a", "hang")
    service.task("b", "hang")
    await service.pass_time(1)
    doc = service.engine.tasks.get("job", "a")
    assert (doc["state"], service.state("b")) == ("preparing", "preparing")
    assert "startTime" not in doc["executionInfo"]
    assert service.counts()["running"] == 2
    assert kinds(service) == [("preparation", "prep")]
    await service.pass_time(5)
    doc = service.engine.tasks.get("job", "a")
    assert (doc["state"], doc["previousState"]) == ("running", "preparing")
    assert doc["executionInfo"]["startTime"] == "2026-01-01T00:00:05Z"
    service.task("c", "hang")
    service.engine.tasks.terminate("job", "a")
    await service.pass_time(1)
    assert kinds(service) == [("preparation", "prep"), ("task", "a"), ("task", "b"), ("task", "c")]
    assert service.runtime.launches[1].job_prep_id == "prep"


async def test_each_node_prepares_once_and_the_status_tells(service: Service) -> None:
    await service.pool(nodes=2)
    service.job(**special("sleep 1", "sleep 2"))
    for n in range(4):
        service.task(f"t{n}", "sleep 1")
    await service.pass_time(10)
    assert [kind for kind, _ in kinds(service)].count("preparation") == 2
    docs, after = service.engine.jobs.preparation_status("job")
    assert after is None
    assert {doc["nodeId"] for doc in docs} == {node["id"] for node in service.nodes()}
    info = docs[0]["jobPreparationTaskExecutionInfo"]
    assert (info["state"], info["exitCode"], info["result"]) == ("completed", 0, "success")
    assert info["taskRootDirectory"] == "workitems/job/job-1/prep"
    assert info["retryCount"] == 0
    assert "jobReleaseTaskExecutionInfo" not in docs[0]
    service.engine.jobs.terminate("job")
    await service.pass_time(1)
    assert service.engine.jobs.get("job")["state"] == "terminating"
    release = service.engine.jobs.preparation_status("job")[0][0]["jobReleaseTaskExecutionInfo"]
    assert release["state"] == "running"
    await service.pass_time(2)
    assert service.engine.jobs.get("job")["state"] == "completed"
    release = service.engine.jobs.preparation_status("job")[0][0]["jobReleaseTaskExecutionInfo"]
    assert (release["state"], release["exitCode"], release["result"]) == ("completed", 0, "success")
    assert service.runtime.launches[-1].wall_time == 900


async def test_a_failed_preparation_bars_the_node_for_the_job_only(service: Service) -> None:
    await service.pool(nodes=1)
    service.job(**special("exit 4", constraints={"maxTaskRetryCount": 1}))
    service.task("t")
    await service.pass_time(60)
    doc = service.engine.tasks.get("job", "t")
    assert (doc["state"], doc["previousState"]) == ("active", "preparing")
    assert doc["executionInfo"] == {"retryCount": 0, "requeueCount": 0}
    assert kinds(service) == [("preparation", "prep")] * 2
    info = service.engine.jobs.preparation_status("job")[0][0]["jobPreparationTaskExecutionInfo"]
    assert (info["result"], info["exitCode"], info["retryCount"]) == ("failure", 4, 1)
    assert service.nodes()[0]["state"] == "idle"
    service.job("other")
    service.task("u", job_id="other")
    await service.pass_time(1)
    assert service.state("u", "other") == "completed"
    service.engine.pools.resize("pool", {"targetDedicatedNodes": 2})
    await service.pass_time(1)
    assert len(service.engine.jobs.preparation_status("job")[0]) == 2
    assert service.state("t") == "active"


async def test_tasks_need_not_wait_for_the_preparation(service: Service) -> None:
    await service.pool()
    service.job(**special("sleep 5; exit 1", waitForSuccess=False))
    service.task("a", "sleep 1")
    service.task("b", "sleep 1")
    await service.pass_time(1)
    assert kinds(service) == [("preparation", "prep"), ("task", "a"), ("task", "b")]
    await service.pass_time(60)
    service.task("c")
    await service.pass_time(1)
    assert service.state("c") == "completed"


async def test_release_runs_only_where_tasks_ran_and_fails_without_harm(service: Service) -> None:
    await service.pool(nodes=2)
    service.job(**special("sleep 1", "exit 1"))
    service.task("a", "hang")
    await service.pass_time(5)
    service.engine.jobs.terminate("job")
    await service.pass_time(1)
    assert service.engine.jobs.get("job")["state"] == "completed"
    assert [kind for kind, _ in kinds(service)] == ["preparation", "task", "release"]


async def test_release_does_not_run_where_the_node_was_only_prepared(service: Service) -> None:
    await service.pool()
    service.job(**special("sleep 5", "exit 0"))
    service.task("a")
    await service.pass_time(1)
    service.engine.tasks.terminate("job", "a")
    await service.pass_time(10)
    service.engine.jobs.terminate("job")
    await service.pass_time(1)
    assert service.engine.jobs.get("job")["state"] == "completed"
    assert [kind for kind, _ in kinds(service)] == ["preparation"]


async def test_a_job_that_ran_nowhere_completes_without_release(service: Service) -> None:
    service.job(**special("sleep 1", "sleep 1"))
    service.engine.jobs.terminate("job")
    await service.pass_time()
    assert service.engine.jobs.get("job")["state"] == "completed"
    assert service.engine.jobs.preparation_status("job") == ([], None)


async def test_a_job_without_special_tasks_has_no_status(service: Service) -> None:
    service.job()
    with pytest.raises(BatchError, match="JobPreparationTaskOrReleaseTaskNotSpecified"):
        service.engine.jobs.preparation_status("job")


async def test_release_runs_before_a_deletion_but_not_twice(service: Service) -> None:
    await service.pool()
    service.job(**special("exit 0", "sleep 3"))
    service.task("a")
    await service.pass_time(1)
    service.engine.jobs.terminate("job")
    await service.pass_time(1)
    service.engine.jobs.delete("job")
    await service.pass_time(1)
    assert service.engine.jobs.get("job")["state"] == "deleting"
    await service.pass_time(5)
    assert service.engine.jobs.page() == ([], None)
    assert [kind for kind, _ in kinds(service)] == ["preparation", "task", "release"]


async def test_ending_a_job_that_prepares_ends_the_preparation(service: Service) -> None:
    await service.pool()
    service.job(**special("hang"))
    service.task("a")
    await service.pass_time(1)
    service.engine.jobs.terminate("job")
    await service.pass_time(1)
    assert service.engine.jobs.get("job")["state"] == "completed"
    doc = service.engine.tasks.get("job", "a")
    assert doc["executionInfo"]["failureInfo"]["code"] == "TaskEnded"
    assert doc["nodeInfo"] == {}
    assert service.runtime.alive() == []
    assert service.nodes()[0]["state"] == "idle"


async def test_a_preparing_task_may_be_ended_or_requeued(service: Service) -> None:
    await service.pool(taskSlotsPerNode=2)
    service.job(**special("hang"))
    service.task("a")
    service.task("b")
    await service.pass_time(1)
    service.engine.tasks.terminate("job", "a")
    service.engine.pools.resize("pool", {"targetDedicatedNodes": 0})
    await service.pass_time(1)
    assert (service.state("a"), service.state("b")) == ("completed", "active")
    assert service.nodes() == []
    assert service.info("b")["requeueCount"] == 1
