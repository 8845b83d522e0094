"""Every operation on tasks, by both clients of the SDK."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
import sdk_bodies as bodies
from azure.batch import models
from azure.core.exceptions import ResourceNotFoundError
from waiting import until

if TYPE_CHECKING:
    from collections.abc import Iterator

    from sdk_calls import Sdk


@pytest.fixture
def job_id(sdk: Sdk, request: pytest.FixtureRequest) -> Iterator[str]:
    job_id = sdk.name(request.node.name.split("[")[0][-50:])
    sdk.create_job(bodies.job(job_id))
    yield job_id
    sdk.begin_delete_job(job_id)


def test_a_task_from_its_creation_to_its_deletion(sdk: Sdk, job_id: str) -> None:
    sdk.create_task(job_id, bodies.task("t"))
    assert sdk.headers["location"].endswith(f"/jobs/{job_id}/tasks/t")
    assert bodies.shown(sdk.get_task(job_id, "t", select=["id"])) == {"id": "t"}
    change = models.BatchTask(constraints=models.BatchTaskConstraints(max_task_retry_count=4))
    sdk.replace_task(job_id, "t", change)
    assert sdk.get_task(job_id, "t").constraints.max_task_retry_count == 4
    sdk.terminate_task(job_id, "t")
    task = sdk.get_task(job_id, "t")
    assert (task.state, task.execution_info.failure_info.code) == ("completed", "TaskEnded")
    sdk.reactivate_task(job_id, "t")
    task = sdk.get_task(job_id, "t")
    assert (task.state, task.previous_state) == ("active", "completed")
    sdk.delete_task(job_id, "t")
    with pytest.raises(ResourceNotFoundError):
        sdk.get_task(job_id, "t")


def test_tasks_are_added_together_and_listed(sdk: Sdk, job_id: str) -> None:
    group = models.BatchTaskGroup(task_values=[bodies.task(f"t{number}") for number in range(3)])
    added = sdk.create_task_collection(job_id, group)
    assert [(result.task_id, result.status) for result in added.result_values] == [
        ("t0", "Success"),
        ("t1", "Success"),
        ("t2", "Success"),
    ]
    assert [task.id for task in sdk.list_tasks(job_id, max_results=2)] == ["t0", "t1", "t2"]


def test_the_parts_of_a_gang_are_listed(sdk: Sdk) -> None:
    pool_id, job_id = sdk.name("gang-pool"), sdk.name("gang")
    sdk.create_pool(bodies.pool(pool_id, 2, enable_inter_node_communication=True))
    sdk.create_job(bodies.job(job_id, pool_id))
    settings = models.MultiInstanceSettings(number_of_instances=2, coordination_command_line="/bin/true")
    sdk.create_task(job_id, bodies.task("t", multi_instance_settings=settings))
    until(lambda: sdk.get_task(job_id, "t").state == "completed")
    [part] = until(lambda: [part for part in sdk.list_subtasks(job_id, "t") if part.state == "completed"])
    assert (part.id, part.exit_code) == (1, 0)
    sdk.begin_delete_job(job_id)
    sdk.begin_delete_pool(pool_id)
