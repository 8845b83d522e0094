"""The façade's calls on job schedules."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from azbatch_core.local.engine import schedules
from azbatch_core.local.engine.commands.base import Commands
from azbatch_core.local.engine.commands.paging import by_id, in_order, page
from azbatch_core.local.engine.new_jobs import refuse_above_quota
from azbatch_core.local.engine.packages import refuse_unknown
from azbatch_core.local.errors import BatchError
from azbatch_core.local.rules import schedules as rules
from azbatch_core.local.rules.jobs import job_document
from azbatch_core.local.store.records import Schedule

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from azbatch_core.local.engine.account import Account
    from azbatch_core.local.engine.commands.paging import Listed
    from azbatch_core.local.odata.parser import Match
    from azbatch_core.local.store.records import Doc

__all__ = ["ScheduleCommands"]

_TAKEN = {"deleting": "JobScheduleBeingDeleted", "completed": "JobScheduleCompleted"}


class ScheduleCommands(Commands):
    """Job schedules."""

    def create(self, body: Doc) -> Doc:
        """Make a schedule; a job that is due at once is there on return.

        Raises:
            BatchError: InvalidPropertyValue, EmptyMetadataKey, JobScheduleExists, JobScheduleCompleted (one
                of that id is; so reported of the real service), JobScheduleBeingDeleted, JobWithSameIdExists,
                ActiveJobAndScheduleQuotaReached, and what a job is refused for.
        """
        rules.check_new(body)
        refuse_unknown(self.account, body["jobSpecification"].get("jobManagerTask") or {})
        account = self.account
        found = account.schedule_ids.get(body["id"].lower())
        if found is not None:
            raise BatchError(_TAKEN.get(found.state, "JobScheduleExists"))
        if body["id"].lower() in account.job_ids:
            raise BatchError("JobWithSameIdExists")
        refuse_above_quota(account)
        now = account.stamp()
        schedule = Schedule(
            key=account.store.next_key("schedules"),
            id=body["id"],
            spec=rules.fill(body),
            created=now,
            modified=now,
            since=now,
            anchor=now,
        )
        schedules.set_anchor(schedule, min(now, account.now()))
        schedules.add(account, schedule)
        schedules.advance(account, schedule)
        return self._written(schedule)

    def get(self, schedule_id: str) -> Doc:
        """A schedule.

        Raises:
            BatchError: JobScheduleNotFound.
        """
        return self._document(find_schedule(self.account, schedule_id))

    def page(
        self,
        match: Match | None = None,
        after: str | None = None,
        limit: int = 1000,
        hints: Mapping[str, str] | None = None,
    ) -> Listed:
        """Schedules that match, in the order of their ids after the id `after`, and the id to go on after.

        `hints` (`{"state": …}`) may narrow what `match` is asked about.
        """
        ordered = in_order(self.account.schedules.values(), after, hints)
        return page(ordered, self._document, match, limit)

    def jobs(
        self, schedule_id: str, match: Match | None = None, after: str | None = None, limit: int = 1000
    ) -> Listed:
        """A schedule's jobs that match, as `page` lists schedules.

        Raises:
            BatchError: JobScheduleNotFound.
        """
        found = schedules.jobs_of(self.account, find_schedule(self.account, schedule_id))
        base = self.account.base
        return page(
            by_id(found, lambda job: job.id, after), lambda job: job_document(job, base), match, limit
        )

    def patch(self, schedule_id: str, body: Doc) -> Doc:
        """Replace what the body gives (PATCH), for jobs that are made from now on.

        Raises:
            BatchError: JobScheduleNotFound, JobScheduleCompleted, JobScheduleBeing…, InvalidPropertyValue,
                and what a job is refused for.
        """
        return self._change(schedule_id, body, rules.patched)

    def replace(self, schedule_id: str, body: Doc) -> Doc:
        """Replace what can be replaced (PUT), for jobs that are made from now on; what is omitted goes.

        Raises:
            BatchError: as for `patch`.
        """
        return self._change(schedule_id, body, rules.replaced)

    def _change(self, schedule_id: str, body: Doc, change: Callable[[Doc, Doc], Doc]) -> Doc:
        account = self.account
        schedule = find_live_schedule(account, schedule_id)
        rules.check_changes(body)
        refuse_unknown(self.account, (body.get("jobSpecification") or {}).get("jobManagerTask") or {})
        before = schedule.spec.get("schedule")
        schedule.spec = change(schedule.spec, body)
        schedule.modified = account.stamp()
        if schedule.spec.get("schedule") != before:
            schedules.set_anchor(schedule, min(schedule.modified, account.now()))
        schedules.advance(account, schedule)
        return self._written(schedule)

    def disable(self, schedule_id: str) -> Doc:
        """Make no more jobs until it is enabled; the job that is there goes on.

        Raises:
            BatchError: JobScheduleNotFound, JobScheduleDisabled, JobScheduleCompleted, JobScheduleBeing….
        """
        schedule = find_live_schedule(self.account, schedule_id)
        if schedule.state == "disabled":
            raise BatchError("JobScheduleDisabled")
        return self._move(schedule, "disabled")

    def enable(self, schedule_id: str) -> Doc:
        """Let a disabled schedule make jobs again; one whose turn has come and is not lost is made at once.

        Raises:
            BatchError: JobScheduleNotFound, JobScheduleCompleted, JobScheduleBeing…,
                OperationInvalidForCurrentState (not disabled).
        """
        schedule = find_live_schedule(self.account, schedule_id)
        if schedule.state != "disabled":
            raise BatchError("OperationInvalidForCurrentState", Reason="The job schedule is not disabled.")
        return self._move(schedule, "active")

    def _move(self, schedule: Schedule, state: Literal["active", "disabled"]) -> Doc:
        schedule.modified = self.account.stamp()
        schedules.set_state(self.account, schedule, state, schedule.modified)
        schedules.advance(self.account, schedule)
        return self._written(schedule)

    def terminate(self, schedule_id: str) -> Doc:
        """End a schedule and its job; on return it is `terminating`.

        Raises:
            BatchError: JobScheduleNotFound, JobScheduleCompleted, JobScheduleBeing….
        """
        schedule = find_live_schedule(self.account, schedule_id)
        schedule.modified = self.account.stamp()
        schedules.begin_terminate(self.account, schedule, schedule.modified)
        return self._written(schedule)

    def delete(self, schedule_id: str) -> None:
        """Begin to delete a schedule with all its jobs; on return it is `deleting`, its ETag the old one.

        Raises:
            BatchError: JobScheduleNotFound, JobScheduleBeingDeleted.
        """
        schedule = find_schedule(self.account, schedule_id)
        if schedule.state == "deleting":
            raise BatchError("JobScheduleBeingDeleted")
        schedules.begin_delete(self.account, schedule)
        self.done()

    def _written(self, schedule: Schedule) -> Doc:
        self.account.touch(schedule)
        self.done()
        return self._document(schedule)

    def _document(self, schedule: Schedule) -> Doc:
        return rules.schedule_document(schedule, self.account.base)


def find_schedule(account: Account, schedule_id: str) -> Schedule:
    """A schedule's record; raises JobScheduleNotFound."""
    schedule = account.schedule_ids.get(schedule_id.lower())
    if schedule is None:
        raise BatchError("JobScheduleNotFound")
    return schedule


def find_live_schedule(account: Account, schedule_id: str) -> Schedule:
    """The record of a schedule that takes changes; raises JobScheduleNotFound, …Completed, …Being…."""
    schedule = find_schedule(account, schedule_id)
    rules.refuse_unless_live(schedule)
    return schedule
