"""Every operation on job schedules, by both clients of the SDK."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
import sdk_bodies as bodies
from azure.batch import models
from azure.core.exceptions import ResourceNotFoundError

if TYPE_CHECKING:
    from sdk_calls import Sdk


def test_a_schedule_from_its_creation_to_its_deletion(sdk: Sdk) -> None:
    name = sdk.name("schedule")
    sdk.create_job_schedule(bodies.schedule(name))
    assert sdk.headers["location"].endswith(f"/jobschedules/{name}")
    assert sdk.job_schedule_exists(name) is True
    assert bodies.shown(sdk.get_job_schedule(name, select=["id"])) == {"id": name}
    assert [found.id for found in sdk.list_job_schedules(filter=f"id eq '{name}'")] == [name]
    assert [job.id for job in sdk.list_jobs_from_schedule(name)] == [f"{name}:job-1"]
    marks = [models.BatchMetadataItem(name="a", value="1")]
    sdk.update_job_schedule(name, models.BatchJobScheduleUpdateOptions(metadata=marks))
    assert sdk.get_job_schedule(name).metadata[0].value == "1"
    given = bodies.schedule(name)
    replacement = models.BatchJobSchedule(schedule=given.schedule, job_specification=given.job_specification)
    sdk.replace_job_schedule(name, replacement)
    assert sdk.get_job_schedule(name).metadata is None
    sdk.disable_job_schedule(name)
    assert sdk.get_job_schedule(name).state == "disabled"
    sdk.enable_job_schedule(name)
    assert sdk.get_job_schedule(name).state == "active"
    sdk.begin_terminate_job_schedule(name)
    assert sdk.get_job_schedule(name).state == "completed"
    sdk.begin_delete_job_schedule(name)
    with pytest.raises(ResourceNotFoundError):
        sdk.get_job_schedule(name)
