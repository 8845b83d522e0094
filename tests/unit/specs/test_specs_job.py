"""Jobs as a whole."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from specs_refusals import refusal

from azbatch_core.specs import ContainerSpec, ExistingPool, JobSpec, RetryPolicy, TaskSpec


def test_the_smallest_job_and_its_defaults():
    job = JobSpec(name="hello", tasks=[{"command": ["echo", "hi"]}])
    assert job.tasks == (TaskSpec(command=("echo", "hi")),)
    assert job.wall_time == timedelta(days=7)
    assert job.retry == RetryPolicy(max_retries=0)
    assert (job.id, job.pool, job.priority, job.on_task_failure, job.metadata) == (
        None,
        None,
        0,
        "noaction",
        {},
    )


def test_no_limit_of_time_must_be_said():
    assert JobSpec(name="x", wall_time=None).wall_time is None


def test_a_job_is_read_back_from_its_own_json():
    job = JobSpec(
        name="genomes",
        pool={
            "vm_size": "Standard_D4s_v5",
            "start_task": {"command": {"shell": "apt-get update"}, "elevated": True},
        },
        resources={"cpus": 4, "memory": "16GiB"},
        container={"image": "ubuntu:24.04", "run_options": ["--rm"]},
        environment={"A": 1, "TOKEN": {"secret": "env:TOKEN"}},
        preparation={"command": ["true"]},
        release={"command": ["true"], "wall_time": "15m"},
        tasks=[
            {"id": 1, "command": ["x"], "stage": "s"},
            {"command": {"shell": "y"}, "depends_on": [{"stage": "s"}, "1"]},
        ],
        metadata={"project": "genomes", "run": 7},
    )
    assert JobSpec.model_validate_json(job.model_dump_json()) == job
    assert JobSpec(**job.model_dump()) == job


@pytest.mark.parametrize(
    ("fields", "field", "reason"),
    [
        ({"name": ""}, "name", "empty"),
        ({"name": " "}, "name", "empty"),
        ({"name": None}, "name", "text"),
        ({"name": "x" * 1025}, "name", "1025 characters"),
        ({"name": "a\0"}, "name", "NUL"),
        ({"name": "\ud800"}, "name", "Unicode"),
        ({"display_name": "x" * 1025}, "display_name", "1025 characters"),
        ({"priority": 1001}, "priority", "at most 1000"),
        ({"priority": -1001}, "priority", "at least -1000"),
        ({"priority": "high"}, "priority", "whole number"),
        ({"wall_time": 0}, "wall_time", "more than zero"),
        ({"max_parallel_tasks": 0}, "max_parallel_tasks", "at least 1"),
        ({"on_task_failure": "stop"}, "on_task_failure", "'noaction', 'terminate'"),
        ({"retry": None}, "retry", "must be a number of retries or {max_retries: N}, not null"),
        ({"retry": "lots"}, "retry", "must be a number of retries or {max_retries: N}, not 'lots'"),
        ({"retry": True}, "retry", "must be a number of retries or {max_retries: N}, not true"),
        ({"retry": 2**40}, "retry.max_retries", "at most 2147483647"),
        ({"tasks": None}, "tasks", "list"),
        ({"tasks": "x"}, "tasks", "list"),
        ({"tasks": {"a": 1}}, "tasks", "list"),
        ({"tasks": [5]}, "tasks[0]", "mapping"),
        ({"tasks": [{"command": []}]}, "tasks[0].command", "empty"),
        ({"metadata": []}, "metadata", "mapping"),
        ({"metadata": {"": "x"}}, "metadata", "not empty"),
        ({"metadata": {5: "x"}}, "metadata", "text"),
        ({"metadata": {"azbatch:stamp": "x"}}, 'metadata["azbatch:stamp"]', "azbatch itself"),
        ({"metadata": {"a": None}}, "metadata.a", "text"),
        ({"release": {"command": ["x"]}}, "release", "needs preparation"),
        ({"preparation": {"command": []}}, "preparation.command", "empty"),
        ({"preparation": {"command": ["x"], "id": "a b"}}, "preparation.id", "has ' '"),
        ({"command": ["x"]}, "command", "unknown field"),
        ({"recreate": True}, "recreate", "unknown field"),
    ],
)
def test_wrong_jobs(fields: dict[str, Any], field: str, reason: str):
    error = refusal(JobSpec, **{"name": "x", **fields})
    assert error.field == field
    assert reason in error.message


def test_a_release_ends_within_15_minutes_and_is_not_retried():
    preparation = {"command": ["x"]}
    assert JobSpec(name="x", preparation=preparation, release={"command": ["x"], "wall_time": "15m"}).release
    error = refusal(
        JobSpec, name="x", preparation=preparation, release={"command": ["x"], "wall_time": "15m1s"}
    )
    assert error.field == "release.wall_time"
    assert "15m1s is too long" in error.message
    assert (
        refusal(JobSpec, name="x", preparation=preparation, release={"command": ["x"], "retry": 1}).field
        == "release.retry"
    )


def test_own_tasks_of_the_job_share_their_ids_with_nobody():
    parts: dict[str, Any] = {
        "preparation": {"command": ["x"], "id": "Prepare"},
        "release": {"command": ["x"]},
    }
    error = refusal(
        JobSpec, name="x", tasks=[{"command": ["x"]}, {"command": ["x"], "id": "prepare"}], **parts
    )
    assert error.field == "tasks[1].id"
    parts["release"]["id"] = "prepare"
    assert refusal(JobSpec, name="x", **parts).field == "release.id"


def test_an_empty_command_needs_a_container():
    assert JobSpec(name="x", container="ubuntu", tasks=[{"command": []}]).tasks[0].command == ()
    assert JobSpec(name="x", tasks=[{"command": [], "container": "ubuntu"}]).container is None


def test_a_pool_runs_all_tasks_in_containers_or_none():
    mixed = [{"command": ["x"], "container": "ubuntu"}, {"command": ["x"]}]
    assert refusal(JobSpec, name="x", tasks=mixed).field == "tasks[1].container"
    assert JobSpec(name="x", tasks=mixed, container="alpine").container == ContainerSpec(image="alpine")
    for pool in (
        {"containers": True},
        {"container_images": ["ubuntu"]},
        {"kind": "auto", "containers": True},
    ):
        assert refusal(JobSpec, name="x", tasks=mixed[1:], pool=pool).field == "pool"
        assert JobSpec(name="x", tasks=mixed[:1], pool=pool).pool
    assert JobSpec(name="x", tasks=mixed[1:], pool="mine").pool == ExistingPool(id="mine")


@pytest.mark.parametrize(
    ("name", "hint"),
    [
        ("taks", "did you mean 'tasks'?"),
        ("maxParallelTasks", "did you mean 'max_parallel_tasks'?"),
        ("nodes", "write pool: {nodes: …}"),
        ("memory", "write resources: {memory: …}"),
        ("command", "a job has tasks: [{command: …}]"),
    ],
)
def test_an_unknown_field_comes_with_the_right_one(name: str, hint: str):
    assert refusal(JobSpec, name="x", **{name: 1}).hint == hint


def test_a_field_that_resembles_nothing_comes_with_all_names():
    hint = refusal(JobSpec, name="x", zzzz=1).hint
    assert hint
    assert all(name in hint for name in JobSpec.model_fields)


@pytest.mark.parametrize(
    ("fields", "hint"),
    [
        ({"wall_time": 0}, "write null for no limit; left out it is 7 days"),
        ({"tasks": [{"command": ["x"], "wall_time": 0}]}, "leave it out for no limit"),
        (
            {"preparation": {"command": ["x"]}, "release": {"command": ["x"], "wall_time": 0}},
            "leave it out for Batch's 15 minutes",
        ),
    ],
)
def test_what_to_write_for_no_limit_is_true_where_it_is_said(fields: dict[str, Any], hint: str):
    assert refusal(JobSpec, name="x", **fields).hint == hint


def test_what_else_is_wrong_comes_with_the_first_problem() -> None:
    task = {"command": ["a"], "id": "no spaces", "slots": 0}
    first = refusal(JobSpec, name="j", priority=5000, nmae="x", tasks=[task])
    found = [first, *first.others]
    assert first.field == "nmae"
    assert {error.field for error in found} == {"nmae", "priority", "tasks[0].slots", "tasks[0].id"}
    assert all(str(error).startswith(f"{error.field}: ") for error in found)
