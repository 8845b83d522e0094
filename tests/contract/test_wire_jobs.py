"""Jobs through the SDK."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING, Any

import pytest
from azure.batch import BatchClient, models
from azure.core import MatchConditions
from azure.core.exceptions import HttpResponseError, ResourceModifiedError, ResourceNotFoundError
from sdk_client import code, connect

from azbatch_core.local import LocalBatch

if TYPE_CHECKING:
    from collections.abc import Iterator

POOL = models.BatchPoolInfo(pool_id="nowhere")


@pytest.fixture(scope="module")
def client() -> Iterator[BatchClient]:
    with LocalBatch() as batch, connect(batch) as client:
        yield client


def make(client: BatchClient, job_id: str, **more: Any) -> models.BatchJob:
    client.create_job(models.BatchJobCreateOptions(id=job_id, pool_info=POOL, **more))
    return client.get_job(job_id)


def test_a_job_comes_back_with_its_defaults_filled_in(client: BatchClient) -> None:
    job = make(
        client, "plain", constraints=models.BatchJobConstraints(max_wall_clock_time=timedelta(hours=2))
    )
    assert (job.state, job.priority, job.all_tasks_complete_mode) == ("active", 0, "noaction")
    assert job.constraints is not None
    assert job.constraints.max_wall_clock_time == timedelta(hours=2)
    assert job.execution_info is not None
    assert job.execution_info.pool_id == "nowhere"
    assert job.url is not None
    assert job.url.endswith("/jobs/plain")


def test_a_job_is_changed_in_part_and_as_a_whole(client: BatchClient) -> None:
    make(client, "changed", metadata=[models.BatchMetadataItem(name="a", value="1")])
    client.update_job("changed", models.BatchJobUpdateOptions(priority=5))
    job = client.get_job("changed")
    assert job.priority == 5
    assert job.metadata is not None
    job.priority = 7
    job.metadata = None
    client.replace_job("changed", job)
    job = client.get_job("changed")
    assert (job.priority, job.metadata) == (7, None)


def test_a_stale_tag_is_refused(client: BatchClient) -> None:
    tag = make(client, "tagged").etag
    client.update_job("tagged", models.BatchJobUpdateOptions(priority=1))
    with pytest.raises(ResourceModifiedError) as error:
        client.update_job(
            "tagged",
            models.BatchJobUpdateOptions(priority=2),
            etag=tag,
            match_condition=MatchConditions.IfNotModified,
        )
    assert code(error) == "ConditionNotMet"
    assert client.get_job("tagged").priority == 1
    with pytest.raises(ResourceModifiedError) as error:
        client.get_job(
            "tagged", etag=client.get_job("tagged").etag, match_condition=MatchConditions.IfModified
        )
    assert error.value.status_code == 304


def test_a_job_is_disabled_enabled_and_terminated(client: BatchClient) -> None:
    make(client, "switched")
    client.begin_disable_job("switched", models.BatchJobDisableOptions(disable_tasks="requeue")).wait()
    assert client.get_job("switched").state == "disabled"
    client.begin_enable_job("switched").wait()
    assert client.get_job("switched").state == "active"
    client.begin_terminate_job("switched", options={"terminateReason": "enough"}).wait()
    job = client.get_job("switched")
    assert job.state == "completed"
    assert job.execution_info is not None
    assert job.execution_info.termination_reason == "enough"
    with pytest.raises(HttpResponseError) as error:
        client.begin_terminate_job("switched", options={"terminateReason": "again"})
    assert code(error) == "JobCompleted"


def test_a_deleted_job_is_gone(client: BatchClient) -> None:
    make(client, "gone")
    client.begin_delete_job("gone", force=True).wait()
    with pytest.raises(ResourceNotFoundError) as error:
        client.get_job("gone")
    assert code(error) == "JobNotFound"


def test_jobs_are_listed_by_state_and_time(client: BatchClient) -> None:
    for job_id in ("list-1", "list-2"):
        make(client, job_id)
    client.begin_disable_job("list-2", models.BatchJobDisableOptions(disable_tasks="terminate")).wait()
    active = client.list_jobs(filter="startswith(id,'list-') and state eq 'active'", select=["id"])
    assert [job.id for job in active] == ["list-1"]
    future = "creationTime gt datetime'2099-01-01T00:00:00Z'"
    assert list(client.list_jobs(filter=future)) == []


def test_counts_of_a_job_without_tasks(client: BatchClient) -> None:
    make(client, "counted")
    counts = client.get_job_task_counts("counted")
    assert counts.task_counts.as_dict() == dict.fromkeys(
        ("active", "running", "completed", "succeeded", "failed"), 0
    )


def test_preparation_status(client: BatchClient) -> None:
    make(client, "unprepared")
    with pytest.raises(HttpResponseError) as error:
        list(client.list_job_preparation_and_release_task_status("unprepared"))
    assert code(error) == "JobPreparationTaskOrReleaseTaskNotSpecified"
    make(client, "prepared", job_preparation_task=models.BatchJobPreparationTask(command_line="/bin/true"))
    assert list(client.list_job_preparation_and_release_task_status("prepared")) == []


def test_wrong_members_are_named_with_what_was_sent(client: BatchClient) -> None:
    make(client, "wrong")
    with pytest.raises(HttpResponseError) as error:
        client.update_job("wrong", models.BatchJobUpdateOptions(all_tasks_complete_mode="badValue"))
    assert code(error) == "InvalidPropertyValue"
    assert error.value.error is not None
    details = {detail.code: detail.message for detail in error.value.error.details}
    assert details["PropertyName"] == "onAllTasksComplete"
    assert details["PropertyValue"] == "badValue"
    with pytest.raises(HttpResponseError) as error:
        client.create_job(models.BatchJobCreateOptions({"id": "wrong2", "poolInfo": {}, "colour": "red"}))
    assert code(error) == "UnsupportedProperty"
