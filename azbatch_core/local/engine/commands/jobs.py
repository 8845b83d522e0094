"""The façade's calls on jobs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from azbatch_core.local.engine import jobs
from azbatch_core.local.engine.commands.base import Commands
from azbatch_core.local.engine.commands.paging import by_id, in_order, page
from azbatch_core.local.engine.new_jobs import new_job, refuse_above_quota
from azbatch_core.local.engine.packages import refuse_unknown
from azbatch_core.local.errors import BatchError
from azbatch_core.local.rules import jobs as rules

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from azbatch_core.local.engine.account import Account
    from azbatch_core.local.engine.commands.paging import Listed
    from azbatch_core.local.odata.parser import Match
    from azbatch_core.local.store.records import Doc, Job, Preparation

__all__ = ["JobCommands", "find_job", "find_live_job"]


class JobCommands(Commands):
    """Jobs."""

    def create(self, body: Doc) -> Doc:
        """Make a job, with its manager task and its auto pool if it asks for them.

        The pool's id shows at once.

        A pool id that names no pool is fine: tasks wait until there is one (SDK BatchPoolInfo.pool_id).

        Raises:
            BatchError: InvalidPropertyValue, OutOfRangePriority, EmptyMetadataKey, JobExists,
                JobBeingDeleted, JobScheduleWithSameIdExists, ActiveJobAndScheduleQuotaReached,
                TaskIdSameAs…, InvalidApplicationPackageReferences.
        """
        rules.check_new(body)
        refuse_unknown(self.account, body.get("jobManagerTask") or {})
        account = self.account
        found = account.job_ids.get(body["id"].lower())
        if found is not None:
            raise BatchError("JobBeingDeleted" if found.state == "deleting" else "JobExists")
        if body["id"].lower() in account.schedule_ids:
            raise BatchError("JobScheduleWithSameIdExists")
        refuse_above_quota(account)
        job = new_job(account, body["id"], body)
        self.done()
        return rules.job_document(job, account.base)

    def get(self, job_id: str) -> Doc:
        """A job.

        Raises:
            BatchError: JobNotFound.
        """
        return rules.job_document(find_job(self.account, job_id), self.account.base)

    def page(
        self,
        match: Match | None = None,
        after: str | None = None,
        limit: int = 1000,
        hints: Mapping[str, str] | None = None,
    ) -> Listed:
        """Jobs that match, in the order of their ids after the id `after`, and the id to go on after.

        `hints` (`{"state": …}`) may narrow what `match` is asked about.
        """
        ordered = in_order(self.account.jobs.values(), after, hints)
        return page(ordered, lambda job: rules.job_document(job, self.account.base), match, limit)

    def patch(self, job_id: str, body: Doc) -> Doc:
        """Replace what the body gives (PATCH); constraints as a whole.

        With `onAllTasksComplete` set to `terminatejob`, a job without unfinished tasks ends at once.

        Raises:
            BatchError: JobNotFound, JobCompleted, JobBeingTerminated, JobBeingDeleted, InvalidPropertyValue,
                OutOfRangePriority, OperationInvalidForCurrentState (another pool on a job not disabled).
        """
        return self._change_job(job_id, body, rules.patched)

    def replace(self, job_id: str, body: Doc) -> Doc:
        """Replace what can be replaced (PUT); what the body omits goes back to its default.

        Raises:
            BatchError: as for `patch`.
        """
        return self._change_job(job_id, body, rules.replaced)

    def _change_job(self, job_id: str, body: Doc, change: Callable[[Doc, Doc], Doc]) -> Doc:
        account = self.account
        job = find_live_job(self.account, job_id)
        rules.check_changes(job, body)
        spec = change(job.spec, body)
        pool_id = spec["poolInfo"].get("poolId") or (job.pool_id if job.auto_pool else "")
        if pool_id != job.pool_id:
            if job.state != "disabled":
                raise BatchError("OperationInvalidForCurrentState", Reason="The job is not disabled.")
            job.pool_id, job.auto_pool = pool_id, False
        job.spec = spec
        job.modified = account.stamp()
        account.touch(job)
        account.schedule_job(job)
        account.due_jobs[job.key] = None
        jobs.arm_wall_clock(account, job)
        self.done()
        return rules.job_document(job, account.base)

    def disable(self, job_id: str, body: Doc) -> Doc:
        """Stop starting tasks; on return the job is `disabling`.

        Running tasks are requeued, terminated or waited for, as the body's `disableTasks` says.

        Raises:
            BatchError: JobNotFound, JobCompleted, JobBeingTerminated, JobBeingDeleted.
        """
        job = find_live_job(self.account, job_id)
        job.modified = self.account.stamp()
        jobs.begin_disable(self.account, job, body.get("disableTasks") or "requeue")
        self.done()
        return rules.job_document(job, self.account.base)

    def enable(self, job_id: str) -> Doc:
        """Let a disabled job go on; on return it is `enabling`.

        Raises:
            BatchError: JobNotFound, JobCompleted, JobBeingTerminated, JobBeingDeleted,
                OperationInvalidForCurrentState (not disabled).
        """
        job = find_live_job(self.account, job_id)
        if job.state not in {"disabled", "disabling"}:
            raise BatchError("OperationInvalidForCurrentState", Reason="The job is not disabled.")
        job.modified = self.account.stamp()
        jobs.begin_enable(self.account, job)
        self.done()
        return rules.job_document(job, self.account.base)

    def terminate(self, job_id: str, body: Doc | None = None) -> Doc:
        """End a job; on return it is `terminating`.

        Running tasks are ended, active ones stay active for ever, release tasks run, then it is completed.

        Raises:
            BatchError: JobNotFound, JobCompleted, JobBeingTerminated, JobBeingDeleted.
        """
        job = find_live_job(self.account, job_id)
        job.modified = self.account.stamp()
        jobs.begin_terminate(self.account, job, (body or {}).get("terminateReason") or "UserTerminate")
        self.done()
        return rules.job_document(job, self.account.base)

    def delete(self, job_id: str) -> Doc:
        """Begin to delete a job with its tasks and their files; on return it is `deleting`.

        Raises:
            BatchError: JobNotFound, JobBeingDeleted.
        """
        job = find_job(self.account, job_id)
        if job.state == "deleting":
            raise BatchError("JobBeingDeleted")
        job.modified = self.account.stamp()
        jobs.begin_delete(self.account, job)
        self.done()
        return rules.job_document(job, self.account.base)

    def task_counts(self, job_id: str) -> Doc:
        """How many tasks, and how many slots' worth, are in which state; preparing counts as running.

        Raises:
            BatchError: JobNotFound.
        """
        counts = self.account.counts[find_job(self.account, job_id).key]
        return {
            "taskCounts": _with_completed(counts.tasks),
            "taskSlotCounts": _with_completed(counts.slots),
        }

    def preparation_status(
        self, job_id: str, match: Match | None = None, after: str | None = None, limit: int = 1000
    ) -> Listed:
        """What preparation and release did on each node, removed ones included; continued by node id.

        Raises:
            BatchError: JobNotFound, JobPreparationTaskOrReleaseTaskNotSpecified.
        """
        job = find_job(self.account, job_id)
        if "jobPreparationTask" not in job.spec and "jobReleaseTask" not in job.spec:
            raise BatchError("JobPreparationTaskOrReleaseTaskNotSpecified")
        return page(
            by_id(self.account.preparations[job.key].values(), lambda item: item.node_id, after),
            self._preparation_doc,
            match,
            limit,
            name=lambda doc: str(doc["nodeId"]),
        )

    def _preparation_doc(self, preparation: Preparation) -> Doc:
        doc: Doc = {
            "poolId": preparation.pool_id,
            "nodeId": preparation.node_id,
            "nodeUrl": f"{self.account.base}/pools/{preparation.pool_id}/nodes/{preparation.node_id}",
            "jobPreparationTaskExecutionInfo": dict(preparation.info),
        }
        if preparation.release is not None:
            doc["jobReleaseTaskExecutionInfo"] = dict(preparation.release)
        return doc


def _with_completed(counts: dict[str, int]) -> dict[str, int]:
    return {**counts, "completed": counts["succeeded"] + counts["failed"]}


def find_job(account: Account, job_id: str) -> Job:
    """A job's record; raises JobNotFound."""
    job = account.job_ids.get(job_id.lower())
    if job is None:
        raise BatchError("JobNotFound")
    return job


def find_live_job(account: Account, job_id: str) -> Job:
    """The record of a job that takes changes; raises JobNotFound, JobCompleted, JobBeing…."""
    job = find_job(account, job_id)
    rules.refuse_unless_live(job)
    return job
