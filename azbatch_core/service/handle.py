"""A handle on one job: watch it, read it, end it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from azbatch_core.errors import JobFailed, NotFound
from azbatch_core.service.documents import files, requests
from azbatch_core.service.manage import lifecycle
from azbatch_core.service.states import JobState
from azbatch_core.service.watch.watcher import wait, watch

if TYPE_CHECKING:
    import os
    from collections.abc import Callable, Collection, Iterator, Sequence
    from datetime import datetime

    from azbatch_core.service.connect.connection import Connection
    from azbatch_core.service.states import JobStatus, MemberStatus, TaskState, TaskStatus
    from azbatch_core.service.summaries import Explanation, FileInfo, LogChunk, LogStream
    from azbatch_core.service.watch.watcher import JobWatch


class JobHandle:
    """One job on one account. Making a handle asks the service nothing.

    A handle can be pickled: a connection and its secrets do not travel, so the copy opens the account of that
    name where it is first used.

    Attributes:
        id: The job's id.
        handle: ``<account>:<job id>``.
    """

    def __init__(self, connection: Connection, job_id: str) -> None:
        self._opened: Connection | None = connection
        self._account = connection.account.name
        self.id = job_id
        self._watching: JobWatch | None = None

    @property
    def _watch(self) -> JobWatch:
        """What is known of the job: kept, so that the next look need not begin anew."""
        if self._watching is None:
            self._watching = watch(self._connection, self.id)
        return self._watching

    @property
    def _connection(self) -> Connection:
        if self._opened is None:
            from azbatch_core.service.accounts.profiles import load_account
            from azbatch_core.service.connect.connection import Connection

            self._opened = Connection(load_account(self._account))
        return self._opened

    def __getstate__(self) -> dict[str, object]:
        return {**self.__dict__, "_opened": None, "_watching": None}

    def __copy__(self) -> JobHandle:
        return self

    def __deepcopy__(self, memo: object) -> JobHandle:
        return self

    @property
    def handle(self) -> str:
        """``<account>:<job id>``: what `AzureBatch.job` and the command line take."""
        return f"{self._account}:{self.id}"

    def __repr__(self) -> str:
        return f"JobHandle({self.handle!r})"

    def exists(self) -> bool:
        """Whether the service knows the job; one that is being deleted is still there."""
        try:
            requests.get_job(self._connection, self.id)
        except NotFound:
            return False
        return True

    def status(self, task_ids: Collection[str] | None = None) -> JobStatus:
        """Look at the job and its tasks once.

        One look cannot tell whether the pool will ever run what is queued: only `wait` says ``stuck`` for
        that.

        Args:
            task_ids: Judge by these tasks only, in a job that others share.

        Raises:
            NotFound: There is no such job or task.
        """
        return self._watch.look().status(self.handle, task_ids)

    def look(self, max_age: float = 0.0) -> tuple[JobStatus, Sequence[TaskStatus]]:
        """The job and every task of it, as they were at one moment.

        Args:
            max_age: Seconds. What this handle, or another in use in this process, saw of the job not longer
                ago is good enough, so that many who watch one job ask the service as often as one.

        Raises:
            NotFound: There is no such job.
        """
        seen = self._watch.look(max_age)
        return seen.status(self.handle), seen.tasks

    def documents(self) -> dict[str, Any]:
        """The job and its tasks as the service tells them, in JSON: ``{"job": {…}, "tasks": [{…}, …]}``.

        Raises:
            NotFound: There is no such job.
        """
        job = requests.send(self._connection, "GET", "jobs", self.id)
        return {"job": job, "tasks": list(requests.listing(self._connection, "jobs", self.id, "tasks"))}

    def wait(
        self,
        timeout: float | None = None,
        on_update: Callable[[JobStatus], None] | None = None,
        *,
        task_ids: Collection[str] | None = None,
    ) -> JobStatus:
        """Wait until the job is over or no task of it can run any more; say how it ended.

        A failed job is an answer, not an exception. `on_update` is called when the status changed.

        Args:
            timeout: Seconds; None waits as long as it takes.
            on_update: Called in this thread with each status that differs from the one before.
            task_ids: Wait for these tasks only, in a job that others share: their fate is the answer.

        Raises:
            WaitTimeout: The deadline passed; the job goes on.
            NotFound: There is no such job (it was deleted while waiting, for instance).
        """
        return wait(
            self._connection, self.id, self.handle, timeout=timeout, on_update=on_update, task_ids=task_ids
        )

    def result(
        self,
        timeout: float | None = None,
        on_update: Callable[[JobStatus], None] | None = None,
        *,
        task_ids: Collection[str] | None = None,
    ) -> JobStatus:
        """Like `wait`, but raise when the job (or the given tasks) did not succeed.

        Args:
            timeout: As for `wait`.
            on_update: As for `wait`.
            task_ids: As for `wait`.

        Raises:
            JobFailed: It ended without success; carries the status.
            WaitTimeout: As for `wait`.
            NotFound: As for `wait`.
        """
        status = self.wait(timeout, on_update, task_ids=task_ids)
        if status.state is not JobState.SUCCEEDED:
            ended = _ENDED.get(status.state, "did not succeed")
            raise JobFailed(
                f"the job {self.id} {ended}: {status.reason or 'no reason given'}",
                status=status,
                hint=f"azbatch why {self.handle}",
            )
        return status

    def tasks(self, states: Collection[TaskState] | None = None) -> Iterator[TaskStatus]:
        """Every task, or those in the given states, in the service's order."""
        for task in self._watch.look().tasks:
            if states is None or task.state in states:
                yield task

    def members(self, task_id: str, max_age: float = 0.0) -> tuple[MemberStatus, ...]:
        """How the members of a gang stand, by rank: as many as it has nodes. Empty for a plain task.

        Batch tells of the end of members a few seconds later than of that of their task.

        Args:
            task_id: The gang.
            max_age: Seconds, as for `look`.

        Raises:
            NotFound: There is no such job or task.
        """
        shared = self._watch
        return shared.gangs.members(shared.look(max_age).task(task_id), max_age)

    def logs(
        self,
        task_id: str | None = None,
        stream: LogStream = "stdout",
        *,
        follow: bool = False,
        member: int | None = None,
    ) -> Iterator[LogChunk]:
        """The output of a task, or of every task of the job; of gangs that of every member.

        With `follow`, goes on until the task (the job) is over and every last byte was read. Without it,
        gives what is there now. Files that are gone with their node are read from the storage copy that the
        job's own output files made, if there is one; otherwise a notice says why they are gone.

        Args:
            task_id: The task; None for all.
            stream: Which output.
            follow: Whether to go on until the end.
            member: Only this member's output, by its rank; of gangs only.

        Raises:
            NotFound: There is no such job, task or member.
        """
        from azbatch_core.service.output import logs

        return logs.read(self._connection, self.id, task_id, stream, follow=follow, member=member)

    def cancel(self) -> bool:
        """End the job: running tasks are ended, the others never start; the record stays.

        Cancelling a job that is over, or that is not there any more, is fine.

        Returns:
            False if there was nothing to end: it was over already, about to be, or not there.
        """
        return lifecycle.cancel(self._connection, self.id)

    def delete(self, *, wait: bool = False, timeout: float = 600.0) -> None:
        """Remove the job, its tasks and their files. A job that is not there is fine.

        Args:
            wait: Return when the job is gone, not when its deletion has begun.
            timeout: Bound of that wait, in seconds.

        Raises:
            WaitTimeout: The job was still being deleted at the bound.
        """
        lifecycle.delete(self._connection, self.id, wait=wait, timeout=timeout)

    def why(self) -> list[Explanation]:
        """Why tasks wait, cannot run, or failed; an empty list when there is nothing to explain."""
        from azbatch_core.service.watch.why import why

        return why(self._connection, self.id)

    def virtual_time(self) -> datetime | None:
        """As `AzureBatch.virtual_time`, of the job's account."""
        from azbatch_core.service.documents.virtual_time import virtual_time

        return virtual_time(self._connection)

    def files(self, task_id: str) -> Iterator[FileInfo]:
        """The files of a task on its node, subfolders included.

        Raises:
            NotFound: No such job or task, or its files are gone.
            Conflict: The task has not run, so it has no files.
        """
        return files.of_task(self._connection, self.id, task_id)

    def download(self, task_id: str, path: str, dest: str | os.PathLike[str]) -> Path:
        """Copy one file of a task to `dest` (a file, or a folder that exists); give the path of the copy.

        The destination appears only once it is complete.

        Raises:
            NotFound: No such job, task or file.
            SpecError: The path is a folder or leads out of the task's folder, or the folder of `dest` is not
                there.
            OSError: The destination cannot be written.
        """
        return files.download(self._connection, self.id, task_id, path, Path(dest))


_ENDED = {
    JobState.FAILED: "failed",
    JobState.CANCELLED: "was cancelled",
    JobState.STUCK: "is stuck",
    JobState.DELETING: "was deleted",
}
