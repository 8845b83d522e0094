"""How jobs and tasks end, as the service tells it and as we say it; and that a wait always comes back."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import pytest
from azure.batch import models
from waiting import WITHIN

from azbatch_core import (
    AzureBatch,
    FailureCategory,
    JobFailed,
    JobSpec,
    JobState,
    JobStatus,
    NotFound,
    TaskState,
    TaskStatus,
    WaitTimeout,
    shell,
)
from azbatch_core.service.connect import sdk
from azbatch_core.service.documents import requests
from azbatch_core.service.watch import pool_health, status, task_failures

if TYPE_CHECKING:
    from pathlib import Path

    from azbatch_core.local import LocalBatch

Make = Callable[..., JobSpec]


def run(client: AzureBatch, spec: JobSpec) -> JobStatus:
    job = client.submit(spec).job
    ended = job.wait(WITHIN)
    job.cancel()
    return ended


def only(client: AzureBatch, spec: JobSpec) -> TaskStatus:
    job = client.submit(spec).job
    job.wait(WITHIN)
    (task,) = job.tasks()
    return task


@pytest.fixture
def small_pool(client: AzureBatch, job_name: str) -> Iterator[Callable[..., str]]:
    """Create a pool of this test's own by hand, and remove it afterwards."""
    made: list[str] = []

    def create(**fields: Any) -> str:
        pool_id = f"{job_name}-{len(made)}"
        image = {"publisher": "canonical", "offer": "ubuntu-24_04-lts", "sku": "server"}
        machine = {"imageReference": image, "nodeAgentSKUId": "batch.node.ubuntu 24.04"}
        body = {
            "id": pool_id,
            "vmSize": "standard_d2s_v3",
            "virtualMachineConfiguration": machine,
            "targetDedicatedNodes": 1,
            **fields,
        }
        requests.send(client._connection, "POST", "pools", body=body)
        made.append(pool_id)
        return pool_id

    yield create
    for pool_id in made:
        client.delete_pool(pool_id)


@pytest.mark.parametrize("state", list(models.BatchTaskState))
def test_every_task_state_of_the_sdk_has_a_meaning(state: models.BatchTaskState) -> None:
    known = {"active", "completed", *status.TASK_STATES}
    assert state.value in known
    (found,) = status.task_statuses({"state": "active"}, [{"id": "t", "state": state.value}])
    assert found.state.final is (state.value == "completed")


@pytest.mark.parametrize("state", list(models.BatchJobState))
def test_every_job_state_of_the_sdk_has_a_meaning(state: models.BatchJobState) -> None:
    assert state.value in status.JOB_GOES_ON
    found = status.job_status("a:j", {"id": "j", "state": state.value}, [])
    assert found.state.final is (state.value in {"completed", "deleting"})


@pytest.mark.parametrize("result", list(models.BatchTaskExecutionResult))
def test_every_result_of_the_sdk_has_a_meaning(result: models.BatchTaskExecutionResult) -> None:
    task = {"id": "t", "state": "completed", "executionInfo": {"result": result.value}}
    (found,) = status.task_statuses({"state": "active"}, [task])
    expected = {"success": TaskState.SUCCEEDED, "failure": TaskState.FAILED}
    assert found.state is expected[result.value]


@pytest.mark.parametrize("side", list(models.BatchErrorSourceCategory))
def test_every_side_of_an_error_has_a_category(side: models.BatchErrorSourceCategory) -> None:
    failure = {"code": "Novelty", "category": side.value}
    task = {"executionInfo": {"result": "failure", "failureInfo": failure}}
    expected = {"usererror": FailureCategory.USER, "servererror": FailureCategory.SERVICE}
    assert task_failures.categorise(task) is expected[side.value]


def test_every_node_state_that_is_named_exists() -> None:
    known = {state.value for state in models.BatchNodeState}
    assert known >= pool_health.DEAD
    assert known >= pool_health.READY


def test_exit_codes_come_through(client: AzureBatch, make_job: Make) -> None:
    ended = run(client, make_job(shell("exit 7")))
    assert (ended.state, ended.exit_code) == (JobState.FAILED, 1)
    (task,) = ended.failures
    assert (task.exit_code, task.category, task.message) == (7, FailureCategory.USER, "exit code 7")
    assert "1 task failed: 1 (exit code 7)" in str(ended.reason)


def test_a_program_that_is_missing_has_no_exit_code(client: AzureBatch, make_job: Make) -> None:
    task = only(client, make_job(["no-such-program-anywhere"]))
    assert (task.state, task.exit_code, task.category) == (TaskState.FAILED, None, FailureCategory.USER)
    assert task.code == "CommandProgramNotFound"


