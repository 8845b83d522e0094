"""Job manager tasks through the SDK: a manager that itself speaks to the service."""

from __future__ import annotations

import sys
from contextlib import closing
from typing import TYPE_CHECKING

import pytest
import sdk_bodies as bodies
from azure.batch import BatchClient, models
from sdk_client import connect
from waiting import until
from wire_client import Wire

from azbatch_core.local import LocalBatch

if TYPE_CHECKING:
    from collections.abc import Iterator

MANAGER = """
import os, time
from azure.batch import BatchClient, models
from azure.core.credentials import AzureNamedKeyCredential
key = AzureNamedKeyCredential(os.environ["AZ_BATCH_ACCOUNT_NAME"], os.environ["KEY"])
job = os.environ["AZ_BATCH_JOB_ID"]
with BatchClient(os.environ["AZ_BATCH_ACCOUNT_URL"].rstrip("/"), key) as client:
    for number in range(2):
        client.create_task(job, models.BatchTaskCreateOptions(id=f"t{number}", command_line="/bin/true"))
    print("added", flush=True)
    while os.environ.get("WATCH") and any(
        client.get_task(job, f"t{number}").state != "completed" for number in range(2)
    ):
        time.sleep(0.05)
"""


@pytest.fixture(scope="module")
def batch() -> Iterator[LocalBatch]:
    with LocalBatch() as batch:
        yield batch


@pytest.fixture(scope="module")
def client(batch: LocalBatch) -> Iterator[BatchClient]:
    with connect(batch) as client:
        client.create_pool(bodies.pool("pool", 2, task_slots_per_node=2))
        yield client


def manager(batch: LocalBatch, watch: str, **fields: bool) -> models.BatchJobManagerTask:
    settings = {"KEY": batch.account_key, "SCRIPT": MANAGER, "WATCH": watch}
    return models.BatchJobManagerTask(
        id="manager",
        command_line=f"/bin/sh -c '{sys.executable} -c \"$SCRIPT\"'",
        environment_settings=[
            models.EnvironmentSetting(name=name, value=value) for name, value in settings.items()
        ],
        **fields,
    )


def ended(client: BatchClient, job_id: str) -> models.BatchJob:
    until(lambda: client.get_job(job_id).state == "completed")
    return client.get_job(job_id)


def test_a_manager_adds_tasks_watches_them_and_ends_its_job(batch: LocalBatch, client: BatchClient) -> None:
    client.create_job(
        models.BatchJobCreateOptions(
            id="watched",
            pool_info=models.BatchPoolInfo(pool_id="pool"),
            job_manager_task=manager(batch, "yes"),
            constraints=models.BatchJobConstraints(max_task_retry_count=2),
        )
    )
    assert client.get_task("watched", "manager").state in {"active", "preparing", "running"}
    job = ended(client, "watched")
    assert job.execution_info is not None
    assert job.execution_info.termination_reason == "JMComplete"
    assert {task.id: task.execution_info.result for task in client.list_tasks("watched")} == dict.fromkeys(
        ("manager", "t0", "t1"), "success"
    )
    stdout = b"".join(client.download_task_file("watched", "manager", "stdout.txt"))
    assert stdout == b"added\n"
    shown = job.job_manager_task
    assert shown is not None
    assert (shown.kill_job_on_completion, shown.run_exclusive, shown.allow_low_priority_node) == (
        True,
        True,
        True,
    )
    assert shown.constraints is not None
    assert (shown.required_slots, shown.constraints.max_task_retry_count) == (1, 2)


def test_a_manager_that_leaves_ends_the_job_with_its_last_task(
    batch: LocalBatch, client: BatchClient
) -> None:
    client.create_job(
        models.BatchJobCreateOptions(
            id="left",
            pool_info=models.BatchPoolInfo(pool_id="pool"),
            job_manager_task=manager(batch, "", kill_job_on_completion=False, run_exclusive=False),
            all_tasks_complete_mode="terminatejob",
        )
    )
    job = ended(client, "left")
    assert job.execution_info is not None
    assert job.execution_info.termination_reason == "AllTasksComplete"
    assert len(list(client.list_tasks("left"))) == 3


def test_tokens_are_read_over_from_clients_of_earlier_versions(batch: LocalBatch) -> None:
    body = {
        "id": "older",
        "poolInfo": {"poolId": "nowhere"},
        "jobManagerTask": {
            "id": "m",
            "commandLine": "x",
            "authenticationTokenSettings": {"access": ["job"]},
        },
    }
    wire = Wire(batch)
    with closing(wire.connection):
        assert wire.ask("POST", "/jobs", body, version="2024-07-01.20.0")[0].status == 201
        assert "authenticationTokenSettings" not in wire.json("GET", "/jobs/older")["jobManagerTask"]
        assert wire.json("POST", "/jobs", {**body, "id": "newer"})["code"] == "UnsupportedProperty"
