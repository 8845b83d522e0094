"""A job comes into being: by a user's request, or by its schedule."""

from __future__ import annotations

import uuid
from typing import TYPE_CHECKING

from azbatch_core.local.engine import allocation, jobs, managers, scaling
from azbatch_core.local.engine.packages import refuse_unknown
from azbatch_core.local.errors import BatchError
from azbatch_core.local.rules import jobs as rules
from azbatch_core.local.rules import pools as pool_rules
from azbatch_core.local.runtime.failures import failure
from azbatch_core.local.store.records import Job

if TYPE_CHECKING:
    from azbatch_core.local.engine.account import Account
    from azbatch_core.local.store.records import Doc, Schedule

__all__ = ["new_job", "refuse_above_quota"]


def refuse_above_quota(account: Account) -> None:
    """Raise if the account holds as many open jobs and schedules as it may.

    Raises:
        BatchError: ActiveJobAndScheduleQuotaReached.
    """
    number = sum(job.state in rules.QUOTA_STATES for job in account.jobs.values())
    number += sum(schedule.state not in {"completed", "deleting"} for schedule in account.schedules.values())
    if number >= account.faults.quota("jobs", account.settings.job_quota):
        raise BatchError("ActiveJobAndScheduleQuotaReached")


def new_job(account: Account, job_id: str, body: Doc, schedule: Schedule | None = None) -> Job:
    """Make a job that has been checked, with its auto pool and its manager task.

    One whose auto pool cannot be had is made too, and is over at once: no reason, a scheduling error and an
    end (recorded).
    """
    now = account.stamp()
    job = Job(
        key=account.store.next_key("jobs"),
        id=job_id,
        spec=rules.fill(body),
        created=now,
        modified=now,
        since=now,
        started=now,
        pool_id=body["poolInfo"].get("poolId") or "",
        schedule=None if schedule is None else schedule.key,
    )
    _give_auto_pool(account, job, schedule, now)
    account.add_job(job)
    if job.state == "active":
        managers.add_manager(account, job)
    account.touch(job)
    account.due_jobs[job.key] = None
    jobs.arm_wall_clock(account, job)
    return job


def _give_auto_pool(account: Account, job: Job, schedule: Schedule | None, now: int) -> None:
    auto = job.spec["poolInfo"].get("autoPoolSpecification")
    if auto is None:
        return
    shared = schedule if auto["poolLifetimeOption"] == "jobschedule" else None
    if shared is not None:
        found = account.pool_ids.get(shared.pool_id.lower())
        if found is not None and found.state == "active":
            job.pool_id, job.auto_pool = found.id, True
            return
    refusal = _refusal(account, auto.get("pool") or {})
    if refusal is not None:
        job.state, job.ended = "completed", now
        job.scheduling_error = failure(refusal)
        return
    prefix = auto.get("autoPoolIdPrefix")
    unique = str(uuid.uuid4()).upper()
    job.pool_id = f"{prefix}_{unique}" if prefix else unique
    job.auto_pool = True
    pool = allocation.new_pool(account, job.pool_id, auto.get("pool") or {})
    if pool.spec["enableAutoScale"]:
        scaling.begin(account, pool, made=True)
    if shared is not None:
        shared.pool_id = job.pool_id
        account.touch(shared)


def _refusal(account: Account, pool: Doc) -> str | None:
    """The code of why an auto pool cannot be made, None if it can."""
    if len(account.pools) >= account.faults.quota("pools", account.settings.pool_quota):
        return "AutoPoolCreationFailedWithQuotaReached"
    try:
        pool_rules.check_formula(pool.get("autoScaleFormula") or "$TargetDedicatedNodes=0")
    except BatchError:
        return "InvalidAutoScaleFormulaInAutoPool"
    try:
        refuse_unknown(account, pool, pool=True)
    except BatchError:
        return "InvalidApplicationPackageReferencesInAutoPool"
    return None
