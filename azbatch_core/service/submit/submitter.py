"""Carrying a plan out: pool, job, tasks, and then the job may end by itself.

The order matters. A job that ends when all its tasks are complete would end before its first task comes, so
it is created to stay open and changed when the last task is in. A creation whose reply was lost is recognised
by our stamp in the job's metadata.

When some tasks could not be added, the job stays as it is: the others are in and run, and the job stays open,
so that what is missing can be added; its wall time ends it in any case. Nothing is undone behind the caller's
back, and the error says what exists and how to remove it.
"""

from __future__ import annotations

from itertools import chain
from typing import TYPE_CHECKING, Any

from azbatch_core.catalog import metadata_names
from azbatch_core.errors import (
    AzBatchError,
    ConfigurationError,
    Conflict,
    NotFound,
    SpecError,
    SubmissionError,
)
from azbatch_core.plan.secrets import StorageRef, leaves, reveal
from azbatch_core.plan.tasks import refuse_hopeless
from azbatch_core.service.connect import keyvault
from azbatch_core.service.connect.connection import is_loopback
from azbatch_core.service.connect.storage import StorageResolver, signature_lifetime
from azbatch_core.service.documents import requests
from azbatch_core.service.documents.wire import metadata_of
from azbatch_core.service.handle import JobHandle
from azbatch_core.service.manage import lifecycle, pools
from azbatch_core.service.states import Submission, TaskAddResult
from azbatch_core.service.submit.bulk import NOT_A_SPEC, NOT_SENT, TOO_LARGE, BulkAdd, Wanted, refused_spec
from azbatch_core.service.watch.status import job_goes_on

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from azbatch_core.plan import Plan
    from azbatch_core.service.connect.connection import Connection
    from azbatch_core.specs import TaskSpec

_NAMED = 3
_DELETED_WITHIN = 600.0


class JobChannel:
    """The way to the tasks of one job, for `BulkAdd`."""

    def __init__(self, connection: Connection, job_id: str) -> None:
        self._connection = connection
        self._job_id = job_id

    def post(self, bodies: list[dict[str, Any]]) -> tuple[Sequence[dict[str, Any]], bool]:
        """Send one collection; whether it took more than one try, of which an earlier one may have worked."""
        from azbatch_core.service.connect import sdk

        tries = 0

        def add_tasks() -> list[dict[str, Any]]:
            nonlocal tries
            tries += 1
            return sdk.add_tasks(self._connection.client, self._job_id, bodies)

        members = self._connection.call(add_tasks)
        return members, tries > 1

    def stored_command(self, task_id: str) -> str | None:
        """The command line of a task that is in the job."""
        try:
            task = requests.get_task(self._connection, self._job_id, task_id, ("id", "commandLine"))
        except NotFound:
            return None
        return task.get("commandLine")


def _check_account(connection: Connection, plan: Plan) -> None:
    """A plan is made of what its account has: another may have other pools, storage and powers."""
    if plan.account != connection.account.name:
        where = f", and this is {connection.account.name!r}"
    elif plan.endpoint != connection.endpoint and not (
        # The local service has another port after each start.
        is_loopback(plan.endpoint) and connection.is_local
    ):
        where = f" at {plan.endpoint}, and this one is at {connection.endpoint}"
    else:
        return
    raise ConfigurationError(
        f"the plan was made for the account {plan.account!r}{where}", hint="plan the job on this account"
    )


