"""Ends of jobs: by their user, their tasks or their clock."""

from __future__ import annotations

import pytest
from engine_fakes import Service, refused

pytestmark = pytest.mark.asyncio


async def test_terminating_ends_running_tasks_and_leaves_active_ones(service: Service) -> None:
    await service.pool()
    service.job()
    service.task("runs", "hang")
    service.task("waits")
    await service.pass_time(1)
    made = service.engine.jobs.get("job")
    doc = service.engine.jobs.terminate("job", {"terminateReason": "enough"})
    assert (doc["state"], doc["executionInfo"]["terminateReason"]) == ("terminating", "enough")
    assert doc["eTag"] != made["eTag"]
    with refused("JobBeingTerminated"):
        service.engine.jobs.terminate("job")
    with refused("JobBeingTerminated"):
        service.task("late")
    await service.pass_time(1)
    done = service.engine.jobs.get("job")
    assert (done["state"], done["previousState"]) == ("completed", "terminating")
    assert done["eTag"] == doc["eTag"]
    assert "endTime" in done["executionInfo"]
    assert service.info("runs")["failureInfo"]["code"] == "TaskEnded"
    assert service.state("waits") == "active"
    assert service.runtime.tasks == ["runs"]
    for call in (
        lambda: service.engine.jobs.terminate("job"),
        lambda: service.engine.jobs.patch("job", {"priority": 1}),
        lambda: service.engine.jobs.disable("job", {}),
        lambda: service.engine.jobs.enable("job"),
        lambda: service.engine.tasks.reactivate("job", "runs"),
        lambda: service.task("late"),
        lambda: service.engine.tasks.add_collection("job", []),
    ):
        with refused("JobCompleted"):
            call()
    assert not service.engine.busy()


async def test_without_a_reason_the_user_is_the_reason(service: Service) -> None:
    service.job()
    assert service.engine.jobs.terminate("job")["executionInfo"]["terminateReason"] == "UserTerminate"


async def test_deleting_a_job_takes_its_tasks_and_files(service: Service) -> None:
    await service.pool(taskSlotsPerNode=2)
    service.job()
    service.task("done")
    service.task("runs", "hang")
    await service.pass_time(1)
    folder = service.engine.tasks.directory("job", "done")
    assert service.engine.jobs.delete("job")["state"] == "deleting"
    for call in (
        lambda: service.engine.jobs.delete("job"),
        lambda: service.engine.jobs.patch("job", {"priority": 1}),
        lambda: service.task("late"),
        service.job,
        lambda: service.engine.tasks.terminate("job", "runs"),
    ):
        with refused("JobBeingDeleted"):
            call()
    assert service.engine.tasks.get("job", "done")["state"] == "completed"
    await service.pass_time(1)
    with refused("JobNotFound"):
        service.engine.jobs.get("job")
    assert not folder.exists()
    assert service.runtime.alive() == []
    service.job()
    assert service.engine.tasks.page("job") == ([], None)
    assert service.counts()["completed"] == 0


async def test_a_large_job_is_deleted_in_parts(service: Service) -> None:
    service.job()
    for start in range(0, 4500, 100):
        service.engine.tasks.add_collection(
            "job", [{"id": f"t{n}", "commandLine": "x"} for n in range(start, start + 100)]
        )
    service.engine.jobs.delete("job")
    await service.pass_time()
    assert service.engine.jobs.page() == ([], None)
    service.job()
    assert service.engine.tasks.page("job") == ([], None)


async def test_terminate_on_completion_cannot_be_taken_back(service: Service) -> None:
    await service.pool()
    service.job()
    service.task("t", "hang")
    service.engine.jobs.patch("job", {"onAllTasksComplete": "terminatejob"})
    with refused("InvalidPropertyValue"):
        service.engine.jobs.patch("job", {"onAllTasksComplete": "noaction"})


async def test_an_empty_job_that_ends_with_its_tasks_ends_at_once(service: Service) -> None:
    assert service.job(onAllTasksComplete="terminatejob")["state"] == "active"
    await service.pass_time()
    doc = service.engine.jobs.get("job")
    assert (doc["state"], doc["executionInfo"]["terminateReason"]) == ("completed", "AllTasksComplete")


