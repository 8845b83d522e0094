"""The output of one task, or of one member of a gang, bit by bit, wherever its files are."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, Protocol

from azbatch_core.errors import AzBatchError, Conflict, InvalidRequest, NotFound
from azbatch_core.service.documents import files
from azbatch_core.service.output import crowd
from azbatch_core.service.output.tail import Source, Tail
from azbatch_core.service.states import TaskState
from azbatch_core.service.summaries import LogChunk

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from azbatch_core.service.connect.connection import Connection
    from azbatch_core.service.states import TaskStatus

OneStream = Literal["stdout", "stderr"]
NEVER_STARTED = frozenset({TaskState.WAITING, TaskState.QUEUED, TaskState.BLOCKED, TaskState.PREPARING})


class NodeFile:
    """An output file on its node.

    Args:
        connection: The account.
        path: ``"jobs", JOB, "tasks", TASK, "files", NAME``, or the like of a node; may be changed. None: on
            no node that is known.
    """

    def __init__(self, connection: Connection, *path: str) -> None:
        self._connection = connection
        self._crowd = crowd.of(connection)
        self.path = path

    def size(self) -> int | None:
        """None while the task has not begun to write, and when the node is gone."""
        if not self.path:
            return None
        self._crowd.turn()
        try:
            return files.size(self._connection, *self.path)
        except (NotFound, Conflict):
            return None

    def read(self, start: int, end: int) -> bytes:
        """Fewer bytes than asked for when the file went or shrank in between."""
        self._crowd.turn()
        try:
            return files.read(self._connection, *self.path, start=start, end=end)
        except (NotFound, Conflict, InvalidRequest):
            return b""


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
    """The output of one task, or of one member of a gang, read bit by bit.

    Args:
        task_id: The task.
        sources: Its files.
        rescue: What to do when one is not on its node.
        member: The member's rank; None for a plain task.

    Attributes:
        done: Everything was read, also what came last.
    """

    def __init__(
        self,
        task_id: str,
        sources: Mapping[OneStream, Source],
        rescue: Rescue,
        *,
        member: int | None = None,
    ) -> None:
        self._task_id = task_id
        self._member = member
        self._tails = {stream: Tail(source) for stream, source in sources.items()}
        self._rescue = rescue
        self._try: tuple[Any, ...] | None = None
        self._ahead = False
        self.done = False

    def news(self, task: TaskStatus) -> Iterator[LogChunk]:
        """What is new; `task` was looked at before this call, so a final state makes this the last read."""
        if self.done or (task.state in NEVER_STARTED and not task.state.final):
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
            yield LogChunk(self._task_id, stream, *piece, member=self._member)
        rest = tail.rest() if last else None
        if rest and rest.data:
            yield LogChunk(self._task_id, stream, *rest, member=self._member)

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
        return LogChunk(self._task_id, "notice", text, member=self._member)
