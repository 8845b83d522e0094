"""The output of tasks: as it is now, or followed until the end.

Order of places: the node's file, then the copy that the task's own output files put into storage, then a
notice that says why there is nothing. A task that starts again (after losing its node, or a retry) starts its
output again.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from azbatch_core.errors import AzBatchError, NotFound
from azbatch_core.service.documents import requests
from azbatch_core.service.output import crowd
from azbatch_core.service.output.member_logs import GangLog
from azbatch_core.service.output.task_log import NEVER_STARTED, NodeFile, TaskLog
from azbatch_core.service.output.uploaded_logs import UploadedLogs
from azbatch_core.service.summaries import LogChunk
from azbatch_core.service.watch.watcher import Intervals, watch

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Sequence

    from azbatch_core.service.connect.connection import Connection
    from azbatch_core.service.output.task_log import NamedSource, OneStream
    from azbatch_core.service.states import TaskStatus
    from azbatch_core.service.summaries import LogStream
    from azbatch_core.service.watch.watcher import Snapshot


# Seconds between looks at files, however seldom the job is looked at: lines are to be seen within one.
_SHOWN_WITHIN = 0.7


class _Rescue:
    """What to do about output that is not on the node any more."""

    def __init__(self, connection: Connection, copies: UploadedLogs) -> None:
        self._connection = connection
        self._copies = copies

    def copy(self, task_id: str, stream: OneStream) -> NamedSource | None:
        """The copy in storage, if the task makes one."""
        return self._copies.find(task_id, f"{stream}.txt")

    def member_copy(
        self, task_id: str, stream: OneStream, rank: int, nodes: Collection[str]
    ) -> NamedSource | None:
        """The same of a member of a gang, which is or was on one of these nodes."""
        return self._copies.find_member(task_id, f"{stream}.txt", rank, nodes)

    def why_gone(self, task: TaskStatus) -> str:
        """Where the node's file went."""
        if not (task.pool_id and task.node_id):
            return "the task has no node any more"
        try:
            path = ("pools", task.pool_id, "nodes", task.node_id)
            node = requests.send(self._connection, "GET", *path, query={"$select": "state"})
        except NotFound:
            return "its node is gone"
        except AzBatchError as error:
            return f"its node cannot be asked ({error.message})"
        if str(node.get("state", "")).lower() not in {"idle", "running", "offline"}:
            return f"its node is {node.get('state')}"
        return "its retention time is over, or it was deleted"


def read(
    connection: Connection,
    job_id: str,
    task_id: str | None,
    stream: LogStream,
    *,
    follow: bool,
    member: int | None = None,
) -> Iterator[LogChunk]:
    """The output of one task or of every task, each task's chunks in order.

    Args:
        connection: The account.
        job_id: The job.
        task_id: None for every task.
        stream: Which output.
        follow: Whether to go on until the end.
        member: The rank of the member of a gang to read; None for all members. Plain tasks then have none.

    Raises:
        NotFound: No such job, task or member.
    """
    with UploadedLogs(connection, job_id) as copies:
        rescue = _Rescue(connection, copies)
        yield from _Reader(connection, job_id, stream, rescue, follow=follow, member=member).read(task_id)


class _Reader:
    """The logs that one call reads."""

    def __init__(
        self,
        connection: Connection,
        job_id: str,
        stream: LogStream,
        rescue: _Rescue,
        *,
        follow: bool,
        member: int | None,
    ) -> None:
        self._connection = connection
        self._job_id = job_id
        self._streams: tuple[OneStream, ...] = ("stdout", "stderr") if stream == "both" else (stream,)
        self._rescue = rescue
        self._follow = follow
        self._member = member
        self._crowd = crowd.of(connection)
        self._watch = watch(connection, job_id)
        self._logs: dict[str, TaskLog | GangLog] = {}

    def read(self, task_id: str | None) -> Iterator[LogChunk]:
        """The output of one task or of every task."""
        if not self._follow:
            yield from self._polled(task_id)
            return
        with self._crowd.joined():
            yield from self._polled(task_id)

    def _polled(self, task_id: str | None) -> Iterator[LogChunk]:
        pace = Intervals.of(self._connection)
        interval = pace.first
        while True:
            snapshot = self._watch.look(self._crowd.age(interval / 2))
            wanted = self._wanted(snapshot, task_id)
            over = not self._follow or _over(snapshot, wanted, task_id)
            news = False
            for task in sorted(wanted, key=_as_they_ended):
                for chunk in self._log(task).news(task):
                    news = True
                    yield chunk
            if over and not any(self._goes_on(task) for task in wanted):
                yield from _silent(wanted, task_id)
                return
            self._connection.clock.sleep(min(interval, _SHOWN_WITHIN))
            interval = pace.first if news else min(pace.longest, interval * pace.factor)

    def _wanted(self, snapshot: Snapshot, task_id: str | None) -> Sequence[TaskStatus]:
        tasks = snapshot.tasks if task_id is None else [snapshot.task(task_id)]
        if self._member is None:
            return tasks
        gangs = [task for task in tasks if task.nodes]
        if tasks and not gangs:
            what = "the job has no gang" if task_id is None else f"task {tasks[0].id} is no gang"
            raise NotFound(f"{what}, so it has no member {self._member}")
        return gangs

    def _log(self, task: TaskStatus) -> TaskLog | GangLog:
        log = self._logs.get(task.id)
        if log is None:
            path = ("jobs", self._job_id, "tasks", task.id, "files")
            own = {one: NodeFile(self._connection, *path, f"{one}.txt") for one in self._streams}
            log = self._logs[task.id] = (
                TaskLog(task.id, own, self._rescue)
                if task.nodes is None
                else GangLog(self._connection, self._watch.gangs, own, self._rescue, member=self._member)
            )
        return log

    def _goes_on(self, task: TaskStatus) -> bool:
        """Whether a gang is over, but Batch does not say yet of every member that it is."""
        return self._follow and task.state.final and not self._log(task).done


def _as_they_ended(task: TaskStatus) -> tuple[float, float]:
    """A key for the order within one look: what a task waited for comes before what it wrote itself."""
    never = float("inf")
    return (
        task.ended.timestamp() if task.ended else never,
        task.started.timestamp() if task.started else never,
    )


def _over(snapshot: Snapshot, wanted: Sequence[TaskStatus], task_id: str | None) -> bool:
    """Whether nothing can be added to the output after this look."""
    if all(task.state.final for task in wanted) and (task_id is not None or wanted):
        return True
    return snapshot.status("").state.final


def _silent(wanted: Sequence[TaskStatus], task_id: str | None) -> Iterator[LogChunk]:
    """A word on a task that was asked for by name and has not started."""
    if task_id is not None:
        for task in wanted:
            if task.state in NEVER_STARTED and not task.state.final:
                yield LogChunk(task.id, "notice", f"no output yet: the task is {task.state}")
