"""Ending and removing: everything can be done twice, and cancelling keeps the evidence."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from waiting import WITHIN

from azbatch_core import (
    AzureBatch,
    Conflict,
    FailureCategory,
    JobSpec,
    JobState,
    NotFound,
    TaskState,
    WaitTimeout,
    shell,
)
from azbatch_core.service.connect import sdk

Make = Callable[..., JobSpec]


def test_cancelling_ends_the_job_and_keeps_its_record_and_output(client: AzureBatch, make_job: Make) -> None:
    spec = make_job(a=shell("echo evidence; sleep 60"), b={"command": ["true"], "depends_on": ["a"]})
    job = client.submit(spec).job
    for chunk in job.logs("a", follow=True):
        assert chunk.text == "evidence\n"
        break
    job.cancel()
    ended = job.wait(WITHIN)
    assert (ended.state, ended.reason, ended.exit_code) == (JobState.CANCELLED, "it was cancelled", 1)
    tasks = {task.id: task for task in job.tasks()}
    assert tasks["a"].state is TaskState.CANCELLED
    assert tasks["a"].category is FailureCategory.CANCELLED
    assert tasks["b"].state in {TaskState.CANCELLED, TaskState.BLOCKED}
    assert [chunk.text for chunk in job.logs("a")] == ["evidence\n"]


def test_cancelling_twice_is_fine(client: AzureBatch, make_job: Make) -> None:
    job = client.submit(make_job(["sleep", "60"])).job
    assert job.cancel()
    assert not job.cancel()
    assert job.wait(WITHIN).state is JobState.CANCELLED
    assert not job.cancel()


def test_cancelling_a_finished_job_does_not_change_its_end(client: AzureBatch, make_job: Make) -> None:
    job = client.submit(make_job(["true"])).job
    job.wait(WITHIN)
    assert not job.cancel()
    assert job.status().state is JobState.SUCCEEDED


def test_cancelling_and_deleting_a_job_that_is_not_there_is_fine(client: AzureBatch) -> None:
    job = client.job("never-was-there")
    assert not job.cancel()
    job.delete()
    job.delete(wait=True)


def test_deleting_twice_and_while_it_terminates_is_fine(client: AzureBatch, make_job: Make) -> None:
    job = client.submit(make_job(["sleep", "60"])).job
    job.cancel()
    job.delete()
    job.delete()
    job.cancel()
    job.delete(wait=True)
    with pytest.raises(NotFound):
        job.status()


def refusals(monkeypatch: pytest.MonkeyPatch, name: str, *codes: str) -> list[str]:
    """Let the service refuse with these codes, then do as it is told; the list is what is left of them."""
    real, left = getattr(sdk, name), list(codes)

    def refuse(*args: Any) -> Any:
        if left:
            raise Conflict("refused", code=left.pop(0))
        return real(*args)

    monkeypatch.setattr(sdk, name, refuse)
    return left


@pytest.mark.parametrize("code", ["JobCompleted", "JobBeingTerminated", "JobBeingDeleted"])
def test_a_cancel_that_comes_too_late_is_done(
    code: str, client: AzureBatch, monkeypatch: pytest.MonkeyPatch
) -> None:
    left = refusals(monkeypatch, "terminate_job", code)
    client.job("any").cancel()
    assert left == []


def test_a_deletion_that_comes_twice_is_done(client: AzureBatch, monkeypatch: pytest.MonkeyPatch) -> None:
    left = refusals(monkeypatch, "delete_job", "JobBeingDeleted")
    client.job("any").delete()
    assert left == []


@pytest.mark.parametrize("name", ["terminate_job", "delete_job"])
def test_other_refusals_are_not_swallowed(
    name: str, client: AzureBatch, monkeypatch: pytest.MonkeyPatch
) -> None:
    refusals(monkeypatch, name, "AnythingElse")
    with pytest.raises(Conflict):
        client.job("any").cancel() if name == "terminate_job" else client.job("any").delete()


def test_a_deletion_waits_for_the_termination_before_it(
    client: AzureBatch, make_job: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    job = client.submit(make_job(["sleep", "60"])).job
    left = refusals(monkeypatch, "delete_job", *["JobBeingTerminated"] * 3)
    job.delete(wait=True)
    assert left == []
    with pytest.raises(NotFound):
        job.status()
    refusals(monkeypatch, "delete_job", *["JobBeingTerminated"] * 1000)
    with pytest.raises(WaitTimeout, match="still being terminated"):
        job.delete(timeout=0.2)


def test_many_cancels_at_once_all_succeed(client: AzureBatch, make_job: Make) -> None:
    job = client.submit(make_job(["sleep", "60"])).job
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda _: job.cancel(), range(16)))
    assert job.wait(WITHIN).state is JobState.CANCELLED


def test_deleting_a_pool_twice_is_fine(client: AzureBatch, make_job: Make) -> None:
    pool = {"kind": "managed", "name": "short-lived"}
    job = client.submit(make_job(["true"], job={"pool": pool})).job
    pool_id = str(job.wait(WITHIN).pool_id)
    assert pool_id in {found.id for found in client.pools() if found.managed}
    client.delete_pool(pool_id)
    client.delete_pool(pool_id, wait=True)
    client.delete_pool(pool_id, wait=True)
    assert pool_id not in {found.id for found in client.pools()}


def test_only_the_chosen_states_are_listed(client: AzureBatch, make_job: Make) -> None:
    job = client.submit(make_job(good=["true"], bad=["false"])).job
    job.wait(WITHIN)
    assert [task.id for task in job.tasks({TaskState.FAILED})] == ["bad"]
    assert {task.id for task in job.tasks()} == {"good", "bad"}
