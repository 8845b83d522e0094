"""Task ids: the numbers that tasks without an id get, and dependencies as the service wants them.

A task without an id gets the next whole number, because that is the only kind of id that Batch can name as
a range, and a list of dependencies may not have more than 64,000 characters (BatchTaskDependencies). Tasks
of one stage get consecutive numbers, so that depending on a stage of ten thousand tasks is one range.
Numbers need no unique prefix: they are unique in their job, and the job's own id is unique.
"""

from __future__ import annotations

import difflib
from bisect import bisect_left, bisect_right, insort
from typing import TYPE_CHECKING, Any

from azbatch_core.errors import SpecError
from azbatch_core.specs import IdRange, StageRef
from azbatch_core.specs.names import fold_id

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

MAX_DEPENDENCY_CHARACTERS = 64_000  # combined length of all listed ids (BatchTaskDependencies.task_ids)
MAX_RANGE_ID = 2**31 - 1  # BatchTaskIdRange holds 32-bit integers


def as_number(task_id: str) -> int | None:
    """The whole number that an id is, written as the service does; None for any other (``007`` too)."""
    if not (task_id.isascii() and task_id.isdigit()) or (task_id[0] == "0" and task_id != "0"):
        return None
    number = int(task_id)
    return number if number <= MAX_RANGE_ID else None


class TaskIds:
    """The ids of a job's tasks, as they are given out."""

    def __init__(self, reserved: Iterable[str]) -> None:
        self._reserved = {fold_id(task_id): task_id for task_id in reserved}
        self._ids: dict[str, str] = {}
        self._numbers: list[int] = []
        self._stages: dict[str, list[str]] = {}
        self._next = 1
        self._packed: dict[str, tuple[int, tuple[list[str], list[tuple[int, int]]]]] = {}

    def copy(self) -> TaskIds:
        """The same ids, to go on from separately."""
        twin = TaskIds(self._reserved.values())
        twin._ids = dict(self._ids)
        twin._numbers = list(self._numbers)
        twin._stages = {stage: list(members) for stage, members in self._stages.items()}
        twin._next = self._next
        return twin

    def choose(self, task_id: str | None) -> str:
        """The id that a new task gets: its own, or the next free number.

        Raises:
            SpecError: The id is taken (case does not count), also by the job's preparation or release task.
        """
        if task_id is None:
            task_id = self._next_number()
        folded = fold_id(task_id)
        if folded in self._reserved:
            what = "the job's preparation or release task has that id"
            raise SpecError(f"task id {task_id!r} cannot be used: {what}", field="id")
        if folded in self._ids:
            raise SpecError(
                f"two tasks have the id {task_id!r} (upper and lower case are the same to Batch)",
                field="id",
                hint="leave the id out to get a free number",
            )
        return task_id

    def add(self, task_id: str | None, stage: str | None) -> str:
        """Register a task and return its id.

        Raises:
            SpecError: As `choose`.
        """
        task_id = self.choose(task_id)
        self._ids[fold_id(task_id)] = task_id
        number = as_number(task_id)
        if number is not None:
            insort(self._numbers, number)
        if stage is not None:
            self._stages.setdefault(stage, []).append(task_id)
        return task_id

    def _next_number(self) -> str:
        while str(self._next) in self._ids or str(self._next) in self._reserved:
            self._next += 1
        return str(self._next)

    def dependencies(self, depends_on: Sequence[str | IdRange | StageRef]) -> dict[str, Any] | None:
        """The ``dependsOn`` of a task: ids and ranges, stages resolved; None without dependencies.

        Raises:
            SpecError: A dependency is not known (yet), or the list is longer than the service takes.
        """
        listed: dict[str, None] = {}
        ranges: dict[tuple[int, int], None] = {}
        for dependency in depends_on:
            if isinstance(dependency, IdRange):
                self._check_range(dependency)
                ranges[dependency.start, dependency.end] = None
            elif isinstance(dependency, StageRef):
                ids, runs = self._stage(dependency.stage)
                listed.update(dict.fromkeys(ids))
                ranges.update(dict.fromkeys(runs))
            else:
                listed[self._known(dependency)] = None
        if sum(map(len, listed)) > MAX_DEPENDENCY_CHARACTERS:
            listed, ranges = _packed_further(listed, ranges)
        body: dict[str, Any] = {}
        if listed:
            body["taskIds"] = list(listed)
        if ranges:
            body["taskIdRanges"] = [{"start": start, "end": end} for start, end in ranges]
        return body or None

    def _known(self, task_id: str) -> str:
        known = self._ids.get(fold_id(task_id))
        if known is None:
            near = difflib.get_close_matches(fold_id(task_id), self._ids, n=1)
            hint = f"did you mean {self._ids[near[0]]!r}?" if near else None
            raise SpecError(
                f"depends on the task {task_id!r}, which is not in the job", field="depends_on", hint=hint
            )
        return known

    def _check_range(self, wanted: IdRange) -> None:
        first, last = bisect_left(self._numbers, wanted.start), bisect_right(self._numbers, wanted.end)
        if last - first == wanted.end - wanted.start + 1:
            return
        present = self._numbers[first:last]
        in_order = (place for place, number in enumerate(present) if number != wanted.start + place)
        at = wanted.start + next(in_order, len(present))
        raise SpecError(
            f"depends on the range {wanted.start} to {wanted.end}, but the job has no task {str(at)!r}",
            field="depends_on",
        )

    def _stage(self, name: str) -> tuple[list[str], list[tuple[int, int]]]:
        members = self._stages.get(name)
        if not members:
            near = difflib.get_close_matches(name, self._stages, n=1)
            hint = f"did you mean {near[0]!r}?" if near else "a stage is its tasks so far: add them before"
            raise SpecError(
                f"depends on the stage {name!r}, which has no tasks", field="depends_on", hint=hint
            )
        count, packed = self._packed.get(name, (0, ([], [])))
        if count != len(members):
            packed = _pack(members)
            self._packed[name] = (len(members), packed)
        return packed


def _pack(ids: Iterable[str], shortest: int = 2) -> tuple[list[str], list[tuple[int, int]]]:
    """Ids as a list and ranges: runs of consecutive numbers of at least the given length become ranges."""
    others: list[str] = []
    numbers: list[int] = []
    for task_id in ids:
        number = as_number(task_id)
        if number is None:
            others.append(task_id)
        else:
            numbers.append(number)
    runs: list[tuple[int, int]] = []
    for number in sorted(numbers):
        if runs and number == runs[-1][1] + 1:
            runs[-1] = (runs[-1][0], number)
        else:
            runs.append((number, number))
    short = [run for run in runs if run[1] - run[0] + 1 < shortest]
    others.extend(str(number) for start, end in short for number in range(start, end + 1))
    return others, [run for run in runs if run[1] - run[0] + 1 >= shortest]


def _packed_further(
    listed: dict[str, None], ranges: dict[tuple[int, int], None]
) -> tuple[dict[str, None], dict[tuple[int, int], None]]:
    """A list that is too long, with every number in it as a range of its own."""
    others, runs = _pack(listed, shortest=1)
    characters = sum(map(len, others))
    if characters > MAX_DEPENDENCY_CHARACTERS:
        raise SpecError(
            f"the ids of its dependencies have {characters:,} characters together; "
            f"Batch allows {MAX_DEPENDENCY_CHARACTERS:,}",
            field="depends_on",
            hint="leave out the ids of those tasks (they then get numbers, which fit in a range)",
        )
    return dict.fromkeys(others), {**ranges, **dict.fromkeys(runs)}
