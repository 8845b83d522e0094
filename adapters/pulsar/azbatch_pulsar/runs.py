"""The runs of one Galaxy on one account: put on Batch, watched together, ended, removed.

However many runs there are, asking how they stand costs one listing of jobs for each interval, and one of the
nodes of a pool while some of its runs have not been seen running.
"""

from __future__ import annotations

import json
import logging
import threading
import time
from typing import TYPE_CHECKING, Any, Final, TypeVar

import tenacity

from azbatch_core.errors import AzBatchError, Conflict, NotFound, QuotaExceeded, ServiceUnavailable
from azbatch_pulsar import job_ids
from azbatch_pulsar.compat import status
from azbatch_pulsar.jobs import files_of, job_of, result_folder
from azbatch_pulsar.results import conclude, going_on

if TYPE_CHECKING:
    from collections.abc import Callable

    from azbatch_core import AzureBatch, JobPhase
    from azbatch_pulsar.jobs import Launch
    from azbatch_pulsar.results import Ending

T = TypeVar("T")
LOG: Final = logging.getLogger("azbatch")
INTERVAL: Final = 2.0
"""Seconds that a listing is good for."""
PATIENCE: Final = 600.0
"""Seconds that a launch tries again, while the account is full of jobs or the service is away."""


class Runs:
    """One Galaxy's runs on one account. Threads may share it.

    Args:
        batch: The account.
        instance: The Galaxy, as in the ids of its jobs.
        interval: Seconds that a listing is good for.
        patience: Seconds that a launch tries again for what may pass.
        clock: Seconds that only grow.
        sleep: Waits so many seconds.
    """

    def __init__(
        self,
        batch: AzureBatch,
        instance: str,
        *,
        interval: float = INTERVAL,
        patience: float = PATIENCE,
        clock: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self._batch = batch
        self._prefix = job_ids.prefix(instance)
        self._interval = interval
        self._patience = patience
        self._clock = clock
        self._sleep = sleep
        self._lock = threading.RLock()
        self._phases: dict[str, JobPhase] = {}
        self._listed = float("-inf")
        self._failed: tuple[float, AzBatchError | None] = (float("-inf"), None)
        self._nodes: dict[str, tuple[float, frozenset[str]]] = {}
        self._seen_running: set[str] = set()
        self._endings: dict[str, Ending] = {}

    def choose(self, first: str, container: str) -> str:
        """The id of the run that a launch of the job is for.

        A run that goes on, or ended well, is the one that is asked for: the launch came twice. After one that
        failed, Galaxy submits the job again: a new run, with an id of its own.

        Args:
            first: The id of the job's first run.
            container: Where runs leave what they have to say.

        Raises:
            AzBatchError: Batch cannot be asked, not within the bound either.
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
        """Have the run on Batch; one that is there already is fine.

        Raises:
            AzBatchError: It cannot be put on Batch, or not within the bound.
        """
        self._patiently(lambda: self._launch(launch), launch.batch_id)

    def _patiently(self, act: Callable[[], T], batch_id: str) -> T:
        begun = self._clock()

        def log(state: tenacity.RetryCallState) -> None:
            why = state.outcome and state.outcome.exception()
            LOG.warning(
                "the job %s cannot be launched, will try again in %d s: %s",
                batch_id,
                state.upcoming_sleep,
                why,
            )

        retrying = tenacity.Retrying(
            retry=tenacity.retry_if_exception(_may_pass),
            wait=tenacity.wait_random_exponential(multiplier=2, max=60),
            stop=lambda state: self._clock() - begun + state.upcoming_sleep > self._patience,
            sleep=self._sleep,
            before_sleep=log,
            reraise=True,
        )
        return retrying(act)

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
        return job_ids.latest(first, self._list())

    def look(self, batch_id: str, job_id: str, container: str) -> dict[str, Any]:
        """Pulsar's status of a run: the full one when it is over.

        Args:
            batch_id: The Batch job.
            job_id: Pulsar's own id, for the answer.
            container: Where the run leaves what it has to say.

        Raises:
            AzBatchError: Batch or the storage cannot be asked: nothing is known of the run then.
        """
        with self._lock:
            ending = self._endings.get(batch_id)
            if ending is not None:
                return dict(ending.status)
            phase = self._list().get(batch_id) or self._fresh().get(batch_id)
            if phase is not None and phase.open:
                word = status.RUNNING if self._is_running(phase) else status.QUEUED
                return going_on(job_id, word)
        if phase is not None and phase.state == "terminating" and self._full(batch_id, container) is None:
            return going_on(job_id, status.RUNNING)  # why it ends is told when it has
        ending = self._conclude(batch_id, job_id, container)
        with self._lock:
            self._endings[batch_id] = ending
        return dict(ending.status)

    def ending(self, batch_id: str) -> Ending | None:
        """The end of a run, where `look` has seen it."""
        return self._endings.get(batch_id)

    def cancel(self, batch_id: str, container: str) -> None:
        """End a run. One that is over, or not there, is fine."""
        self._batch.job(batch_id).cancel()
        self._batch.unstage(container, f"{batch_id}/")

    def remove(self, batch_id: str, container: str) -> None:
        """Remove a run with all that it left. One that is not there is fine."""
        self._batch.unstage(container, f"{batch_id}/")
        self._batch.unstage(container, f"{result_folder(batch_id)}/")
        self._batch.job(batch_id).delete()
        with self._lock:
            self._endings.pop(batch_id, None)
            self._seen_running.discard(batch_id)

    def _list(self) -> dict[str, JobPhase]:
        return self._phases if self._clock() - self._listed < self._interval else self._fresh()

    def _fresh(self) -> dict[str, JobPhase]:
        moment, error = self._failed
        if error is not None and self._clock() - moment < self._interval:
            raise error  # each try takes long while the service is away: one is enough for all clients
        try:
            self._phases = self._batch.job_phases(self._prefix)
        except AzBatchError as failed:
            self._failed = self._clock(), failed
            raise
        self._listed = self._clock()
        return self._phases

    def _is_running(self, phase: JobPhase) -> bool:
        """Whether a task of the job was seen running, now or before."""
        if phase.id not in self._seen_running and phase.pool_id is not None:
            self._seen_running |= self._running_on(phase.pool_id)
        return phase.id in self._seen_running

    def _running_on(self, pool_id: str) -> frozenset[str]:
        asked, found = self._nodes.get(pool_id, (float("-inf"), frozenset()))
        if self._clock() - asked >= self._interval:
            try:
                found = self._batch.running_jobs(pool_id)
            except NotFound:
                found = frozenset()
            self._nodes[pool_id] = (self._clock(), found)
        return found

    def _conclude(self, batch_id: str, job_id: str, container: str) -> Ending:
        """What is known of a run that is over; its files, which hold keys, are removed."""
        handle = self._batch.job(batch_id)
        try:
            job, tasks = handle.look()
        except NotFound:
            return conclude(job_id, None, (), full=self._full(batch_id, container), outcome=None)
        ending = conclude(
            job_id,
            job,
            tasks,
            full=self._full(batch_id, container),
            outcome=self._outcome(batch_id, container),
        )
        self._batch.unstage(container, f"{batch_id}/")
        return ending

    def _full(self, batch_id: str, container: str) -> dict[str, Any] | None:
        content = self._batch.staged(container, f"{result_folder(batch_id)}/status.json")
        return None if content is None else json.loads(content)

    def _outcome(self, batch_id: str, container: str) -> tuple[str, str] | None:
        content = self._batch.staged(container, f"{result_folder(batch_id)}/outcome")
        if content is None:
            return None
        word, _, text = content.decode(errors="replace").partition("\n")
        return word, text.strip()


def _may_pass(error: BaseException) -> bool:
    """Whether a launch can succeed later: the service is away, or the account has as many jobs as it may."""
    if isinstance(error, (QuotaExceeded, ServiceUnavailable)):
        return True
    return isinstance(error, AzBatchError) and error.retryable
