"""`why` names the cause: of what failed, of what waits, of what never will run."""

from __future__ import annotations

from collections.abc import Callable

from azbatch_core import AzureBatch, JobSpec, shell

Make = Callable[..., JobSpec]
WITHIN = 60.0


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
    assert found.text == "failed (user): exit code 3\n  ValueError: no such column"


def test_a_waiting_task_names_what_it_waits_for(client: AzureBatch, make_job: Make) -> None:
    job = client.submit(make_job(a=["sleep", "60"], b={"command": ["true"], "depends_on": ["a"]})).job
    assert "task b: waits for a" in said(client, job.id)
    job.cancel()


def test_a_task_behind_others_learns_that_the_nodes_are_busy(client: AzureBatch, make_job: Make) -> None:
    pool = {"kind": "managed", "name": "busy", "task_slots_per_node": 1}
    job = client.submit(make_job(a=shell("echo on; sleep 60"), b=["true"], job={"pool": pool})).job
    for _ in job.logs(follow=True):
        break
    assert "all 1 nodes are busy; 1 tasks wait for a slot" in said(client, job.id)
    job.cancel()


def test_a_cancelled_job_says_so(client: AzureBatch, make_job: Make) -> None:
    job = client.submit(make_job(["sleep", "60"])).job
    job.cancel()
    job.wait(WITHIN)
    assert "it was cancelled" in said(client, job.id)