async def test_a_job_ends_with_its_last_task(service: Service) -> None:
    await service.pool(nodes=2)
    service.job()
    service.task("a", "sleep 5")
    service.task("b", "sleep 9; exit 1")
    service.engine.jobs.patch("job", {"onAllTasksComplete": "terminatejob"})
    await service.pass_time(6)
    assert service.engine.jobs.get("job")["state"] == "active"
    await service.pass_time(4)
    assert service.engine.jobs.get("job")["state"] == "completed"


async def test_deleting_or_ending_the_last_task_ends_the_job_too(service: Service) -> None:
    for job_id in ("deleted", "ended"):
        service.job(job_id)
        service.task("t", job_id=job_id)
        service.engine.jobs.patch(job_id, {"onAllTasksComplete": "terminatejob"})
    service.engine.tasks.delete("deleted", "t")
    service.engine.tasks.terminate("ended", "t")
    await service.pass_time()
    assert {doc["state"] for doc in service.engine.jobs.page()[0]} == {"completed"}


async def test_a_jobs_clock_runs_out(service: Service) -> None:
    await service.pool()
    service.job(constraints={"maxWallClockTime": "PT10M"})
    service.task("t", "hang")
    await service.pass_time(599)
    assert service.engine.jobs.get("job")["state"] == "active"
    await service.pass_time(2)
    doc = service.engine.jobs.get("job")
    assert (doc["state"], doc["executionInfo"]["terminateReason"]) == (
        "completed",
        "MaxWallClockTimeExpiry",
    )


async def test_a_jobs_clock_can_be_set_anew(service: Service) -> None:
    service.job(constraints={"maxWallClockTime": "PT10M"})
    service.engine.jobs.patch("job", {"constraints": {"maxWallClockTime": "PT1H"}})
    await service.pass_time(3500)
    assert service.engine.jobs.get("job")["state"] == "active"
    await service.pass_time(200)
    assert service.engine.jobs.get("job")["state"] == "completed"


async def test_a_jobs_clock_can_be_stopped(service: Service) -> None:
    service.job(constraints={"maxWallClockTime": "PT10M"})
    service.engine.jobs.patch("job", {"constraints": {"maxTaskRetryCount": 1}})
    await service.pass_time(3600)
    assert service.engine.jobs.get("job")["state"] == "active"


async def test_a_failed_task_may_end_its_job(service: Service) -> None:
    await service.pool()
    service.job(onTaskFailure="performexitoptionsjobaction")
    service.task("good", exitConditions={"exitCodes": [{"code": 0, "exitOptions": {"jobAction": "none"}}]})
    service.task("bad", "sleep 1; exit 3", constraints={"maxTaskRetryCount": 1})
    service.task("never")
    await service.pass_time(1)
    assert service.engine.jobs.get("job")["state"] == "active"
    await service.pass_time(5)
    doc = service.engine.jobs.get("job")
    assert (doc["state"], doc["executionInfo"]["terminateReason"]) == ("completed", "TaskFailed")
    assert (service.info("bad")["retryCount"], service.state("never")) == (1, "active")


async def test_a_failed_task_may_disable_its_job(service: Service) -> None:
    await service.pool(nodes=2)
    service.job(onTaskFailure="performexitoptionsjobaction")
    ranges = [{"start": 1, "end": 9, "exitOptions": {"jobAction": "disable"}}]
    service.task("other", "hang")
    service.task("bad", "exit 3", exitConditions={"exitCodeRanges": ranges})
    await service.pass_time(1)
    assert service.engine.jobs.get("job")["state"] == "disabled"
    assert (service.state("other"), service.state("bad")) == ("active", "completed")


async def test_a_failed_task_does_nothing_to_a_job_that_did_not_ask(service: Service) -> None:
    await service.pool()
    service.job()
    service.task("bad", "exit 3")
    await service.pass_time(1)
    assert service.engine.jobs.get("job")["state"] == "active"


async def test_a_user_ending_a_task_does_not_end_the_job(service: Service) -> None:
    await service.pool()
    service.job(onTaskFailure="performexitoptionsjobaction")
    service.task("t", "hang")
    await service.pass_time(1)
    service.engine.tasks.terminate("job", "t")
    await service.pass_time(1)
    assert service.engine.jobs.get("job")["state"] == "active"
