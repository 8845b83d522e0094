"""`why` names the cause: of what failed, of what waits, of what never will run."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import pytest
import sdk_bodies as bodies
from azure.batch import models
from sdk_client import connect
from waiting import WITHIN

from azbatch_core import AzureBatch, JobSpec, JobState, shell

if TYPE_CHECKING:
    from azbatch_core.local import LocalBatch

Make = Callable[..., JobSpec]


def said(client: AzureBatch, job_id: str) -> str:
    return "\n".join(f"{found.subject}: {found.text}" for found in client.job(job_id).why())


def test_nothing_to_explain_is_an_empty_list(client: AzureBatch, make_job: Make) -> None:
    job = client.submit(make_job(["true"])).job
    job.wait(WITHIN)
    assert job.why() == []


def test_a_failure_is_quoted_with_its_last_words(client: AzureBatch, make_job: Make) -> None:
    job = client.submit(make_job(bad=shell("echo 'ValueError: no such column' >&2; exit 3"))).job
    job.wait(WITHIN)
    (found,) = job.why()
    assert found.subject == "task bad"
    assert found.text == "the command failed: exit code 3\n  ValueError: no such column"


def test_a_waiting_task_names_what_it_waits_for(client: AzureBatch, make_job: Make) -> None:
    job = client.submit(make_job(a=["sleep", "60"], b={"command": ["true"], "depends_on": ["a"]})).job
    assert "task b: waits for a" in said(client, job.id)
    job.cancel()


def test_a_task_behind_others_learns_that_the_nodes_are_busy(client: AzureBatch, make_job: Make) -> None:
    pool = {"kind": "managed", "name": "busy", "nodes": 1, "task_slots_per_node": 1}
    job = client.submit(make_job(a=shell("echo on; sleep 60"), b=["true"], job={"pool": pool})).job
    for _ in job.logs(follow=True):
        break
    assert "its node is busy; 1 task waits for a slot" in said(client, job.id)
    job.cancel()


def test_a_cancelled_job_says_so(client: AzureBatch, make_job: Make) -> None:
    job = client.submit(make_job(["sleep", "60"])).job
    job.cancel()
    job.wait(WITHIN)
    assert "it was cancelled" in said(client, job.id)


def test_a_job_whose_pool_is_deleted_is_stuck_for_all_who_ask(client: AzureBatch, make_job: Make) -> None:
    pool = {"kind": "managed", "name": "goes", "task_slots_per_node": 1}
    spec = make_job(["sleep", "60"], job={"pool": pool})
    job = client.submit(spec).job
    pool_id = str(job.status().pool_id)
    client.delete_pool(pool_id, wait=True)
    assert job.wait(WITHIN).state is JobState.STUCK
    # One look alone, of somebody who has not waited.
    status = client.job(job.id).status()
    assert (status.state, status.reason) == (JobState.STUCK, f"the pool {pool_id} does not exist")
    (found,) = job.why()
    assert (found.subject, found.text) == (f"pool {pool_id}", "it does not exist")
    assert found.hint == "submit the same file again: the pool is made anew, and the job goes on"
    # And so it does.
    again = client.submit(spec).job
    assert job.status().state is not JobState.STUCK
    for each in (job, again):
        each.cancel()


def test_a_job_whose_own_pool_is_deleted_is_stuck(client: AzureBatch, make_job: Make) -> None:
    job = client.submit(make_job(shell("echo on; sleep 60"), job={"pool": {"kind": "auto"}})).job
    for _ in job.logs(follow=True):
        break
    pool_id = str(job.status().pool_id)
    client.delete_pool(pool_id, wait=True)
    status = job.wait(WITHIN)
    assert (status.state, status.reason) == (JobState.STUCK, "the job's own pool was deleted")
    assert [found.text for found in job.why()] == ["the job's own pool was deleted"]
    job.delete()


@pytest.mark.parametrize(
    ("communicates", "instances", "expected"),
    [
        (False, 2, "it has no inter-node communication, which gangs need"),
        (True, 5, "it has 1 node, and a gang needs 5 at once"),
    ],
)
def test_tasks_that_others_made_and_that_never_start_are_explained_too(
    client: AzureBatch, local: LocalBatch, *, communicates: bool, instances: int, expected: str
) -> None:
    settings = models.MultiInstanceSettings(
        number_of_instances=instances, coordination_command_line="/bin/true"
    )
    name = f"gang-of-{instances}"
    with connect(local) as sdk:
        sdk.create_pool(bodies.pool(name, 1, enable_inter_node_communication=communicates))
        try:
            sdk.create_job(bodies.job(name, name))
            sdk.create_task(name, bodies.task("mi", multi_instance_settings=settings))
            (found,) = client.job(name).why()
            assert (found.subject, found.text) == (f"pool {name}", expected)
        finally:
            sdk.begin_delete_job(name).wait()
            sdk.begin_delete_pool(name).wait()
