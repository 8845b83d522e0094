"""What the service says of a job in a word, and which jobs a node says it runs."""

from __future__ import annotations

from typing import Any

import pytest

from azbatch_core.service.manage.pools import jobs_on
from azbatch_core.service.summaries import JobPhase


@pytest.mark.parametrize("state", ["active", "disabling", "disabled", "enabling"])
def test_tasks_of_an_open_job_may_still_run(state: str) -> None:
    assert JobPhase("j", state).open


@pytest.mark.parametrize("state", ["terminating", "completed", "deleting"])
def test_a_job_that_ends_is_not_open(state: str) -> None:
    assert not JobPhase("j", state).open


def test_metadata_is_not_in_a_phase_s_repr() -> None:
    assert "17" not in repr(JobPhase("j", "active", metadata={"galaxy": "17"}))


def recent(job: str, state: str, **fields: Any) -> dict[str, Any]:
    return {"jobId": job, "taskId": "t", "taskState": state, **fields}


@pytest.mark.parametrize("state", ["idle", "running", "leavingpool", "unknown", "offline"])
def test_jobs_of_running_tasks_are_on_a_node(state: str) -> None:
    tasks = [
        recent("a", "completed"),
        recent("b", "running"),
        recent("c", "active"),
        recent("d", "preparing"),
        recent("B", "Running", subtaskId=1),
    ]
    assert list(jobs_on({"id": "n", "state": state, "recentTasks": tasks})) == ["b", "B"]


def test_a_node_that_never_ran_a_task_has_no_job() -> None:
    assert list(jobs_on({"id": "n", "state": "idle"})) == []


@pytest.mark.parametrize("state", ["creating", "starting", "preempted", "deallocated"])
def test_what_a_node_said_before_it_went_is_passed_over(state: str) -> None:
    assert list(jobs_on({"id": "n", "state": state, "recentTasks": [recent("a", "running")]})) == []
