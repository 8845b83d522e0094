"""What a submission does first, and what stands when it is repeated, raced or slow."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import time
import uuid
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any

import pytest
from waiting import WITHIN

from azbatch_core import (
    AccountSpec,
    AzureBatch,
    ConfigurationError,
    Conflict,
    JobSpec,
    JobState,
    NotFound,
    QuotaExceeded,
    StorageSpec,
    SubmissionError,
    TaskSpec,
    TaskState,
    shell,
)
from azbatch_core.local import LocalBatch
from azbatch_core.local.settings import Settings
from azbatch_core.service.connect import sdk
from azbatch_core.service.documents import requests

Make = Callable[..., JobSpec]
LOST = "env:A_VARIABLE_THAT_NOBODY_SET"


def raw_job(client: AzureBatch, job_id: str) -> dict[str, Any]:
    return requests.send(client._connection, "GET", "jobs", job_id)


def task_ids(client: AzureBatch, job_id: str) -> list[str]:
    return sorted(task["id"] for task in requests.listing(client._connection, "jobs", job_id, "tasks"))


@pytest.fixture
def changes(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The requests that would change something, as they are sent."""
    sent: list[str] = []
    real = sdk.request

    def request(client: Any, method: str, where: str, **options: Any) -> Any:
        if method != "GET":
            sent.append(f"{method} {where}")
        return real(client, method, where, **options)

    monkeypatch.setattr(sdk, "request", request)
    return sent


@pytest.mark.parametrize(
    "job",
    [
        {"environment": {"TOKEN": {"secret": LOST}}},
        {"preparation": {"command": ["true"], "environment": {"TOKEN": {"secret": LOST}}}},
        {
            "pool": {
                "kind": "managed",
                "start_task": {"command": ["true"], "environment": {"A": {"secret": LOST}}},
            }
        },
        {
            "tasks": [{"command": ["true"]}] * 3
            + [{"command": ["true"], "environment": {"T": {"secret": LOST}}}]
        },
        {"tasks": [{"command": ["true"], "resource_files": [{"http_url": LOST, "file_path": "in"}]}]},
    ],
    ids=["job", "preparation", "start task", "last task", "url"],
)
def test_a_secret_that_cannot_be_had_ends_it_before_anything_is_made(
    client: AzureBatch, job_name: str, job: dict[str, Any], changes: list[str]
) -> None:
    pool = {"kind": "managed", "name": f"new-{uuid.uuid4().hex}"}
    spec = JobSpec(**{"name": job_name, "pool": pool, "tasks": [{"command": ["true"]}], **job})
    with pytest.raises(ConfigurationError, match="A_VARIABLE_THAT_NOBODY_SET"):
        client.submit(spec)
    assert changes == []


def test_a_secret_that_cannot_be_had_does_not_cost_the_old_job(
    client: AzureBatch, make_job: Make, job_name: str
) -> None:
    client.submit(make_job(["true"], job={"id": job_name})).job.wait(WITHIN)
    lost = make_job(["true"], job={"id": job_name, "environment": {"TOKEN": {"secret": LOST}}})
    with pytest.raises(ConfigurationError):
        client.submit(lost, recreate=True)
    assert client.job(job_name).status().state is JobState.SUCCEEDED


def test_storage_whose_key_cannot_be_had_ends_it_before_anything_is_made(
    account: AccountSpec, job_name: str, changes: list[str]
) -> None:
    assert account.storage is not None
    storage = StorageSpec(blob_endpoint=account.storage.blob_endpoint, account_name="s", account_key=LOST)
    keyless = AccountSpec(
        name="keyless",
        endpoint=account.endpoint,
        account_name=account.account_name,
        account_key=account.account_key,
        storage=storage,
    )
    outputs = [{"file_pattern": "*.txt", "container": "results"}]
    spec = JobSpec(name=job_name, tasks=[{"command": ["true"], "output_files": outputs}])
    with (
        AzureBatch(keyless) as batch,
        pytest.raises(ConfigurationError, match="A_VARIABLE_THAT_NOBODY_SET"),
    ):
        batch.submit(spec)
    assert changes == []


