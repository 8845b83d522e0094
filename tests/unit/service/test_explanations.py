"""What `why` says, from what was read."""

from __future__ import annotations

from typing import Any

import pytest

from azbatch_core.service.manage.jobs import summary
from azbatch_core.service.states import FailureCategory, JobState, TaskState, TaskStatus
from azbatch_core.service.watch.pool_health import Ground
from azbatch_core.service.watch.why import explain

JOB = {"id": "j", "state": "active"}
QUEUED = TaskStatus("q", TaskState.QUEUED)


def told(
    *tasks: TaskStatus, job: dict[str, Any] | None = None, found: Ground | None = None, **tails: Any
) -> str:
    return "\n".join(f"{said.subject}: {said.text}" for said in explain(job or JOB, tasks, found, **tails))


def pool(**fields: Any) -> dict[str, Any]:
    return {"id": "p", "state": "active", "allocationState": "steady", "targetDedicatedNodes": 2, **fields}


def node(state: str, name: str = "n1", **fields: Any) -> dict[str, Any]:
    return {"id": name, "state": state, **fields}


def failed(name: str) -> TaskStatus:
    return TaskStatus(name, TaskState.FAILED, category=FailureCategory.USER, message="exit code 3")


def test_a_failure_is_quoted_and_many_are_summed_up() -> None:
    text = told(*(failed(f"t{i}") for i in range(9)), task_tail=lambda task: f"boom in {task.id}\n")
    assert "task t0: the command failed: exit code 3\n  boom in t0" in text
    assert "tasks: 4 more failed: t5, t6, t7 and 1 more" in text


def test_the_hint_follows_the_category() -> None:
    task = TaskStatus("t", TaskState.FAILED, category=FailureCategory.OUT_OF_MEMORY, message="m")
    (said,) = explain(JOB, [task], None)
    assert said.hint == "ask for more memory in resources"


def test_a_task_that_was_killed_gets_a_guess_for_a_hint() -> None:
    task = TaskStatus("t", TaskState.FAILED, exit_code=137, category=FailureCategory.USER, message="m")
    (said,) = explain(JOB, [task], None)
    assert said.hint == "if it ran out of memory, ask for more in resources"
    (plain,) = explain(JOB, [failed("t")], None)
    assert plain.hint is None


def test_a_job_that_is_disabled_or_empty_says_so() -> None:
    assert "no task starts until it is enabled" in told(QUEUED, job={"id": "j", "state": "disabled"})
    assert "the job has no tasks" in told()


def test_waiting_tasks_name_what_is_open_or_missing() -> None:
    text = told(
        TaskStatus("a", TaskState.RUNNING),
        TaskStatus("done", TaskState.SUCCEEDED),
        TaskStatus("b", TaskState.WAITING, depends_on=("A", "done")),
        TaskStatus("c", TaskState.WAITING, depends_on=("ghost",)),
    )
    assert "task b: waits for A" in text
    assert "task c: waits for tasks that are not in the job: ghost" in text


def test_a_task_that_lost_its_node_is_told_from_one_that_never_ran() -> None:
    lost = TaskStatus("t", TaskState.QUEUED, again=True)
    found = Ground("p", pool(), [node("idle")])
    text = told(lost, QUEUED, found=found)
    assert "task t: its node was taken away or lost, and it waits to start again" in text
    assert "task q" not in text
    retried = TaskStatus("t", TaskState.QUEUED, again=True, retries=1)
    assert "task t: it was on a node before, and it waits" in told(retried, found=found)
    assert "it waits" not in told(lost, found=Ground("p", None))


def test_a_pool_on_its_way_is_told_with_its_numbers() -> None:
    found = Ground("p", pool(allocationState="resizing"), [node("starting")])
    text = told(QUEUED, found=found)
    assert "the pool is being resized: 1 of 2 nodes" in text
    assert "pool p: its node is still starting" in text


def test_busy_nodes_are_told() -> None:
    found = Ground("p", pool(), [node("running"), node("running", "n2")])
    assert "all 2 nodes are busy; 1 task waits for a slot" in told(QUEUED, found=found)


def test_a_failed_start_task_is_called_that_with_its_command_and_last_words() -> None:
    broken = node("starttaskfailed", startTaskInfo={"exitCode": 5})
    found = Ground("p", pool(startTask={"commandLine": "setup --all"}), [broken, node("idle", "n2")])
    text = told(QUEUED, found=found, start_tail=lambda _: "no licence\n")
    assert "node n1: the start task failed on node n1 (exit code 5); its command: setup --all" in text
    assert "\n  no licence" in text


