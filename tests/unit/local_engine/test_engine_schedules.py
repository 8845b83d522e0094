"""Job schedules on the virtual clock."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

import pytest
from engine_fakes import BASE, Service, refused
from schedule_fakes import DAY, HOUR, MINUTE, SHORT, SPEC, at, end, info, jobs, make, starts, state

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.asyncio


async def test_without_a_plan_one_job_is_made_at_once_and_the_schedule_ends_with_it(
    service: Service,
) -> None:
    doc = make(service)
    assert doc["state"] == "active"
    assert doc["executionInfo"] == {"recentJob": {"id": "s:job-1", "url": f"{BASE}/jobs/s:job-1"}}
    assert service.engine.jobs.get("s:job-1")["executionInfo"]["poolId"] == "pool"
    await service.pass_time(DAY)
    assert (state(service), jobs(service)) == ("active", {"s:job-1": "active"})
    end(service, 1)
    await service.pass_time()
    done = service.engine.schedules.get("s")
    assert (done["state"], done["previousState"]) == ("completed", "active")
    assert done["executionInfo"]["endTime"] == at(service, 0)
    assert (done["eTag"], jobs(service)) == (doc["eTag"], {"s:job-1": "completed"})


async def test_defaults_of_jobs_are_filled_in(service: Service) -> None:
    doc = make(service, SHORT)
    spec = doc["jobSpecification"]
    assert (spec["priority"], spec["onAllTasksComplete"], spec["maxParallelTasks"]) == (0, "noaction", -1)
    assert spec["jobManagerTask"]["killJobOnCompletion"] is True
    job = service.engine.jobs.get("s:job-1")
    assert {name: job[name] for name in spec} == spec


async def test_a_week_of_a_daily_schedule_passes_in_no_time(service: Service) -> None:
    await service.pool()
    make(service, SHORT, recurrenceInterval="P1D")
    began = time.monotonic()
    await service.pass_time(7 * DAY - 1)
    assert time.monotonic() - began < 5
    assert jobs(service) == {f"s:job-{number}": "completed" for number in range(1, 8)}
    assert starts(service) == [f"2026-01-{day:02}T00:00:00" for day in range(1, 8)]
    assert info(service)["nextRunTime"] == "2026-01-08T00:00:00Z"
    assert info(service)["recentJob"]["id"] == "s:job-7"
    assert service.engine.jobs.get("s:job-3")["executionInfo"]["terminateReason"] == "JMComplete"
    assert state(service) == "active"
    assert service.engine.busy(), "the service has to be there for the next turn"
    assert not service.engine.under_way(), "nothing happens until then"


async def test_a_job_of_a_schedule_is_under_way_until_it_ends(service: Service) -> None:
    await service.pool()
    make(service, SHORT, recurrenceInterval="P1D")
    assert await service.clock.advance_until(lambda: not service.engine.under_way(), 30 * DAY) == 10
    assert jobs(service) == {"s:job-1": "completed"}


async def test_nothing_runs_before_its_time(service: Service) -> None:
    begin = at(service, HOUR)
    doc = make(service, doNotRunUntil=begin, recurrenceInterval="PT2H")
    assert doc["executionInfo"] == {"nextRunTime": begin}
    await service.pass_time(HOUR - 1)
    assert jobs(service) == {}
    await service.pass_time(1)
    assert jobs(service) == {"s:job-1": "active"}
    assert info(service)["nextRunTime"] == at(service, 2 * HOUR)


async def test_a_moment_between_microseconds_comes(service: Service) -> None:
    make(service, doNotRunUntil="2026-01-01T00:00:01.0000001Z")
    await service.pass_time(2)
    assert list(jobs(service)) == ["s:job-1"]


async def test_only_one_job_at_a_time(service: Service) -> None:
    make(service, recurrenceInterval="PT1H")
    await service.pass_time(2.5 * HOUR)
    assert jobs(service) == {"s:job-1": "active"}
    assert info(service)["nextRunTime"] == at(service, -0.5 * HOUR)
    end(service, 1)
    await service.pass_time()
    assert jobs(service) == {"s:job-1": "completed", "s:job-2": "active"}
    assert info(service)["nextRunTime"] == at(service, 0.5 * HOUR)


async def test_a_turn_is_lost_when_the_job_before_overruns_the_window(service: Service) -> None:
    make(service, recurrenceInterval="PT1H", startWindow="PT10M")
    await service.pass_time(HOUR + 9 * MINUTE)
    assert info(service)["nextRunTime"] == at(service, -9 * MINUTE)
    await service.pass_time(MINUTE)
    assert info(service)["nextRunTime"] == at(service, 50 * MINUTE)
    end(service, 1)
    await service.pass_time(MINUTE)
    assert jobs(service) == {"s:job-1": "completed"}
    await service.pass_time(49 * MINUTE)
    assert jobs(service) == {"s:job-1": "completed", "s:job-2": "active"}


async def test_a_deadline_ends_the_schedule_once_its_job_is_over(service: Service) -> None:
    make(service, recurrenceInterval="PT1H", doNotRunAfter=at(service, 90 * MINUTE))
    end(service, 1)
    await service.pass_time(HOUR)
    assert list(jobs(service)) == ["s:job-1", "s:job-2"]
    assert "nextRunTime" not in info(service)
    await service.pass_time(HOUR)
    assert state(service) == "active"
    end(service, 2)
    await service.pass_time()
    assert (state(service), info(service)["endTime"]) == ("completed", at(service, 0))


async def test_a_deadline_without_a_job_ends_the_schedule(service: Service) -> None:
    make(service, recurrenceInterval="PT1H", doNotRunAfter=at(service, 90 * MINUTE))
    end(service, 1)
    await service.pass_time(HOUR)
    end(service, 2)
    await service.pass_time(29 * MINUTE)
    assert state(service) == "active"
    await service.pass_time(2 * MINUTE)
    assert state(service) == "completed"


async def test_a_missed_single_job_completes_the_schedule(service: Service) -> None:
    doc = make(service, doNotRunUntil=at(service, -HOUR), startWindow="PT5M")
    assert (doc["state"], jobs(service)) == ("completed", {})


async def test_a_disabled_schedule_makes_no_jobs(service: Service) -> None:
    made = make(service, recurrenceInterval="PT1H", startWindow="PT10M")
    disabled = service.engine.schedules.disable("s")
    assert (disabled["state"], disabled["previousState"]) == ("disabled", "active")
    assert disabled["eTag"] != made["eTag"]
    assert jobs(service) == {"s:job-1": "active"}
    with refused("JobScheduleDisabled"):
        service.engine.schedules.disable("s")
    end(service, 1)
    await service.pass_time(3 * HOUR + 20 * MINUTE)
    assert (state(service), list(jobs(service))) == ("disabled", ["s:job-1"])
    assert info(service)["nextRunTime"] == at(service, 40 * MINUTE)
    assert service.engine.schedules.enable("s")["state"] == "active"
    await service.pass_time()
    assert list(jobs(service)) == ["s:job-1"]
    await service.pass_time(40 * MINUTE)
    assert list(jobs(service)) == ["s:job-1", "s:job-2"]
    with refused("OperationInvalidForCurrentState"):
        service.engine.schedules.enable("s")


async def test_a_turn_that_is_not_lost_is_made_up_for_when_enabled(service: Service) -> None:
    make(service, recurrenceInterval="PT1H")
    service.engine.schedules.disable("s")
    end(service, 1)
    await service.pass_time(90 * MINUTE)
    service.engine.schedules.enable("s")
    assert list(jobs(service)) == ["s:job-1", "s:job-2"]


async def test_terminating_ends_the_job(service: Service) -> None:
    await service.pool()
    make(service, recurrenceInterval="PT1H")
    service.task("t", "hang", job_id="s:job-1")
    await service.pass_time(1)
    made = service.engine.schedules.get("s")
    doc = service.engine.schedules.terminate("s")
    assert (doc["state"], doc["eTag"] != made["eTag"]) == ("terminating", True)
    with refused("JobScheduleBeingTerminated"):
        service.engine.schedules.terminate("s")
    await service.pass_time(1)
    done = service.engine.schedules.get("s")
    assert (done["state"], done["previousState"], done["eTag"]) == ("completed", "active", doc["eTag"])
    assert {"endTime", "recentJob"} == done["executionInfo"].keys()
    assert service.engine.jobs.get("s:job-1")["executionInfo"]["terminateReason"] == "TerminateWorkitem"
    assert service.info("t", "s:job-1")["failureInfo"]["code"] == "TaskEnded"
    for call in ("terminate", "disable", "enable"):
        with refused("JobScheduleCompleted"):
            getattr(service.engine.schedules, call)("s")
    with refused("JobScheduleCompleted"):
        make(service)
    await service.pass_time(2 * HOUR)
    assert list(jobs(service)) == ["s:job-1"]


async def test_deleting_takes_all_jobs_with_it(service: Service) -> None:
    await service.pool()
    make(service, SHORT, recurrenceInterval="PT1H")
    await service.pass_time(2 * HOUR)
    assert len(jobs(service)) == 3
    tag = service.engine.schedules.get("s")["eTag"]
    service.engine.schedules.delete("s")
    doc = service.engine.schedules.get("s")
    assert (doc["state"], doc["eTag"]) == ("deleting", tag)
    for call in ("delete", "terminate"):
        with refused("JobScheduleBeingDeleted"):
            getattr(service.engine.schedules, call)("s")
    with refused("JobScheduleBeingDeleted"):
        make(service)
    await service.pass_time(1)
    with refused("JobScheduleNotFound"):
        service.engine.schedules.get("s")
    assert service.engine.jobs.page() == ([], None)
    assert make(service)["executionInfo"]["recentJob"]["id"] == "s:job-1"


async def test_a_deleted_job_makes_room_for_the_next(service: Service) -> None:
    make(service, recurrenceInterval="PT1H")
    await service.pass_time(90 * MINUTE)
    service.engine.jobs.delete("s:job-1")
    await service.pass_time()
    assert jobs(service) == {"s:job-2": "active"}


async def test_changes_count_for_new_jobs(service: Service) -> None:
    make(service, {**SPEC, "priority": 1}, recurrenceInterval="PT1H")
    doc = service.engine.schedules.patch("s", {"jobSpecification": {**SPEC, "priority": 2}})
    assert doc["schedule"] == {"recurrenceInterval": "PT1H"}
    end(service, 1)
    await service.pass_time(HOUR)
    assert [service.engine.jobs.get(f"s:job-{number}")["priority"] for number in (1, 2)] == [1, 2]


async def test_a_new_interval_counts_from_the_latest_turn(service: Service) -> None:
    make(service, recurrenceInterval="P1D")
    end(service, 1)
    await service.pass_time(10 * MINUTE)
    doc = service.engine.schedules.patch("s", {"schedule": {"recurrenceInterval": "PT1H"}})
    assert doc["executionInfo"]["nextRunTime"] == at(service, 50 * MINUTE)
    assert list(jobs(service)) == ["s:job-1"]
    doc = service.engine.schedules.patch(
        "s", {"schedule": {"recurrenceInterval": "PT1H", "doNotRunUntil": at(service, 2 * HOUR)}}
    )
    assert doc["executionInfo"]["nextRunTime"] == at(service, 2 * HOUR)
    await service.pass_time(2 * HOUR)
    assert list(jobs(service)) == ["s:job-1", "s:job-2"]


async def test_put_removes_what_it_omits(service: Service) -> None:
    service.engine.schedules.create(
        {
            "id": "s",
            "displayName": "shown",
            "schedule": {"recurrenceInterval": "PT1H"},
            "jobSpecification": SPEC,
            "metadata": [{"name": "a", "value": "1"}],
        }
    )
    doc = service.engine.schedules.replace("s", {"jobSpecification": SPEC})
    assert (doc["displayName"], doc["state"]) == ("shown", "active")
    assert not {"schedule", "metadata"} & doc.keys()
    end(service, 1)
    await service.pass_time()
    assert state(service) == "completed"


@pytest.mark.parametrize(
    ("fields", "code"),
    [
        ({"id": "a:b"}, "InvalidPropertyValue"),
        ({"id": "S"}, "JobScheduleExists"),
        ({"id": "job"}, "JobWithSameIdExists"),
        ({"schedule": {"recurrenceInterval": "PT59S"}}, "InvalidPropertyValue"),
        ({"schedule": {"startWindow": "PT59S"}}, "InvalidPropertyValue"),
        (
            {"schedule": {"doNotRunUntil": "2026-01-02T00:00:00Z", "doNotRunAfter": "2026-01-01T00:00:00Z"}},
            "InvalidPropertyValue",
        ),
        ({"jobSpecification": {"poolInfo": {}}}, "InvalidPropertyValue"),
        ({"jobSpecification": {**SPEC, "priority": 2000}}, "OutOfRangePriority"),
        ({"metadata": [{"name": "", "value": ""}]}, "EmptyMetadataKey"),
    ],
)
async def test_a_refused_schedule_changes_nothing(service: Service, fields: dict, code: str) -> None:
    service.job()
    make(service)
    body = {"id": "new", "schedule": {}, "jobSpecification": SPEC, **fields}
    with refused(code):
        service.engine.schedules.create(body)
    if "id" not in fields:
        with refused(code):
            service.engine.schedules.patch("s", fields)
    assert [doc["id"] for doc in service.engine.schedules.page()[0]] == ["s"]
    assert [doc["id"] for doc in service.engine.jobs.page()[0]] == ["job", "s:job-1"]


async def test_a_job_may_not_have_a_schedules_id(service: Service) -> None:
    make(service)
    with refused("JobScheduleWithSameIdExists"):
        service.job("S")


async def test_schedules_count_for_the_quota(tmp_path: Path) -> None:
    service = await Service(tmp_path, job_quota=2).start()
    make(service)
    with refused("ActiveJobAndScheduleQuotaReached"):
        service.job()
    with refused("ActiveJobAndScheduleQuotaReached"):
        service.engine.schedules.create({"id": "more", "schedule": {}, "jobSpecification": SPEC})
    end(service, 1)
    await service.pass_time()
    service.job()
    await service.engine.stop()


async def test_tasks_of_a_schedules_job_have_its_folder(service: Service) -> None:
    await service.pool()
    make(service, SHORT)
    await service.pass_time(1)
    node = service.engine.tasks.get("s:job-1", "manager")["nodeInfo"]
    assert node["taskRootDirectory"] == "workitems/s/job-1/manager"


async def test_a_schedule_goes_on_after_its_service_was_killed(tmp_path: Path) -> None:
    service = await Service(tmp_path).start()
    await service.pool()
    made = make(service, SHORT, recurrenceInterval="PT1H")
    await service.pass_time(HOUR + MINUTE)
    heir = await service.killed()
    assert heir.engine.schedules.get("s")["eTag"] == made["eTag"]
    assert jobs(heir) == {"s:job-1": "completed", "s:job-2": "completed"}
    await heir.pass_time(HOUR)
    assert jobs(heir) == {f"s:job-{number}": "completed" for number in (1, 2, 3)}
    assert starts(heir) == [f"2026-01-01T0{hour}:00:00" for hour in range(3)]
    await heir.engine.stop()


async def test_the_latest_missed_turn_is_made_up_for_the_others_are_not(tmp_path: Path) -> None:
    service = await Service(tmp_path).start()
    await service.pool()
    make(service, SHORT, recurrenceInterval="PT1H")
    await service.pass_time(MINUTE)
    await service.engine.stop()
    await service.clock.advance(3 * HOUR)
    heir = await service.killed()
    assert list(jobs(heir)) == ["s:job-1", "s:job-2"]
    assert info(heir)["nextRunTime"] == "2026-01-01T04:00:00Z"
    await heir.engine.stop()


async def test_ends_that_had_begun_are_carried_out(tmp_path: Path) -> None:
    service = await Service(tmp_path).start()
    await service.pool(nodes=2)
    for name in ("ends", "goes"):
        body = {"id": name, "schedule": {"recurrenceInterval": "PT1H"}, "jobSpecification": SPEC}
        service.engine.schedules.create(body)
        service.task("t", "hang", job_id=f"{name}:job-1")
    await service.pass_time(1)
    service.engine.schedules.terminate("ends")
    service.engine.schedules.delete("goes")
    heir = await service.killed()
    await heir.pass_time(1)
    assert [(doc["id"], doc["state"]) for doc in heir.engine.schedules.page()[0]] == [("ends", "completed")]
    assert [doc["id"] for doc in heir.engine.jobs.page()[0]] == ["ends:job-1"]
    await heir.engine.stop()


async def test_a_schedule_may_wait_until_the_end_of_time(service: Service) -> None:
    until = "9999-12-31T23:59:59Z"
    assert make(service, doNotRunUntil=until)["executionInfo"] == {"nextRunTime": until}
    await service.pass_time(DAY)
    assert (state(service), jobs(service), info(service)) == ("active", {}, {"nextRunTime": until})
