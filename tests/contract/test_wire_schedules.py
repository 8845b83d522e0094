"""Job schedules through the SDK."""

from __future__ import annotations

import re
from contextlib import closing
from datetime import datetime, timedelta, timezone
from typing import TYPE_CHECKING, Any

import pytest
from azure.batch import BatchClient, models
from azure.core import MatchConditions
from azure.core.exceptions import HttpResponseError, ResourceModifiedError, ResourceNotFoundError
from sdk_bodies import machine
from sdk_client import code, connect
from wire_client import Wire

from azbatch_core.local import LocalBatch

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

POOL = models.BatchPoolInfo(pool_id="nowhere")
EMPTY = models.BatchJobSpecification(pool_info=POOL, all_tasks_complete_mode="terminatejob")
START = datetime(2026, 1, 1, tzinfo=timezone.utc)

RECORDED: dict[str, Any] = {
    "id": "xplatJobScheduleJobTests",
    "displayName": "displayName",
    "schedule": {"recurrenceInterval": "P2D"},
    "metadata": [{"name": "meta2", "value": "value2"}],
    "jobSpecification": {
        "displayName": "jobSpecDisplayName",
        "priority": 1,
        "constraints": {"maxTaskRetryCount": 5, "maxWallClockTime": "P1D"},
        "jobManagerTask": {
            "id": "jobManager",
            "commandLine": "cmd /c dir /s",
            "constraints": {"maxWallClockTime": "PT1H"},
            "killJobOnCompletion": False,
        },
        "poolInfo": {
            "autoPoolSpecification": {
                "autoPoolIdPrefix": "TestSpecPrefix",
                "keepAlive": False,
                "poolLifetimeOption": "jobschedule",
                "pool": {
                    "vmSize": "STANDARD_D2S_V3",
                    "targetDedicatedNodes": 0,
                    "virtualMachineConfiguration": {
                        "imageReference": {
                            "publisher": "canonical",
                            "offer": "ubuntu-24_04-lts",
                            "sku": "server",
                        },
                        "nodeAgentSKUId": "batch.node.ubuntu 24.04",
                        "nodePlacementConfiguration": {"policy": "regional"},
                    },
                },
            }
        },
    },
}
"""What azure-cli's tests sent in 2025, in part, and with another image."""


@pytest.fixture(scope="module")
def batch() -> Iterator[LocalBatch]:
    with LocalBatch() as batch:
        yield batch


@pytest.fixture(scope="module")
def client(batch: LocalBatch) -> Iterator[BatchClient]:
    with connect(batch) as client:
        yield client


def make(
    client: BatchClient, name: str, spec: models.BatchJobSpecification | None = None, **plan: Any
) -> models.BatchJobSchedule:
    client.create_job_schedule(
        models.BatchJobScheduleCreateOptions(
            id=name,
            schedule=models.BatchJobScheduleConfiguration(**plan),
            job_specification=spec or models.BatchJobSpecification(pool_info=POOL),
        )
    )
    return client.get_job_schedule(name)


def test_a_schedule_and_its_first_job(client: BatchClient) -> None:
    schedule = make(client, "first", recurrence_interval=timedelta(hours=1))
    assert (schedule.state, schedule.url) == ("active", f"{client._config.endpoint}/jobschedules/first")
    assert schedule.previous_state is None
    assert schedule.schedule is not None
    assert schedule.schedule.recurrence_interval == timedelta(hours=1)
    info = schedule.execution_info
    assert info is not None
    assert info.next_run_time is not None
    assert timedelta(minutes=59) < info.next_run_time - schedule.creation_time <= timedelta(hours=1)
    assert info.recent_job is not None
    assert (info.recent_job.id, info.recent_job.url) == (
        "first:job-1",
        f"{client._config.endpoint}/jobs/first:job-1",
    )
    assert client.get_job("first:job-1").state == "active"
    assert client.job_schedule_exists("first")
    client.create_task("first:job-1", models.BatchTaskCreateOptions(id="t", command_line="x"))
    assert client.get_task("first:job-1", "t").url.endswith("/jobs/first:job-1/tasks/t")
    assert [task.id for task in client.list_tasks("first:job-1")] == ["t"]


