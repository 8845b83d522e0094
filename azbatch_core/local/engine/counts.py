"""How many of a job's tasks are in which state, counted along instead of asked of the tables."""

from __future__ import annotations

from dataclasses import dataclass, field

__all__ = ["Counts"]


@dataclass
class Counts:
    """A job's tasks, and the slots they need, by what the service counts them as.

    Attributes:
        ready: Active tasks that wait for nothing.
    """

    tasks: dict[str, int] = field(
        default_factory=lambda: {"active": 0, "running": 0, "succeeded": 0, "failed": 0}
    )
    slots: dict[str, int] = field(
        default_factory=lambda: {"active": 0, "running": 0, "succeeded": 0, "failed": 0}
    )
    ready: int = 0

    def add(self, kind: str, tasks: int, slots: int) -> None:
        """Count some tasks in (or out, with negative numbers)."""
        self.tasks[kind] += tasks
        self.slots[kind] += slots

    def move(self, old: str, new: str, slots: int) -> None:
        """Count one task as something else."""
        self.tasks[old] -= 1
        self.slots[old] -= slots
        self.tasks[new] += 1
        self.slots[new] += slots

    @property
    def waiting(self) -> int:
        """Active tasks that wait for others."""
        return self.tasks["active"] - self.ready

    @property
    def unfinished(self) -> int:
        """Tasks that are not completed."""
        return self.tasks["active"] + self.tasks["running"]
