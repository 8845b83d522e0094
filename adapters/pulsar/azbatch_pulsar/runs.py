"""The runs of one Galaxy on one account: put on Batch, watched together, ended, removed."""

from __future__ import annotations

import json
import logging
import time
from typing import TYPE_CHECKING, Any, Final, TypeVar

import tenacity
from pulsar.managers import status

from azbatch_core.errors import AzBatchError, Conflict, NotFound, QuotaExceeded, ServiceUnavailable
from azbatch_pulsar import job_ids
from azbatch_pulsar.jobs import files_of, job_of, result_folder
from azbatch_pulsar.results import Ending, conclude

if TYPE_CHECKING:
    from collections.abc import Callable

    from azbatch_core import AzureBatch
    from azbatch_pulsar.jobs import Launch

T = TypeVar("T")
LOG: Final = logging.getLogger("azbatch")
PATIENCE: Final = 600.0
"""Seconds that a launch tries again, while the account is full of jobs or the service is away."""


class Runs:
    """One Galaxy's runs on one account. Threads may share it.

    Whatever asks Batch or the storage raises `AzBatchError` where it cannot: nothing is known then.

    Args:
        batch: The account.
        instance: The Galaxy, as in the ids of its jobs.
        patience: Seconds that a launch tries again for what may pass.
        clock: Seconds that only grow.
        sleep: Waits so many seconds.
    """

    def __init__(
        self,
        batch: AzureBatch,
        instance: str,
        *,
        patience: float = PATIENCE,
        clock: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self.watch = batch.watch_jobs(job_ids.prefix(instance))
        self._batch = batch
        self._patience = patience
        self._clock = clock
        self._sleep = sleep
        self._endings: dict[str, Ending] = {}

    def choose(self, first: str, container: str) -> str:
        """The id of the run that a launch of the job is for.

        A run that goes on, or ended well, is the one that is asked for: the launch came twice. After one that
        failed, Galaxy submits the job again: a new run, with an id of its own.
        """

        def look() -> str:
            taken = self._batch.job_phases(first)
            found = job_ids.latest(first, taken)
            if found not in taken or taken[found].open:
                return found
            ending = self._conclude(found, first, container)
            went_well = ending.reason is None and ending.status.get("returncode") == 0
            return found if went_well else job_ids.next_id(first, taken)

        return self._patiently(look, first)

    def launch(self, launch: Launch) -> None:
        """Have the run on Batch; one that is there already is fine. A failure leaves no key in storage."""
        try:
            self._patiently(lambda: self._launch(launch), launch.batch_id)
        except Exception:
            self._withdraw(launch)
            raise

    def _withdraw(self, launch: Launch) -> None:
        container, folder = launch.destination.storage_container, f"{launch.batch_id}/"
        try:
            self._batch.unstage(container, folder)
        except AzBatchError as error:
            LOG.warning("keys may stay in storage, in %s/%s: %s", container, folder, error)

    def _patiently(self, act: Callable[[], T], batch_id: str) -> T:
        began = self._clock()

        def say(state: tenacity.RetryCallState) -> None:
            why = state.outcome and state.outcome.exception()
            level = logging.WARNING if state.attempt_number == 1 else logging.DEBUG
            LOG.log(
                level, "%s cannot be launched, is tried for up to %d s: %s", batch_id, self._patience, why
            )

        return tenacity.Retrying(
            retry=tenacity.retry_if_exception(_may_pass),
            wait=tenacity.wait_random_exponential(multiplier=2, max=60),
            stop=lambda state: self._clock() - began + state.upcoming_sleep > self._patience,
            sleep=self._sleep,
            before_sleep=say,
            reraise=True,
        )(act)

    def _launch(self, launch: Launch) -> None:
        try:
            self._submit(launch)
        except Conflict as error:
            found = self._batch.job_phases(launch.batch_id).get(launch.batch_id)
            if found is None:
                raise
            LOG.info("the job %s is there already: %s", launch.batch_id, error.message)
            if found.open and not self._batch.job(launch.batch_id).look()[1]:
                self._submit(launch, recreate=True)  # whoever made it did not get as far as its tasks

    def _submit(self, launch: Launch, *, recreate: bool = False) -> None:
        container = launch.destination.storage_container
        for name, content in files_of(launch).items():
            self._batch.stage(content, container, f"{launch.batch_id}/{name}", replace=True)
        self._batch.submit(job_of(launch), recreate=recreate)

    def latest(self, first: str) -> str:
        """The id of the last run of a job, of which only the first one's id is known."""
        return job_ids.latest(first, self.watch.phases())

    def look(self, batch_id: str, job_id: str, container: str) -> Ending | str:
        """How a run stands: Pulsar's word while it goes on, and then how it ended.

        Args:
            batch_id: The Batch job.
            job_id: Pulsar's own id.
            container: Where the run leaves what it has to say.
        """
        if batch_id in self._endings:
            return self._endings[batch_id]
        phase = self.watch.find(batch_id)
        if phase is not None and phase.open:
            return str(status.RUNNING if self.watch.is_running(phase) else status.QUEUED)
        if phase is not None and phase.state == "terminating" and self._full(batch_id, container) is None:
            return str(status.RUNNING)  # why it ends is told when it has
        ending = self._endings[batch_id] = self._conclude(batch_id, job_id, container)
        return ending

    def cancel(self, batch_id: str, container: str) -> None:
        """End a run. One that is over, or not there, is fine."""
        self._batch.job(batch_id).cancel()
        self._batch.unstage(container, f"{batch_id}/")

    def remove(self, batch_id: str, container: str) -> None:
        """Remove a run with all that it left. One that is not there is fine."""
        self._batch.unstage(container, f"{batch_id}/")
        self._batch.unstage(container, f"{result_folder(batch_id)}/")
        self._batch.job(batch_id).delete()
        self._endings.pop(batch_id, None)
        self.watch.forget(batch_id)

    def _conclude(self, batch_id: str, job_id: str, container: str) -> Ending:
        """What is known of a run that is over; its files, which hold keys, are removed."""
        try:
            job, tasks = self._batch.job(batch_id).look()
        except NotFound:
            return conclude(job_id, None, (), full=self._full(batch_id, container), outcome=None)
        full, outcome = self._full(batch_id, container), self._left(batch_id, container, "outcome")
        ending = conclude(job_id, job, tasks, full=full, outcome=outcome)
        self._batch.unstage(container, f"{batch_id}/")
        return ending

    def _full(self, batch_id: str, container: str) -> dict[str, Any] | None:
        content = self._left(batch_id, container, "status.json")
        return None if content is None else json.loads(content)

    def _left(self, batch_id: str, container: str, name: str) -> str | None:
        content = self._batch.staged(container, f"{result_folder(batch_id)}/{name}")
        return None if content is None else content.decode(errors="replace")


def _may_pass(error: BaseException) -> bool:
    """Whether a launch can succeed later: the service is away, or the account has as many jobs as it may."""
    waits = isinstance(error, (QuotaExceeded, ServiceUnavailable))
    return waits or (isinstance(error, AzBatchError) and error.retryable)
