"""The output of a gang: each member's own files, on its own node.

Task-file calls reach the primary only; a subtask's files are read from its node, below the folder that its
record names ("Use multi-instance tasks to run MPI applications"). Copies are those of `plan.member_logs`.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Protocol

from azbatch_core.errors import AzBatchError, NotFound
from azbatch_core.service.output import crowd
from azbatch_core.service.output.task_log import NodeFile, Rescue, TaskLog
from azbatch_core.service.states import TaskState
from azbatch_core.service.watch.members import node_file

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator, Mapping, Sequence

    from azbatch_core.service.connect.connection import Connection
    from azbatch_core.service.output.task_log import NamedSource, OneStream
    from azbatch_core.service.states import MemberStatus, TaskStatus
    from azbatch_core.service.summaries import LogChunk
    from azbatch_core.service.watch.gangs import Gangs

# Seconds that Batch's list of subtasks may lag behind the end of their task: 3 were recorded.
_LAG = 30.0
_LOCAL_LAG = 3.0
# The only one that is not the main node needs no address to be told from others.
_TWO = 2


class GangRescue(Rescue, Protocol):
    """What `GangLog` asks when a file is not on its node."""

    def member_copy(
        self, task_id: str, stream: OneStream, rank: int, nodes: Collection[str]
    ) -> NamedSource | None:
        """The copy of a member's file, made on one of these nodes; `AzBatchError` as `copy` has it."""


class GangLog:
    """The output of one gang, read bit by bit.

    Args:
        connection: The account.
        gangs: Reads its members.
        own: The files of the primary.
        rescue: What to do about output that is not on its node any more.
        member: The rank of the one to read; None for all.

    Attributes:
        done: Everything was read, also what came last.
    """

    def __init__(
        self,
        connection: Connection,
        gangs: Gangs,
        own: Mapping[OneStream, NodeFile],
        rescue: GangRescue,
        *,
        member: int | None,
    ) -> None:
        self._connection = connection
        self._gangs = gangs
        self._own = own
        self._rescue = rescue
        self._member = member
        self._crowd = crowd.of(connection)
        self._late_at: float | None = None
        self._files: dict[int, Mapping[OneStream, NodeFile]] = {}
        self._logs: dict[int, TaskLog] = {}
        self._nodes: set[str] = set()
        self.done = False

    def news(self, task: TaskStatus) -> Iterator[LogChunk]:
        """What is new, member by member; `task` was looked at before this call.

        Raises:
            NotFound: The gang has no member of that rank.
        """
        members = self._gangs.members(task, self._crowd.age(0.0))
        if self._member is not None and not 0 <= self._member < len(members):
            raise NotFound(f"task {task.id} has no member {self._member}: they are 0 to {len(members) - 1}")
        self._nodes = {member.node_id for member in members if member.node_id}
        if task.state.final and task.started is None:
            yield from self._log(task, members[0]).news(task)
            self.done = True
            return
        late = task.state.final and self._is_late()
        # While some have no node yet, nobody knows who is who.
        placed = late or all(member.node_id for member in members)
        wanted = [member for member in members if self._member in {None, member.rank}]
        for member in wanted:
            if placed or not member.subtask:
                log = self._log(task, member)
                if not log.done:
                    self._find_files(task, members, member)
                yield from log.news(_view(task, member, late=late))
        self.done = task.state.final and all(self._log(task, member).done for member in wanted)

    def _is_late(self) -> bool:
        """Whether Batch has had its time to tell how the members of a gang that is over have ended."""
        now = self._connection.clock.monotonic()
        if self._late_at is None:
            self._late_at = now + (_LOCAL_LAG if self._connection.is_local else _LAG)
        return now >= self._late_at

    def _log(self, task: TaskStatus, member: MemberStatus) -> TaskLog:
        rank = member.rank
        if rank not in self._logs:
            own = {stream: NodeFile(self._connection) for stream in self._own} if rank else self._own
            rescue = _MemberRescue(self._rescue, rank, lambda: self._nodes) if rank else self._rescue
            self._files[rank] = own
            self._logs[rank] = TaskLog(task.id, own, rescue, member=rank)
        return self._logs[rank]

    def _find_files(self, task: TaskStatus, members: Sequence[MemberStatus], member: MemberStatus) -> None:
        """Say where a member's files are: on another node after a retry.

        Once some nodes are gone, Batch does not tell which member was on which; copies do.
        """
        known = len(members) <= _TWO or all(other.address for other in members if other.subtask)
        for stream, file in self._files[member.rank].items():
            if member.subtask and task.state.final and not known and self._has_copy(task.id, stream, member):
                file.path = ()
            else:
                file.path = node_file(member, f"{stream}.txt") or file.path

    def _has_copy(self, task_id: str, stream: OneStream, member: MemberStatus) -> bool:
        try:
            return self._rescue.member_copy(task_id, stream, member.rank, self._nodes) is not None
        except AzBatchError:
            return False


class _MemberRescue:
    """What to do about a member's output that is gone; `nodes` are those of the gang as it was last seen."""

    def __init__(self, rescue: GangRescue, rank: int, nodes: Callable[[], Collection[str]]) -> None:
        self.why_gone = rescue.why_gone
        self._rescue = rescue
        self._rank = rank
        self._nodes = nodes

    def copy(self, task_id: str, stream: OneStream) -> NamedSource | None:
        """The copy that the member's node made when the job ended."""
        return self._rescue.member_copy(task_id, stream, self._rank, self._nodes())


def _view(task: TaskStatus, member: MemberStatus, *, late: bool) -> TaskStatus:
    """The member as if it were a task: over only once the whole gang is, as it may be tried again."""
    if not member.subtask:
        return task
    state = member.state
    if state.final and not task.state.final:
        state = TaskState.RUNNING
    elif late and not state.final:
        state = task.state
    return replace(
        task,
        state=state,
        node_id=member.node_id,
        pool_id=member.pool_id,
        started=member.started,
        message=member.message,
    )