def test_an_old_resize_error_and_a_broken_formula_are_mentioned() -> None:
    error = {"code": "AllocationTimedout", "message": "timed out"}
    run = {"error": {"code": "FormulaError", "message": "division by zero"}}
    found = Ground("p", pool(enableAutoScale=True, resizeErrors=[error], autoScaleRun=run))
    text = told(QUEUED, found=found)
    assert "its last resize ended with: timed out [AllocationTimedout]" in text
    assert "its autoscale formula failed: division by zero" in text
    assert "a formula decides when it gets some" in text


def test_one_task_too_large_for_the_nodes_is_named() -> None:
    large = TaskStatus("large", TaskState.QUEUED, required_slots=8)
    found = Ground("p", pool(taskSlotsPerNode=4), [node("idle")])
    assert "large needs more task slots than a node has (4)" in told(QUEUED, large, found=found)


def test_a_pool_that_the_service_is_making() -> None:
    assert "is making the job's own pool" in told(QUEUED, found=Ground(None, None, own_pool=True))


@pytest.mark.parametrize(
    ("code", "step"),
    [
        ("AccountCoreQuotaReached", "delete or shrink another pool"),
        ("AllocationFailed", "azbatch pools resize p"),
    ],
)
def test_the_next_step_for_a_pool_that_got_no_nodes_depends_on_why(code: str, step: str) -> None:
    error = {"code": code, "message": "no luck"}
    (said, *_) = explain(JOB, [QUEUED], Ground("p", pool(resizeErrors=[error]), []))
    assert step in str(said.hint)


def test_the_next_step_for_broken_nodes_is_a_command_that_exists() -> None:
    (said, *_) = explain(JOB, [QUEUED], Ground("p", pool(), [node("starttaskfailed")]))
    assert "azbatch pools delete p" in str(said.hint)


def gone(pool_id: str, *, own_pool: bool = False) -> tuple[str, str, str | None]:
    (said,) = explain(JOB, [QUEUED], Ground(pool_id, None, own_pool=own_pool))
    return said.subject, said.text, said.hint


def test_a_pool_that_is_gone_is_told_once_with_the_next_step() -> None:
    managed = "azb-d2s-v5-0123456789"
    again = "submit the same file again: the pool is made anew, and the job goes on"
    assert gone(managed) == (f"pool {managed}", "it does not exist", again)
    assert gone("mine") == (
        "pool mine",
        "it does not exist",
        "make the pool again with this id, and the job goes on",
    )
    subject, text, hint = gone("auto", own_pool=True)
    assert (subject, text) == ("pool auto", "the job's own pool was deleted")
    assert str(hint).startswith("submit the same file again")


def test_a_verdict_does_not_repeat_its_subject() -> None:
    assert told(QUEUED, found=Ground("p", pool(targetDedicatedNodes=0))) == (
        "pool p: it has no nodes, and none are asked for"
    )


def listed(state: str, reason: str | None = None, **counts: int) -> JobState:
    job = {"id": "j", "state": state, "executionInfo": {"terminateReason": reason} if reason else {}}
    return summary("a", job, counts).state


def test_the_state_in_a_list_looks_at_the_counts() -> None:
    assert listed("active", active=2) is JobState.PENDING
    assert listed("active", active=2, succeeded=1) is JobState.RUNNING
    assert listed("active", running=1) is JobState.RUNNING
    assert listed("active", succeeded=2) is JobState.SUCCEEDED
    assert listed("completed", "AllTasksComplete", succeeded=2) is JobState.SUCCEEDED
    assert listed("completed", "AllTasksComplete", succeeded=2, failed=1) is JobState.FAILED
    assert listed("completed", "UserTerminate", succeeded=2) is JobState.SUCCEEDED
    assert listed("completed", "UserTerminate", active=1) is JobState.CANCELLED
    assert listed("completed", "MaxWallClockTimeExpiry", active=1) is JobState.FAILED
    assert listed("deleting") is JobState.DELETING


def test_one_more_is_told_as_one() -> None:
    blocked = [TaskStatus(f"t{i}", TaskState.BLOCKED, message="never runs") for i in range(4)]
    assert "tasks: 1 more never runs: t3" in told(*blocked)
    assert "2 more never run: t3, t4" in told(*blocked, TaskStatus("t4", TaskState.BLOCKED))
    broken = [node("offline", f"n{i}") for i in range(4)]
    assert "nodes: 1 more is not usable" in told(QUEUED, found=Ground("p", pool(), broken))
    one = Ground("p", pool(allocationState="resizing", targetDedicatedNodes=1))
    assert "resized: 0 of 1 node" in told(QUEUED, found=one)
    assert "1 of 1 nodes" not in told(QUEUED, found=one)
