"""Watching jobs: one listing for all who wait for the same job, and the end of the wait.

A look asks for the job and, of a job with many tasks, only for those whose state changed since the last look.
The counts that the service offers lag behind; nothing here trusts them: an end is confirmed by a full list.
"""

from __future__ import annotations

import threading
import weakref
from dataclasses import dataclass, field
from datetime import timedelta
from typing import TYPE_CHECKING, Any

from azbatch_core.errors import AzBatchError, NotFound, WaitTimeout
from azbatch_core.service.documents import requests
from azbatch_core.service.documents.wire import moment
from azbatch_core.service.states import TaskState
from azbatch_core.service.watch import pool_health
from azbatch_core.service.watch.gangs import Gangs
from azbatch_core.service.watch.seen import SeenTasks
from azbatch_core.service.watch.status import TASK_SELECT, job_goes_on, job_status

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping, Sequence

    from azbatch_core.service.connect.connection import Connection
    from azbatch_core.service.states import JobStatus, TaskStatus

# Below this a full list is as cheap as a filtered one.
_SMALL = 100
# Seconds without any change before the pool is looked at: a new one takes a moment to begin its first resize.
_QUIET = 10.0
_LOCAL_QUIET = 0.3
# Seconds by which a change may be listed later than it says it happened: a node reports with its own clock
# and when it can; on this machine there is one clock, and one process that keeps it.
_MARGIN = 60.0
_LOCAL_MARGIN = 0.05


@dataclass(frozen=True)
class Intervals:
    """How long to wait between looks, in seconds: from `first`, times `factor`, up to `longest`."""

    first: float
    longest: float
    factor: float = 1.25

    @classmethod
    def of(cls, connection: Connection) -> Intervals:
        """A service on this machine is asked often, a real one rarely."""
        return cls(0.05, 1.0, 1.2) if connection.is_local else cls(0.5, 10.0)


@dataclass(frozen=True)
class Snapshot:
    """A job as it was at one look.

    Attributes:
        job: The job's document.
        tasks: How every task stood, in the service's order.
        full: Whether every task was just read, not only those that changed.
        stuck: Why no queued task can ever start; None while there is no such verdict.
        version: Changes whenever a task or the job did.
    """

    job: Mapping[str, Any]
    tasks: Sequence[TaskStatus]
    full: bool
    stuck: str | None
    version: int
    _by_id: dict[str, TaskStatus] = field(default_factory=dict, repr=False, compare=False)

    def task(self, task_id: str) -> TaskStatus:
        """One task; ids compare without case.

        Raises:
            NotFound: There is no such task in the job.
        """
        if not self._by_id:
            self._by_id.update({task.id.lower(): task for task in self.tasks})
        found = self._by_id.get(task_id.lower())
        if found is None:
            raise NotFound(f"the job {self.job.get('id')} has no task {task_id!r}", code="TaskNotFound")
        return found

    def status(self, handle: str, task_ids: Collection[str] | None = None) -> JobStatus:
        """The job's status, judged by all of its tasks or by some."""
        tasks = self.tasks if task_ids is None else [self.task(task_id) for task_id in task_ids]
        return job_status(handle, self.job, tasks, stuck=self.stuck)


