"""How tasks and jobs stand, derived from the service's documents. Pure, and total over the SDK's states.

A state that nobody knows counts as still going on, so that a newer service makes a waiter wait, not lie.
"""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING, Any

from azbatch_core.service.documents.wire import metadata_of, moment
from azbatch_core.service.states import (
    MAX_FAILURES,
    MAX_GANGS,
    FailureCategory,
    JobState,
    JobStatus,
    TaskState,
    TaskStatus,
)
from azbatch_core.service.watch import task_failures
from azbatch_core.service.watch.dependencies import Dependencies

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping
    from datetime import datetime

CANCEL_REASON = "azbatch:cancelled"
"""The terminate reason that our own cancel leaves in the job's record."""

TASK_STATES = {
    "active": TaskState.QUEUED,
    "preparing": TaskState.PREPARING,
    "running": TaskState.RUNNING,
    # completed is told apart by the result
}
# What the job's own state says about its tasks: may they still start?
JOB_GOES_ON = {
    "active": True,
    "disabling": True,
    "disabled": True,
    "enabling": True,
    "terminating": False,
    "completed": False,
    "deleting": False,
}
# Reasons that the service itself gives; any other text is a person's own. The documentation spells the first
# differently from live accounts, and older services say "TerminateWorkitem".
_SERVICE_REASONS = {
    "alltaskscomplete": None,
    "alltaskscompleted": None,
    "jmcomplete": None,
    "maxwallclocktimeexpiry": "the job's wall time ran out",
    "taskfailed": "a task failed, and the job was asked to end then",
    "terminatejobschedule": "its job schedule was terminated",
    "terminateworkitem": "its job schedule was terminated",
}
TASK_SELECT = (
    "id",
    "displayName",
    "state",
    "stateTransitionTime",
    "executionInfo",
    "nodeInfo",
    "dependsOn",
    "exitConditions",
    "constraints",
    "requiredSlots",
    "multiInstanceSettings",
    "previousState",
)
_LISTED = 3


def job_goes_on(job: Mapping[str, Any]) -> bool:
    """Whether the job's state still lets tasks start; True for a state that nobody knows."""
    return JOB_GOES_ON.get(str(job.get("state", "active")).lower(), True)


def was_cancelled(job: Mapping[str, Any]) -> bool:
    """Whether a person ended the job."""
    reason = terminate_reason(job)
    return bool(reason) and reason.lower() not in _SERVICE_REASONS


def terminate_reason(job: Mapping[str, Any]) -> str:
    """The service's terminate reason; empty while there is none."""
    return str((job.get("executionInfo") or {}).get("terminateReason") or "")


def succeeded(task: Mapping[str, Any]) -> bool:
    """Whether a completed task succeeded. The result decides; the exit code only where there is none."""
    execution = task.get("executionInfo") or {}
    result = execution.get("result")
    if result is not None:
        return str(result).lower() == "success"
    return execution.get("exitCode") == 0 and not execution.get("failureInfo")


def task_statuses(job: Mapping[str, Any], tasks: Iterable[Mapping[str, Any]]) -> list[TaskStatus]:
    """Every task as it stands, in the given order; the whole job's tasks are needed to judge dependencies."""
    documents = list(tasks)
    dependencies = Dependencies(documents, succeeded)
    return [task_status(job, document, dependencies) for document in documents]


