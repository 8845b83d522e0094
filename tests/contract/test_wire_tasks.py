"""Tasks and their files through the SDK, on nodes that run them."""

from __future__ import annotations

import re
from datetime import timedelta
from typing import TYPE_CHECKING, Any

import pytest
import sdk_bodies as bodies
from azure.batch import BatchClient, models
from azure.core.exceptions import HttpResponseError, ResourceNotFoundError
from sdk_client import code, connect
from waiting import until

from azbatch_core.local import LocalBatch

if TYPE_CHECKING:
    from collections.abc import Iterator


@pytest.fixture(scope="module")
def client() -> Iterator[BatchClient]:
    with LocalBatch() as batch, connect(batch) as client:
        client.create_pool(bodies.pool("pool", 2, task_slots_per_node=4))
        yield client


@pytest.fixture
def job(client: BatchClient, request: pytest.FixtureRequest) -> Iterator[str]:
    job_id = re.sub(r"[^a-z0-9]+", "-", request.node.name)[:60]
    client.create_job(
        models.BatchJobCreateOptions(
            id=job_id, pool_info=models.BatchPoolInfo(pool_id="pool"), uses_task_dependencies=True
        )
    )
    yield job_id
    client.begin_delete_job(job_id).wait()


def finish(client: BatchClient, job: str) -> dict[str, models.BatchTask]:
    until(lambda: all(task.state == "completed" for task in client.list_tasks(job, select=["id", "state"])))
    return {str(task.id): task for task in client.list_tasks(job)}


def shell(task_id: str, script: str, **more: Any) -> models.BatchTaskCreateOptions:
    return models.BatchTaskCreateOptions(id=task_id, command_line=f"/bin/sh -c '{script}'", **more)


def refused_download(client: BatchClient, job: str, path: str, **more: str) -> tuple[int | None, str]:
    """Status and code; the SDK raises before it has read the body, and leaves it to be read."""
    with pytest.raises(HttpResponseError) as error:
        client.download_task_file(job, "t", path, **more)
    response = error.value.response
    assert response is not None
    response.read()  # type: ignore[attr-defined]
    return error.value.status_code, response.json()["code"]  # type: ignore[attr-defined]


def test_tasks_run_and_say_how_they_ended(client: BatchClient, job: str) -> None:
    result = client.create_tasks(
        job, [shell("good", "echo hello"), shell("bad", "exit 3"), shell("none", "kill -9 $$")]
    )
    assert {item.status for item in result.result_values} == {"Success"}
    tasks = finish(client, job)
    assert tasks["good"].execution_info is not None
    assert (tasks["good"].execution_info.exit_code, tasks["good"].execution_info.result) == (0, "success")
    info = tasks["bad"].execution_info
    assert info is not None
    assert (info.exit_code, info.result) == (3, "failure")
    assert info.failure_info is not None
    assert (info.failure_info.category, info.failure_info.code) == ("UserError", "FailureExitCode")
    assert tasks["none"].execution_info is not None
    assert tasks["none"].execution_info.exit_code == -9
    counts = client.get_job_task_counts(job).task_counts
    assert (counts.completed, counts.succeeded, counts.failed) == (3, 1, 2)
    failed = client.list_tasks(job, filter="executionInfo/result eq 'failure'", select=["id"])
    assert [task.id for task in failed] == ["bad", "none"]


def test_a_task_comes_back_with_its_defaults_filled_in(client: BatchClient, job: str) -> None:
    client.create_task(job, shell("plain", "true"))
    task = client.get_task(job, "plain")
    assert task.constraints is not None
    assert task.constraints.retention_time == timedelta(days=7)
    assert task.constraints.max_task_retry_count == 0
    assert task.required_slots == 1
    assert task.user_identity is not None
    assert task.user_identity.auto_user is not None
    assert task.user_identity.auto_user.scope == "pool"
    with pytest.raises(HttpResponseError) as error:
        client.create_task(job, shell("PLAIN", "true"))
    assert code(error) == "TaskExists"


def test_dependencies_and_priorities_of_a_batch_bigger_than_one_call(client: BatchClient, job: str) -> None:
    many = [shell(str(number), "true") for number in range(1, 151)]
    last = models.BatchTaskDependencies(task_id_ranges=[models.BatchTaskIdRange(start=1, end=150)])
    client.create_tasks(job, [*many, shell("last", "true", depends_on=last)])
    tasks = finish(client, job)
    assert len(tasks) == 151
    started = tasks["last"].execution_info
    assert started is not None
    assert started.start_time is not None
    for number in range(1, 151):
        before = tasks[str(number)].execution_info
        assert before is not None
        assert before.end_time is not None
        assert before.end_time <= started.start_time


def test_what_one_task_of_a_collection_does_wrong_does_not_touch_the_others(
    client: BatchClient, job: str
) -> None:
    client.create_task(job, shell("old", "true"))
    group = models.BatchTaskGroup(
        task_values=[shell("new", "true"), shell("old", "true"), shell("no good", "true")]
    )
    added = {item.task_id: item for item in client.create_task_collection(job, group).result_values or []}
    assert added["new"].status == "Success"
    assert added["old"].error is not None
    assert added["old"].error.code == "TaskExists"
    assert added["old"].status == "clienterror"
    assert added["no good"].error is not None
    assert added["no good"].error.code == "InvalidPropertyValue"
    assert {task.id for task in client.list_tasks(job)} == {"old", "new"}


