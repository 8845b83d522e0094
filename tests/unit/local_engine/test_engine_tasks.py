"""Tasks: adding, ends, retries, a user's verbs."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from engine_fakes import BASE, refused

from azbatch_core.local.errors import BatchError
from azbatch_core.local.wire.durations import UNLIMITED

if TYPE_CHECKING:
    from engine_fakes import Service

pytestmark = pytest.mark.asyncio


async def test_a_new_task_is_echoed_with_defaults(service: Service) -> None:
    service.job(constraints={"maxTaskRetryCount": 5})
    doc = service.task("aaa", "true", constraints={"maxWallClockTime": "P4D"})
    assert doc == {
        "id": "aaa",
        "commandLine": "true",
        "constraints": {"maxWallClockTime": "P4D", "retentionTime": "P7D", "maxTaskRetryCount": 5},
        "requiredSlots": 1,
        "userIdentity": {"autoUser": {"scope": "pool", "elevationLevel": "nonadmin"}},
        "url": f"{BASE}/jobs/job/tasks/aaa",
        "eTag": doc["eTag"],
        "lastModified": "2026-01-01T00:00:00.0000001Z",
        "creationTime": "2026-01-01T00:00:00.0000001Z",
        "state": "active",
        "stateTransitionTime": "2026-01-01T00:00:00.0000001Z",
        "executionInfo": {"retryCount": 0, "requeueCount": 0},
    }


async def test_success_is_recorded_with_its_node(service: Service) -> None:
    await service.pool()
    service.job()
    made = service.task("t", "sleep 3")
    await service.pass_time(1)
    running = service.engine.tasks.get("job", "t")
    assert running["executionInfo"] == {
        "startTime": "2026-01-01T00:00:00Z",
        "retryCount": 0,
        "requeueCount": 0,
    }
    await service.pass_time(9)
    doc = service.engine.tasks.get("job", "T")
    assert doc["executionInfo"] == {
        "startTime": "2026-01-01T00:00:00Z",
        "endTime": "2026-01-01T00:00:03Z",
        "exitCode": 0,
        "result": "success",
        "retryCount": 0,
        "requeueCount": 0,
    }
    assert (doc["previousState"], doc["state"]) == ("running", "completed")
    assert doc["stateTransitionTime"] == "2026-01-01T00:00:03Z"
    assert (doc["eTag"], doc["lastModified"]) == (made["eTag"], made["lastModified"])
    node = service.nodes()[0]["id"]
    assert doc["nodeInfo"] == {
        "affinityId": f"TVM:{node}",
        "nodeUrl": f"{BASE}/pools/pool/nodes/{node}",
        "poolId": "pool",
        "nodeId": node,
        "taskRootDirectory": "workitems/job/job-1/t",
        "taskRootDirectoryUrl": f"{BASE}/pools/pool/nodes/{node}/files/workitems/job/job-1/t",
    }


async def test_a_program_that_is_missing_leaves_no_exit_code_and_is_not_retried(service: Service) -> None:
    await service.pool()
    service.job()
    service.task("t", "missing", constraints={"maxTaskRetryCount": 3})
    await service.pass_time()
    info = service.info("t")
    assert "exitCode" not in info
    assert (info["failureInfo"]["code"], info["result"]) == ("CommandProgramNotFound", "failure")
    assert "startTime" in info
    assert service.runtime.tasks == ["t"]


async def test_a_failed_upload_keeps_the_exit_code_and_is_not_retried(service: Service) -> None:
    await service.pool()
    service.job()
    service.task("t", "upload", constraints={"maxTaskRetryCount": 3})
    await service.pass_time()
    info = service.info("t")
    assert (info["exitCode"], info["result"]) == (0, "failure")
    assert service.runtime.tasks == ["t"]


@pytest.mark.parametrize(("allowed", "tries"), [(0, 1), (3, 4)])
async def test_a_non_zero_exit_is_retried_so_often(service: Service, allowed: int, tries: int) -> None:
    await service.pool()
    service.job()
    service.task("t", "sleep 1; exit 7", constraints={"maxTaskRetryCount": allowed})
    await service.pass_time(20)
    assert [launch.attempt for launch in service.runtime.launches] == list(range(tries))
    info = service.info("t")
    assert (info["retryCount"], info["exitCode"]) == (allowed, 7)
    assert ("lastRetryTime" in info) == (allowed > 0)
    assert service.counts() == {"active": 0, "running": 0, "succeeded": 0, "failed": 1, "completed": 1}


async def test_retries_may_be_unlimited(service: Service) -> None:
    await service.pool()
    service.job()
    service.task("t", "sleep 1; exit 7", constraints={"maxTaskRetryCount": -1})
    await service.pass_time(50)
    assert len(service.runtime.tasks) == 51
    assert service.state("t") == "running"


async def test_a_wall_clock_stop_is_a_failure_without_retry(service: Service) -> None:
    await service.pool()
    service.job()
    service.task("t", "hang", constraints={"maxWallClockTime": "PT1M", "maxTaskRetryCount": 2})
    await service.pass_time(61)
    assert service.info("t")["exitCode"] == -9
    assert service.info("t")["result"] == "failure"
    assert service.runtime.tasks == ["t"]


async def test_the_launch_carries_what_the_user_gave(service: Service) -> None:
    await service.pool(userAccounts=[{"name": "u", "password": "p"}])
    service.job(
        commonEnvironmentSettings=[{"name": "A", "value": "job"}, {"name": "B", "value": "job"}],
    )
    service.task(
        "t",
        "run me",
        environmentSettings=[{"name": "B", "value": "task"}, {"name": "C"}],
        resourceFiles=[{"httpUrl": "http://x/y", "filePath": "y"}],
        outputFiles=[{"filePattern": "*"}],
        containerSettings={"imageName": "i", "registry": {"username": "u", "password": "hidden"}},
        userIdentity={"username": "u"},
        constraints={"maxWallClockTime": "PT2M"},
    )
    await service.pass_time()
    (launch,) = service.runtime.launches
    assert launch.environment == (("A", "job"), ("B", "task"), ("C", ""))
    assert launch.command_line == "run me"
    assert launch.resource_files == ({"httpUrl": "http://x/y", "filePath": "y"},)
    assert launch.output_files == ({"filePattern": "*"},)
    assert launch.container == {"imageName": "i", "registry": {"username": "u", "password": "hidden"}}
    assert launch.user_identity == {
        "username": "u",
        "autoUser": {"scope": "pool", "elevationLevel": "nonadmin"},
    }
    assert launch.wall_time == 120
    assert (launch.job_id, launch.task_id, launch.kind) == ("job", "t", "task")
    assert "hidden" not in str(service.engine.tasks.get("job", "t"))


async def test_unlimited_wall_time_is_none(service: Service) -> None:
    await service.pool()
    service.job()
    assert service.task("t")["constraints"]["maxWallClockTime"] == UNLIMITED
    await service.pass_time()
    assert service.runtime.launches[0].wall_time is None


async def test_a_collection_answers_for_each_task(service: Service) -> None:
    service.job()
    service.task("old")
    results = service.engine.tasks.add_collection(
        "job",
        [
            {"id": "new", "commandLine": "x"},
            {"id": "OLD", "commandLine": "x"},
            {"id": "New", "commandLine": "x"},
            {"id": "bad id", "commandLine": "x"},
            {"id": "slots", "commandLine": "x", "requiredSlots": 0},
            {"id": "last", "commandLine": "x"},
        ],
    )
    assert [result["taskId"] for result in results] == ["new", "OLD", "New", "bad id", "slots", "last"]
    assert [result["status"] for result in results] == [
        "Success",
        "clienterror",
        "clienterror",
        "clienterror",
        "clienterror",
        "Success",
    ]
    doc = service.engine.tasks.get("job", "new")
    assert results[0] == {
        "status": "Success",
        "taskId": "new",
        "eTag": doc["eTag"],
        "lastModified": doc["lastModified"],
        "location": f"{BASE}/jobs/job/tasks/new",
    }
    assert results[1]["error"]["code"] == "TaskExists"
    assert results[1]["error"]["message"]["value"].startswith("The specified task already exists.")
    assert results[3]["error"]["code"] == "InvalidPropertyValue"
    assert results[3]["error"]["values"][0] == {"key": "PropertyName", "value": "id"}
    assert results[0]["eTag"] != results[5]["eTag"]
    assert service.counts()["active"] == 3


async def test_a_collection_holds_a_hundred(service: Service) -> None:
    service.job()
    bodies = [{"id": f"t{n}", "commandLine": "x"} for n in range(101)]
    with refused("InvalidPropertyValue"):
        service.engine.tasks.add_collection("job", bodies)
    assert service.counts()["active"] == 0
    assert len(service.engine.tasks.add_collection("job", bodies[:100])) == 100


@pytest.mark.parametrize(
    ("body", "code"),
    [
        ({"id": "T"}, "TaskExists"),
        ({"id": "jobPreparation"}, "TaskIdSameAsJobPreparationTask"),
        ({"id": "rel"}, "TaskIdSameAsJobReleaseTask"),
        ({"id": "x/y"}, "InvalidPropertyValue"),
        ({"id": "x", "dependsOn": {"taskIds": ["t"]}}, "TaskDependenciesNotSpecifiedOnJob"),
        ({"id": "x", "constraints": {"maxTaskRetryCount": -2}}, "InvalidPropertyValue"),
        ({"id": "x", "exitConditions": {"default": {"jobAction": "terminate"}}}, "InvalidPropertyValue"),
        (
            {"id": "x", "exitConditions": {"default": {"dependencyAction": "satisfy"}}},
            "InvalidPropertyValue",
        ),
        (
            {"id": "x", "multiInstanceSettings": {"numberOfInstances": 0, "coordinationCommandLine": "c"}},
            "InvalidPropertyValue",
        ),
        ({"id": "x", "multiInstanceSettings": {"coordinationCommandLine": " "}}, "InvalidPropertyValue"),
        ({"id": "x", "applicationPackageReferences": [{"applicationId": "a"}]}, "InvalidApplicationPackage"),
    ],
)
async def test_a_refused_task_changes_nothing(service: Service, body: dict, code: str) -> None:
    service.job(jobPreparationTask={"commandLine": "x"}, jobReleaseTask={"commandLine": "x", "id": "rel"})
    service.task("t")
    with pytest.raises(BatchError, match=f"^{code}"):
        service.engine.tasks.create("job", {"commandLine": "x", **body})
    assert service.counts()["active"] == 1


async def test_terminating_a_task_that_never_ran(service: Service) -> None:
    service.job()
    made = service.task("t")
    await service.pass_time(5)
    doc = service.engine.tasks.terminate("job", "t")
    assert doc["state"] == "completed"
    assert doc["previousState"] == "active"
    assert doc["nodeInfo"] == {}
    assert doc["executionInfo"] == {
        "endTime": doc["stateTransitionTime"],
        "failureInfo": {
            "category": "UserError",
            "code": "TaskEnded",
            "message": "Task Was Ended by User Request",
        },
        "result": "failure",
        "retryCount": 0,
        "requeueCount": 0,
    }
    assert doc["eTag"] != made["eTag"]
    with refused("TaskCompleted"):
        service.engine.tasks.terminate("job", "t")
    await service.pool()
    assert service.runtime.tasks == []


async def test_terminating_a_task_that_runs(service: Service) -> None:
    await service.pool()
    service.job()
    service.task("t", "hang", constraints={"maxTaskRetryCount": 5})
    await service.pass_time(1)
    service.engine.tasks.terminate("job", "t")
    await service.pass_time()
    info = service.info("t")
    assert (info["exitCode"], info["failureInfo"]["code"]) == (-9, "TaskEnded")
    assert info["retryCount"] == 0
    assert service.runtime.alive() == []
    assert service.nodes()[0]["state"] == "idle"


async def test_reactivation_starts_afresh(service: Service) -> None:
    await service.pool()
    service.job()
    service.task("t", "exit 1", constraints={"maxTaskRetryCount": 1})
    service.task("good")
    await service.pass_time()
    assert service.info("t")["retryCount"] == 1
    failed = service.engine.tasks.get("job", "t")
    with refused("TaskSucceeded"):
        service.engine.tasks.reactivate("job", "good")
    doc = service.engine.tasks.reactivate("job", "t")
    assert (doc["state"], doc["previousState"]) == ("active", "completed")
    assert doc["executionInfo"] == {"retryCount": 0, "requeueCount": 0}
    assert doc["eTag"] != failed["eTag"]
    with refused("TaskNotCompleted"):
        service.engine.tasks.reactivate("job", "t")
    await service.pass_time()
    assert service.info("t")["retryCount"] == 1
    assert service.counts() == {"active": 0, "running": 0, "succeeded": 1, "failed": 1, "completed": 2}


async def test_replacing_a_task_sets_its_constraints(service: Service) -> None:
    service.job(constraints={"maxTaskRetryCount": 2})
    made = service.task("t", "exit 1", constraints={"maxTaskRetryCount": 9, "maxWallClockTime": "PT1H"})
    doc = service.engine.tasks.replace("job", "t", {"constraints": {"retentionTime": "P1D"}})
    assert doc["constraints"] == {
        "maxTaskRetryCount": 2,
        "maxWallClockTime": UNLIMITED,
        "retentionTime": "P1D",
    }
    assert doc["eTag"] != made["eTag"]
    await service.pool()
    assert service.info("t")["retryCount"] == 2
    with refused("TaskCompleted"):
        service.engine.tasks.replace("job", "t", {})


async def test_a_waiting_task_runs_with_its_replaced_constraints(service: Service) -> None:
    await service.pool()
    service.job()
    service.task("first", "sleep 5")
    service.task("t", "exit 1")
    await service.pass_time()
    service.engine.tasks.replace("job", "t", {"constraints": {"maxTaskRetryCount": 3}})
    await service.pass_time(10)
    assert service.info("t")["retryCount"] == 3


async def test_an_id_may_be_used_again_but_never_twice_at_once(service: Service) -> None:
    await service.pool(taskSlotsPerNode=2)
    service.job()
    service.task("t", "hang")
    await service.pass_time()
    service.engine.tasks.delete("job", "t")
    assert service.counts() == {"active": 0, "running": 0, "succeeded": 0, "failed": 0, "completed": 0}
    service.task("t", "sleep 2")
    service.task("other")
    await service.pass_time(3)
    assert service.runtime.tasks == ["t", "other", "t"]
    assert service.info("t")["result"] == "success"


async def test_lists_filter_and_page(service: Service) -> None:
    await service.pool()
    service.job()
    service.engine.tasks.add_collection(
        "job", [{"id": f"t{n}", "commandLine": f"exit {n % 2}"} for n in (3, 1, 2, 10)]
    )
    await service.pass_time()
    docs, after = service.engine.tasks.page("job", limit=2)
    assert ([doc["id"] for doc in docs], after) == (["t1", "t10"], "t10")
    docs, after = service.engine.tasks.page("job", after=after, limit=2)
    assert ([doc["id"] for doc in docs], after) == (["t2", "t3"], None)
    assert docs[0] == service.engine.tasks.get("job", "t2")
    failed, _ = service.engine.tasks.page("job", match=lambda doc: doc["executionInfo"]["exitCode"] == 1)
    assert [doc["id"] for doc in failed] == ["t1", "t3"]


async def test_subtasks_are_none(service: Service) -> None:
    service.job()
    service.task("t")
    assert service.engine.tasks.subtasks("job", "t") == []
    with refused("TaskNotFound"):
        service.engine.tasks.subtasks("job", "u")
    with refused("JobNotFound"):
        service.engine.tasks.get("nojob", "t")
