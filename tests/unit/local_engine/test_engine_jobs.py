"""Jobs: documents, changes, disabling, lists, quotas."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from engine_fakes import AUTO, BASE, Service, refused

from azbatch_core.local.wire.durations import UNLIMITED

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.asyncio


async def test_a_new_job_is_echoed_with_defaults(service: Service) -> None:
    doc = service.job()
    stamp = "2026-01-01T00:00:00Z"
    assert doc == {
        "id": "job",
        "url": f"{BASE}/jobs/job",
        "eTag": doc["eTag"],
        "lastModified": stamp,
        "creationTime": stamp,
        "state": "active",
        "stateTransitionTime": stamp,
        "priority": 0,
        "allowTaskPreemption": False,
        "maxParallelTasks": -1,
        "constraints": {"maxWallClockTime": UNLIMITED, "maxTaskRetryCount": 0},
        "poolInfo": {"poolId": "pool"},
        "onAllTasksComplete": "noaction",
        "onTaskFailure": "noaction",
        "usesTaskDependencies": False,
        "executionInfo": {"startTime": stamp, "poolId": "pool"},
    }


async def test_special_tasks_are_echoed_with_defaults(service: Service) -> None:
    doc = service.job(jobPreparationTask={"commandLine": "p"}, jobReleaseTask={"commandLine": "r"})
    identity = {"autoUser": {"scope": "pool", "elevationLevel": "nonadmin"}}
    assert doc["jobPreparationTask"] == {
        "id": "jobpreparation",
        "commandLine": "p",
        "constraints": {"maxWallClockTime": UNLIMITED, "retentionTime": "P7D", "maxTaskRetryCount": 0},
        "rerunOnNodeRebootAfterSuccess": True,
        "waitForSuccess": True,
        "userIdentity": identity,
    }
    assert doc["jobReleaseTask"] == {
        "id": "jobrelease",
        "commandLine": "r",
        "maxWallClockTime": "PT15M",
        "retentionTime": "P7D",
        "userIdentity": identity,
    }


@pytest.mark.parametrize(
    ("fields", "code"),
    [
        ({"id": "a b"}, "InvalidPropertyValue"),
        ({"id": "JOB"}, "JobExists"),
        ({"priority": 1001}, "OutOfRangePriority"),
        ({"priority": -1001}, "OutOfRangePriority"),
        ({"maxParallelTasks": 0}, "InvalidPropertyValue"),
        ({"poolInfo": {}}, "InvalidPropertyValue"),
        ({"poolInfo": {"poolId": "p", **AUTO}}, "InvalidPropertyValue"),
        ({"constraints": {"maxTaskRetryCount": -2}}, "InvalidPropertyValue"),
        ({"jobReleaseTask": {"commandLine": "x"}}, "InvalidPropertyValue"),
        ({"jobManagerTask": {"id": "a b", "commandLine": "x"}}, "InvalidPropertyValue"),
        ({"jobManagerTask": {"id": "m", "commandLine": "x", "requiredSlots": 0}}, "InvalidPropertyValue"),
        (
            {
                "jobManagerTask": {"id": "JobPreparation", "commandLine": "x"},
                "jobPreparationTask": {"commandLine": "x"},
            },
            "TaskIdSameAsJobPreparationTask",
        ),
        (
            {
                "jobManagerTask": {"id": "end", "commandLine": "x"},
                "jobPreparationTask": {"commandLine": "x"},
                "jobReleaseTask": {"id": "end", "commandLine": "x"},
            },
            "TaskIdSameAsJobReleaseTask",
        ),
        ({"metadata": [{"name": "", "value": ""}]}, "EmptyMetadataKey"),
        (
            {
                "jobPreparationTask": {"commandLine": "x"},
                "jobReleaseTask": {"commandLine": "x", "maxWallClockTime": "PT16M"},
            },
            "InvalidPropertyValue",
        ),
        (
            {"poolInfo": {"autoPoolSpecification": {"autoPoolIdPrefix": "x" * 21, "pool": {"vmSize": "s"}}}},
            "InvalidPropertyValue",
        ),
    ],
)
async def test_a_refused_job_changes_nothing(service: Service, fields: dict, code: str) -> None:
    service.job()
    with refused(code):
        service.engine.jobs.create({"id": "new", "poolInfo": {"poolId": "p"}, **fields})
    assert [doc["id"] for doc in service.engine.jobs.page()[0]] == ["job"]
    assert service.engine.pools.page() == ([], None)


async def test_the_quota_counts_jobs_that_are_not_completed(tmp_path: Path) -> None:
    service = await Service(tmp_path, job_quota=2).start()
    service.job("a")
    service.job("b")
    with refused("ActiveJobAndScheduleQuotaReached"):
        service.job("c")
    service.engine.jobs.terminate("a")
    await service.pass_time()
    service.job("c")
    await service.engine.stop()


async def test_a_job_waits_for_its_pool_to_exist(service: Service) -> None:
    service.job(pool_id="Later")
    service.task("t")
    await service.pass_time(5)
    assert service.state("t") == "active"
    await service.pool("later")
    await service.pass_time()
    assert service.state("t") == "completed"


@pytest.mark.parametrize(
    ("option", "state", "requeues"), [("requeue", "active", 1), ("terminate", "completed", 0)]
)
async def test_disabling_stops_running_tasks(
    service: Service, option: str, state: str, requeues: int
) -> None:
    await service.pool()
    service.job()
    service.task("t", "hang")
    await service.pass_time(1)
    assert service.engine.jobs.disable("job", {"disableTasks": option})["state"] == "disabling"
    await service.pass_time(1)
    assert service.engine.jobs.get("job")["state"] == "disabled"
    assert (service.state("t"), service.info("t")["requeueCount"]) == (state, requeues)
    service.task("new")
    await service.pass_time(5)
    assert service.state("new") == "active"
    assert service.engine.jobs.enable("job")["state"] == "enabling"
    await service.pass_time(1)
    assert service.engine.jobs.get("job")["state"] == "active"
    assert (service.runtime.tasks.count("t"), service.state("new") == "completed") == (
        (2, False) if option == "requeue" else (1, True)
    )
    with refused("OperationInvalidForCurrentState"):
        service.engine.jobs.enable("job")


async def test_a_requeued_task_leaves_no_files_behind(service: Service) -> None:
    await service.pool()
    service.job()
    service.task("t", "hang")
    await service.pass_time(1)
    folder = service.engine.tasks.directory("job", "t")
    service.engine.jobs.disable("job", {"disableTasks": "requeue"})
    await service.pass_time(1)
    assert not folder.exists()


async def test_the_stronger_of_two_wishes_wins(service: Service) -> None:
    await service.pool(nodes=2)
    service.job()
    service.task("a", "hang")
    service.task("b", "hang")
    await service.pass_time(1)
    service.engine.tasks.terminate("job", "a")
    service.engine.jobs.disable("job", {"disableTasks": "requeue"})
    service.engine.tasks.terminate("job", "b")
    await service.pass_time(1)
    for name in ("a", "b"):
        assert service.state(name) == "completed"
        assert service.info(name)["requeueCount"] == 0


async def test_disabling_may_wait_for_running_tasks(service: Service) -> None:
    await service.pool()
    service.job()
    service.task("t", "sleep 10")
    service.task("next")
    await service.pass_time(1)
    service.engine.jobs.disable("job", {"disableTasks": "wait"})
    await service.pass_time(1)
    assert service.engine.jobs.get("job")["state"] == "disabling"
    await service.pass_time(20)
    assert service.engine.jobs.get("job")["state"] == "disabled"
    assert service.info("t")["result"] == "success"
    assert service.state("next") == "active"


async def test_a_disabled_job_may_move_to_another_pool(service: Service) -> None:
    await service.pool("small")
    await service.pool("large", taskSlotsPerNode=4)
    service.job(pool_id="small")
    service.task("t", requiredSlots=4)
    await service.pass_time(1)
    with refused("OperationInvalidForCurrentState"):
        service.engine.jobs.patch("job", {"poolInfo": {"poolId": "large"}})
    service.engine.jobs.patch("job", {"poolInfo": {"poolId": "small"}})
    service.engine.jobs.disable("job", {})
    await service.pass_time()
    doc = service.engine.jobs.patch("job", {"poolInfo": {"poolId": "large"}})
    assert doc["executionInfo"]["poolId"] == "large"
    service.engine.jobs.enable("job")
    await service.pass_time(1)
    assert service.engine.tasks.get("job", "t")["nodeInfo"]["poolId"] == "large"


async def test_patch_keeps_what_it_omits_and_put_resets_it(service: Service) -> None:
    service.job(
        priority=5,
        metadata=[{"name": "a", "value": "b"}],
        constraints={"maxTaskRetryCount": 5, "maxWallClockTime": "P1D"},
    )
    doc = service.engine.jobs.patch("job", {"constraints": {"maxWallClockTime": "P2D"}})
    assert (doc["priority"], doc["metadata"]) == (5, [{"name": "a", "value": "b"}])
    assert doc["constraints"] == {"maxTaskRetryCount": 0, "maxWallClockTime": "P2D"}
    doc = service.engine.jobs.replace("job", {"poolInfo": {"poolId": "pool"}, "maxParallelTasks": 3})
    assert (doc["priority"], doc["maxParallelTasks"]) == (0, 3)
    assert "metadata" not in doc
    assert doc["constraints"]["maxWallClockTime"] == UNLIMITED


async def test_counts_tell_tasks_and_slots(service: Service) -> None:
    await service.pool(taskSlotsPerNode=4)
    service.job()
    service.task("a", requiredSlots=2)
    service.task("b", "exit 1")
    service.task("c", "hang", requiredSlots=3)
    service.task("d", requiredSlots=4)
    await service.pass_time(1)
    assert service.engine.jobs.task_counts("JOB") == {
        "taskCounts": {"active": 1, "running": 1, "completed": 2, "succeeded": 1, "failed": 1},
        "taskSlotCounts": {"active": 4, "running": 3, "completed": 3, "succeeded": 2, "failed": 1},
    }


async def test_jobs_are_listed_by_id_and_state(service: Service) -> None:
    for name in ("b", "A", "c"):
        service.job(name)
    service.engine.jobs.disable("c", {})
    await service.pass_time()
    assert [doc["id"] for doc in service.engine.jobs.page()[0]] == ["A", "b", "c"]
    assert [doc["id"] for doc in service.engine.jobs.page(hints={"state": "disabled"})[0]] == ["c"]
    docs, after = service.engine.jobs.page(limit=1)
    assert ([doc["id"] for doc in docs], after) == (["A"], "A")


async def test_nothing_is_left_of_pools_that_jobs_have_ceased_to_wait_for(service: Service) -> None:
    for number in range(3):
        service.engine.jobs.create({"id": f"job{number}", "poolInfo": AUTO})
    service.job("other", pool_id="never")
    await service.pass_time()
    assert len(service.engine.account.pool_jobs) == 4
    service.engine.jobs.disable("other", {})
    for number in range(3):
        service.engine.jobs.terminate(f"job{number}")
    await service.pass_time()
    assert service.engine.account.pool_jobs == {}
    service.engine.jobs.enable("other")
    await service.pass_time()
    assert list(service.engine.account.pool_jobs) == ["never"]
