"""The output of tasks: as it is now, or followed until the end.

Order of places: the node's file, then the copy that the task's own output files put into storage, then a
notice that says why there is nothing. A task that starts again (after losing its node, or a retry) starts its
output again.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, Protocol

from azbatch_core.errors import AzBatchError, Conflict, InvalidRequest, NotFound
from azbatch_core.service.documents import files, requests
from azbatch_core.service.output.tail import Source, Tail
from azbatch_core.service.output.uploaded_logs import UploadedLogs
from azbatch_core.service.states import LogChunk, TaskState
from azbatch_core.service.watch.watcher import Intervals, watch

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from azbatch_core.service.connect.connection import Connection
    from azbatch_core.service.states import LogStream, TaskStatus
    from azbatch_core.service.watch.watcher import Snapshot

OneStream = Literal["stdout", "stderr"]
_NEVER_STARTED = frozenset({TaskState.WAITING, TaskState.QUEUED, TaskState.BLOCKED, TaskState.PREPARING})


class _NodeFile:
    """A task's output file on its node."""

    def __init__(self, connection: Connection, job_id: str, task_id: str, stream: OneStream) -> None:
        self._connection = connection
        self._path = ("jobs", job_id, "tasks", task_id, "files", f"{stream}.txt")

    def size(self) -> int | None:
        """None while the task has not begun to write, and when the node is gone."""
        try:
            return files.size(self._connection, *self._path)
        except (NotFound, Conflict):
            return None

    def read(self, start: int, end: int) -> bytes:
        """Fewer bytes than asked for when the file went or shrank in between."""
        try:
            return files.read(self._connection, *self._path, start=start, end=end)
        except (NotFound, Conflict, InvalidRequest):
            return b""


class _Rescue:
    """What to do about output that is not on the node any more."""

    def __init__(self, connection: Connection, copies: UploadedLogs) -> None:
        self._connection = connection
        self._copies = copies

    def copy(self, task_id: str, stream: OneStream) -> NamedSource | None:
        """The copy in storage, if the task makes one."""
        return self._copies.find(task_id, f"{stream}.txt")

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


class NamedSource(Source, Protocol):
    """A source that a notice can name."""

    name: str


class Rescue(Protocol):
    """What `TaskLog` asks when a file is not on its node."""

    def copy(self, task_id: str, stream: OneStream) -> NamedSource | None:
        """The copy in storage, if the task makes one; `AzBatchError` where that cannot be found out."""

    def why_gone(self, task: TaskStatus) -> str:
        """Where the node's file went."""


class TaskLog:
    """The output of one task, read bit by bit.

    Attributes:
        done: Everything was read, also what came last.
    """

    def __init__(self, task_id: str, sources: Mapping[OneStream, Source], rescue: Rescue) -> None:
        self._task_id = task_id
        self._tails = {stream: Tail(source) for stream, source in sources.items()}
        self._rescue = rescue
        self._try: tuple[Any, ...] | None = None
        self._ahead = False
        self.done = False

    def news(self, task: TaskStatus) -> Iterator[LogChunk]:
        """What is new; `task` was looked at before this call, so a final state makes this the last read."""
        if self.done or (task.state in _NEVER_STARTED and not task.state.final):
            return
        if task.started is None and task.state.final:
            self.done = True
            yield self._notice(f"no output: {task.message or 'the task never started'}")
            return
        shrunk = [tail.measure() for tail in self._tails.values()]
        if self._begun_anew(task, shrunk=any(shrunk)):
            for tail in self._tails.values():
                tail.restart()
            yield self._notice("the task started again; so does its output")
        for stream, tail in self._tails.items():
            yield from self._all(stream, tail, last=task.state.final)
        if task.state.final:
            self.done = True
            for stream, tail in self._tails.items():
                if not tail.complete:
                    yield from self._copy(task, stream, tail.offset)

    def _begun_anew(self, task: TaskStatus, *, shrunk: bool) -> bool:
        """Whether the file belongs to another try than what was read of it.

        A file may show this before the task's record does: the record's change is then no news.
        """
        this_try = (task.node_id, task.started, task.retries, task.requeues)
        changed = self._try is not None and this_try != self._try and task.started is not None
        another = changed and not self._ahead
        self._ahead = (self._ahead or shrunk) and not changed
        self._try = this_try
        return (another or shrunk) and any(tail.offset for tail in self._tails.values())

    def _all(self, stream: OneStream, tail: Tail, *, last: bool) -> Iterator[LogChunk]:
        for piece in tail.news():
            yield LogChunk(self._task_id, stream, *piece)
        rest = tail.rest() if last else None
        if rest and rest.data:
            yield LogChunk(self._task_id, stream, *rest)

    def _copy(self, task: TaskStatus, stream: OneStream, start: int) -> Iterator[LogChunk]:
        """What storage has, from `start` on, of a file that is not on the node any more; or a notice."""
        gone = f"{stream} is gone, because {self._rescue.why_gone(task)}"
        try:
            copy = self._rescue.copy(self._task_id, stream)
        except AzBatchError as error:
            yield self._notice(f"{gone}; whether a copy of it was kept cannot be found out: {error.message}")
            return
        if copy is None:
            yield self._notice(f"{gone}; no copy of it was kept")
            return
        tail = Tail(copy, start=start)
        why = ""
        try:
            tail.measure()
            yield from self._all(stream, tail, last=True)
        except AzBatchError as error:
            why = f": {error.message}"
        if tail.missing:
            yield self._notice(f"{stream} ends {tail.missing:,} bytes early in its copy {copy.name}{why}")
        elif why:
            yield self._notice(f"{gone}; its copy {copy.name} cannot be read{why}")
        elif not tail.seen:
            yield self._notice(f"{gone}; its copy {copy.name} is not there either")

    def _notice(self, text: str) -> LogChunk:
        return LogChunk(self._task_id, "notice", text)


def read(
    connection: Connection, job_id: str, task_id: str | None, stream: LogStream, *, follow: bool
) -> Iterator[LogChunk]:
    """The output of one task or of every task, each task's chunks in order.

    Raises:
        NotFound: No such job or task.
    """
    with UploadedLogs(connection, job_id) as copies:
        yield from _read(connection, job_id, task_id, stream, _Rescue(connection, copies), follow=follow)


def _read(
    connection: Connection,
    job_id: str,
    task_id: str | None,
    stream: LogStream,
    rescue: _Rescue,
    *,
    follow: bool,
) -> Iterator[LogChunk]:
    shared = watch(connection, job_id)
    streams: tuple[OneStream, ...] = ("stdout", "stderr") if stream == "both" else (stream,)
    logs: dict[str, TaskLog] = {}
    pace = Intervals.of(connection)
    interval = pace.first
    while True:
        snapshot = shared.look(interval / 2)
        wanted = snapshot.tasks if task_id is None else [snapshot.task(task_id)]
        over = not follow or _over(snapshot, wanted, task_id)
        news = False
        for task in sorted(wanted, key=_as_they_ended):
            log = logs.get(task.id)
            if log is None:
                sources = {one: _NodeFile(connection, job_id, task.id, one) for one in streams}
                log = logs[task.id] = TaskLog(task.id, sources, rescue)
            for chunk in log.news(task):
                news = True
                yield chunk
        if over:
            yield from _silent(wanted, task_id)
            return
        connection.clock.sleep(interval)
        interval = pace.first if news else min(pace.longest, interval * pace.factor)


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
            if task.state in _NEVER_STARTED and not task.state.final:
                yield LogChunk(task.id, "notice", f"no output yet: the task is {task.state}")