def test_an_upload_that_fails_after_exit_code_zero_is_a_failure(
    client: AzureBatch, make_job: Make, local: LocalBatch
) -> None:
    outputs = [{"file_pattern": "*.txt", "container_url": f"{local.blob_endpoint}/nobody-made-this"}]
    task = only(client, make_job(a={"command": ["touch", "a.txt"], "output_files": outputs}))
    assert (task.state, task.exit_code, task.category) == (TaskState.FAILED, 0, FailureCategory.STAGING)
    assert "FileUpload" in str(task.code)


def test_the_wall_time_is_its_own_category(client: AzureBatch, make_job: Make) -> None:
    task = only(client, make_job(a={"command": ["sleep", "60"], "wall_time": "1s"}))
    assert (task.state, task.category) == (TaskState.FAILED, FailureCategory.WALLTIME)


def test_the_last_try_decides(client: AzureBatch, make_job: Make, tmp_path: Path) -> None:
    flag = tmp_path / "tried"
    script = f"test -e {flag} || {{ touch {flag}; exit 9; }}"
    task = only(client, make_job(a={"command": shell(script), "retry": {"max_retries": 2}}))
    assert (task.state, task.exit_code, task.retries, task.category) == (TaskState.SUCCEEDED, 0, 1, None)


def test_a_killed_process_says_by_what(client: AzureBatch, make_job: Make) -> None:
    task = only(client, make_job(shell("kill -SEGV $$")))
    assert task.state is TaskState.FAILED
    assert "SIGSEGV" in str(task.message)


def test_a_failed_dependency_ends_the_wait_and_is_named(client: AzureBatch, make_job: Make) -> None:
    spec = make_job(
        seed={"command": shell("exit 3")},
        reduce={"command": ["true"], "depends_on": ["SEED"]},
        report={"command": ["true"], "depends_on": ["reduce"]},
    )
    job = client.submit(spec).job
    ended = job.wait(WITHIN)
    assert (ended.state, ended.exit_code) == (JobState.STUCK, 1)
    assert ended.counts == {TaskState.FAILED: 1, TaskState.BLOCKED: 2}
    assert "seed (exit code 3)" in str(ended.reason)
    assert any("seed" in said.text for said in job.why() if said.subject == "task reduce")
    with pytest.raises(JobFailed, match="stuck"):
        job.result(WITHIN)
    job.cancel()


def test_a_dependency_may_be_satisfied_by_failure(client: AzureBatch, make_job: Make) -> None:
    spec = make_job(
        seed={"command": shell("exit 3"), "on_failure": "satisfy"},
        reduce={"command": ["true"], "depends_on": ["seed"]},
    )
    ended = run(client, spec)
    assert ended.state is JobState.FAILED
    assert ended.counts == {TaskState.FAILED: 1, TaskState.SUCCEEDED: 1}


def test_a_neighbours_failure_is_not_mine(client: AzureBatch, make_job: Make) -> None:
    job = client.submit(make_job(mine=["true"], theirs=shell("exit 1"))).job
    assert job.wait(WITHIN).state is JobState.FAILED
    assert job.wait(WITHIN, task_ids=["MINE"]).state is JobState.SUCCEEDED
    assert job.status(task_ids=["theirs"]).exit_code == 1


def test_waiting_for_a_task_does_not_wait_for_its_neighbours(client: AzureBatch, make_job: Make) -> None:
    job = client.submit(make_job(mine=["true"], slow=["sleep", "60"])).job
    assert job.wait(WITHIN, task_ids=["mine"]).state is JobState.SUCCEEDED
    assert job.status().state is JobState.RUNNING
    job.cancel()


def test_a_failed_preparation_ends_the_wait(client: AzureBatch, make_job: Make) -> None:
    job = client.submit(make_job(["true"], job={"preparation": {"command": shell("exit 4")}})).job
    ended = job.wait(WITHIN)
    assert ended.state is JobState.STUCK
    assert "preparation task failed on every node: exit code 4" in str(ended.reason)
    assert any("preparation" in said.text for said in job.why())
    job.cancel()


def test_a_start_task_that_fails_everywhere_ends_the_wait(
    client: AzureBatch, make_job: Make, small_pool: Callable[..., str]
) -> None:
    script = "/bin/sh -c 'echo no licence here >&2; exit 5'"
    pool = small_pool(startTask={"commandLine": script, "waitForSuccess": True})
    job = client.submit(make_job(["true"], job={"pool": pool})).job
    ended = job.wait(WITHIN)
    assert ended.state is JobState.STUCK
    assert "the start task failed on node" in str(ended.reason)
    assert "exit code 5" in str(ended.reason)
    assert "no licence here" in str(ended.reason)
    said = [found for found in job.why() if found.subject.startswith("node ")]
    assert any("no licence here" in found.text and script in found.text for found in said)
    job.cancel()


def test_a_pool_without_nodes_ends_the_wait(
    client: AzureBatch, make_job: Make, small_pool: Callable[..., str]
) -> None:
    job = client.submit(make_job(["true"], job={"pool": small_pool(targetDedicatedNodes=0)})).job
    ended = job.wait(WITHIN)
    assert ended.state is JobState.STUCK
    assert "has no nodes, and none are asked for" in str(ended.reason)
    job.cancel()


