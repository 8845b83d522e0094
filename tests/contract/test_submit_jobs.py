"""Submitting.

What is sent, what comes back for each task, and what is left behind when something goes wrong.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import pytest
from waiting import WITHIN

from azbatch_core import (
    AccountSpec,
    AzureBatch,
    ConfigurationError,
    Conflict,
    InvalidRequest,
    JobSpec,
    JobState,
    NotFound,
    SpecError,
    SubmissionError,
    TaskSpec,
    shell,
)
from azbatch_core.service.connect import sdk
from azbatch_core.service.documents import requests

Make = Callable[..., JobSpec]


def raw_job(client: AzureBatch, job_id: str) -> dict[str, Any]:
    return requests.send(client._connection, "GET", "jobs", job_id)


def raw_tasks(client: AzureBatch, job_id: str) -> dict[str, str]:
    found = requests.listing(client._connection, "jobs", job_id, "tasks")
    return {task["id"]: task["commandLine"] for task in found}


def lose_reply(
    monkeypatch: pytest.MonkeyPatch, name: str, only: Callable[..., bool] = lambda *_: True
) -> None:
    """Let the first matching request reach the service, and its answer get lost."""
    real, lost = getattr(sdk, name), []

    def lossy(*args: Any, **options: Any) -> Any:
        answer = real(*args, **options)
        if not lost and only(*args):
            lost.append(True)
            raise ConnectionResetError("connection reset by peer")
        return answer

    monkeypatch.setattr(sdk, name, lossy)


def test_a_job_runs_and_closes_itself(client: AzureBatch, make_job: Make) -> None:
    submission = client.submit(make_job(["echo", "hi"]))
    assert [result.status for result in submission.results] == ["added"]
    assert submission.job.wait(WITHIN).state is JobState.SUCCEEDED
    job = raw_job(client, submission.job.id)
    assert job["onAllTasksComplete"] == "terminatejob"
    names = {item["name"] for item in job["metadata"]}
    assert {"azbatch:stamp", "azbatch:user", "azbatch:version", "azbatch:name"} <= names


def test_no_finished_job_stays_active(client: AzureBatch, make_job: Make) -> None:
    good = client.submit(make_job(["true"])).job
    bad = client.submit(make_job(["false"])).job
    assert good.wait(WITHIN).exit_code == 0
    assert bad.wait(WITHIN).exit_code == 1
    assert {raw_job(client, job.id)["state"] for job in (good, bad)} <= {"terminating", "completed"}


def test_a_plan_creates_nothing(client: AzureBatch, make_job: Make) -> None:
    plan = client.plan(make_job(["true"]))
    with pytest.raises(NotFound):
        raw_job(client, plan.job_id)


def test_more_than_a_hundred_tasks_in_one_call(client: AzureBatch, make_job: Make) -> None:
    told: list[int] = []
    spec = make_job(*[["true"]] * 150)
    submission = client.submit(spec, on_progress=told.append)
    submission.job.cancel()
    assert submission.added == 150
    assert told[-1] == 150
    assert len(raw_tasks(client, submission.job.id)) == 150


def test_tasks_from_any_iterable(client: AzureBatch, job_name: str) -> None:
    stream = (TaskSpec(id=f"t{i}", command=["true"]) for i in range(230))
    submission = client.submit(JobSpec(name=job_name), stream)
    submission.job.cancel()
    assert [result.id for result in submission.results] == [f"t{i}" for i in range(230)]
    assert len(raw_tasks(client, submission.job.id)) == 230


def test_one_oversized_task_is_named_and_the_others_run(client: AzureBatch, make_job: Make) -> None:
    spec = make_job(*[["true"]] * 150)
    stream = [TaskSpec(id="huge", command=["echo", "x" * 1_100_000])]
    with pytest.raises(SubmissionError) as caught:
        client.submit(spec, stream)
    submission = caught.value.submission
    assert [result.id for result in submission.failed] == ["huge"]
    assert submission.added == 150
    assert len(raw_tasks(client, submission.job.id)) == 150
    assert "huge" in str(caught.value)
    assert f"azbatch cancel {submission.job.handle}" in str(caught.value)
    # It stays open, so that what is missing can be added.
    assert raw_job(client, submission.job.id)["onAllTasksComplete"] == "noaction"
    submission.job.delete()


@pytest.mark.parametrize("streamed", [False, True])
def test_a_job_of_which_no_task_can_go_in_leaves_nothing(
    client: AzureBatch, job_name: str, *, streamed: bool
) -> None:
    tasks = (TaskSpec(command=["echo", "x" * 1_100_000]),)
    pool_name = f"none-{streamed}".lower()
    pool = {"kind": "managed", "name": pool_name}
    spec = JobSpec(name=job_name, id=job_name, pool=pool, tasks=() if streamed else tasks)
    with pytest.raises(SubmissionError if streamed else SpecError, match=r"1,1\d\d,\d\d\d bytes") as caught:
        client.submit(spec, iter(tasks) if streamed else None)
    client.job(job_name).delete(wait=True)
    with pytest.raises(NotFound):
        raw_job(client, job_name)
    if streamed:
        assert str(caught.value).startswith("1 task was not added (1): ")
        assert str(caught.value).endswith("The empty job was removed again")
    else:
        assert not any(pool_name in found.id for found in client.pools())


def test_a_plan_for_a_stream_without_a_task_that_can_go_in_makes_nothing(
    client: AzureBatch, job_name: str
) -> None:
    spec = JobSpec(name=job_name, id=job_name, tasks=[{"command": ["echo", "x" * 1_100_000]}])
    plan = client.plan(spec, streaming=True)
    with pytest.raises(SpecError, match="bytes as sent"):
        client.submit(plan)
    with pytest.raises(NotFound):
        raw_job(client, job_name)


def test_a_plan_whose_job_is_over_is_not_carried_out_again(client: AzureBatch, make_job: Make) -> None:
    plan = client.plan(make_job(["true"]))
    client.submit(plan).job.wait(WITHIN)
    with pytest.raises(Conflict) as caught:
        client.submit(plan)
    assert caught.value.message == f"this plan was already submitted as here:{plan.job_id}, which is over"
    assert caught.value.hint == "plan the job again for another run"


def test_the_number_of_tasks_that_are_not_in_is_told_in_words_that_agree(
    client: AzureBatch, make_job: Make
) -> None:
    stream = [TaskSpec(id="huge", command=["echo", "x" * 1_100_000])]
    with pytest.raises(SubmissionError) as caught:
        client.submit(make_job(["true"]), stream)
    text = caught.value.message
    assert text.startswith("1 of 2 tasks was not added (huge): the task is 1,1")
    assert "is there with 1 task, and stays open when it is complete" in text
    assert ".." not in text
    caught.value.submission.job.delete()


def test_fat_tasks_are_spread_over_requests(client: AzureBatch, make_job: Make) -> None:
    spec = make_job(*[["true", *["x" * 100_000] * 2] for _ in range(12)])
    submission = client.submit(spec)
    submission.job.cancel()
    assert len(raw_tasks(client, submission.job.id)) == 12


def test_a_lost_reply_to_the_job_is_read_back(
    client: AzureBatch, make_job: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    lose_reply(monkeypatch, "request", lambda _, method, where: (method, where) == ("POST", "/jobs"))
    submission = client.submit(make_job(["true"]))
    assert [result.status for result in submission.results] == ["added"]
    assert submission.job.wait(WITHIN).state is JobState.SUCCEEDED


def test_a_lost_reply_to_the_pool_is_fine(
    client: AzureBatch, job_name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    lose_reply(monkeypatch, "request", lambda _, method, where: (method, where) == ("POST", "/pools"))
    spec = JobSpec(name=job_name, pool={"kind": "managed", "name": "lost"}, tasks=[{"command": ["true"]}])
    submission = client.submit(spec)
    assert submission.job.wait(WITHIN).state is JobState.SUCCEEDED


def test_a_lost_reply_to_the_tasks_adds_each_once(
    client: AzureBatch, make_job: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    lose_reply(monkeypatch, "add_tasks")
    submission = client.submit(make_job(["true"], ["true"], ["true"]))
    assert [result.status for result in submission.results] == ["added"] * 3
    assert len(raw_tasks(client, submission.job.id)) == 3


def test_a_taken_id_is_a_conflict_not_a_success(client: AzureBatch, make_job: Make, job_name: str) -> None:
    first = client.submit(make_job(["sleep", "60"], job={"id": job_name}))
    with pytest.raises(Conflict) as caught:
        client.submit(make_job(["true"], job={"id": job_name.upper()}))
    assert caught.value.code == "JobExists"
    assert "recreate" in str(caught.value)
    first.job.delete()


def test_the_same_plan_again_carries_on(client: AzureBatch, make_job: Make) -> None:
    plan = client.plan(make_job(a=["sleep", "60"], b=["sleep", "60"]))
    client.submit(plan)
    again = client.submit(plan)
    assert [result.status for result in again.results] == ["exists", "exists"]
    again.job.delete()


def test_an_id_with_another_command_is_a_conflict(client: AzureBatch, make_job: Make) -> None:
    plan = client.plan(make_job(a=["sleep", "60"], b=["sleep", "60"]))
    client.submit(plan)
    other = replace(plan.tasks[0], body={**plan.tasks[0].body, "commandLine": "something else"})
    with pytest.raises(SubmissionError) as caught:
        client.submit(replace(plan, tasks=(other, plan.tasks[1])))
    results = caught.value.submission.results
    found = [(result.status, result.code) for result in results]
    assert found == [("failed", "TaskExists"), ("exists", None)]
    caught.value.submission.job.delete()


def test_recreate_replaces_a_job_of_the_same_id(client: AzureBatch, make_job: Make, job_name: str) -> None:
    client.submit(make_job(old=["true"], job={"id": job_name})).job.wait(WITHIN)
    again = client.submit(make_job(new=["true"], job={"id": job_name}), recreate=True)
    assert again.job.wait(WITHIN).state is JobState.SUCCEEDED
    assert list(raw_tasks(client, job_name)) == ["new"]


def test_recreate_of_a_job_that_is_not_there_is_fine(
    client: AzureBatch, make_job: Make, job_name: str
) -> None:
    job = client.submit(make_job(["true"], job={"id": job_name}), recreate=True).job
    assert job.wait(WITHIN).state is JobState.SUCCEEDED


def test_delete_and_recreate_at_once(client: AzureBatch, make_job: Make, job_name: str) -> None:
    first = client.submit(make_job(["sleep", "60"], job={"id": job_name})).job
    first.delete()
    again = client.submit(make_job(["true"], job={"id": job_name}), recreate=True)
    assert again.job.wait(WITHIN).state is JobState.SUCCEEDED


def test_no_tasks_is_refused_before_anything_is_made(client: AzureBatch, job_name: str) -> None:
    with pytest.raises(SpecError, match="no tasks"):
        client.submit(JobSpec(name=job_name, id=job_name))
    with pytest.raises(NotFound):
        raw_job(client, job_name)


def test_an_empty_iterable_leaves_no_job_behind(client: AzureBatch, job_name: str) -> None:
    with pytest.raises(SpecError, match="removed"):
        client.submit(JobSpec(name=job_name, id=job_name), iter(()))
    client.job(job_name).delete(wait=True)
    with pytest.raises(NotFound):
        raw_job(client, job_name)


def test_a_wrong_task_in_a_stream_does_not_stop_the_others(client: AzureBatch, job_name: str) -> None:
    stream = [TaskSpec(id=name, command=["true"]) for name in ("Run1", "run1", "run2")]
    with pytest.raises(SubmissionError) as caught:
        client.submit(JobSpec(name=job_name), stream)
    submission = caught.value.submission
    assert [result.status for result in submission.results] == ["added", "failed", "added"]
    assert sorted(raw_tasks(client, submission.job.id)) == ["Run1", "run2"]


def test_interrupting_says_what_is_there(client: AzureBatch, job_name: str) -> None:
    def stream() -> Iterator[TaskSpec]:
        for i in range(100):
            yield TaskSpec(id=f"t{i}", command=["true"])
        yield TaskSpec(id="last", command=["true"])
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt) as caught:
        client.submit(JobSpec(name=job_name, id=job_name), stream())
    assert f"the job here:{job_name} is there with 100 of its tasks" in str(caught.value)
    assert f"azbatch delete here:{job_name}" in str(caught.value)
    assert len(raw_tasks(client, job_name)) == 100


def test_a_stream_that_breaks_says_what_is_there(client: AzureBatch, job_name: str) -> None:
    def stream() -> Iterator[TaskSpec]:
        for i in range(100):
            yield TaskSpec(id=f"t{i}", command=["true"])
        yield TaskSpec(id="last", command=["true"])
        raise OSError("the input file went away")

    with pytest.raises(SubmissionError, match="the input file went away") as caught:
        client.submit(JobSpec(name=job_name), stream())
    assert caught.value.submission.added == 100


def test_a_managed_pool_only_grows(client: AzureBatch, make_job: Make) -> None:
    def submit(nodes: int) -> dict[str, Any]:
        pool = {"kind": "managed", "name": "grows", "nodes": nodes}
        job = client.submit(make_job(["true"], job={"pool": pool})).job
        pool_id = job.wait(WITHIN).pool_id
        return requests.send(client._connection, "GET", "pools", str(pool_id))

    assert submit(1)["targetDedicatedNodes"] == 1
    grown = submit(3)
    assert grown["targetDedicatedNodes"] == 3
    assert submit(1)["targetDedicatedNodes"] == 3


def test_a_pool_that_is_not_there_is_named_early(client: AzureBatch, make_job: Make) -> None:
    with pytest.raises(NotFound, match="no-such-pool"):
        client.submit(make_job(["true"], job={"pool": "no-such-pool"}))


def test_a_handle_of_another_account_is_refused(client: AzureBatch) -> None:
    assert client.job("here:some-job").id == client.job("some-job").id == "some-job"
    with pytest.raises(Exception, match="elsewhere"):
        client.job("elsewhere:some-job")


def test_the_id_of_a_schedules_job_holds_a_colon_itself(client: AzureBatch) -> None:
    job = client.job("here:nightly:job-1")
    assert (job.id, job.handle) == ("nightly:job-1", "here:nightly:job-1")
    assert client.job(job.handle).id == job.id


def test_a_plan_is_carried_out_where_it_was_made_for(
    client: AzureBatch, account: AccountSpec, make_job: Make
) -> None:
    plan = client.plan(make_job(["true"]))
    with AzureBatch(account.replace(name="other")) as other:
        with pytest.raises(ConfigurationError, match="made for the account 'here', and this is 'other'"):
            other.submit(plan)
        with pytest.raises(NotFound):
            other.job(plan.job_id).status()
    elsewhere = replace(plan, endpoint="https://here.westeurope.batch.azure.com")
    with pytest.raises(ConfigurationError, match=r"at https://here\.westeurope"):
        client.submit(elsewhere)


def test_only_the_jobs_that_are_asked_for_are_counted(
    client: AzureBatch, make_job: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = [client.submit(make_job(["true"])).job.id for _ in range(3)]
    real, asked = requests.send, []

    def counting(*args: Any, **options: Any) -> Any:
        asked.append(args[-1])
        return real(*args, **options)

    monkeypatch.setattr(requests, "send", counting)
    (newest,) = client.jobs(limit=1)
    assert newest.id == made[-1]
    assert asked.count("taskcounts") == 1
    assert [job.id for job in client.jobs(limit=3)] == made[::-1]


def test_a_pool_is_found_and_resized(client: AzureBatch, make_job: Make) -> None:
    pool = {"kind": "managed", "name": "to-resize", "nodes": 2}
    job = client.submit(make_job(["true"], job={"pool": pool})).job
    pool_id = str(job.wait(WITHIN).pool_id)
    assert client.pool(pool_id.upper()).target_dedicated_nodes == 2
    client.resize_pool(pool_id, nodes=1)
    client.resize_pool(pool_id, spot_nodes=1)
    found = client.pool(pool_id)
    assert (found.target_dedicated_nodes, found.target_spot_nodes) == (1, 1)
    with pytest.raises(NotFound, match="no pool 'nobodys'"):
        client.resize_pool("nobodys", nodes=1)
    with pytest.raises(NotFound, match="no pool 'nobodys'"):
        client.pool("nobodys")
    client.delete_pool(pool_id)


def test_the_list_of_jobs_is_mine_by_default(client: AzureBatch, make_job: Make, job_name: str) -> None:
    mine = client.submit(make_job(["true"])).job
    mine.wait(WITHIN)
    pool = {"poolInfo": {"poolId": str(mine.status().pool_id)}}
    requests.send(client._connection, "POST", "jobs", body={"id": f"foreign-{job_name}", **pool})
    listed = {job.id: job for job in client.jobs()}
    assert listed[mine.id].state is JobState.SUCCEEDED
    assert (listed[mine.id].succeeded, listed[mine.id].failed) == (1, 0)
    assert f"foreign-{job_name}" not in listed
    assert f"foreign-{job_name}" in {job.id for job in client.jobs(mine=False)}
    client.job(f"foreign-{job_name}").delete()


def test_an_account_check_finds_everything_in_order(client: AzureBatch) -> None:
    found = client.check()
    assert found.ok
    assert {item.name for item in found.items} == {"batch", "pools", "jobs", "storage"}


def test_a_service_that_stops_answering_leaves_an_answer_for_each_task(
    client: AzureBatch, make_job: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    real, sent = sdk.add_tasks, []

    def dying(*args: Any) -> Any:
        if sent:
            raise ConnectionResetError("connection reset by peer")
        sent.append(True)
        return real(*args)

    monkeypatch.setattr(sdk, "add_tasks", dying)
    with pytest.raises(SubmissionError, match="azbatch delete") as caught:
        client.submit(make_job(*[["true"]] * 900))
    submission = caught.value.submission
    assert len(submission.results) == 900
    assert submission.added == 100
    assert len(raw_tasks(client, submission.job.id)) == 100
    unsure = [result for result in submission.failed if "may or may not" in str(result.error)]
    assert unsure
    assert len([result for result in submission.failed if "not sent" in str(result.error)]) >= 400


def test_a_job_that_cannot_be_told_to_end_is_no_silent_success(
    client: AzureBatch, make_job: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = sdk.request

    def refusing(connection: Any, method: str, *args: Any, **options: Any) -> Any:
        if method == "PATCH":
            raise InvalidRequest("no", code="InvalidPropertyValue")
        return real(connection, method, *args, **options)

    monkeypatch.setattr(sdk, "request", refusing)
    with pytest.raises(SubmissionError, match="stays open when they are complete") as caught:
        client.submit(make_job(["true"]))
    assert caught.value.submission.added == 1
    caught.value.submission.job.delete()


def test_a_job_that_ended_while_it_was_filled_is_fine(
    client: AzureBatch, make_job: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = sdk.add_tasks

    def add_then_end(connection: Any, job_id: str, bodies: Any) -> Any:
        members = real(connection, job_id, bodies)
        client.job(job_id).cancel()
        client.job(job_id).wait(WITHIN)
        return members

    monkeypatch.setattr(sdk, "add_tasks", add_then_end)
    assert client.submit(make_job(["true"])).added == 1


def test_interrupting_before_the_tasks_says_what_may_be_there(
    client: AzureBatch, make_job: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = sdk.request

    def interrupted(connection: Any, method: str, where: str, **options: Any) -> Any:
        if (method, where) == ("POST", "/jobs"):
            raise KeyboardInterrupt
        return real(connection, method, where, **options)

    monkeypatch.setattr(sdk, "request", interrupted)
    with pytest.raises(KeyboardInterrupt, match="may or may not be there, without tasks"):
        client.submit(make_job(["true"]))


def test_a_managed_pool_on_its_way_out_is_made_again(client: AzureBatch, make_job: Make) -> None:
    pool = {"pool": {"kind": "managed", "name": "phoenix"}}
    first = client.submit(make_job(["true"], job=pool)).job.wait(WITHIN)
    client.delete_pool(str(first.pool_id))
    again = client.submit(make_job(["true"], job=pool)).job.wait(WITHIN)
    assert (again.state, again.pool_id) == (JobState.SUCCEEDED, first.pool_id)


def test_secrets_reach_the_task_and_nothing_else(
    client: AzureBatch, make_job: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("THE_TOKEN", "s3cr3t-value")
    task = {"command": shell("printf $TOKEN | wc -c"), "environment": {"TOKEN": {"secret": "env:THE_TOKEN"}}}
    plan = client.plan(make_job(a=task))
    shown = f"{plan} {plan.to_json()} {plan.to_table()} {plan.tasks!r}"
    assert "s3cr3t-value" not in shown
    job = client.submit(plan).job
    job.wait(WITHIN)
    assert "".join(chunk.text for chunk in job.logs("a")).strip() == "12"
    assert "s3cr3t-value" not in repr(job) + repr(job.status()) + repr(client)