def test_what_the_real_service_answered_to_a_recorded_schedule(batch: LocalBatch) -> None:
    name = RECORDED["id"]
    wire = Wire(batch)
    with closing(wire.connection):
        response, _ = wire.ask("POST", "/jobschedules", RECORDED)
        assert response.status == 201
        url = f"{batch.endpoint}/jobschedules/{name}"
        assert response.headers["Location"] == response.headers["DataServiceId"] == url
        shown = wire.json("GET", f"/jobschedules/{name}")
        assert shown["odata.metadata"] == f"{batch.endpoint}/$metadata#jobschedules/@Element"
        assert response.headers["ETag"] == shown["eTag"]
        listed = wire.json("GET", f"/jobschedules/{name}/jobs")
        assert listed["odata.metadata"] == f"{batch.endpoint}/$metadata#jobs"
        (job,) = listed["value"]
        assert job["id"] == f"{name}:job-1"
        assert re.fullmatch(r"TestSpecPrefix_[0-9A-F-]{36}", job["executionInfo"]["poolId"])
        assert job["jobManagerTask"] == {
            "allowLowPriorityNode": True,
            "commandLine": "cmd /c dir /s",
            "constraints": {"maxTaskRetryCount": 5, "maxWallClockTime": "PT1H", "retentionTime": "P7D"},
            "id": "jobManager",
            "killJobOnCompletion": False,
            "requiredSlots": 1,
            "runExclusive": True,
            "userIdentity": {"autoUser": {"elevationLevel": "nonadmin", "scope": "pool"}},
        }
        pool = job["poolInfo"]["autoPoolSpecification"]["pool"]
        assert (pool["taskSchedulingPolicy"], pool["resizeTimeout"], pool["targetLowPriorityNodes"]) == (
            {"nodeFillType": "Spread"},
            "PT15M",
            0,
        )
        assert pool["virtualMachineConfiguration"]["nodePlacementConfiguration"] == {"policy": "Regional"}
        response, body = wire.ask("DELETE", f"/jobschedules/{name}?force=true")
        assert (response.status, body, response.headers["ETag"]) == (202, b"", None)


def test_states_go_as_recorded(batch: LocalBatch, client: BatchClient) -> None:
    schedule = make(client, "states", do_not_run_after=datetime.now(timezone.utc) + timedelta(hours=5))
    tags = [schedule.etag]
    wire = Wire(batch)
    with closing(wire.connection):
        response, body = wire.ask("POST", "/jobschedules/states/disable")
        assert (response.status, body) == (204, b"")
        assert response.headers["DataServiceId"] == f"{batch.endpoint}/jobschedules/states/disable"
    for call, state in ((None, "disabled"), (client.enable_job_schedule, "active")):
        if call is not None:
            call("states")
        schedule = client.get_job_schedule("states")
        tags.append(schedule.etag)
        assert schedule.state == state
    client.begin_terminate_job_schedule("states", force=True).wait()
    schedule = client.get_job_schedule("states")
    tags.append(schedule.etag)
    assert (schedule.state, schedule.previous_state, len(set(tags))) == ("completed", "active", 4)
    assert schedule.execution_info is not None
    assert schedule.execution_info.end_time == schedule.state_transition_time
    job = client.get_job("states:job-1")
    assert job.execution_info is not None
    assert (job.state, job.execution_info.termination_reason) == ("completed", "TerminateWorkitem")
    for refused in (client.disable_job_schedule, client.enable_job_schedule):
        with pytest.raises(HttpResponseError) as error:
            refused("states")
        assert code(error) == "JobScheduleCompleted"


def test_deletion_takes_the_jobs_with_it(client: BatchClient) -> None:
    make(client, "gone")
    client.begin_delete_job_schedule("gone").wait()
    for ask in (client.get_job_schedule, client.begin_delete_job_schedule, client.disable_job_schedule):
        with pytest.raises(ResourceNotFoundError) as error:
            ask("gone")
        assert code(error) == "JobScheduleNotFound"
    with pytest.raises(ResourceNotFoundError):
        client.job_schedule_exists("gone")
    with pytest.raises(ResourceNotFoundError) as error:
        list(client.list_jobs_from_schedule("gone"))
    assert code(error) == "JobScheduleNotFound"
    with pytest.raises(ResourceNotFoundError) as error:
        client.get_job("gone:job-1")
    assert code(error) == "JobNotFound"


def test_changes_and_stale_tags(client: BatchClient) -> None:
    schedule = make(client, "changed", recurrence_interval=timedelta(days=1))
    tag = schedule.etag
    client.update_job_schedule(
        "changed",
        models.BatchJobScheduleUpdateOptions(
            schedule=models.BatchJobScheduleConfiguration(recurrence_interval=timedelta(hours=2)),
            metadata=[models.BatchMetadataItem(name="a", value="1")],
        ),
        etag=tag,
        match_condition=MatchConditions.IfNotModified,
    )
    schedule = client.get_job_schedule("changed")
    assert schedule.schedule is not None
    assert schedule.schedule.recurrence_interval == timedelta(hours=2)
    for call in (client.disable_job_schedule, client.begin_terminate_job_schedule):
        with pytest.raises(ResourceModifiedError) as error:
            call("changed", etag=tag, match_condition=MatchConditions.IfNotModified)
        assert code(error) == "ConditionNotMet"
    with pytest.raises(ResourceModifiedError) as error:
        client.get_job_schedule("changed", etag=schedule.etag, match_condition=MatchConditions.IfModified)
    assert error.value.status_code == 304
    schedule.job_specification.priority = 7
    schedule.metadata = None
    client.replace_job_schedule("changed", schedule)
    schedule = client.get_job_schedule("changed")
    assert (schedule.state, schedule.job_specification.priority, schedule.metadata) == ("active", 7, None)
    assert client.get_job("changed:job-1").priority == 0