def task_status(job: Mapping[str, Any], task: Mapping[str, Any], dependencies: Dependencies) -> TaskStatus:
    """One task as it stands."""
    execution = task.get("executionInfo") or {}
    node = task.get("nodeInfo") or {}
    settings = task.get("multiInstanceSettings")
    wire_state = str(task.get("state") or "").lower()
    category: FailureCategory | None = None
    message: str | None = None
    if wire_state == "completed":
        state, category, message = _ended(job, task)
    elif wire_state == "active":
        state, category, message = _not_started(job, task, dependencies)
    else:
        state = TASK_STATES.get(wire_state, TaskState.RUNNING)
    return TaskStatus(
        id=str(task.get("id")),
        state=state,
        exit_code=execution.get("exitCode"),
        node_id=node.get("nodeId"),
        pool_id=node.get("poolId"),
        started=moment(execution.get("startTime")),
        ended=moment(execution.get("endTime")),
        category=category,
        message=message,
        code=(execution.get("failureInfo") or {}).get("code"),
        retries=int(execution.get("retryCount") or 0),
        requeues=int(execution.get("requeueCount") or 0),
        depends_on=dependencies.ids_of(task),
        required_slots=int(task.get("requiredSlots") or 1),
        display_name=task.get("displayName"),
        nodes=int(settings.get("numberOfInstances") or 1) if settings is not None else None,
        again=wire_state == "active" and bool(task.get("previousState")),
    )


def _ended(
    job: Mapping[str, Any], task: Mapping[str, Any]
) -> tuple[TaskState, FailureCategory | None, str | None]:
    if succeeded(task):
        return TaskState.SUCCEEDED, None, None
    category = task_failures.categorise(task)
    if category is not FailureCategory.CANCELLED:
        return TaskState.FAILED, category, task_failures.explain(task, category)
    if terminate_reason(job).lower() == "maxwallclocktimeexpiry":
        return TaskState.FAILED, FailureCategory.WALLTIME, "the job's wall time ran out"
    return TaskState.CANCELLED, category, "it was ended before it was done"


def _not_started(
    job: Mapping[str, Any], task: Mapping[str, Any], dependencies: Dependencies
) -> tuple[TaskState, FailureCategory | None, str | None]:
    culprit = dependencies.blocked_by(task)
    if culprit is not None:
        return (
            TaskState.BLOCKED,
            FailureCategory.DEPENDENCY,
            f"never runs: it depends on {culprit}, which failed",
        )
    if not job_goes_on(job):
        # The service leaves such tasks "active" for ever.
        why = end_reason(job) or "the job ended"
        timed_out = terminate_reason(job).lower() == "maxwallclocktimeexpiry"
        category = FailureCategory.WALLTIME if timed_out else FailureCategory.CANCELLED
        return TaskState.CANCELLED, category, f"never ran: {why}"
    return (TaskState.QUEUED if dependencies.met(task) else TaskState.WAITING), None, None


def end_reason(job: Mapping[str, Any]) -> str | None:
    """Why the service ended the job, in words; None for "its tasks are done" and while it goes on."""
    execution = job.get("executionInfo") or {}
    if execution.get("schedulingError"):
        return f"the service could not run the job: {task_failures.describe(execution['schedulingError'])}"
    reason = terminate_reason(job)
    if not reason:
        return None
    if reason.lower() in _SERVICE_REASONS:
        return _SERVICE_REASONS[reason.lower()]
    if reason in {CANCEL_REASON, "UserTerminate"}:
        return "it was cancelled"
    return f"it was terminated: {reason}"


def job_status(
    handle: str,
    job: Mapping[str, Any],
    tasks: Collection[TaskStatus],
    *,
    stuck: str | None = None,
) -> JobStatus:
    """The job as it stands.

    Args:
        handle: ``<account>:<job id>``.
        job: The job's document.
        tasks: What the judgement is about: all tasks of the job, or some of them.
        stuck: Why no queued task can ever run (a verdict on pool and nodes); None when there is no such
            verdict.
    """
    counts: dict[TaskState, int] = {}
    for task in tasks:
        counts[task.state] = counts.get(task.state, 0) + 1
    state = _job_state(job, counts, stuck=stuck)
    failures = sorted(
        (task for task in tasks if task.state is TaskState.FAILED),
        key=lambda task: (task.ended is None, task.ended.timestamp() if task.ended else 0.0),
    )
    execution = job.get("executionInfo") or {}
    return JobStatus(
        handle=handle,
        id=str(job.get("id")),
        state=state,
        counts=counts,
        total=len(tasks),
        pool_id=execution.get("poolId") or (job.get("poolInfo") or {}).get("poolId"),
        created=moment(job.get("creationTime")),
        started=min((task.started for task in tasks if task.started), default=None),
        ended=_ended_at(execution, tasks) if state.final else None,
        reason=_reason(job, state, tasks, failures, stuck),
        failures=tuple(failures[:MAX_FAILURES]),
        display_name=job.get("displayName"),
        metadata=metadata_of(job),
        gangs=tuple(islice((task for task in tasks if task.nodes), MAX_GANGS)),
    )


