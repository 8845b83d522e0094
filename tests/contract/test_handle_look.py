"""A job as one look sees it, its documents, and the metadata that a job carries."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from azbatch_core import AzureBatch, NotFound

if TYPE_CHECKING:
    from collections.abc import Callable

    from azbatch_core import AccountSpec, JobSpec


def test_status_and_tasks_of_one_look(client: AzureBatch, make_job: Callable[..., JobSpec]) -> None:
    job = client.submit(make_job(a=["true"], b=["false"], job={"metadata": {"team": "vision"}})).job
    job.wait(timeout=60)
    status, tasks = job.look()
    assert status == job.status()
    assert [task.id for task in tasks] == ["a", "b"]
    assert status.metadata["team"] == "vision"
    assert status.metadata["azbatch:name"] == job_name_of(client, job.id)
    listed = next(one for one in client.jobs() if one.id == job.id)
    assert listed.metadata == status.metadata


def job_name_of(client: AzureBatch, job_id: str) -> str:
    return str(client.job(job_id).documents()["job"]["displayName"])


def test_a_look_of_a_moment_ago_is_good_enough(
    client: AzureBatch, account: AccountSpec, make_job: Callable[..., JobSpec]
) -> None:
    job = client.submit(make_job(a=["sleep", "600"])).job
    seen, _ = job.look()
    with AzureBatch(account) as somebody_else:
        somebody_else.job(job.id).cancel()
    assert job.look(max_age=3600.0)[0] == seen
    assert job.wait(timeout=60).state != seen.state


def test_documents_are_the_service_s(client: AzureBatch, make_job: Callable[..., JobSpec]) -> None:
    job = client.submit(make_job(a=["true"])).job
    documents = job.documents()
    assert documents["job"]["id"] == job.id
    assert [task["commandLine"] for task in documents["tasks"]] == ["true"]
    with pytest.raises(NotFound):
        client.job("nosuch").documents()
    with pytest.raises(NotFound):
        client.job("nosuch").look()
