"""The body of a job, its id and its stamp."""

from __future__ import annotations

import json
from dataclasses import replace
from importlib.metadata import version

import pytest

from azbatch_core.local.wire.validate import validate
from azbatch_core.plan import AccountFacts, plan, reveal
from azbatch_core.specs import JobSpec, Secret, TaskSpec

HELLO = TaskSpec(command=["echo", "hi"])


def test_the_smallest_job(local: AccountFacts):
    planned = plan(JobSpec(name="hello", tasks=[HELLO]), local)
    assert planned.job_id == "hello-0a1b2c3d"
    assert planned.stamp == "20261201T120000-0a1b2c3d"
    assert planned.account == "local"
    assert planned.job_body == {
        "id": "hello-0a1b2c3d",
        "displayName": "hello",
        "priority": 0,
        "onAllTasksComplete": "noaction",
        "onTaskFailure": "noaction",
        "poolInfo": {"poolId": planned.pool.id},
        "metadata": [
            {"name": "azbatch:stamp", "value": "20261201T120000-0a1b2c3d"},
            {"name": "azbatch:user", "value": "ada"},
            {"name": "azbatch:version", "value": version("azbatch")},
            {"name": "azbatch:name", "value": "hello"},
        ],
        "constraints": {"maxWallClockTime": "P7D"},
    }


def test_a_job_with_everything(local: AccountFacts):
    job = JobSpec(
        name="genome run",
        display_name="Genome run",
        tasks=[HELLO, TaskSpec(id="last", command=["true"], depends_on=[])],
        priority=-5,
        max_parallel_tasks=10,
        wall_time="2h",
        on_task_failure="terminate",
        environment={"SHARED": "1", "TOKEN": {"secret": "literal"}},
        metadata={"project": "genomes"},
        preparation={
            "command": ["prepare"],
            "environment": {"P": "1"},
            "resource_files": [{"auto_storage_container_name": "inputs"}],
            "retry": 2,
            "wall_time": "10m",
            "retention": "1d",
            "wait_for_success": False,
            "rerun_on_node_reboot": False,
            "elevated": True,
        },
        release={"command": ["tidy"], "wall_time": "5m", "retention": "1h"},
    )
    body = plan(job, local).job_body
    assert body["id"].startswith("genome-run-")
    assert body["displayName"] == "Genome run"
    assert body["priority"] == -5
    assert body["maxParallelTasks"] == 10
    assert body["constraints"] == {"maxWallClockTime": "PT2H"}
    assert body["onTaskFailure"] == "performexitoptionsjobaction"
    assert body["onAllTasksComplete"] == "noaction"
    assert body["commonEnvironmentSettings"] == [
        {"name": "SHARED", "value": "1"},
        {"name": "TOKEN", "value": Secret("literal")},
    ]
    assert {"name": "project", "value": "genomes"} in body["metadata"]
    assert body["jobPreparationTask"] == {
        "id": "jobpreparation",
        "commandLine": "prepare",
        "resourceFiles": [{"autoStorageContainerName": "inputs"}],
        "environmentSettings": [{"name": "P", "value": "1"}],
        "userIdentity": {"autoUser": {"scope": "pool", "elevationLevel": "admin"}},
        "constraints": {"maxWallClockTime": "PT10M", "retentionTime": "P1D", "maxTaskRetryCount": 2},
        "waitForSuccess": False,
        "rerunOnNodeRebootAfterSuccess": False,
    }
    assert body["jobReleaseTask"] == {
        "id": "jobrelease",
        "commandLine": "tidy",
        "maxWallClockTime": "PT5M",
        "retentionTime": "PT1H",
    }
    assert validate("BatchJobCreateOptions", json.loads(json.dumps(reveal(body))))["priority"] == -5


def test_an_unlimited_job_has_no_constraint(local: AccountFacts):
    assert "constraints" not in plan(JobSpec(name="j", tasks=[HELLO], wall_time=None), local).job_body


@pytest.mark.parametrize("name", ["réseau", "a.b", "sample/1", " x ", "n" * 100, "jobpreparation", "名前"])
def test_any_name_makes_a_valid_id_that_is_unique_to_the_run(local: AccountFacts, name: str):
    job = JobSpec(name=name, tasks=[HELLO])
    one, other = plan(job, local).job_id, plan(job, replace(local, nonce="ffffffff")).job_id
    assert one != other
    assert one[:-8] == other[:-8]
    for job_id in (one, other):
        assert len(job_id) <= 64
        assert set(job_id) <= set("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_")


def test_a_given_id_is_taken_as_it_is(local: AccountFacts):
    planned = plan(JobSpec(name="hello", id="Exactly-This", tasks=[HELLO]), local)
    assert planned.job_id == planned.job_body["id"] == "Exactly-This"
    assert {"name": "azbatch:stamp", "value": planned.stamp} in planned.job_body["metadata"]


def test_a_job_whose_tasks_come_later_may_have_dependencies(local: AccountFacts):
    assert plan(JobSpec(name="j"), local).job_body["usesTaskDependencies"] is True
    assert (
        plan(JobSpec(name="j", tasks=[HELLO]), local, streaming=True).job_body["usesTaskDependencies"] is True
    )