def test_a_pool_that_goes_away_ends_the_wait(
    client: AzureBatch, make_job: Make, small_pool: Callable[..., str]
) -> None:
    pool = small_pool(targetDedicatedNodes=0)
    job = client.submit(make_job(["true"], job={"pool": pool})).job
    client.delete_pool(pool, wait=True)
    ended = job.wait(WITHIN)
    assert ended.state is JobState.STUCK
    assert f"the pool {pool} does not exist" in str(ended.reason)
    job.cancel()


def test_a_terminated_job_ends_the_wait_with_tasks_that_never_ran(
    client: AzureBatch, make_job: Make, small_pool: Callable[..., str]
) -> None:
    job = client.submit(make_job(["true"], ["true"], job={"pool": small_pool(targetDedicatedNodes=0)})).job
    job.cancel()
    ended = job.wait(WITHIN)
    assert (ended.state, ended.counts) == (JobState.CANCELLED, {TaskState.CANCELLED: 2})
    assert "cancelled" in str(ended.reason)


def test_a_disabled_job_is_waited_for_and_says_so(
    client: AzureBatch, make_job: Make, small_pool: Callable[..., str]
) -> None:
    job = client.submit(make_job(["true"], job={"pool": small_pool(targetDedicatedNodes=0)})).job
    requests.send(client._connection, "POST", "jobs", job.id, "disable", body={"disableTasks": "requeue"})
    with pytest.raises(WaitTimeout):
        job.wait(0.8)
    assert job.status().reason == "the job is disabled"
    assert any("disabled" in said.text for said in job.why())
    job.cancel()


def test_a_deadline_is_the_callers_and_the_job_goes_on(client: AzureBatch, make_job: Make) -> None:
    job = client.submit(make_job(["sleep", "60"])).job
    with pytest.raises(WaitTimeout, match="azbatch wait"):
        job.wait(0.1)
    assert not job.status().state.final
    job.cancel()


def test_waiting_for_a_job_that_is_not_there(client: AzureBatch) -> None:
    with pytest.raises(NotFound):
        client.job("never-was").wait(WITHIN)


def test_updates_tell_each_change_once_and_end_with_the_answer(client: AzureBatch, make_job: Make) -> None:
    seen: list[JobStatus] = []
    job = client.submit(make_job(a=["true"], b={"command": ["true"], "depends_on": ["a"]})).job
    ended = job.wait(WITHIN, on_update=seen.append)
    assert seen[-1] == ended
    assert all(before != after for before, after in pairwise(seen))


def test_many_waiters_share_one_listing(
    client: AzureBatch, make_job: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    lock, lists = threading.Lock(), [0]
    real = sdk.list_page

    def counting(*args: Any, **options: Any) -> Any:
        with lock:
            lists[0] += 1
        return real(*args, **options)

    job = client.submit(make_job(["sleep", "2"])).job
    monkeypatch.setattr(sdk, "list_page", counting)
    with ThreadPoolExecutor(12) as pool:
        ended = list(pool.map(lambda _: client.job(job.id).wait(WITHIN).state, range(12)))
    assert ended == [JobState.SUCCEEDED] * 12
    # One waiter alone looks about ten times in two seconds.
    assert lists[0] < 40


def test_only_changes_are_listed_in_a_job_of_many_tasks(
    client: AzureBatch, make_job: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    pages: list[int] = []
    real = sdk.list_page

    def counting(*args: Any, **options: Any) -> Any:
        items, following = real(*args, **options)
        pages.append(len(items))
        return items, following

    job = client.submit(
        make_job(*[["sleep", "0.6"]] * 120, job={"pool": {"kind": "managed", "nodes": 2}})
    ).job
    monkeypatch.setattr(sdk, "list_page", counting)
    seen: list[JobStatus] = []

    class EnoughError(Exception):
        """What the test looks for was seen."""

    def look(status: JobStatus) -> None:
        seen.append(status)
        if status.counts.get(TaskState.SUCCEEDED) and min(pages) < 100:
            raise EnoughError

    with pytest.raises(EnoughError):
        job.wait(WITHIN, on_update=look)
    job.cancel()
    assert pages[0] == 120
    assert all(status.total == 120 for status in seen)
    assert seen[-1].counts[TaskState.SUCCEEDED] > 0


def test_twenty_tasks_are_counted_right(client: AzureBatch, make_job: Make) -> None:
    commands = [["true"] if i % 4 else shell(f"exit {i + 1}") for i in range(20)]
    ended = run(client, make_job(*commands))
    assert ended.counts == {TaskState.SUCCEEDED: 15, TaskState.FAILED: 5}
    assert {task.exit_code for task in ended.failures} == {1, 5, 9, 13, 17}
