"""The output of a gang: each member's own files, on its own node.

Task-file calls reach the primary only; a subtask's files are read from its node, below the folder that its
record names ("Use multi-instance tasks to run MPI applications").
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from azbatch_core.errors import NotFound
from azbatch_core.service.output import crowd
from azbatch_core.service.output.task_log import NodeFile, TaskLog
from azbatch_core.service.states import TaskState
from azbatch_core.service.watch.members import node_file

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from azbatch_core.service.connect.connection import Connection
    from azbatch_core.service.output.task_log import OneStream, Rescue
    from azbatch_core.service.states import LogChunk, MemberStatus, TaskStatus
    from azbatch_core.service.watch.gangs import Gangs

# Seconds that Batch's list of subtasks may lag behind the end of their task: 3 were recorded.
_LAG = 30.0
_LOCAL_LAG = 3.0


class GangLog:
    """The output of one gang, read bit by bit.

    Args:
        connection: The account.
        gangs: Reads its members.
        own: The files of the primary.
        rescue: What to do about output that is not on its node any more. Copies are of the primary's only.
        member: The rank of the one to read; None for all.

    Attributes:
        done: Everything was read, also what came last.
    """

    def __init__(
        self,
        connection: Connection,
        gangs: Gangs,
        own: Mapping[OneStream, NodeFile],
        rescue: Rescue,
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
        self.done = False

    def news(self, task: TaskStatus) -> Iterator[LogChunk]:
        """What is new, member by member; `task` was looked at before this call.

        Raises:
            NotFound: The gang has no member of that rank.
        """
        members = self._gangs.members(task, self._crowd.age(0.0))
        if self._member is not None and not 0 <= self._member < len(members):
            raise NotFound(f"task {task.id} has no member {self._member}: they are 0 to {len(members) - 1}")
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
                yield from self._log(task, member).news(_view(task, member, late=late))
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
            rescue = _NoCopies(self._rescue) if rank else self._rescue
            self._files[rank] = own
            self._logs[rank] = TaskLog(task.id, own, rescue, member=rank)
        for stream, file in self._files[rank].items():
            # It is another node's after a retry.
            file.path = node_file(member, f"{stream}.txt") or file.path
        return self._logs[rank]


class _NoCopies:
    """What to do about a subtask's output that is gone: Batch uploads the primary's files only."""

    def __init__(self, rescue: Rescue) -> None:
        self.why_gone = rescue.why_gone

    def copy(self, task_id: str, stream: OneStream) -> None:
        """There is none."""


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
