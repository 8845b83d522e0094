"""How many jobs of one account stand, at a cost that does not grow with their number."""

from __future__ import annotations

import threading
import time
from typing import TYPE_CHECKING, Final

from azbatch_core.errors import AzBatchError, NotFound
from azbatch_core.service.manage import jobs, pools

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from azbatch_core.service.connect.connection import Connection
    from azbatch_core.service.summaries import JobPhase

_NEVER: Final = float("-inf")


class JobsWatch:
    """The jobs of an account whose ids start alike. Threads may share it.

    Asking costs one listing of jobs for each interval, and one of the nodes of a pool while some of its jobs
    have not been seen running. While the service is away, one failure an interval is that of all who ask.

    Args:
        connection: The account.
        prefix: How the ids start.
        interval: Seconds that a listing, or its failure, is good for.
        clock: Seconds that only grow.
    """

    def __init__(
        self,
        connection: Connection,
        prefix: str,
        *,
        interval: float,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.interval = interval
        self.clock = clock
        self._connection = connection
        self._prefix = prefix
        self._lock = threading.RLock()
        self._phases: dict[str, JobPhase] = {}
        self._listed = _NEVER
        self._failed: tuple[float, AzBatchError | None] = (_NEVER, None)
        self._nodes: dict[str, tuple[float, frozenset[str]]] = {}
        self._seen_running: set[str] = set()

    def phases(self) -> Mapping[str, JobPhase]:
        """What the service says of each job, by id; at most one interval old.

        Raises:
            AzBatchError: The service cannot be asked: nothing is known then.
        """
        with self._lock:
            return self._phases if self._fresh(self._listed) else self._list()

    def find(self, job_id: str) -> JobPhase | None:
        """The same of one job; one that is not in the last listing is looked for in a new one."""
        with self._lock:
            return self.phases().get(job_id) or self._list().get(job_id)

    def is_running(self, phase: JobPhase) -> bool:
        """Whether a task of the job was seen running, now or before."""
        with self._lock:
            if phase.id not in self._seen_running and phase.pool_id is not None:
                self._seen_running |= self._running_on(phase.pool_id)
            return phase.id in self._seen_running

    def forget(self, job_id: str) -> None:
        """Keep nothing of a job that nobody asks about any more."""
        with self._lock:
            self._seen_running.discard(job_id)

    def _fresh(self, moment: float) -> bool:
        return self.clock() - moment < self.interval

    def _list(self) -> Mapping[str, JobPhase]:
        moment, error = self._failed
        if error is not None and self._fresh(moment):
            raise error  # each try takes long while the service is away
        try:
            self._phases = jobs.phases(self._connection, self._prefix)
        except AzBatchError as failed:
            self._failed = self.clock(), failed
            raise
        self._listed = self.clock()
        return self._phases

    def _running_on(self, pool_id: str) -> frozenset[str]:
        asked, found = self._nodes.get(pool_id, (_NEVER, frozenset()))
        if not self._fresh(asked):
            try:
                found = pools.running_jobs(self._connection, pool_id)
            except NotFound:
                found = frozenset()
            self._nodes[pool_id] = (self.clock(), found)
        return found
