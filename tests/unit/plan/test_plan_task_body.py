"""The body of a task, property by property, as the service's JSON."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from azbatch_core.errors import SpecError
from azbatch_core.local.wire.validate import validate
from azbatch_core.plan import AccountFacts, PlannedTask, PoolFacts, plan, reveal
from azbatch_core.specs import JobSpec, Secret, TaskSpec, UrlSecret, iso_duration, shell

IDENTITY = (
    "/subscriptions/s/resourceGroups/g/providers/Microsoft.ManagedIdentity/userAssignedIdentities/reader"
)


def planned(facts: AccountFacts, job: dict[str, Any] | None = None, **fields: Any) -> PlannedTask:
    """One planned task of a job."""
    spec = TaskSpec(**{"id": "t", "command": ["true"], **fields})
    return plan(JobSpec(**{"name": "j", "tasks": [spec], **(job or {})}), facts).tasks[0]


def test_the_smallest_task_has_an_id_and_a_command_line(local: AccountFacts):
    assert planned(local, command=["echo", "hi there"]).body == {"id": "t", "commandLine": "echo 'hi there'"}


def test_a_script_meets_exactly_one_shell(local: AccountFacts):
    body = planned(local, command=shell("echo $HOME > 'a b'")).body
    assert body["commandLine"] == """/bin/bash -c 'echo $HOME > '"'"'a b'"'"''"""


def test_a_task_with_everything_is_written_in_the_service_words(cloud: AccountFacts):
    one = planned(
        replace(
            cloud,
            pool=PoolFacts(id="mine", vm_size="Standard_D4s_v5", task_slots_per_node=4, has_containers=True),
        ),
        job={"pool": "mine"},
        display_name="the task",
        command=["run"],
        container={
            "image": "myregistry.azurecr.io/tool:1",
            "run_options": ["--shm-size", "8g"],
            "registry": {"server": "myregistry.azurecr.io", "username": "u", "password": "hunter2"},
            "working_directory": "containerImageDefault",
        },
        resources={"cpus": 2, "memory": "4GiB"},
        environment={"A": "1", "TOKEN": {"secret": "env:TOKEN"}},
        resource_files=[
            {"http_url": "https://x.example/in?sig=abc", "file_path": "in.txt", "file_mode": "0755"},
            {
                "storage_container_url": "https://s.blob.core.windows.net/c",
                "blob_prefix": "p/",
                "identity": IDENTITY,
            },
            {"auto_storage_container_name": "inputs", "file_path": "data"},
        ],
        output_files=[
            {
                "file_pattern": "*.csv",
                "container_url": "https://s.blob.core.windows.net/out",
                "path": "run",
                "identity": IDENTITY,
                "upload_condition": "tasksuccess",
            }
        ],
        on_failure="satisfy",
        retry={"max_retries": 3},
        wall_time="90s",
        retention="1d",
        elevated=True,
    )
    assert one.body == {
        "id": "t",
        "displayName": "the task",
        "commandLine": "run",
        "containerSettings": {
            "imageName": "myregistry.azurecr.io/tool:1",
            "containerRunOptions": "--rm --shm-size 8g",
            "registry": {
                "registryServer": "myregistry.azurecr.io",
                "username": "u",
                "password": Secret("hunter2"),
            },
            "workingDirectory": "containerImageDefault",
        },
        "resourceFiles": [
            {"httpUrl": UrlSecret("https://x.example/in?sig=abc"), "filePath": "in.txt", "fileMode": "0755"},
            {
                "storageContainerUrl": UrlSecret("https://s.blob.core.windows.net/c"),
                "blobPrefix": "p/",
                "identityReference": {"resourceId": IDENTITY},
            },
            {"autoStorageContainerName": "inputs", "filePath": "data"},
        ],
        "environmentSettings": [
            {"name": "A", "value": "1"},
            {"name": "TOKEN", "value": Secret("env:TOKEN")},
        ],
        "userIdentity": {"autoUser": {"scope": "pool", "elevationLevel": "admin"}},
        "constraints": {"maxWallClockTime": "PT1M30S", "retentionTime": "P1D", "maxTaskRetryCount": 3},
        "requiredSlots": 2,
        "exitConditions": {"default": {"dependencyAction": "satisfy"}},
        "outputFiles": [
            {
                "filePattern": "*.csv",
                "destination": {
                    "container": {
                        "path": "run",
                        "containerUrl": UrlSecret("https://s.blob.core.windows.net/out"),
                        "identityReference": {"resourceId": IDENTITY},
                    }
                },
                "uploadOptions": {"uploadCondition": "tasksuccess"},
            }
        ],
    }


def test_the_service_takes_the_body_as_it_is(cloud: AccountFacts, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("TOKEN", "hush")
    one = planned(
        cloud,
        job={"pool": {"containers": True}},
        container={"image": "a:1", "registry": {"server": "r.example", "username": "u", "password": "p"}},
        environment={"TOKEN": {"secret": "env:TOKEN"}},
        resource_files=[{"http_url": "https://x.example/in?sig=abc", "file_path": "in"}],
        output_files=[{"file_pattern": "*", "container": "out"}],
        on_failure="satisfy",
        retry=2,
        wall_time="1h",
        elevated=True,
    )
    body = reveal(one.body, storage=lambda reference: f"https://s.example/{reference.container}?sig=x")
    assert validate("BatchTaskCreateOptions", json.loads(json.dumps(body)))["id"] == "t"


def test_the_job_gives_what_a_task_does_not_say(local: AccountFacts):
    job = {"container": "ubuntu:24.04", "retry": 2, "retention": "2d"}
    body = planned(local, job).body
    assert body["containerSettings"]["imageName"] == "ubuntu:24.04"
    assert body["constraints"] == {"retentionTime": "P2D", "maxTaskRetryCount": 2}
    own = planned(local, job, container="debian:12", retry=0, retention="1h").body
    assert own["containerSettings"]["imageName"] == "debian:12"
    assert own["constraints"] == {"retentionTime": "PT1H"}


def test_a_tolerated_failure_does_not_end_a_job_that_any_failure_ends(local: AccountFacts):
    body = planned(local, {"on_task_failure": "terminate"}, on_failure="satisfy").body
    assert body["exitConditions"] == {"default": {"jobAction": "none", "dependencyAction": "satisfy"}}


def test_a_failure_that_blocks_is_the_service_default_and_not_written(local: AccountFacts):
    assert "exitConditions" not in planned(local).body


@pytest.mark.parametrize(
    ("options", "sent"),
    [
        ((), "--rm"),
        ("", "--rm"),
        ("--shm-size 8g", "--rm --shm-size 8g"),
        (("-v", "/a b:/c"), "--rm -v '/a b:/c'"),
        ("--user 0 --rm", "--user 0 --rm"),
    ],
)
def test_containers_are_removed_after_use(local: AccountFacts, options: Any, sent: str):
    body = planned(local, container={"image": "a:1", "run_options": options}).body
    assert body["containerSettings"]["containerRunOptions"] == sent


def test_an_empty_command_means_the_entry_point_of_the_image(local: AccountFacts):
    assert planned(local, container="a:1", command=[]).body["commandLine"] == ""


def test_null_and_empty_variables_are_sent_as_empty(local: AccountFacts):
    body = planned(local, environment={"A": None, "B": ""}).body
    assert body["environmentSettings"] == [{"name": "A", "value": ""}, {"name": "B", "value": ""}]


@pytest.mark.parametrize(
    ("duration", "text"),
    [
        (timedelta(0), "PT0S"),
        (timedelta(seconds=90), "PT1M30S"),
        (timedelta(minutes=15), "PT15M"),
        (timedelta(days=7), "P7D"),
        (timedelta(days=1, hours=2, seconds=3), "P1DT2H3S"),
        (timedelta(milliseconds=500), "PT0.5S"),
        (timedelta(seconds=1, microseconds=250), "PT1.00025S"),
        (timedelta(hours=25), "P1DT1H"),
    ],
)
def test_durations_are_written_as_the_service_writes_them(duration: timedelta, text: str):
    assert iso_duration(duration) == text


def test_the_size_is_that_of_the_request_with_secrets_in_place(local: AccountFacts):
    secret = "s" * 5000
    plain = planned(local).size
    assert plain == len(json.dumps({"id": "t", "commandLine": "true"}))
    assert planned(local, environment={"A": {"secret": secret}}).size > plain + 5000


def test_a_task_as_large_as_a_request_is_a_warning_about_that_task(local: AccountFacts):
    tasks = [TaskSpec(id="small", command=["true"]), TaskSpec(id="fat", command=["echo", "x" * 1_100_000])]
    whole = plan(JobSpec(name="j", tasks=tasks), local)
    assert [text.split(":")[0] for text in whole.warnings if "larger than a request" in text] == ["task fat"]
    assert len(whole.tasks) == 2


def test_slots_come_from_the_largest_share(local: AccountFacts):
    pool = {"pool": {"vm_size": "Standard_D16ds_v5"}}
    assert planned(local, pool, resources={"cpus": 1, "disk": "300GiB"}).body["requiredSlots"] == 8
    assert "requiredSlots" not in planned(local, pool, resources={"cpus": 1}).body
    assert planned(local, pool, resources={"cpus": 1}, required_slots=3).body["requiredSlots"] == 3


def test_a_task_larger_than_the_named_vm_size_is_refused(local: AccountFacts):
    with pytest.raises(
        SpecError, match="task 't': needs 32 vCPUs, but a node of size Standard_D16ds_v5 has 16"
    ):
        planned(local, {"pool": {"vm_size": "Standard_D16ds_v5"}}, resources={"cpus": 32})


def test_more_slots_than_a_node_has_are_refused(local: AccountFacts):
    pool = {"vm_size": "Standard_D4s_v5", "task_slots_per_node": 4}
    with pytest.raises(SpecError, match=r"takes 8 task slots, but a node of pool 'azb-d4s_v5-.*' has 4"):
        planned(local, {"pool": pool}, required_slots=8)