def _job_state(job: Mapping[str, Any], counts: Mapping[TaskState, int], *, stuck: str | None) -> JobState:
    if str(job.get("state", "")).lower() == "deleting":
        return JobState.DELETING
    over = str(job.get("state", "")).lower() == "completed"
    going = sum(counts.get(state, 0) for state in (TaskState.PREPARING, TaskState.RUNNING))
    waiting = sum(counts.get(state, 0) for state in (TaskState.QUEUED, TaskState.WAITING))
    if not over:
        if going or (waiting and counts.get(TaskState.QUEUED) and not stuck):
            return JobState.PENDING if _untouched(counts) else JobState.RUNNING
        if waiting:
            return JobState.STUCK
        if not counts:
            return JobState.PENDING
    return _final_state(job, counts)


def _final_state(job: Mapping[str, Any], counts: Mapping[TaskState, int]) -> JobState:
    """The state of a job of which no task can run any more."""
    if set(counts) == {TaskState.SUCCEEDED}:
        # Also when a person tidied the finished job away: the work was done.
        return JobState.SUCCEEDED
    if was_cancelled(job):
        return JobState.CANCELLED
    if not counts:
        return JobState.FAILED if end_reason(job) else JobState.SUCCEEDED
    if TaskState.BLOCKED in counts and job_goes_on(job):
        return JobState.STUCK
    if set(counts) <= {TaskState.SUCCEEDED, TaskState.CANCELLED}:
        return JobState.FAILED if end_reason(job) else JobState.CANCELLED
    return JobState.FAILED


def _untouched(counts: Mapping[TaskState, int]) -> bool:
    return set(counts) <= {TaskState.QUEUED, TaskState.WAITING}


def _ended_at(execution: Mapping[str, Any], tasks: Iterable[TaskStatus]) -> datetime | None:
    return moment(execution.get("endTime")) or max((task.ended for task in tasks if task.ended), default=None)


def _reason(
    job: Mapping[str, Any],
    state: JobState,
    tasks: Collection[TaskStatus],
    failures: list[TaskStatus],
    stuck: str | None,
) -> str | None:
    if state is JobState.SUCCEEDED:
        return None
    if state is JobState.CANCELLED:
        return end_reason(job) or "its tasks were ended before they were done"
    if not state.final:
        return (
            "the job is disabled" if str(job.get("state", "")).lower() in {"disabling", "disabled"} else None
        )
    parts = [
        end_reason(job),
        _failed_tasks(failures, len(tasks)) if failures else None,
        _stuck_words(tasks, stuck) if state is JobState.STUCK else None,
    ]
    return "; ".join(part for part in parts if part) or None


def _failed_tasks(failures: list[TaskStatus], total: int) -> str:
    named = ", ".join(f"{task.id} ({task.message})" for task in failures[:_LISTED])
    more = f" and {len(failures) - _LISTED} more" if len(failures) > _LISTED else ""
    if total == 1:
        return f"1 task failed: {named}"
    return f"{len(failures)} of {total} tasks failed: {named}{more}"


def _stuck_words(tasks: Collection[TaskStatus], stuck: str | None) -> str:
    if stuck:
        return stuck
    blocked = [task for task in tasks if task.state is TaskState.BLOCKED]
    if blocked:
        more = f" (and {len(blocked) - 1} more)" if len(blocked) > 1 else ""
        return f"{blocked[0].id}{more} {blocked[0].message}"
    waiting = [task for task in tasks if task.state is TaskState.WAITING]
    if waiting:
        missing = ", ".join(waiting[0].depends_on[:_LISTED])
        return f"{waiting[0].id} waits for tasks that will not come: {missing}"
    return "no task can run any more"
