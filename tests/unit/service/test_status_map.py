"""How tasks and jobs stand, from the service's documents."""

from __future__ import annotations

from typing import Any

import pytest

from azbatch_core.service.states import FailureCategory, JobState, TaskState
from azbatch_core.service.watch import status

JOB = {"id": "j", "state": "active", "poolInfo": {"poolId": "p"}, "creationTime": "2026-01-01T00:00:00Z"}


def task(name: Any, state: Any = "completed", *, needs: Any = (), ranges: Any = (), **execution: Any):
    document = {
        "id": name,
        "state": state,
        "executionInfo": {"retryCount": 0, "requeueCount": 0, **execution},
    }
    if needs or ranges:
        document["dependsOn"] = {"taskIds": list(needs), "taskIdRanges": list(ranges)}
    return document


def done(name: Any, **more: Any):
    return task(name, exitCode=0, result="success", **more)


def failed(name: Any, code: Any = 1, **more: Any):
    return task(
        name,
        exitCode=code,
        result="failure",
        failureInfo={"category": "UserError", "code": "FailureExitCode", "message": "m"},
        **more,
    )


def states(*tasks: Any, job: Any = JOB):
    return {found.id: found.state for found in status.task_statuses(job, tasks)}


def job(*tasks: Any, stuck: Any = None, **changes: Any):
    document = {**JOB, **changes}
    return status.job_status("a:j", document, status.task_statuses(document, tasks), stuck=stuck)


@pytest.mark.parametrize(
    ("document", "expected"),
    [
        (task("t", "active"), TaskState.QUEUED),
        (task("t", "preparing"), TaskState.PREPARING),
        (task("t", "running"), TaskState.RUNNING),
        (done("t"), TaskState.SUCCEEDED),
        (failed("t"), TaskState.FAILED),
        (task("t", result="Failure", exitCode=0), TaskState.FAILED),
        (task("t", result="failure"), TaskState.FAILED),
        (task("t", exitCode=0), TaskState.SUCCEEDED),
        (task("t", exitCode=2), TaskState.FAILED),
        (task("t", "hibernating"), TaskState.RUNNING),
    ],
)
def test_one_task(document: Any, expected: Any):
    assert states(document)["t"] is expected


def test_the_result_wins_over_exit_code_zero_and_keeps_what_failed():
    upload = {
        "category": "UserError",
        "code": "FileUploadAccessDenied",
        "message": "Upload refused",
        "details": [{"name": "Message", "value": "no write permission"}],
    }
    (found,) = status.task_statuses(JOB, [task("t", exitCode=0, result="failure", failureInfo=upload)])
    assert (found.state, found.exit_code, found.category) == (TaskState.FAILED, 0, FailureCategory.STAGING)
    assert found.message == "Upload refused: no write permission [FileUploadAccessDenied] (exit code 0)"


def test_a_failure_without_exit_code_keeps_none_and_the_message():
    failure = {
        "category": "UserError",
        "code": "ContainerInvalidImage",
        "message": "bad image does/not:exist",
    }
    (found,) = status.task_statuses(JOB, [task("t", result="failure", failureInfo=failure)])
    assert (found.exit_code, found.category) == (None, FailureCategory.IMAGE)
    assert "does/not:exist" in (found.message or "")


def test_a_failed_dependency_blocks_recursively_and_names_the_root():
    found = {
        t.id: t
        for t in status.task_statuses(
            JOB,
            [
                failed("Seed-7", 3),
                task("reduce", "active", needs=["seed-7"]),
                task("report", "active", needs=["REDUCE"]),
                task("other", "active"),
            ],
        )
    }
    assert found["reduce"].state is found["report"].state is TaskState.BLOCKED
    assert found["report"].category is FailureCategory.DEPENDENCY
    assert "Seed-7" in (found["report"].message or "")
    assert found["other"].state is TaskState.QUEUED


def test_an_edge_can_be_satisfied_by_failure():
    first = failed("a")
    first["exitConditions"] = {"default": {"dependencyAction": "satisfy"}}
    assert states(first, task("b", "active", needs=["a"]))["b"] is TaskState.QUEUED


def test_exit_conditions_that_come_back_null_are_no_conditions():
    first = failed("a")
    first["exitConditions"] = None
    assert states(first, task("b", "active", needs=["a"]))["b"] is TaskState.BLOCKED


@pytest.mark.parametrize(
    "name", [*sorted({*status.TASK_SELECT} - {"id", "state"}), "poolInfo", "creationTime"]
)
@pytest.mark.parametrize("before", [task("a", "active"), failed("a"), done("a")])
def test_any_optional_field_may_be_absent_or_null(name: Any, before: Any):
    whole = {**JOB, "executionInfo": None, "metadata": None}
    for document in ({k: v for k, v in before.items() if k != name}, {**before, name: None}):
        others = [task("b", "active", needs=["a"]), task("c", "active", ranges=[{"start": 1, "end": 2}])]
        (found, *_) = status.task_statuses({**whole, name: None}, [document, *others])
        assert (found.id, found.node_id, found.category is None) == ("a", None, found.message is None)
        assert status.job_status("a:j", {**whole, name: None}, [found]).total == 1


@pytest.mark.parametrize(
    ("code", "expected"), [(3, TaskState.QUEUED), (12, TaskState.QUEUED), (1, TaskState.BLOCKED)]
)
def test_exit_codes_and_ranges_choose_the_action(code: Any, expected: Any):
    first = failed("a", code)
    satisfy = {"dependencyAction": "satisfy"}
    first["exitConditions"] = {
        "exitCodes": [{"code": 3, "exitOptions": satisfy}],
        "exitCodeRanges": [{"start": 10, "end": 20, "exitOptions": satisfy}],
        "default": {"dependencyAction": "block"},
    }
    assert states(first, task("b", "active", needs=["a"]))["b"] is expected


