"""Every operation on jobs, by both clients of the SDK."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
import sdk_bodies as bodies
from azure.batch import models
from azure.core.exceptions import ResourceNotFoundError
from waiting import until

if TYPE_CHECKING:
    from sdk_calls import Sdk


def test_a_job_from_its_creation_to_its_deletion(sdk: Sdk) -> None:
    job_id = sdk.name("life")
    sdk.create_job(bodies.job(job_id, priority=5))
    assert sdk.headers["location"].endswith("/jobs/job-1")
    assert bodies.shown(sdk.get_job(job_id, select=["priority"])) == {"priority": 5}
    assert [found.id for found in sdk.list_jobs(filter=f"id eq '{job_id}'")] == [job_id]
    sdk.update_job(job_id, models.BatchJobUpdateOptions(max_parallel_tasks=3))
    job = sdk.get_job(job_id)
    assert (job.priority, job.max_parallel_tasks) == (5, 3)
    job.priority = 7
    sdk.replace_job(job_id, models.BatchJob(pool_info=job.pool_info, priority=7))
    job = sdk.get_job(job_id)
    assert (job.priority, job.max_parallel_tasks) == (7, -1)
    counts = sdk.get_job_task_counts(job_id)
    assert counts.task_counts.active == counts.task_slot_counts.completed == 0
    sdk.begin_delete_job(job_id, force=True)
    with pytest.raises(ResourceNotFoundError):
        sdk.get_job(job_id)


def test_a_job_is_disabled_enabled_and_ended(sdk: Sdk) -> None:
    job_id = sdk.name("states")
    sdk.create_job(bodies.job(job_id))
    sdk.begin_disable_job(job_id, models.BatchJobDisableOptions(disable_tasks="requeue"))
    assert sdk.get_job(job_id).state == "disabled"
    sdk.begin_enable_job(job_id)
    assert sdk.get_job(job_id).state == "active"
    sdk.begin_terminate_job(job_id, bodies.TERMINATE)
    job = sdk.get_job(job_id)
    assert (job.state, job.execution_info.termination_reason) == ("completed", "enough")
    sdk.begin_delete_job(job_id)


def test_a_job_prepares_its_nodes(sdk: Sdk) -> None:
    pool_id, job_id = sdk.name("prepared"), sdk.name("prepares")
    sdk.create_pool(bodies.pool(pool_id, 1))
    preparation = models.BatchJobPreparationTask(command_line="/bin/true")
    sdk.create_job(bodies.job(job_id, pool_id, job_preparation_task=preparation))
    sdk.create_task(job_id, bodies.task("t"))
    until(lambda: sdk.get_task(job_id, "t").state == "completed")
    [status] = sdk.list_job_preparation_and_release_task_status(job_id)
    assert status.job_preparation_task_execution_info.result == "success"
    sdk.begin_delete_job(job_id)
    sdk.begin_delete_pool(pool_id)
