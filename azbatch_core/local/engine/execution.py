"""What occupies a node at this moment."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from azbatch_core.local.engine.gangs import Gang
    from azbatch_core.local.runtime.base import Running, TaskKind
    from azbatch_core.local.store.records import Doc, Job, Node

__all__ = ["Execution", "StopReason"]

StopReason = Literal["lost", "requeue", "terminate", "delete"]
"""Why an execution was told to stop, and so what becomes of it. Later entries win over earlier ones.

`lost` goes back to active with no count moved; `requeue` is a user's doing and counts; `terminate`
completes it; `delete` has nothing left to change.
"""

_RANK: dict[StopReason | None, int] = {None: 0, "lost": 1, "requeue": 2, "terminate": 3, "delete": 4}


@dataclass(eq=False, slots=True)
class Execution:
    """A task, or a start, preparation or release task, that occupies a node.

    Attributes:
        seq: The task's number, 0 for the other kinds.
        spec: The task's document as stored.
        running: The try under way; None while the task waits for its job's preparation.
        stop_reason: Why it was told to stop, None to let it be judged by its outcome.
        reserved: Slots of the node that it takes from others, if more than it needs.
        gang: The multi-instance task that it is a member of, None for all others.
        subtask: Its number in the gang, 0 for the primary and for all others.
    """

    kind: TaskKind
    node: Node
    job: Job | None
    task_id: str
    spec: Doc = field(repr=False)
    seq: int = 0
    slots: int = 0
    retries: int = 0
    requeues: int = 0
    launches: int = 0
    running: Running | None = None
    stop_reason: StopReason | None = None
    reserved: int = 0
    gang: Gang | None = None
    subtask: int = 0

    @property
    def taken(self) -> int:
        """Slots of its node that nobody else can have."""
        return max(self.slots, self.reserved)

    @property
    def counted(self) -> int:
        """Slots that its task counts for: those of all members."""
        return self.slots if self.gang is None else self.slots * len(self.gang.members)

    def give_reason(self, reason: StopReason) -> None:
        """Note why it was told to stop, unless a stronger reason has been given."""
        if _RANK[reason] > _RANK[self.stop_reason]:
            self.stop_reason = reason