def test_an_oversized_collection_is_halved_by_the_sdk(client: BatchClient, job: str) -> None:
    big = [
        shell(
            f"big{number}",
            "true",
            environment_settings=[models.EnvironmentSetting(name="A", value="x" * 40_000)],
        )
        for number in range(40)
    ]
    assert len(client.create_tasks(job, big).result_values or []) == 40
    assert len(list(client.list_tasks(job, select=["id"]))) == 40


def test_a_task_is_terminated_reactivated_replaced_and_deleted(client: BatchClient, job: str) -> None:
    client.create_task(job, shell("t", "sleep 600"))
    client.terminate_task(job, "t")
    finish(client, job)
    task = client.get_task(job, "t")
    assert task.execution_info is not None
    assert task.execution_info.failure_info is not None
    assert task.execution_info.failure_info.code == "TaskEnded"
    client.reactivate_task(job, "t")
    assert client.get_task(job, "t").state in {"active", "running", "preparing"}
    retries = models.BatchTaskConstraints(max_task_retry_count=3)
    client.replace_task(job, "t", models.BatchTask(constraints=retries))
    task = client.get_task(job, "t")
    assert task.constraints is not None
    assert task.constraints.max_task_retry_count == 3
    assert list(client.list_subtasks(job, "t")) == []
    client.delete_task(job, "t")
    with pytest.raises(ResourceNotFoundError) as error:
        client.get_task(job, "t")
    assert code(error) == "TaskNotFound"


def test_files_are_listed_read_in_part_and_deleted(client: BatchClient, job: str) -> None:
    client.create_task(
        job, shell("t", 'echo hello; echo oops >&2; mkdir -p d; printf 0123456789 >"d/out file.txt"')
    )
    finish(client, job)
    assert b"".join(client.download_task_file(job, "t", "stdout.txt")) == b"hello\n"
    assert b"".join(client.download_task_file(job, "t", "stderr.txt")) == b"oops\n"
    part = client.download_task_file(job, "t", "wd/d/out file.txt", ocp_range="bytes=2-5")
    assert b"".join(part) == b"2345"
    properties = client.get_task_file_properties(job, "t", "wd/d/out file.txt")
    assert (properties.content_length, properties.is_directory) == (10, False)
    assert properties.file_mode is not None
    assert properties.file_mode.startswith("0o100")
    top = {item.name for item in client.list_task_files(job, "t")}
    assert {"stdout.txt", "stderr.txt", "wd"} <= top
    everything = {item.name: item for item in client.list_task_files(job, "t", recursive=True)}
    found = everything["wd/d/out file.txt"].properties
    assert found is not None
    assert found.content_length == 10
    only = client.list_task_files(job, "t", recursive=True, filter="startswith(name,'wd/d/')")
    assert [item.name for item in only] == ["wd/d/out file.txt"]
    node = client.get_task(job, "t").node_info
    assert node is not None
    assert node.node_id is not None
    path = f"{node.task_root_directory}/wd/d/out file.txt"
    assert b"".join(client.download_node_file("pool", node.node_id, path)) == b"0123456789"
    assert client.get_node_file_properties("pool", node.node_id, path).content_length == 10
    with pytest.raises(HttpResponseError) as error:
        client.delete_task_file(job, "t", "wd/d")
    assert error.value.status_code == 400
    client.delete_task_file(job, "t", "wd/d", recursive=True)
    client.delete_node_file("pool", node.node_id, f"{node.task_root_directory}/stderr.txt")
    assert "stderr.txt" not in {item.name for item in client.list_task_files(job, "t")}


@pytest.mark.parametrize("path", ["../t/stdout.txt", "/etc/passwd", "wd/../../../../x"])
def test_no_file_outside_the_task_is_shown(client: BatchClient, job: str, path: str) -> None:
    client.create_task(job, shell("t", "true"))
    finish(client, job)
    assert refused_download(client, job, path) == (400, "InvalidUri")


def test_files_that_are_not_there_yet(client: BatchClient, job: str) -> None:
    waiting = models.BatchTaskDependencies(task_ids=["nobody"])
    client.create_task(job, shell("t", "true", depends_on=waiting))
    with pytest.raises(HttpResponseError) as error:
        list(client.list_task_files(job, "t"))
    assert code(error) == "OperationInvalidForCurrentState"
    client.create_task(job, shell("nobody", "true"))
    finish(client, job)
    assert refused_download(client, job, "nothing.txt") == (404, "FileNotFound")


def test_a_range_beyond_the_end_is_told_from_a_missing_file(client: BatchClient, job: str) -> None:
    client.create_task(job, shell("t", "echo hello"))
    finish(client, job)
    assert refused_download(client, job, "stdout.txt", ocp_range="bytes=6-") == (416, "InvalidRange")
