"""The tasks of one job as they were last listed. Judges again only those that may stand differently."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from azbatch_core.service.watch.dependencies import Dependencies
from azbatch_core.service.watch.status import succeeded, task_status

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from azbatch_core.service.states import TaskStatus


class SeenTasks:
    """What is known of a job's tasks, kept up with what each look lists.

    Attributes:
        latest: The latest change of a task's state, as on the wire; empty before the first.
    """

    def __init__(self) -> None:
        self.latest = ""
        self._documents: dict[str, dict[str, Any]] = {}
        self._statuses: dict[str, TaskStatus] = {}
        self._job: tuple[object, object] | None = None

    def __len__(self) -> int:
        return len(self._documents)

    def replace(self, listed: Iterable[dict[str, Any]]) -> bool:
        """Take a list of all tasks; whether anything differs from what was known."""
        before = self._documents
        self._documents = {}
        self.latest = ""
        changed = self._take(listed, before)
        if len(self._documents) == len(before) and not changed:
            return False
        self._statuses = {name: self._statuses[name] for name in self._documents if name in self._statuses}
        return True

    def update(self, listed: Iterable[dict[str, Any]]) -> bool:
        """Take a list of some tasks; whether anything differs from what was known."""
        return self._take(listed, self._documents)

    def _take(self, listed: Iterable[dict[str, Any]], known: Mapping[str, dict[str, Any]]) -> bool:
        changed = False
        for document in listed:
            name = str(document["id"]).lower()
            if known.get(name) != document:
                changed = True
                self._statuses.pop(name, None)
            self._documents[name] = document
            self.latest = max(self.latest, str(document.get("stateTransitionTime") or ""), key=_order)
        return changed

    def statuses(self, job: Mapping[str, Any]) -> list[TaskStatus]:
        """Every task as it stands, in the service's order."""
        so_far = (job.get("state"), job.get("executionInfo"))
        if so_far != self._job:
            self._job = so_far
            self._statuses = {}
        dependencies = Dependencies(self._documents.values(), succeeded)
        for name, document in self._documents.items():
            if name not in self._statuses or _waits(document):
                self._statuses[name] = task_status(job, document, dependencies)
        return [self._statuses[name] for name in self._documents]


def _waits(task: Mapping[str, Any]) -> bool:
    """Whether how the task stands depends on how others do."""
    return bool(task.get("dependsOn")) and str(task.get("state")).lower() == "active"


def _order(stamp: str) -> str:
    """A key that sorts wire timestamps: trailing zeros of their fraction are cut."""
    base, _, fraction = stamp.rstrip("Z").partition(".")
    return f"{base}.{fraction:0<7}"
