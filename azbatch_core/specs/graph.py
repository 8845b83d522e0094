"""The checks on a job's tasks together: unique ids, dependencies that exist, no cycle.

Linear in the size of the job, and without recursion. A stage, and each aligned block of a range of ids, is
a node of its own in the graph, so that a thousand tasks which each wait for a thousand others do not make a
million edges.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections import deque
from typing import TYPE_CHECKING, Final

from azbatch_core.specs.names import fold_id
from azbatch_core.specs.problems import nearest, problem
from azbatch_core.specs.task import IdRange, StageRef

if TYPE_CHECKING:
    from collections.abc import Sequence

    from azbatch_core.errors import SpecError
    from azbatch_core.specs.task import Dependency, TaskSpec

_LOOKS_LIKE_RANGE: Final = re.compile(r"(\d+)-(\d+)", re.ASCII)
_SHOWN: Final = 8
"""Tasks of a cycle that a message names."""


def check_tasks(tasks: Sequence[TaskSpec]) -> None:
    """Check ids and dependencies of all tasks of a job.

    Raises:
        SpecError: Two ids are the same to Batch (it ignores case), a dependency names no task or stage of
            the job, or tasks wait for each other in a circle.
    """
    ids = _unique_ids(tasks)
    if any(task.depends_on for task in tasks):
        graph = _Graph(tasks, ids)
        graph.connect()
        graph.refuse_cycle()


def _unique_ids(tasks: Sequence[TaskSpec]) -> dict[str, int]:
    ids: dict[str, int] = {}
    for index, task in enumerate(tasks):
        if task.id is None:
            continue
        first = ids.setdefault(fold_id(task.id), index)
        if first != index:
            other = tasks[first].id
            reason = (
                "is also" if other == task.id else f"is the same to Batch, which ignores case, as {other!r},"
            )
            raise problem(
                f"{task.id!r} {reason} the id of tasks[{first}]",
                field=f"tasks[{index}].id",
                hint="ids are unique in a job",
            )
    return ids


class _Graph:
    """Who waits for whom. Nodes 0 … n-1 are the tasks; others stand for stages and blocks of ids."""

    def __init__(self, tasks: Sequence[TaskSpec], ids: dict[str, int]) -> None:
        self.tasks = tasks
        self.ids = ids
        self.waits_for: list[list[int]] = [[] for _ in tasks]
        self.stages = self._add_stages()
        numbers = sorted((int(name), index) for name, index in ids.items() if _is_number(name))
        self.numbers = [number for number, _ in numbers]
        self.leaves = [index for _, index in numbers]
        self.blocks: list[list[int]] = []

    def _add_stages(self) -> dict[str, int]:
        stages: dict[str, int] = {}
        for index, task in enumerate(self.tasks):
            if task.stage is not None:
                node = stages.setdefault(task.stage, len(self.waits_for))
                if node == len(self.waits_for):
                    self.waits_for.append([])
                self.waits_for[node].append(index)
        return stages

    def connect(self) -> None:
        """Add an edge for every dependency."""
        for index, task in enumerate(self.tasks):
            for position, dependency in enumerate(task.depends_on):
                self.waits_for[index].extend(
                    self._targets(dependency, f"tasks[{index}].depends_on[{position}]", index)
                )

    def _targets(self, dependency: Dependency, field: str, own: int) -> list[int]:
        if isinstance(dependency, StageRef):
            return [self._stage(dependency.stage, field, own)]
        if isinstance(dependency, IdRange):
            return self._range(dependency, field)
        found = self.ids.get(fold_id(dependency))
        if found is None:
            raise self._unknown_id(dependency, field, own)
        return [found]

    def _stage(self, name: str, field: str, own: int) -> int:
        found = self.stages.get(name)
        if found is None:
            others = [stage for stage in self.stages if stage != self.tasks[own].stage]
            raise problem(f"no task has the stage {name!r}", field=field, hint=_other_stage(name, others))
        return found

    def _unknown_id(self, name: str, field: str, own: int) -> SpecError:
        text = f"no task has the id {name!r}"
        ends = _LOOKS_LIKE_RANGE.fullmatch(name)
        if ends:
            return problem(text, field=field, hint=f"for a range write {{range: [{ends[1]}, {ends[2]}]}}")
        if name in self.stages:
            return problem(text, field=field, hint=f"for the stage write {{stage: {name}}}")
        # Not itself: a task that waits for itself is no better.
        meant = nearest(name, [task.id for index, task in enumerate(self.tasks) if task.id and index != own])
        return problem(text, field=field, hint=f"did you mean {meant!r}?" if meant else None)

    def _range(self, wanted: IdRange, field: str) -> list[int]:
        low, high = bisect_left(self.numbers, wanted.start), bisect_right(self.numbers, wanted.end)
        if high - low != wanted.end - wanted.start + 1:
            missing = self._first_gap(wanted.start, low, high)
            raise problem(
                f"no task has the id '{missing}', which the range {wanted.start} to {wanted.end} includes",
                field=field,
            )
        return self._cover(low, high)

    def _first_gap(self, start: int, low: int, high: int) -> int:
        """The first number from `start` on that is no id, by bisection: numbers are sorted and unique."""
        first, last = low, high
        while first < last:
            middle = (first + last) // 2
            if self.numbers[middle] - middle == start - low:
                first = middle + 1
            else:
                last = middle
        return start + first - low

    def _cover(self, low: int, high: int) -> list[int]:
        """Nodes that together stand for the sorted numeric ids at positions `low` to `high` (excluded)."""
        if not self.blocks:
            self._build_blocks()
        targets, level = [], 0
        while low < high:
            if low & 1:
                targets.append(self.blocks[level][low])
                low += 1
            if high & 1:
                high -= 1
                targets.append(self.blocks[level][high])
            low, high, level = low >> 1, high >> 1, level + 1
        return targets

    def _build_blocks(self) -> None:
        """Blocks of 1, 2, 4, 8 … neighbouring numeric ids; each waits for its two halves."""
        level = self.leaves
        self.blocks = [level]
        while len(level) > 1:
            above = []
            for position in range(0, len(level) - 1, 2):
                above.append(len(self.waits_for))
                self.waits_for.append(level[position : position + 2])
            self.blocks.append(above)
            level = above

    def refuse_cycle(self) -> None:
        """Take away what waits for nothing, again and again; what is left waits for itself."""
        open_count = [len(targets) for targets in self.waits_for]
        waiters: list[list[int]] = [[] for _ in self.waits_for]
        for node, targets in enumerate(self.waits_for):
            for target in targets:
                waiters[target].append(node)
        ready = deque(node for node, count in enumerate(open_count) if count == 0)
        while ready:
            for waiter in waiters[ready.popleft()]:
                open_count[waiter] -= 1
                if open_count[waiter] == 0:
                    ready.append(waiter)
        for node, count in enumerate(open_count):
            if count:
                raise self._cycle(node, open_count)

    def _cycle(self, start: int, open_count: list[int]) -> SpecError:
        seen: dict[int, int] = {}
        path: list[int] = []
        node = start
        while node not in seen:
            seen[node] = len(path)
            path.append(node)
            node = next(target for target in self.waits_for[node] if open_count[target])
        circle = [index for index in path[seen[node] :] if index < len(self.tasks)]
        names = [self.tasks[index].id or f"tasks[{index}]" for index in circle]
        shown = [*names[:_SHOWN], "…"] if len(names) > _SHOWN else [*names, names[0]]
        field = f"tasks[{circle[0]}].depends_on"
        if len(names) == 1:
            return problem(f"the task {names[0]} waits for itself", field=field)
        return problem("tasks wait for each other in a circle: " + " -> ".join(shown), field=field)


def _other_stage(name: str, stages: list[str]) -> str:
    """What to do about a stage that is not there."""
    meant = nearest(name, stages)
    if meant:
        return f"did you mean {meant!r}?"
    if stages:
        more = ", …" if len(stages) > _SHOWN else ""
        return "the stages are " + ", ".join(map(repr, stages[:_SHOWN])) + more
    return f"write stage: {name} on the tasks to wait for"


def _is_number(name: str) -> bool:
    """Whether a range can include the id: Batch writes whole numbers without leading zeros."""
    return name.isdecimal() and (name == "0" or name[0] != "0")