def test_lists_are_filtered_selected_and_paged(client: BatchClient) -> None:
    end = datetime(2099, 1, 1, tzinfo=timezone.utc)
    for number in range(3):
        make(client, f"list-{number}", do_not_run_after=end + timedelta(days=number))
    client.disable_job_schedule("list-2")
    mine = "startswith(id,'list-')"
    found = list(client.list_job_schedules(filter=f"{mine} and state eq 'active'", select=["id", "state"]))
    assert [schedule.as_dict() for schedule in found] == [
        {"id": f"list-{number}", "state": "active"} for number in range(2)
    ]
    late = "schedule/doNotRunAfter gt datetime'2099-01-02T00:00:00Z'"
    found = list(client.list_job_schedules(filter=late, expand=["stats"]))
    assert [schedule.id for schedule in found] == ["list-2"]
    pages = client.list_job_schedules(filter=mine, max_results=2).by_page()
    assert [[schedule.id for schedule in page] for page in pages] == [["list-0", "list-1"], ["list-2"]]
    jobs = client.list_jobs_from_schedule("list-0", filter="state eq 'active'", select=["id"])
    assert [job.id for job in jobs] == ["list-0:job-1"]
    with pytest.raises(HttpResponseError) as error:
        list(client.list_jobs_from_schedule("list-0", filter="priority eq 1"))
    assert code(error) == "InvalidQueryParameterValue"
    chosen = client.get_job_schedule("list-0", select=["id"])
    assert chosen.as_dict().keys() - {"odata.metadata"} == {"id"}


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        ({"schedule": {"recurrenceInterval": "PT59S"}}, "InvalidPropertyValue"),
        ({"schedule": {"startWindow": "PT1S"}}, "InvalidPropertyValue"),
        ({"schedule": {"doNotRunUntil": "tomorrow"}}, "InvalidPropertyValue"),
        ({"schedule": None}, "MissingRequiredProperty"),
        ({"jobSpecification": None}, "MissingRequiredProperty"),
        ({"jobSpecification": {"poolInfo": {"poolId": "p"}, "id": "x"}}, "UnsupportedProperty"),
        ({"state": "active"}, "UnsupportedProperty"),
        ({"id": "not:one"}, "InvalidPropertyValue"),
    ],
)
def test_refusals(batch: LocalBatch, change: dict[str, Any], expected: str) -> None:
    body = {"id": "bad", "schedule": {}, "jobSpecification": {"poolInfo": {"poolId": "p"}}, **change}
    wire = Wire(batch)
    with closing(wire.connection):
        assert wire.json("POST", "/jobschedules", body)["code"] == expected


def test_a_week_of_a_daily_schedule_survives_a_restart_in_the_middle(tmp_path: Path) -> None:
    with LocalBatch(tmp_path, clock="virtual") as batch, connect(batch) as client:
        make(
            client,
            "daily",
            EMPTY,
            do_not_run_until=START + timedelta(hours=6),
            recurrence_interval=timedelta(days=1),
        )
        assert list(client.list_jobs_from_schedule("daily")) == []
        batch.advance(3 * 86400)
        batch.restart()
        batch.advance(4 * 86400)
        jobs = list(client.list_jobs_from_schedule("daily"))
        assert [(job.id, job.state) for job in jobs] == [
            (f"daily:job-{number}", "completed") for number in range(1, 8)
        ]
        started = [job.execution_info.start_time for job in jobs if job.execution_info is not None]
        assert [moment.replace(microsecond=0) for moment in started] == [
            START + timedelta(days=day, hours=6) for day in range(7)
        ]
        info = client.get_job_schedule("daily").execution_info
        assert info is not None
        assert info.next_run_time == START + timedelta(days=7, hours=6)


def test_one_pool_for_all_jobs_of_a_schedule(tmp_path: Path) -> None:
    vm = machine()
    auto = models.BatchAutoPoolSpecification(
        pool_lifetime_option="jobschedule",
        pool=models.BatchPoolSpecification(vm_size="standard_d2s_v3", virtual_machine_configuration=vm),
    )
    spec = models.BatchJobSpecification(
        pool_info=models.BatchPoolInfo(auto_pool_specification=auto), all_tasks_complete_mode="terminatejob"
    )
    with LocalBatch(tmp_path, clock="virtual") as batch, connect(batch) as client:
        make(client, "shared", spec, recurrence_interval=timedelta(hours=1))
        batch.advance(3600)
        jobs = list(client.list_jobs_from_schedule("shared"))
        pools = {job.execution_info.pool_id for job in jobs if job.execution_info is not None}
        assert (len(jobs), pools) == (2, {pool.id for pool in client.list_pools()})
        client.begin_terminate_job_schedule("shared").wait()
        batch.advance(1)
        assert list(client.list_pools()) == []
