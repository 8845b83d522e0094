"""Pulsar's word for every state of a job and of a task: none is left out."""

from __future__ import annotations

import pytest
from pulsar.managers import status

from azbatch_core import FailureCategory, JobState, JobStatus, TaskState, TaskStatus
from azbatch_pulsar import results

WORDS = {value for name, value in vars(status).items() if name.isupper() and isinstance(value, str)}


def job_status(state: JobState) -> JobStatus:
    return JobStatus(handle="here:j", id="j", state=state, counts={}, total=1, reason="why")


def task_status(category: FailureCategory | None) -> TaskStatus:
    return TaskStatus(id="pulsar", state=TaskState.FAILED, category=category, message="because")


@pytest.mark.parametrize("state", list(JobState))
@pytest.mark.parametrize("full", [None, {"status": "complete", "complete": "true", "returncode": 0}])
def test_every_end_of_a_job_is_one_of_pulsar_s(state: JobState, full: dict[str, object] | None) -> None:
    ending = results.conclude("7", job_status(state), (), full=full, outcome=None)
    assert ending.status["status"] in WORDS
    assert status.is_job_done(ending.status["status"])
    assert ending.status["complete"] == "true"
    if full is not None:
        assert (ending.status, ending.reason) == (full, None), "what Pulsar said itself is what counts"
    elif state is JobState.CANCELLED:
        assert (ending.status["status"], ending.reason) == ("cancelled", None)
    else:
        assert (ending.status["status"], ending.reason) == ("failed", "unknown_error")
        assert ending.message


@pytest.mark.parametrize("category", list(FailureCategory))
def test_every_kind_of_failure_has_a_reason_of_galaxy_s(category: FailureCategory) -> None:
    ending = results.conclude(
        "7", job_status(JobState.FAILED), [task_status(category)], full=None, outcome=None
    )
    wanted = {
        FailureCategory.WALLTIME: "walltime_reached",
        FailureCategory.OUT_OF_MEMORY: "memory_limit_reached",
    }
    assert ending.reason == wanted.get(category, "unknown_error")
    if category is not FailureCategory.DEPENDENCY:
        wanted_message = f"on Azure Batch {category.words}: because"
        assert (ending.message, ending.status["job_stderr"]) == (wanted_message, wanted_message)


@pytest.mark.parametrize("word", ["walltime_reached", "memory_limit_reached", "image_missing", "", "odd"])
def test_what_the_node_found_wins_over_what_batch_says(word: str) -> None:
    ending = results.conclude(
        "7",
        job_status(JobState.FAILED),
        [task_status(FailureCategory.USER)],
        full=None,
        outcome=f"{word}\ntext\n",
    )
    assert ending.reason == (word if word.endswith("_reached") else "unknown_error")
    assert ending.message == "text"


def test_a_job_that_is_gone_is_lost_unless_it_left_its_status() -> None:
    lost = results.conclude("7", None, (), full=None, outcome=None)
    assert (lost.status["status"], lost.reason) == ("lost", "unknown_error")
    left = {"status": "complete", "complete": "true", "returncode": 0}
    assert results.conclude("7", None, (), full=left, outcome=None).reason is None


def test_a_status_that_is_made_up_has_every_key_of_pulsar_s_own() -> None:
    from pulsar import manager_endpoint_util

    made = results.conclude("7", None, (), full=None, outcome=None).status
    source = manager_endpoint_util.__loader__.get_source(manager_endpoint_util.__name__)  # type: ignore[attr-defined]
    for key in made:
        assert f"{key}=" in source or f'"{key}"' in source or key in {"job_id", "complete", "status"}, key
    assert results.going_on("7", "running") == {"job_id": "7", "status": "running", "complete": "false"}
