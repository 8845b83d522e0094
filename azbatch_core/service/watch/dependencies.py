"""Which tasks wait for others, and which never will run. Pure.

Ids compare without case. An id range means the tasks whose ids are whole numbers in it ("Task dependencies"
docs).
"""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any

from azbatch_core.service.watch import task_failures

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator, Mapping

_MAX_SPELLED_OUT = 1000


class Dependencies:
    """The dependencies among the tasks of one job.

    Args:
        tasks: Every task document of the job.
        succeeded: Whether a completed task succeeded.
    """

    def __init__(
        self, tasks: Collection[Mapping[str, Any]], succeeded: Callable[[Mapping[str, Any]], bool]
    ) -> None:
        self._tasks = tasks
        self._succeeded = succeeded
        self._culprits: dict[str, str | None] = {}
        self._ranges: dict[tuple[int, int], tuple[list[str], list[str]]] = {}

    @cached_property
    def _by_id(self) -> dict[str, Mapping[str, Any]]:
        return {str(task.get("id")).lower(): task for task in self._tasks}

    @cached_property
    def _numbers(self) -> dict[int, str]:
        return {int(name): name for name in self._by_id if name.isascii() and name.isdigit()}

    def ids_of(self, task: Mapping[str, Any]) -> tuple[str, ...]:
        """The ids that the task waits for; a long range stays as `first-last`."""
        depends_on = task.get("dependsOn") or {}
        named = [str(name) for name in depends_on.get("taskIds") or ()]
        for start, end in _ranges(depends_on):
            if end - start < _MAX_SPELLED_OUT:
                named.extend(str(self._spelled(number)) for number in range(start, end + 1))
            else:
                named.append(f"{start}-{end}")
        return tuple(named)

    def blocked_by(self, task: Mapping[str, Any]) -> str | None:
        """The id of the failed task because of which this one never runs; None when there is none."""
        if not task.get("dependsOn"):
            return None
        # A stack of our own: chains of dependencies are longer than Python's.
        name = str(task.get("id")).lower()
        path = [name]
        while path:
            current = path[-1]
            if current in self._culprits:
                path.pop()
                continue
            found, open_names = self._look(current, set(path))
            if found is None and open_names:
                path.extend(open_names)
                continue
            self._culprits[current] = found
            path.pop()
        return self._culprits[name]

    def met(self, task: Mapping[str, Any]) -> bool:
        """Whether everything that the task waits for has ended in a way that satisfies it."""
        depends_on = task.get("dependsOn") or {}
        if any(not self._satisfied(str(name).lower()) for name in depends_on.get("taskIds") or ()):
            return False
        for start, end in _ranges(depends_on):
            members, missing = self._members(start, end)
            if missing or any(not self._satisfied(name) for name in members):
                return False
        return True

    def _look(self, name: str, path: set[str]) -> tuple[str | None, list[str]]:
        """The culprit of one task if it can be told now, and the waiting tasks that must be judged first."""
        open_names = []
        for other in self._direct(self._by_id[name]):
            other_task = self._by_id.get(other)
            if other_task is None or other in path:
                continue
            state = str(other_task.get("state", "")).lower()
            if state == "completed" and not self._satisfied(other):
                return str(other_task.get("id")), []
            if state == "active":
                if other not in self._culprits:
                    open_names.append(other)
                elif self._culprits[other] is not None:
                    return self._culprits[other], []
        return None, open_names

    def _direct(self, task: Mapping[str, Any]) -> Iterator[str]:
        depends_on = task.get("dependsOn") or {}
        for name in depends_on.get("taskIds") or ():
            yield str(name).lower()
        for start, end in _ranges(depends_on):
            yield from self._members(start, end)[0]

    def _members(self, start: int, end: int) -> tuple[list[str], list[str]]:
        """The tasks of a range, and the numbers in it that have no task (looked up once a range)."""
        if (start, end) not in self._ranges:
            if end - start < len(self._numbers):
                numbers = [number for number in range(start, end + 1) if number in self._numbers]
            else:
                numbers = [number for number in self._numbers if start <= number <= end]
            missing = [f"{start}-{end}"] if len(numbers) < end - start + 1 else []
            self._ranges[start, end] = ([self._numbers[number] for number in numbers], missing)
        return self._ranges[start, end]

    def _satisfied(self, name: str) -> bool:
        task = self._by_id.get(name)
        if task is None or str(task.get("state", "")).lower() != "completed":
            return False
        return dependency_action(task, succeeded=self._succeeded(task)) == "satisfy"

    def _spelled(self, number: int) -> str:
        return str(self._by_id[self._numbers[number]].get("id")) if number in self._numbers else str(number)


def dependency_action(task: Mapping[str, Any], *, succeeded: bool) -> str:
    """What a completed task does to those that depend on it: ``satisfy`` or ``block``.

    The exit conditions decide: the exact code, then a range that holds it, the pre-processing or upload
    error, then the default; where none speaks, success satisfies and everything else blocks (`ExitOptions`
    docs).
    """
    fallback = "satisfy" if succeeded else "block"
    options = _exit_options(task, succeeded=succeeded)
    return str((options or {}).get("dependencyAction") or fallback).lower()


def _exit_options(task: Mapping[str, Any], *, succeeded: bool) -> Mapping[str, Any] | None:
    conditions = task.get("exitConditions") or {}
    execution = task.get("executionInfo") or {}
    exit_code = execution.get("exitCode")
    code = str((execution.get("failureInfo") or {}).get("code") or "").lower()
    default: Mapping[str, Any] | None = conditions.get("default")
    if code.startswith(task_failures.UPLOAD_CODES):
        return conditions.get("fileUploadError") or default
    if exit_code is None:
        return conditions.get("preProcessingError") or default
    for exact in conditions.get("exitCodes") or ():
        if exact.get("code") == exit_code:
            return exact.get("exitOptions") or {}
    for span in conditions.get("exitCodeRanges") or ():
        if span.get("start") <= exit_code <= span.get("end"):
            return span.get("exitOptions") or {}
    return None if succeeded else default


def _ranges(depends_on: Mapping[str, Any]) -> Iterator[tuple[int, int]]:
    for span in depends_on.get("taskIdRanges") or ():
        yield int(span.get("start")), int(span.get("end"))