def test_a_streamed_secret_that_cannot_be_had_says_what_is_there(client: AzureBatch, job_name: str) -> None:
    stream = [TaskSpec(command=["true"]), TaskSpec(command=["true"], environment={"T": {"secret": LOST}})]
    with pytest.raises(SubmissionError, match="A_VARIABLE_THAT_NOBODY_SET") as caught:
        client.submit(JobSpec(name=job_name), stream)
    caught.value.submission.job.delete()


def test_the_same_plan_with_the_same_stream_carries_on(client: AzureBatch, job_name: str) -> None:
    plan = client.plan(JobSpec(name=job_name, tasks=[TaskSpec(id="own", command=["true"])]), streaming=True)

    def stream() -> Iterator[TaskSpec]:
        yield TaskSpec(command=["sleep", "60"])
        yield TaskSpec(id="named", command=["sleep", "60"])
        yield TaskSpec(command=["sleep", "61"])

    first = client.submit(plan, stream())
    again = client.submit(plan, stream())
    assert [result.id for result in again.results] == [result.id for result in first.results]
    assert {result.status for result in again.results} == {"exists"}
    assert task_ids(client, plan.job_id) == ["1", "2", "named", "own"]
    again.job.delete()


def test_a_job_does_not_end_before_its_last_task_is_in(client: AzureBatch, job_name: str) -> None:
    seen: list[str] = []

    def slowly() -> Iterator[TaskSpec]:
        for _ in range(500):  # as many as are taken ahead of the answers
            yield TaskSpec(command=["true"])
        deadline = time.monotonic() + WITHIN
        while not client.job(job_name).status().counts.get(TaskState.SUCCEEDED, 0) >= 100:
            assert time.monotonic() < deadline
        seen.append(raw_job(client, job_name)["state"])
        yield TaskSpec(id="late", command=["true"])

    submission = client.submit(JobSpec(name=job_name, id=job_name, pool={"task_slots_per_node": 4}), slowly())
    assert seen == ["active"]
    ended = submission.job.wait(WITHIN)
    assert (ended.state, ended.total) == (JobState.SUCCEEDED, 501)
    assert raw_job(client, job_name)["state"] in {"terminating", "completed"}


HALF = """
import sys
from azbatch_core import AzureBatch, JobSpec, TaskSpec

def stream():
    for _ in range(500):
        yield TaskSpec(command=["true"])
    print("half", flush=True)
    sys.stdin.read()

with AzureBatch() as batch:
    batch.submit(JobSpec(name="half", id=sys.argv[1]), stream())
"""


def test_a_job_whose_submitter_was_killed_does_not_live_for_ever(
    client: AzureBatch, local: LocalBatch, job_name: str
) -> None:
    account = {
        "AZURE_BATCH_ENDPOINT": local.endpoint,
        "AZURE_BATCH_ACCOUNT": local.account_name,
        "AZURE_BATCH_ACCESS_KEY": local.account_key,
    }
    line = [sys.executable, "-c", HALF, job_name]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
    with subprocess.Popen(line, env={**os.environ, **account}, **pipes) as submitter:
        assert submitter.stdout is not None
        assert submitter.stdout.readline() == "half\n"
        submitter.kill()
    job = raw_job(client, job_name)
    assert (job["onAllTasksComplete"], job["constraints"]["maxWallClockTime"]) == ("noaction", "P7D")
    # The days pass in a second.
    soon = {"constraints": {"maxWallClockTime": "PT1S"}}
    requests.send(client._connection, "PATCH", "jobs", job_name, body=soon)
    deadline = time.monotonic() + WITHIN
    while (job := raw_job(client, job_name))["state"] != "completed":
        assert time.monotonic() < deadline
    assert job["executionInfo"]["terminateReason"] == "MaxWallClockTimeExpiry"


def test_two_who_submit_the_same_job_at_once_get_a_job_each(account: AccountSpec, make_job: Make) -> None:
    spec = make_job(["true"], ["true"], ["true"])

    def submit(_: int) -> tuple[str, int]:
        with AzureBatch(account) as batch:
            job = batch.submit(spec).job
            return job.id, job.wait(WITHIN).total

    with ThreadPoolExecutor(2) as pool:
        found = list(pool.map(submit, range(2)))
    assert len({job_id for job_id, _ in found}) == 2
    assert [total for _, total in found] == [3, 3]


