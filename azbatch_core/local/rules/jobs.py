"""Jobs: what is refused, what is filled in, what is shown."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from azbatch_core.local.errors import BatchError, invalid_property
from azbatch_core.local.rules import pools
from azbatch_core.local.rules.checks import (
    check_at_least,
    check_id,
    check_metadata,
    check_program,
    check_seconds,
)
from azbatch_core.local.rules.documents import (
    default_identity,
    fill_constraints,
    put_transitions,
    put_written,
    without_secrets,
)
from azbatch_core.local.rules.limits import check_subnet
from azbatch_core.local.rules.managers import check_manager, fill_manager
from azbatch_core.local.rules.times import moment
from azbatch_core.local.wire.durations import UNLIMITED

if TYPE_CHECKING:
    from azbatch_core.local.store.records import Doc, Job

__all__ = [
    "ENDING",
    "PASSING",
    "QUOTA_STATES",
    "check_changes",
    "check_new",
    "check_specification",
    "fill",
    "job_document",
    "patched",
    "refuse_unless_live",
    "replaced",
]

QUOTA_STATES = frozenset({"active", "disabling", "disabled", "enabling", "terminating"})
"""States that count towards the quota of active jobs."""

ENDING = frozenset({"terminating", "completed", "deleting"})

PASSING = frozenset({"disabling", "enabling", "terminating", "deleting"})
"""States that a job leaves by itself."""
"""States that a job does not come back from."""

_PRIORITY_MOST = 1000
_RELEASE_MOST = 15 * 60.0
_PREFIX_MOST = 20
_REFUSAL = {"completed": "JobCompleted", "terminating": "JobBeingTerminated", "deleting": "JobBeingDeleted"}
_CHANGEABLE = (
    "priority",
    "allowTaskPreemption",
    "maxParallelTasks",
    "constraints",
    "onAllTasksComplete",
    "metadata",
    "networkConfiguration",
)


def refuse_unless_live(job: Job) -> None:
    """Refuse an operation on a job that has ended or is about to."""
    code = _REFUSAL.get(job.state)
    if code:
        raise BatchError(code)


def check_new(body: Doc) -> None:
    """Refuse a job that the service would refuse."""
    check_id(body.get("id"))
    check_specification(body)


def check_specification(body: Doc, *, scheduled: bool = False) -> None:
    """Refuse what a job, or the jobs of a schedule (`scheduled`), cannot be made of."""
    _check_pool_info(body.get("poolInfo") or {}, scheduled=scheduled)
    check_manager(body)
    preparation, release = body.get("jobPreparationTask"), body.get("jobReleaseTask")
    if release and not preparation:
        raise invalid_property(
            "jobReleaseTask", release.get("id"), "A job release task needs a job preparation task."
        )
    if preparation:
        check_at_least(preparation.get("constraints") or {}, "maxTaskRetryCount", -1)
    if release:
        check_seconds(release, "maxWallClockTime", most=_RELEASE_MOST)
    for special, default in ((preparation, "jobpreparation"), (release, "jobrelease")):
        if special:
            check_id(special.get("id") or default)
            check_program(special)
    _check_common(body)


def check_changes(job: Job, body: Doc) -> None:
    """Refuse a PATCH or PUT that the service would refuse; the job's state has been looked at."""
    if job.spec["onAllTasksComplete"] == "terminatejob" and body.get("onAllTasksComplete") == "noaction":
        raise invalid_property(
            "onAllTasksComplete", "noaction", "The value cannot be changed from terminatejob to noaction."
        )
    auto = (body.get("poolInfo") or {}).get("autoPoolSpecification")
    if auto and "autoPoolSpecification" not in job.spec["poolInfo"]:
        raise invalid_property(
            "poolInfo", "autoPoolSpecification", "Only keepAlive of an auto pool can be changed."
        )
    _check_common(body)


def _check_common(body: Doc) -> None:
    priority = body.get("priority")
    if priority is not None and not -_PRIORITY_MOST <= priority <= _PRIORITY_MOST:
        raise BatchError("OutOfRangePriority", PropertyName="priority", PropertyValue=priority)
    parallel = body.get("maxParallelTasks")
    if parallel is not None and parallel != -1 and parallel < 1:
        raise invalid_property("maxParallelTasks", parallel, "The value is -1 or greater than 0.")
    constraints = body.get("constraints") or {}
    check_at_least(constraints, "maxTaskRetryCount", -1)
    check_seconds(constraints, "maxWallClockTime")
    check_subnet(body.get("networkConfiguration") or {})
    check_metadata(body)


def _check_pool_info(info: Doc, *, scheduled: bool) -> None:
    auto = info.get("autoPoolSpecification")
    if bool(info.get("poolId")) == bool(auto):
        raise invalid_property(
            "poolInfo", "", "Exactly one of poolId and autoPoolSpecification must be specified."
        )
    if auto:
        if auto.get("poolLifetimeOption") == "jobschedule" and not scheduled:
            raise invalid_property(
                "poolLifetimeOption", "jobschedule", "The value is for job schedules, not for jobs."
            )
        if len(auto.get("autoPoolIdPrefix") or "") > _PREFIX_MOST:
            raise invalid_property(
                "autoPoolIdPrefix",
                auto["autoPoolIdPrefix"],
                f"The prefix has at most {_PREFIX_MOST} characters.",
            )
        pools.check_new(auto.get("pool") or {})


