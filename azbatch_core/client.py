"""AzureBatch: the front door. Thin over plan and service.

with AzureBatch() as batch:
    submission = batch.submit(JobSpec(name="hello", tasks=[TaskSpec(command=["echo", "hi"])]))
    print(submission.job.wait().state)
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from azbatch_core.service.handle import JobHandle

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from types import TracebackType

    from typing_extensions import Self

    from azbatch_core.plan import Plan
    from azbatch_core.service.states import AccountCheck, JobSummary, NodeSummary, PoolSummary, Submission
    from azbatch_core.specs import AccountSpec, JobSpec, TaskSpec

__all__ = ["AzureBatch", "JobHandle"]


class AzureBatch:
    """An Azure Batch account, real or local.

    Args:
        account: The name of a profile, or an `AccountSpec`; None takes the configured default, else
            ``local``. Nothing is asked of the service before the first call that needs it.

    Raises:
        ConfigurationError: There is no such profile, or it is wrong.
    """

    def __init__(self, account: str | AccountSpec | None = None) -> None:
        raise NotImplementedError

    @property
    def account(self) -> AccountSpec:
        """The account in use."""
        raise NotImplementedError

    def plan(self, job: JobSpec) -> Plan:
        """Work out exactly what submitting the job would send. Looks the named pool up; changes nothing.

        Raises:
            SpecError: The job cannot run as asked.
        """
        raise NotImplementedError

    def submit(
        self,
        job: JobSpec | Plan,
        tasks: Iterable[TaskSpec] | None = None,
        *,
        recreate: bool = False,
        on_progress: Callable[[int], None] | None = None,
    ) -> Submission:
        """Create the pool if need be, the job, and its tasks; on return every task is in.

        Args:
            job: A spec, or the plan made from one (then exactly that plan is carried out).
            tasks: More tasks than those in the spec, taken one by one as they are sent: any iterable, of any
                length.
            recreate: Delete a job of the same id first and wait for that (for jobs with a fixed id).
            on_progress: Called with the number of tasks settled so far.

        Raises:
            SubmissionError: Some tasks were not added; the others are in, and the job is there.
            SpecError: The job has no tasks, or cannot run as asked.
            Conflict: A job of that id exists.
            QuotaExceeded: A limit of the account.
        """
        raise NotImplementedError

    def job(self, job_id: str) -> JobHandle:
        """A handle on a job, by ``<job id>`` or ``<account>:<job id>``. Asks the service nothing.

        Raises:
            ConfigurationError: The handle names another account.
        """
        raise NotImplementedError

    def jobs(self, *, mine: bool = True) -> Iterator[JobSummary]:
        """Jobs of the account, newest first as far as the service sorts them.

        Args:
            mine: Only jobs that azbatch submitted for this user; False gives every job of the account.
        """
        raise NotImplementedError

    def pools(self) -> Iterator[PoolSummary]:
        """Every pool of the account."""
        raise NotImplementedError

    def delete_pool(self, pool_id: str, *, wait: bool = False, timeout: float = 900.0) -> None:
        """Delete a pool. Running tasks go back to the queue. A pool that is not there is fine."""
        raise NotImplementedError

    def nodes(self, pool_id: str) -> Iterator[NodeSummary]:
        """The nodes of a pool.

        Raises:
            NotFound: There is no such pool.
        """
        raise NotImplementedError

    def check(self) -> AccountCheck:
        """Try the account: reach it, authenticate, list. Problems are items of the answer, not exceptions."""
        raise NotImplementedError

    def close(self) -> None:
        """Close the connections. The client cannot be used afterwards."""
        raise NotImplementedError

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()