class Submitter:
    """One submission: carries one plan out.

    Raises:
        ConfigurationError: The plan was made for another account.
    """

    def __init__(self, connection: Connection, plan: Plan) -> None:
        self._connection = connection
        self._plan = plan
        self._handle = JobHandle(connection, plan.job_id)
        _check_account(connection, plan)
        self._secrets = keyvault.resolver(connection.account, connection.credential, clock=connection.clock)
        self._storage = StorageResolver(
            connection.account,
            lifetime=signature_lifetime(plan.job),
            credential=connection.credential,
            clock=connection.clock,
        )

    def run(
        self,
        tasks: Iterable[TaskSpec] | None,
        *,
        recreate: bool,
        on_progress: Callable[[int], None] | None,
    ) -> Submission:
        """Submit; on return the job is there with every task, and ends when they are complete."""
        if not self._plan.tasks and tasks is None:
            raise SpecError(
                "the job has no tasks, and an empty job would wait for ever", field="tasks", hint="add a task"
            )
        if tasks is None:
            refuse_hopeless(self._plan.tasks)
        self._resolve()
        try:
            pools.ensure(self._connection, self._plan.pool, self._reveal)
            if recreate:
                lifecycle.delete(self._connection, self._plan.job_id, wait=True, timeout=_DELETED_WITHIN)
            resuming = self._create()
        except KeyboardInterrupt:
            raise KeyboardInterrupt(self._interrupted_early()) from None
        return self._fill(tasks, resuming=resuming, on_progress=on_progress)

    def _resolve(self) -> None:
        """Resolve what the plan refers to while nothing is made yet: a pool costs, a job takes its id.

        Secrets before containers, which resolving makes. Tasks from an iterable are resolved as they come.
        """
        bodies = (self._plan.pool.body, self._plan.job_body, *(task.body for task in self._plan.tasks))
        found = dict.fromkeys(chain.from_iterable(map(leaves, bodies)))
        for leaf in sorted(found, key=lambda leaf: isinstance(leaf, StorageRef)):
            self._reveal(leaf)

    def _reveal(self, body: Any) -> Any:
        return reveal(body, self._secrets, self._storage)

    def _create(self) -> bool:
        """Create the job; whether it was there already, from this same plan."""
        tries = 0
        body = self._reveal(self._plan.job_body)

        def create_job() -> None:
            nonlocal tries
            from azbatch_core.service.connect import sdk

            tries += 1
            sdk.request(self._connection.client, "POST", "/jobs", body=body)

        try:
            self._connection.call(create_job)
        except Conflict as error:
            ours = self._our_job() if error.code == "JobExists" else None
            if ours is None:
                raise self._taken(error) from error
            if not job_goes_on(ours):
                raise Conflict(
                    f"this plan was already submitted as {self._handle.handle}, which is over",
                    code=error.code,
                    request_id=error.request_id,
                    hint="plan the job again for another run",
                ) from error
            return tries == 1
        return False

    def _our_job(self) -> dict[str, Any] | None:
        """The job of this id, when it was made from this plan."""
        try:
            job = requests.get_job(self._connection, self._plan.job_id)
        except NotFound:
            return None
        return job if metadata_of(job).get(metadata_names.STAMP) == self._plan.stamp else None

    def _taken(self, error: Conflict) -> Conflict:
        hint = "leave the id out for a unique one, or use recreate to replace the old job"
        return Conflict(
            f"there is another job {self._plan.job_id!r} on the account: {error.message}"
            if error.code == "JobExists"
            else error.message,
            code=error.code,
            details=error.details,
            request_id=error.request_id,
            hint=hint if error.code in {"JobExists", "JobBeingDeleted"} else error.hint,
            retryable=error.retryable,
        )

    def _fill(
        self,
        tasks: Iterable[TaskSpec] | None,
        *,
        resuming: bool,
        on_progress: Callable[[int], None] | None,
    ) -> Submission:
        # The plan may have been carried out before: the same stream must get the same ids again.
        self._plan.rewind()
        planned = (self._wanted(task.id, task.body) for task in self._plan.tasks)
        streamed = (self._plan_one(index, spec) for index, spec in enumerate(tasks or ()))
        adder = BulkAdd(
            JobChannel(self._connection, self._plan.job_id),
            resuming=resuming,
            on_progress=on_progress,
            sleep=self._connection.clock.sleep,
        )
        outcome = adder.run(chain(planned, streamed))
        # After trouble the rest of the spec's own tasks still gets its answers; a stream is left alone.
        results = [*outcome.results, *self._unsent(len(outcome.results))]
        submission = Submission(self._handle, results)
        if isinstance(outcome.fatal, KeyboardInterrupt):
            raise KeyboardInterrupt(self._interrupted(submission)) from None
        if outcome.fatal is None and results and not resuming and all(map(_never_sent, results)):
            lifecycle.delete(self._connection, self._plan.job_id)
            raise self._nothing(submission)
        if outcome.fatal is not None or submission.failed:
            raise self._incomplete(submission, outcome.fatal) from outcome.fatal
        if not results:
            lifecycle.delete(self._connection, self._plan.job_id)
            raise SpecError("there were no tasks to add; the empty job was removed again", field="tasks")
        self._let_it_end(submission)
        return submission

    def _wanted(self, task_id: str, body: dict[str, Any]) -> Wanted:
        return Wanted(task_id, self._reveal(body))

    def _plan_one(self, index: int, spec: TaskSpec) -> Wanted | TaskAddResult:
        try:
            planned = self._plan.plan_task(spec)
        except SpecError as error:
            return refused_spec(spec.id or f"tasks[{index}]", error)
        return self._wanted(planned.id, planned.body)

    def _unsent(self, taken: int) -> Iterator[TaskAddResult]:
        for task in self._plan.tasks[taken:]:
            yield TaskAddResult(task.id, "failed", NOT_SENT)

    def _let_it_end(self, submission: Submission) -> None:
        """From now on the job ends when its tasks are complete, and frees its place in the quota."""
        body = {"onAllTasksComplete": "terminatejob"}
        try:
            requests.send(self._connection, "PATCH", "jobs", self._plan.job_id, body=body)
        except Conflict as error:
            # Somebody ended it meanwhile, or a failed task did: then it has ended, which is what we wanted.
            if error.code not in {"JobCompleted", "JobBeingTerminated"}:
                raise self._open(submission, error) from error
        except AzBatchError as error:
            raise self._open(submission, error) from error
        except KeyboardInterrupt:
            raise KeyboardInterrupt(self._interrupted(submission)) from None

    def _open(self, submission: Submission, error: AzBatchError) -> SubmissionError:
        return SubmissionError(
            f"the job {self._handle.handle} has all of its tasks ({submission.added:,}), but it stays open"
            f" when they are complete: {error.message}",
            submission=submission,
            hint=self._ways_out(),
        )

    def _incomplete(self, submission: Submission, fatal: BaseException | None) -> SubmissionError:
        failed = submission.failed
        why = getattr(fatal, "message", None) or str(fatal or "") or (failed[0].error if failed else "")
        what = _not_added(submission)
        if not failed:
            what = "the submission stopped before all tasks were taken"
        return SubmissionError(
            f"{what}: {_sentence(why) or type(fatal).__name__}. The job {self._handle.handle} is there with"
            f" {_tasks(submission.added)}, and stays open{_when_complete(submission)}",
            submission=submission,
            hint=self._ways_out(),
        )

    def _nothing(self, submission: Submission) -> SubmissionError:
        why = _sentence(submission.failed[0].error)
        return SubmissionError(
            f"{_not_added(submission)}: {why}. The empty job was removed again", submission=submission
        )

    def _interrupted(self, submission: Submission) -> str:
        return (
            f"interrupted: the job {self._handle.handle} is there with {submission.added} of its tasks, and"
            f" stays open{_when_complete(submission)}; {self._ways_out()}"
        )

    def _interrupted_early(self) -> str:
        pool = f" and the pool {self._plan.pool.id}" if self._plan.pool.action == "ensure" else ""
        return (
            f"interrupted: the job {self._handle.handle}{pool} may or may not be there, without tasks;"
            f" azbatch delete {self._handle.handle} removes the job"
        )

    def _ways_out(self) -> str:
        handle = self._handle.handle
        return f"azbatch cancel {handle} ends it, azbatch delete {handle} removes it"


def _never_sent(result: TaskAddResult) -> bool:
    """Whether it was refused here, so that it cannot be in the job."""
    return result.status == "failed" and result.code in {TOO_LARGE, NOT_A_SPEC}


def _tasks(count: int) -> str:
    return f"{count:,} task{'' if count == 1 else 's'}"


def _not_added(submission: Submission) -> str:
    """How many tasks were not added, of how many, and which."""
    failed = submission.failed
    named = ", ".join(result.id for result in failed[:_NAMED])
    more = f" and {len(failed) - _NAMED:,} more" if len(failed) > _NAMED else ""
    total = len(submission.results)
    of = f" of {total:,}" if total > 1 else ""
    was = "was" if len(failed) == 1 else "were"
    tasks = "task" if (total if of else len(failed)) == 1 else "tasks"
    return f"{len(failed):,}{of} {tasks} {was} not added ({named}{more})"


def _when_complete(submission: Submission) -> str:
    if submission.added == 1:
        return " when it is complete"
    return " when they are complete" if submission.added else ""


def _sentence(text: str | None) -> str:
    """What somebody said, to go on from: without the full stop at its end."""
    return (text or "").rstrip().rstrip(".")
