"""AzureBatch: the front door. Thin over plan and service.

with AzureBatch() as batch:
    submission = batch.submit(JobSpec(name="hello", tasks=[TaskSpec(command=["echo", "hi"])]))
    print(submission.job.wait().state)
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from azbatch_core.errors import ConfigurationError
from azbatch_core.service.accounts.profiles import AccountEntry, list_accounts, load_account
from azbatch_core.service.connect.connection import Connection
from azbatch_core.service.connect.credentials import Credential
from azbatch_core.service.handle import JobHandle
from azbatch_core.service.job_names import split_handle
from azbatch_core.service.manage import lifecycle

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from datetime import datetime
    from pathlib import Path
    from types import TracebackType

    from typing_extensions import Self

    from azbatch_core.plan import Plan
    from azbatch_core.service.manage.many_jobs import JobsWatch
    from azbatch_core.service.states import Submission
    from azbatch_core.service.summaries import AccountCheck, JobPhase, JobSummary, NodeSummary, PoolSummary
    from azbatch_core.specs import AccountSpec, JobSpec, TaskSpec

__all__ = ["AccountEntry", "AzureBatch", "Credential", "JobHandle", "list_accounts", "load_account"]


class AzureBatch:
    """An Azure Batch account, real or local.

    Args:
        account: The name of a profile, or an `AccountSpec`; None takes the configured default, else
            ``local``. Nothing is asked of the service before the first call that needs it.
        credential: Used in place of the account's own, for storage and Key Vault too: a token credential (an
            object with ``get_token``, such as those of azure-identity), or an ``AzureNamedKeyCredential``.

    Raises:
        ConfigurationError: There is no such profile, or it is wrong; the credential is of another kind.
    """

    def __init__(
        self, account: str | AccountSpec | None = None, *, credential: Credential | None = None
    ) -> None:
        # A name is looked up now, so that a wrong one is an error here; a service is asked for nothing.
        self._connection = Connection(
            load_account(account) if account is None or isinstance(account, str) else account,
            credential=credential,
        )

    @property
    def account(self) -> AccountSpec:
        """The account in use."""
        return self._connection.account

    def plan(self, job: JobSpec, *, streaming: bool = False) -> Plan:
        """Work out exactly what submitting the job would send. Looks the named pool up; changes nothing.

        Args:
            job: What is asked for.
            streaming: More tasks will come through the `tasks` of `submit`.

        Raises:
            SpecError: The job cannot run as asked.
        """
        from azbatch_core.plan import plan
        from azbatch_core.service.accounts import facts

        return plan(job, facts.gather(self._connection, job), streaming=streaming)

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
            ConfigurationError: The plan was made for another account.
            Conflict: A job of that id exists.
            QuotaExceeded: A limit of the account.
        """
        from azbatch_core.plan import Plan
        from azbatch_core.service.submit.submitter import Submitter

        plan = job if isinstance(job, Plan) else self.plan(job, streaming=tasks is not None)
        return Submitter(self._connection, plan).run(tasks, recreate=recreate, on_progress=on_progress)

    def stage(self, content: Path | bytes, container: str, name: str, *, replace: bool = False) -> bool:
        """Put a file into a container of the account's own storage, for tasks to read; whether it was sent.

        The container is made when it does not exist. A blob of that name and length is taken for the content
        itself and nothing is sent, so make the name of the content, or ask for `replace`.

        Args:
            content: The file, or bytes, which then touch no disk of this machine.
            container: What `ResourceFile.container` says then.
            name: The blob's name.
            replace: Send it whatever is there, and overwrite that.

        Raises:
            SpecError: The name of the container or the blob is empty.
            ConfigurationError: The account has no storage.
            AzBatchError: The storage is out of reach, or nobody here may write to it.
            OSError: The file cannot be read.
        """
        from azbatch_core.service.submit import staging

        return staging.stage(self._connection, content, container, name, replace=replace)

    def staged(self, container: str, name: str) -> bytes | None:
        """What a blob of the account's own storage holds; None where there is no such blob or container.

        It is read into memory whole.

        Raises:
            SpecError: The name of the container or the blob is empty.
            ConfigurationError: The account has no storage.
            AzBatchError: The storage is out of reach, or nobody here may read from it.
        """
        from azbatch_core.service.submit import staging

        return staging.staged(self._connection, container, name)

    def unstage(self, container: str, prefix: str) -> int:
        """Delete the blobs of a container of the account's own storage whose names start so.

        A request for each blob, with its snapshots. The container stays. That there is none, or no such
        blob, is fine. After an error it can be called again: some of the blobs may be gone.

        Returns:
            How many blobs there were.

        Raises:
            SpecError: The name of the container or the prefix is empty.
            ConfigurationError: The account has no storage.
            AzBatchError: The storage is out of reach, or nobody here may list it or delete from it.
        """
        from azbatch_core.service.submit import staging

        return staging.unstage(self._connection, container, prefix)

    def job(self, job_id: str) -> JobHandle:
        """A handle on a job, by ``<job id>`` or ``<account>:<job id>``. Asks the service nothing.

        The ids of the jobs of a schedule hold a colon themselves: they need the account in front.

        Raises:
            ConfigurationError: The handle names another account.
            SpecError: There is no id in it.
        """
        account, name = split_handle(job_id)
        if account not in {None, self.account.name}:
            raise ConfigurationError(
                f"the job {job_id!r} is on the account {account!r}, and this is {self.account.name!r}",
                hint=f"AzureBatch({account!r}), or --account {account}",
            )
        return JobHandle(self._connection, name)

    def jobs(self, *, mine: bool = True, limit: int | None = None) -> Iterator[JobSummary]:
        """Jobs of the account, the newest first. Costs a request for each job that is taken.

        Args:
            mine: Only jobs that azbatch submitted for this user; False gives every job of the account.
            limit: At most so many; None gives all.
        """
        from azbatch_core.service.manage import jobs

        return jobs.summaries(self._connection, mine=mine, limit=limit)

    def job_phases(self, prefix: str) -> dict[str, JobPhase]:
        """What the service itself says of each job whose id starts so, by id; looks at no task.

        One request for 1,000 jobs, for a program that has many of them. The service compares ids without
        case and keeps their case; the ids here are as the jobs were created.

        Args:
            prefix: How the ids start; an empty one gives every job of the account.
        """
        from azbatch_core.service.manage import jobs

        return jobs.phases(self._connection, prefix)

    def pools(self) -> Iterator[PoolSummary]:
        """Every pool of the account, in the service's order."""
        from azbatch_core.service.manage import pools

        return pools.summaries(self._connection)

    def pool(self, pool_id: str) -> PoolSummary:
        """One pool of the account.

        Raises:
            NotFound: There is no such pool.
        """
        from azbatch_core.service.manage import pools

        return pools.find(self._connection, pool_id)

    def resize_pool(
        self, pool_id: str, *, nodes: int | None = None, spot_nodes: int | None = None, timeout: float = 120.0
    ) -> None:
        """Ask for other numbers of nodes; returns once the service has accepted, not when they are there.

        A change of its size that is under way is waited for. Running tasks on nodes that are taken away go
        back to the queue.

        Args:
            pool_id: The pool.
            nodes: Dedicated nodes to have; None leaves their number as it is.
            spot_nodes: Spot nodes to have; None leaves their number as it is.
            timeout: Bound of that wait, in seconds.

        Raises:
            NotFound: There is no such pool.
            SpecError: A number is negative, or none is given.
            Conflict: A formula decides on the pool's size, or the pool is being deleted.
            WaitTimeout: Another change was still under way at the bound.
            QuotaExceeded: A limit of the account.
        """
        from azbatch_core.service.manage import pools

        pools.resize(self._connection, pool_id, nodes=nodes, spot_nodes=spot_nodes, timeout=timeout)

    def delete_pool(self, pool_id: str, *, wait: bool = False, timeout: float = 900.0) -> None:
        """Delete a pool. Running tasks go back to the queue. A pool that is not there is fine."""
        lifecycle.delete_pool(self._connection, pool_id, wait=wait, timeout=timeout)

    def nodes(self, pool_id: str) -> Iterator[NodeSummary]:
        """The nodes of a pool.

        Raises:
            NotFound: There is no such pool.
        """
        from azbatch_core.service.manage import pools

        return pools.nodes(self._connection, pool_id)

    def running_jobs(self, pool_id: str) -> frozenset[str]:
        """The ids of the jobs that have a task running on a node of the pool now.

        One request for 1,000 nodes, and none for a job. The source is each node's `recentTasks`: its latest
        ten tasks by when they began or ended, and since version 1.10.7 of Batch's agent (2023) perhaps more;
        how many more is not documented. So a job that is named runs, but where more than ten tasks have begun
        or ended on a node since one began, that one's job may be missing; with one task slot, none is.

        Raises:
            NotFound: There is no such pool.
        """
        from azbatch_core.service.manage import pools

        return pools.running_jobs(self._connection, pool_id)

    def watch_jobs(self, prefix: str, *, interval: float = 2.0) -> JobsWatch:
        """A look at all jobs whose ids start so, for a program that asks about each of them again and again.

        Args:
            prefix: How the ids start.
            interval: Seconds that an answer of the service is good for.
        """
        from azbatch_core.service.manage.many_jobs import JobsWatch

        return JobsWatch(self._connection, prefix, interval=interval)

    def check(self) -> AccountCheck:
        """Try the account: reach it, authenticate, list. Problems are items of the answer, not exceptions."""
        from azbatch_core.service.accounts.check import check

        return check(self._connection)

    def virtual_time(self) -> datetime | None:
        """What time it is for a local service whose clock is moved by hand; None for all other services."""
        from azbatch_core.service.documents.virtual_time import virtual_time

        return virtual_time(self._connection)

    def close(self) -> None:
        """Close the connections. The client cannot be used afterwards."""
        self._connection.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()