def _fill_preparation(given: Doc) -> Doc:
    return {
        **given,
        "id": given.get("id") or "jobpreparation",
        "constraints": fill_constraints(given.get("constraints")),
        "rerunOnNodeRebootAfterSuccess": given.get("rerunOnNodeRebootAfterSuccess", True),
        "waitForSuccess": given.get("waitForSuccess", True),
        "userIdentity": given.get("userIdentity") or default_identity(),
    }


def _fill_release(given: Doc) -> Doc:
    return {
        **given,
        "id": given.get("id") or "jobrelease",
        "maxWallClockTime": given.get("maxWallClockTime") or "PT15M",
        "retentionTime": given.get("retentionTime") or "P7D",
        "userIdentity": given.get("userIdentity") or default_identity(),
    }


def _fill_pool_info(given: Doc) -> Doc:
    auto = given.get("autoPoolSpecification")
    if not auto:
        return given
    filled = {
        **auto,
        "poolLifetimeOption": auto.get("poolLifetimeOption") or "job",
        "keepAlive": bool(auto.get("keepAlive")),
    }
    if auto.get("pool"):
        filled["pool"] = _fill_pool(auto["pool"])
    return {"autoPoolSpecification": filled}


def _fill_pool(given: Doc) -> Doc:
    """The pool of an auto pool as echoed: with its targets, 0 unless given (recorded)."""
    targets = ("targetDedicatedNodes", "targetLowPriorityNodes")
    scaled = {} if given.get("enableAutoScale") else {name: given.get(name) or 0 for name in targets}
    return {**pools.fill(given), **scaled}


def _fill_constraints(given: Doc | None) -> Doc:
    given = given or {}
    return {
        "maxWallClockTime": given.get("maxWallClockTime") or UNLIMITED,
        "maxTaskRetryCount": given.get("maxTaskRetryCount") or 0,
    }


def fill(body: Doc) -> Doc:
    """The user's part of a job as echoed."""
    spec = {key: value for key, value in body.items() if value is not None}
    defaults: dict[str, Any] = {
        "priority": 0,
        "allowTaskPreemption": False,
        "maxParallelTasks": -1,
        "onAllTasksComplete": "noaction",
        "onTaskFailure": "noaction",
        "usesTaskDependencies": False,
    }
    for name, value in defaults.items():
        spec.setdefault(name, value)
    spec["constraints"] = _fill_constraints(body.get("constraints"))
    spec["poolInfo"] = _fill_pool_info(body["poolInfo"])
    if spec.get("jobManagerTask"):
        retries = spec["constraints"]["maxTaskRetryCount"]
        spec["jobManagerTask"] = fill_manager(spec["jobManagerTask"], retries)
    if spec.get("jobPreparationTask"):
        spec["jobPreparationTask"] = _fill_preparation(spec["jobPreparationTask"])
    if spec.get("jobReleaseTask"):
        spec["jobReleaseTask"] = _fill_release(spec["jobReleaseTask"])
    if not spec.get("metadata"):
        spec.pop("metadata", None)
    return spec


def patched(spec: Doc, body: Doc) -> Doc:
    """A job's spec after PATCH. Constraints are replaced as a whole.

    What they omit goes back to its default.
    """
    given = {name: body[name] for name in _CHANGEABLE if body.get(name) is not None}
    return fill({**spec, **given, "poolInfo": _changed_pool(spec, body)})


def replaced(spec: Doc, body: Doc) -> Doc:
    """A job's spec after PUT: what is omitted goes back to its default, what PUT cannot change stays."""
    kept = {name: value for name, value in spec.items() if name not in _CHANGEABLE}
    given = {name: body.get(name) for name in _CHANGEABLE}
    return fill({**kept, **given, "poolInfo": _changed_pool(spec, body)})


def _changed_pool(spec: Doc, body: Doc) -> Doc:
    old: Doc = spec["poolInfo"]
    new: Doc = body.get("poolInfo") or old
    auto = new.get("autoPoolSpecification")
    if auto and old.get("autoPoolSpecification"):
        # Of an auto pool only keepAlive can change (SDK BatchJobUpdateOptions.pool_info).
        keep = auto.get("keepAlive")
        merged = dict(old["autoPoolSpecification"])
        if keep is not None:
            merged["keepAlive"] = keep
        return {"autoPoolSpecification": merged}
    return new


def job_document(job: Job, base: str) -> Doc:
    """A job as GET shows it."""
    doc: Doc = without_secrets(job.spec)
    doc["id"] = job.id
    doc["url"] = f"{base}/jobs/{job.id}"
    put_written(doc, job.created, job.modified)
    put_transitions(doc, job.state, job.since, job.previous, job.previous_since)
    execution: Doc = {"startTime": moment(job.started)}
    if job.pool_id:
        execution["poolId"] = job.pool_id
    if job.ended is not None:
        execution["endTime"] = moment(job.ended)
    if job.reason is not None:
        execution["terminateReason"] = job.reason
    if job.scheduling_error is not None:
        execution["schedulingError"] = job.scheduling_error
    doc["executionInfo"] = execution
    return doc