def test_two_who_want_the_same_id_do_not_mix_their_tasks(
    account: AccountSpec, client: AzureBatch, make_job: Make, job_name: str
) -> None:
    ready = threading.Barrier(2)

    def submit(command: str) -> str:
        with AzureBatch(account) as batch:
            plan = batch.plan(make_job([command], [command], job={"id": job_name}))
            ready.wait(WITHIN)
            try:
                batch.submit(plan)
            except Conflict as error:
                return str(error.code)
            return command

    with ThreadPoolExecutor(2) as pool:
        found = set(pool.map(submit, ["true", "/bin/true"]))
    assert "JobExists" in found
    (winner,) = found - {"JobExists"}
    stored = requests.listing(client._connection, "jobs", job_name, "tasks")
    assert [task["commandLine"] for task in stored] == [winner, winner]


@pytest.fixture
def narrow(monkeypatch: pytest.MonkeyPatch) -> Iterator[AzureBatch]:
    """An account that may have two jobs that are not completed."""
    monkeypatch.setattr("azbatch_core.local.service.Settings", partial(Settings, job_quota=2))
    with LocalBatch() as local:
        key = {"account_name": local.account_name, "account_key": local.account_key}
        with AzureBatch(AccountSpec(name="narrow", endpoint=local.endpoint, **key)) as batch:
            yield batch


def test_finished_jobs_take_no_part_of_the_quota(narrow: AzureBatch, make_job: Make) -> None:
    deadline = time.monotonic() + WITHIN
    for command, state in [("true", JobState.SUCCEEDED), ("false", JobState.FAILED)] * 3:
        job = narrow.submit(make_job([command])).job
        assert job.wait(WITHIN).state is state
        while raw_job(narrow, job.id)["state"] != "completed":
            assert time.monotonic() < deadline


def test_a_full_quota_is_not_taken_for_a_job_that_exists(narrow: AzureBatch, make_job: Make) -> None:
    running = [narrow.submit(make_job(["sleep", "60"])).job for _ in range(2)]
    plan = narrow.plan(make_job(["true"]))
    with pytest.raises(QuotaExceeded) as caught:
        narrow.submit(plan)
    assert (caught.value.code, caught.value.retryable) == ("ActiveJobAndScheduleQuotaReached", True)
    with pytest.raises(NotFound):
        raw_job(narrow, plan.job_id)
    for job in running:
        job.delete(wait=True)
    assert narrow.submit(plan).job.wait(WITHIN).state is JobState.SUCCEEDED


def test_counts_are_not_trusted_with_the_end_of_a_wait(
    client: AzureBatch, make_job: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = sdk.request

    def lying(batch: Any, method: str, where: str, **options: Any) -> Any:
        assert not where.endswith("/taskcounts"), "they lag behind additions and deletions"
        return real(batch, method, where, **options)

    monkeypatch.setattr(sdk, "request", lying)
    job = client.submit(make_job(["true"], shell("exit 3"), ["true"])).job
    ended = job.wait(WITHIN)
    assert (ended.state, ended.total) == (JobState.FAILED, 3)
    assert len(list(job.tasks())) == 3


def test_the_list_of_jobs_tells_a_stuck_one_from_one_that_runs(client: AzureBatch, make_job: Make) -> None:
    after = {"command": ["true"], "depends_on": ["a"]}
    stuck = client.submit(make_job(a=shell("exit 3"), b=after)).job
    assert stuck.wait(WITHIN).state is JobState.STUCK
    pool = {"kind": "managed", "name": "list", "task_slots_per_node": 1}
    busy = client.submit(make_job(a=shell("exit 3"), b=["sleep", "60"], c=["true"], job={"pool": pool})).job
    busy.wait(WITHIN, task_ids=["a"])
    listed = {job.id: job for job in client.jobs()}
    assert listed[stuck.id].state is JobState.STUCK
    assert "a (exit code 3)" in str(listed[stuck.id].reason)
    assert listed[busy.id].state is JobState.RUNNING
    for job in (stuck, busy):
        job.delete()
