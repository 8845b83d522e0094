"""Lists of jobs: with a state for each that looks at its task counts, or with the service's own word alone.

Counts do not tell a task that waits from one that never will run. So of a job in which nothing runs,
something failed and something is left, the tasks are looked at as well.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from itertools import islice
from typing import TYPE_CHECKING, Any

from azbatch_core.catalog import metadata_names
from azbatch_core.errors import AzBatchError
from azbatch_core.service.accounts.facts import current_user
from azbatch_core.service.documents import requests
from azbatch_core.service.documents.wire import metadata_of, moment
from azbatch_core.service.states import JobState
from azbatch_core.service.summaries import JobPhase, JobSummary
from azbatch_core.service.watch.status import (
    TASK_SELECT,
    end_reason,
    job_goes_on,
    job_status,
    task_statuses,
    was_cancelled,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from azbatch_core.service.connect.connection import Connection

_AT_ONCE = 8
_PHASE_SELECT = ("id", "state", "creationTime", "executionInfo", "poolInfo", "metadata")


def phases(connection: Connection, prefix: str) -> dict[str, JobPhase]:
    """The jobs whose ids start so, by id: one request a page of 1,000."""
    odata_filter = "startswith(id,'{}')".format(prefix.replace("'", "''")) if prefix else None
    listed = requests.listing(connection, "jobs", select=_PHASE_SELECT, odata_filter=odata_filter)
    return {phase.id: phase for phase in map(_phase, listed)}


def _phase(job: Mapping[str, Any]) -> JobPhase:
    execution = job.get("executionInfo") or {}
    return JobPhase(
        id=str(job.get("id")),
        state=str(job.get("state", "unknown")).lower(),
        terminate_reason=execution.get("terminateReason"),
        pool_id=_pool_of(job),
        created=moment(job.get("creationTime")),
        metadata=metadata_of(job),
    )


def _pool_of(job: Mapping[str, Any]) -> str | None:
    """The pool that the job runs on; of an auto pool, once it is made."""
    pool_id: str | None = (job.get("executionInfo") or {}).get("poolId") or (job.get("poolInfo") or {}).get(
        "poolId"
    )
    return pool_id


def summaries(connection: Connection, *, mine: bool, limit: int | None = None) -> Iterator[JobSummary]:
    """The account's jobs, the newest first; with `mine`, those that azbatch submitted for this user.

    One request a page of the list, then one for each job that is given, or two where it may be stuck: take
    only as many as are shown.
    """
    user = current_user()
    listed = requests.listing(connection, "jobs", select=requests.JOB_SELECT)
    # The service lists by id.
    newest_first = sorted(
        (job for job in listed if not mine or _is_of(job, user)), key=_made_at, reverse=True
    )
    wanted = iter(newest_first[:limit])
    with ThreadPoolExecutor(_AT_ONCE, thread_name_prefix="azbatch-jobs") as pool:
        while batch := list(islice(wanted, _AT_ONCE)):
            yield from pool.map(lambda job: _look(connection, job), batch)


def _made_at(job: Mapping[str, Any]) -> float:
    created = moment(job.get("creationTime"))
    return created.timestamp() if created else 0.0


def _is_of(job: Mapping[str, Any], user: str) -> bool:
    metadata = metadata_of(job)
    return metadata_names.STAMP in metadata and metadata.get(metadata_names.USER) == user


def _look(connection: Connection, job: Mapping[str, Any]) -> JobSummary:
    found = summary(connection.account.name, job, _counts(connection, str(job.get("id"))))
    left_behind = found.active and found.failed and not found.running and not found.state.final
    # The tasks of a larger job would cost more than one request.
    if not left_behind or found.total > requests.PAGE:
        return found
    try:
        tasks = list(requests.listing(connection, "jobs", found.id, "tasks", select=TASK_SELECT))
    except AzBatchError:
        return found
    status = job_status(found.handle, job, task_statuses(job, tasks))
    if status.state is JobState.STUCK:
        return replace(found, state=status.state, reason=status.reason)
    return found


def _counts(connection: Connection, job_id: str) -> dict[str, int]:
    try:
        document: dict[str, Any] = requests.send(connection, "GET", "jobs", job_id, "taskcounts")
    except AzBatchError:
        # Deleted since the list was made: it is shown as it was.
        return {}
    counts = document.get("taskCounts") or {}
    return {name: int(counts.get(name) or 0) for name in ("active", "running", "succeeded", "failed")}


def summary(account: str, job: Mapping[str, Any], counts: Mapping[str, int]) -> JobSummary:
    """One job on one line. The counts lag a little behind."""
    metadata = metadata_of(job)
    execution = job.get("executionInfo") or {}
    return JobSummary(
        handle=f"{account}:{job.get('id')}",
        id=str(job.get("id")),
        state=_state(job, counts),
        display_name=job.get("displayName"),
        user=metadata.get(metadata_names.USER),
        pool_id=_pool_of(job),
        created=moment(job.get("creationTime")),
        ended=moment(execution.get("endTime")),
        active=counts.get("active", 0),
        running=counts.get("running", 0),
        succeeded=counts.get("succeeded", 0),
        failed=counts.get("failed", 0),
        reason=end_reason(job),
        metadata=metadata,
    )


def _state(job: Mapping[str, Any], counts: Mapping[str, int]) -> JobState:
    active, running = counts.get("active", 0), counts.get("running", 0)
    ended = counts.get("succeeded", 0) + counts.get("failed", 0)
    if str(job.get("state", "")).lower() == "deleting":
        return JobState.DELETING
    if job_goes_on(job) and (active or running or not ended):
        return JobState.RUNNING if running or ended else JobState.PENDING
    if ended and not active and not counts.get("failed"):
        return JobState.SUCCEEDED
    if was_cancelled(job):
        return JobState.CANCELLED
    return JobState.FAILED if active or counts.get("failed") or end_reason(job) else JobState.SUCCEEDED