def test_a_range_waits_for_every_number_in_it():
    span = [{"start": 1, "end": 3}]
    assert states(done("1"), done("2"), task("r", "active", ranges=span))["r"] is TaskState.WAITING
    assert states(done("1"), done("2"), done("3"), task("r", "active", ranges=span))["r"] is TaskState.QUEUED
    assert (
        states(done("1"), failed("02"), done("3"), task("r", "active", ranges=span))["r"] is TaskState.BLOCKED
    )


def test_a_long_chain_of_dependencies_is_judged_without_recursion():
    chain = [failed("t0"), *(task(f"t{i}", "active", needs=[f"t{i - 1}"]) for i in range(1, 5000))]
    found = status.task_statuses(JOB, reversed(chain))
    assert {t.state for t in found if t.id != "t0"} == {TaskState.BLOCKED}


def test_a_job_is_pending_running_and_over():
    assert job().state is JobState.PENDING
    assert job(task("a", "active")).state is JobState.PENDING
    assert job(task("a", "active"), task("b", "running")).state is JobState.RUNNING
    assert job(task("a", "active"), done("b")).state is JobState.RUNNING
    assert job(done("a"), done("b")).state is JobState.SUCCEEDED
    assert job(done("a"), failed("b")).state is JobState.FAILED


def test_the_final_counts_and_failures_are_right():
    found = job(
        done("a"), failed("b", 3, endTime="2026-01-01T00:00:02Z"), failed("c", endTime="2026-01-01T00:00:01Z")
    )
    assert found.counts == {TaskState.SUCCEEDED: 1, TaskState.FAILED: 2}
    assert [t.id for t in found.failures] == ["c", "b"]
    assert found.reason == "2 of 3 tasks failed: c (exit code 1), b (exit code 3)"
    assert found.exit_code == 1


@pytest.mark.parametrize("code", [3, 255, -9, 256])
def test_a_job_of_one_task_exits_as_every_other_job(code: int):
    assert job(failed("a", code)).exit_code == 1


def test_a_job_whose_rest_is_blocked_is_stuck_and_says_by_what():
    found = job(failed("seed-7", 3), done("seed-8"), task("reduce", "active", needs=["seed-7", "seed-8"]))
    assert found.state is JobState.STUCK
    assert "seed-7 (exit code 3)" in (found.reason or "")
    assert "reduce never runs" in (found.reason or "")
    assert found.exit_code == 1


def test_a_job_goes_on_while_anything_else_can_run():
    assert job(failed("a"), task("b", "active", needs=["a"]), task("c", "active")).state is JobState.RUNNING


def test_a_task_that_waits_for_one_that_is_not_there_makes_the_job_stuck():
    found = job(done("a"), task("b", "active", needs=["ghost"]))
    assert found.state is JobState.STUCK
    assert "ghost" in (found.reason or "")


def test_a_verdict_on_the_pool_makes_queued_tasks_stuck_but_not_running_ones():
    assert job(task("a", "active"), stuck="no node").reason == "no node"
    assert job(task("a", "active"), stuck="no node").state is JobState.STUCK
    assert job(task("a", "active"), task("b", "running"), stuck="no node").state is JobState.RUNNING


@pytest.mark.parametrize("reason", ["UserTerminate", status.CANCEL_REASON, "because I say so"])
def test_a_terminated_job_ends_with_its_active_tasks_cancelled(reason: Any):
    found = job(done("a"), task("b", "active"), state="completed", executionInfo={"terminateReason": reason})
    assert found.state is JobState.CANCELLED
    assert found.counts == {TaskState.SUCCEEDED: 1, TaskState.CANCELLED: 1}


def test_tidying_a_finished_job_away_does_not_make_it_cancelled():
    found = job(done("a"), state="completed", executionInfo={"terminateReason": "UserTerminate"})
    assert found.state is JobState.SUCCEEDED


@pytest.mark.parametrize("reason", ["AllTasksComplete", "AllTasksCompleted", "JMComplete"])
def test_a_job_that_ended_by_itself_is_judged_by_its_tasks(reason: Any):
    over = {"state": "completed", "executionInfo": {"terminateReason": reason}}
    assert job(done("a"), **over).state is JobState.SUCCEEDED
    assert job(done("a"), failed("b"), **over).state is JobState.FAILED


def test_the_jobs_wall_time_is_a_failure_of_that_category():
    ended = {"category": "UserError", "code": "TaskEnded", "message": "Task Was Ended by User Request"}
    over = {"state": "completed", "executionInfo": {"terminateReason": "MaxWallClockTimeExpiry"}}
    found = job(task("a", result="failure", failureInfo=ended), task("b", "active"), **over)
    assert found.state is JobState.FAILED
    assert found.failures[0].category is FailureCategory.WALLTIME
    assert "wall time" in (found.reason or "")


def test_a_job_that_could_not_get_its_pool_says_so():
    error = {
        "category": "UserError",
        "code": "AutoPoolCreationFailedWithQuotaReached",
        "message": "quota reached",
    }
    found = job(task("a", "active"), state="completed", executionInfo={"schedulingError": error})
    assert found.state is JobState.FAILED
    assert "quota reached" in (found.reason or "")


def test_a_disabled_job_goes_on_and_says_so():
    found = job(task("a", "active"), state="disabled")
    assert (found.state, found.reason) == (JobState.PENDING, "the job is disabled")


def test_a_job_in_deletion_is_final():
    assert job(task("a", "running"), state="deleting").state.final