class JobWatch:
    """Looks at one job for everybody in this process who waits for it. May be used from several threads.

    Attributes:
        gangs: Reads the members of its gangs.
    """

    def __init__(self, connection: Connection, job_id: str) -> None:
        self._connection = connection
        self._job_id = job_id
        self.gangs = Gangs(connection, job_id)
        self._lock = threading.Lock()
        self._seen = SeenTasks()
        self._statuses: Sequence[TaskStatus] = ()
        self._snapshot: Snapshot | None = None
        self._looked_at = 0.0
        self._changed_at = 0.0
        self._quiet = _LOCAL_QUIET if connection.is_local else _QUIET
        self._verdict: str | None = None
        self._margin = timedelta(seconds=_LOCAL_MARGIN if connection.is_local else _MARGIN)

    def look(self, max_age: float = 0.0, *, full: bool = False) -> Snapshot:
        """The job now, or as somebody saw it not longer than `max_age` seconds ago.

        Args:
            max_age: Seconds.
            full: Every task must have been read anew.

        Raises:
            NotFound: There is no such job.
        """
        with self._lock:
            known = self._snapshot
            age = self._connection.clock.monotonic() - self._looked_at
            if known is None or age > max_age or (full and not known.full):
                known = self._snapshot = self._read(full=full)
                self._looked_at = self._connection.clock.monotonic()
            return known

    def _read(self, *, full: bool) -> Snapshot:
        before = self._snapshot
        job = requests.get_job(self._connection, self._job_id)
        ended = before is not None and job_goes_on(before.job) and not job_goes_on(job)
        everything = full or ended or before is None or len(self._seen) <= _SMALL
        changed = self._take(everything=everything)
        if before is None or changed or before.job != job:
            self._statuses = self._seen.statuses(job)
        # Which member failed first may be listed later than the failure.
        tasks = self.gangs.blamed(self._statuses)
        if before is not None and not changed and before.job == job and tasks == before.tasks:
            tasks, version = before.tasks, before.version
        else:
            self._changed_at, self._verdict = self._connection.clock.monotonic(), None
            version = before.version + 1 if before else 0
        return Snapshot(job, tasks, everything, self._judge(job, tasks), version)

    def _take(self, *, everything: bool) -> bool:
        """Read tasks; whether any differs from what was known."""
        path = ("jobs", self._job_id, "tasks")
        if everything:
            return self._seen.replace(requests.listing(self._connection, *path, select=TASK_SELECT))
        since = self._since()
        return self._seen.update(
            requests.listing(self._connection, *path, select=TASK_SELECT, odata_filter=since)
        )

    def _since(self) -> str | None:
        """Tasks that changed lately, by the service's clock.

        The margin is for changes that nodes report late: their time of change is the node's.
        """
        latest = moment(self._seen.latest)
        if latest is None:
            return None
        return f"stateTransitionTime ge DateTime'{(latest - self._margin).strftime('%Y-%m-%dT%H:%M:%S.%fZ')}'"

    def _judge(self, job: Mapping[str, Any], tasks: Sequence[TaskStatus]) -> str | None:
        """A verdict counts once two looks in a row come to it; that the pool is gone counts at once."""
        quiet = self._connection.clock.monotonic() - self._changed_at
        if not job_goes_on(job):
            return None
        states = {task.state for task in tasks}
        if TaskState.QUEUED not in states or states & {TaskState.RUNNING, TaskState.PREPARING}:
            return None
        if str(job.get("state", "")).lower() in {"disabling", "disabled"}:
            return None
        if quiet < self._quiet:
            return self._gone(job)
        before = self._verdict
        queued = [task for task in tasks if task.state is TaskState.QUEUED]
        self._verdict = self._ask(pool_health.verdict, job, queued)
        if before == self._verdict:
            return self._verdict
        return self._gone(job) if self._verdict else None

    def _gone(self, job: Mapping[str, Any]) -> str | None:
        """That the pool is gone. A young job's own pool may be named before it can be seen."""
        created = moment(job.get("creationTime"))
        own_pool = bool((job.get("poolInfo") or {}).get("autoPoolSpecification"))
        if own_pool and created and self._connection.clock.now() - created < self._margin:
            return None
        return self._ask(pool_health.gone, job)

    def _ask(self, judge: Callable[..., str | None], *what: Any) -> str | None:
        try:
            return judge(self._connection, *what)
        except AzBatchError:
            # Not being able to see the pool says nothing about the job.
            return None


_WATCHES: weakref.WeakKeyDictionary[Connection, weakref.WeakValueDictionary[str, JobWatch]] = (
    weakref.WeakKeyDictionary()
)
_WATCHES_LOCK = threading.Lock()


def watch(connection: Connection, job_id: str) -> JobWatch:
    """The watch of a job: the same one for all who hold it at the same time."""
    with _WATCHES_LOCK:
        of_connection = _WATCHES.setdefault(connection, weakref.WeakValueDictionary())
        found = of_connection.get(job_id.lower())
        if found is None:
            found = of_connection[job_id.lower()] = JobWatch(connection, job_id)
        return found


def wait(
    connection: Connection,
    job_id: str,
    handle: str,
    *,
    timeout: float | None = None,
    on_update: Callable[[JobStatus], None] | None = None,
    task_ids: Collection[str] | None = None,
    intervals: Intervals | None = None,
) -> JobStatus:
    """Wait for the end of a job, or of some of its tasks; how it ended.

    Args:
        connection: The account.
        job_id: The job.
        handle: What its status is called.
        timeout: Seconds; None for ever.
        on_update: Called with every status that differs from the last.
        task_ids: Wait for these tasks only; a neighbour's failure is then no matter.
        intervals: Between looks.

    Raises:
        WaitTimeout: The deadline passed.
        NotFound: There is no such job (any more), or no such task.
    """
    clock = connection.clock
    deadline = None if timeout is None else clock.monotonic() + timeout
    pace = intervals or Intervals.of(connection)
    interval = pace.first
    shared = watch(connection, job_id)
    last: JobStatus | None = None
    while True:
        # Looking at what somebody else saw half an interval ago lets many waiters share one look.
        snapshot = shared.look(interval / 2)
        status = snapshot.status(handle, task_ids)
        if status.state.final and not snapshot.full:
            status = shared.look(full=True).status(handle, task_ids)
        if status != last and on_update is not None:
            on_update(status)
        last = status
        if status.state.final:
            return status
        left = float("inf") if deadline is None else deadline - clock.monotonic()
        if left <= 0:
            raise WaitTimeout(
                f"the job {job_id} is still {status.state} after {timeout:g} s",
                hint=f"it goes on: azbatch wait {handle}",
            )
        clock.sleep(min(interval, left))
        interval = min(pace.longest, interval * pace.factor)
