"""A handle on one job: watch it, read it, end it."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator
    from pathlib import Path

    from azbatch_core.service.connection import Connection
    from azbatch_core.service.states import (
        Explanation,
        FileInfo,
        JobStatus,
        LogChunk,
        LogStream,
        TaskState,
        TaskStatus,
    )


class JobHandle:
    """One job on one account. Making a handle asks the service nothing.

    Attributes:
        id: The job's id.
        handle: ``<account>:<job id>``.
    """

    def __init__(self, connection: Connection, job_id: str) -> None:
        self._connection = connection
        self.id = job_id

    @property
    def handle(self) -> str:
        """``<account>:<job id>``: what `AzureBatch.job` and the command line take."""
        return f"{self._connection.account.name}:{self.id}"

    def status(self) -> JobStatus:
        """Look at the job and its tasks once.

        Raises:
            NotFound: There is no such job.
        """
        raise NotImplementedError

    def wait(
        self, timeout: float | None = None, on_update: Callable[[JobStatus], None] | None = None
    ) -> JobStatus:
        """Wait until the job is over or no task of it can run any more; say how it ended.

        A failed job is an answer, not an exception. `on_update` is called when the status changed.

        Args:
            timeout: Seconds; None waits as long as it takes.
            on_update: Called in this thread with each status that differs from the one before.

        Raises:
            WaitTimeout: The deadline passed; the job goes on.
            NotFound: There is no such job (it was deleted while waiting, for instance).
        """
        raise NotImplementedError

    def result(self, timeout: float | None = None) -> JobStatus:
        """Like `wait`, but raise when the job did not succeed.

        Raises:
            JobFailed: The job ended without success; carries the status.
        """
        raise NotImplementedError

    def tasks(self, states: Collection[TaskState] | None = None) -> Iterator[TaskStatus]:
        """Every task, or those in the given states, in the service's order."""
        raise NotImplementedError

    def logs(
        self, task_id: str | None = None, stream: LogStream = "stdout", *, follow: bool = False
    ) -> Iterator[LogChunk]:
        """The output of a task, or of every task of the job.

        With `follow`, goes on until the task (the job) is over and every last byte was read. Without it,
        gives what is there now. Files that are gone with their node are read from the storage copy that the
        job's own output files made, if there is one; otherwise a notice says why they are gone.

        Raises:
            NotFound: There is no such job or task.
        """
        raise NotImplementedError

    def cancel(self) -> None:
        """End the job: running tasks are ended, the others never start; the record stays.

        Cancelling a job that is over, or that is not there any more, is fine.
        """
        raise NotImplementedError

    def delete(self, *, wait: bool = False, timeout: float = 600.0) -> None:
        """Remove the job, its tasks and their files. A job that is not there is fine.

        Args:
            wait: Return when the job is gone, not when its deletion has begun.
            timeout: Bound of that wait, in seconds.

        Raises:
            WaitTimeout: The job was still being deleted at the bound.
        """
        raise NotImplementedError

    def why(self) -> list[Explanation]:
        """Why tasks wait, cannot run, or failed; an empty list when there is nothing to explain."""
        raise NotImplementedError

    def files(self, task_id: str) -> Iterator[FileInfo]:
        """The files of a task on its node, subfolders included.

        Raises:
            NotFound: No such job or task, or its files are gone.
            Conflict: The task has not run, so it has no files.
        """
        raise NotImplementedError

    def download(self, task_id: str, path: str, dest: Path) -> None:
        """Copy one file of a task to `dest` (a file, or a folder that exists).

        The destination appears only once it is complete.

        Raises:
            NotFound: No such file.
        """
        raise NotImplementedError
