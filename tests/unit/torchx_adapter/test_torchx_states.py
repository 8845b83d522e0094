"""How an app stands: every state of azbatch has one of TorchX's."""

from __future__ import annotations

import json
from datetime import datetime, timezone

import pytest

from azbatch_core import (
    AccountSpec,
    Explanation,
    FailureCategory,
    JobState,
    JobStatus,
    LogChunk,
    SpecError,
    TaskState,
    TaskStatus,
)
from azbatch_torchx import app_ids, links, logs, options, states, waiting

TERMINAL = {"SUCCEEDED", "FAILED", "CANCELLED"}
T0 = datetime(2026, 1, 1, tzinfo=timezone.utc)


def status(state: JobState, *tasks: TaskStatus, reason: str | None = None) -> JobStatus:
    failures = tuple(task for task in tasks if task.state is TaskState.FAILED)
    return JobStatus("local:j", "j", state, total=len(tasks), failures=failures, reason=reason)


def test_total() -> None:
    assert set(states.APP_STATES) == set(JobState)
    assert set(states.REPLICA_STATES) == set(TaskState)
    assert {state for state in JobState if states.APP_STATES[state] in TERMINAL} == {
        state for state in JobState if state.final
    }
    assert {state for state in TaskState if states.REPLICA_STATES[state] in TERMINAL} == {
        state for state in TaskState if state.final
    }


@pytest.mark.parametrize(
    ("task", "expected"),
    [
        (TaskState.RUNNING, "RUNNING"),
        (TaskState.QUEUED, "PENDING"),
        (TaskState.PREPARING, "PENDING"),
    ],
)
def test_an_app_that_lost_its_nodes_is_pending_again(task: TaskState, expected: str) -> None:
    tasks = [TaskStatus("a", TaskState.SUCCEEDED), TaskStatus("b", task)]
    assert states.app_state(status(JobState.RUNNING, *tasks), tasks) == expected


def test_between_the_last_task_and_the_end_of_the_job_it_runs() -> None:
    tasks = [TaskStatus("a", TaskState.SUCCEEDED)]
    assert states.app_state(status(JobState.RUNNING, *tasks), tasks) == "RUNNING"


def test_why_it_waits_is_one_line_and_asked_once_in_a_while() -> None:
    asked: list[int] = []

    class Job:
        def why(self) -> list[Explanation]:
            asked.append(1)
            return [Explanation("pool p", "it has\n 2 nodes", "resize it"), Explanation("node n", "is ill")]

    waits, job, other = waiting.Waits(), Job(), Job()
    for _ in range(3):
        assert waits.of(job) == "pool p: it has 2 nodes - resize it; node n: is ill"  # type: ignore[arg-type]
        assert waits.of(other)  # type: ignore[arg-type]
    assert len(asked) == 2


def test_a_task_that_is_not_listed_yet_waits() -> None:
    assert states.replica_state(None) == "PENDING"
    assert states.error_file(None) is None


def test_restarts_are_retries_and_requeues() -> None:
    assert states.restarts([TaskStatus("a", TaskState.RUNNING, retries=2, requeues=1)]) == 3


@pytest.mark.parametrize("category", list(FailureCategory))
def test_every_kind_of_failure_says_what_it_is(category: FailureCategory) -> None:
    task = TaskStatus("a", TaskState.FAILED, category=category, message="it broke", code="C", ended=T0)
    file = json.loads(states.error_file(task) or "")
    assert file == {
        "message": {
            "message": f"{category.value}: it broke",
            "errorCode": "C",
            "extraInfo": {"timestamp": int(T0.timestamp())},
        }
    }
    assert states.message(status(JobState.FAILED, task, reason="1 task failed")).startswith(
        f"{category.value}: "
    )


def test_no_failure_no_words() -> None:
    task = TaskStatus("a", TaskState.SUCCEEDED)
    assert states.error_file(task) is None
    assert states.first_error_file(status(JobState.SUCCEEDED, task)) is None
    assert states.message(status(JobState.SUCCEEDED, task)) == ""
    assert states.message(status(JobState.CANCELLED, reason="it was cancelled")) == "it was cancelled"


def chunk(text: str, stream: str = "stdout") -> LogChunk:
    return LogChunk("a", stream, text)  # type: ignore[arg-type]


def test_lines_are_whole_and_end() -> None:
    chunks = [
        chunk("a\nb"),
        chunk("err", "stderr"),
        chunk("c\r50%\r"),
        chunk("\n\nlast"),
        chunk("or\n", "stderr"),
    ]
    assert list(logs.lines(chunks)) == ["a\n", "bc\r50%\r\n", "\n", "error\n", "last\n"]


def test_remarks_are_logged_and_no_lines(caplog: pytest.LogCaptureFixture) -> None:
    assert list(logs.lines([chunk("its node is gone", "notice")])) == []
    assert "its node is gone" in caplog.text


@pytest.mark.parametrize("app_id", ["job-1", ":job-1", "local:", ""])
def test_ids_of_others_are_refused(app_id: str) -> None:
    with pytest.raises(SpecError, match="is no app of azure_batch"):
        app_ids.split(app_id)


def test_ids() -> None:
    assert app_ids.split(app_ids.join("local", "job-1")) == ("local", "job-1")


def test_links() -> None:
    local = AccountSpec(
        name="local", endpoint="http://127.0.0.1:8000", credential="shared_key", account_key="a2V5"
    )
    assert links.of_job(local, "j 1") == "http://127.0.0.1:8000/_page/#/jobs/j%201"
    far = AccountSpec(name="far", endpoint="https://me.westeurope.batch.azure.com")
    assert links.of_job(far, "j") is None
    known = far.replace(subscription_id="s", resource_group="g", tenant_id="t")
    assert links.of_job(known, "j") == (
        "https://portal.azure.com/#@t/resource/subscriptions/s/resourceGroups/g"
        "/providers/Microsoft.Batch/batchAccounts/me"
    )


def test_the_account_is_asked_for_or_in_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("AZBATCH_ACCOUNT", raising=False)
    assert options.account_of(None) is None
    monkeypatch.setenv("AZBATCH_ACCOUNT", "work")
    assert options.account_of({"account": None}) == "work"
    assert options.account_of({"account": "local"}) == "local"


def test_options_are_read_and_what_is_not_ours_is_left() -> None:
    read = options.read({"pool": "p", "mounts": ["/a:/b"], "spot": None, "quiet": False})
    assert read == options.RunOptions(pool="p", mounts=("/a:/b",))
