"""Names that mean something to the service, and the variables of one evaluation."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from typing import TYPE_CHECKING

from azbatch_core.local.autoscale import choices
from azbatch_core.local.autoscale.errors import Mistake, Position, evaluation_error
from azbatch_core.local.autoscale.samples import SampleSeries, SampleSet
from azbatch_core.local.autoscale.values import Deallocation, Interval, type_name

if TYPE_CHECKING:
    from collections.abc import Mapping

    from azbatch_core.local.autoscale.values import Timestamp, Value

__all__ = ["SERVICE_VARIABLES", "PoolTargets", "Scope"]

SERVICE_VARIABLES = (
    "$CPUPercent",
    "$WallClockSeconds",
    "$MemoryBytes",
    "$DiskBytes",
    "$DiskReadBytes",
    "$DiskWriteBytes",
    "$DiskReadOps",
    "$DiskWriteOps",
    "$NetworkInBytes",
    "$NetworkOutBytes",
    "$ActiveTasks",
    "$RunningTasks",
    "$PendingTasks",
    "$SucceededTasks",
    "$FailedTasks",
    "$TaskSlotsPerNode",
    "$CurrentDedicatedNodes",
    "$CurrentLowPriorityNodes",
    "$PreemptedNodeCount",
    "$UsableNodeCount",
    "$SampleNodeCount",
)
"""Read-only variables, by the names that `evaluate` takes samples for."""

DEDICATED = "$TargetDedicatedNodes"
LOW_PRIORITY = "$TargetLowPriorityNodes"
OPTION = "$NodeDeallocationOption"
_DEDICATED_ALIAS = "$TargetDedicated"
_LOW_PRIORITY_ALIAS = "$TargetLowPriority"
_SETTABLE = (DEDICATED, LOW_PRIORITY, OPTION, _DEDICATED_ALIAS, _LOW_PRIORITY_ALIAS)
_FULL_NAMES = {_DEDICATED_ALIAS: DEDICATED, _LOW_PRIORITY_ALIAS: LOW_PRIORITY}
_ALIASES = {full: alias for alias, full in _FULL_NAMES.items()}
_OLD_NAMES = {"$CurrentDedicated": "$CurrentDedicatedNodes"}


def _key(name: str) -> str:
    return name.lower() if choices.SERVICE_NAMES_IGNORE_CASE else name


_SPELLING = {_key(name): name for name in (*SERVICE_VARIABLES, *_SETTABLE)} | {
    _key(old): name for old, name in _OLD_NAMES.items()
}

CONSTANTS: dict[str, Value] = {
    "TimeInterval_Zero": Interval(0),
    "TimeInterval_100ns": Interval(1),
    "TimeInterval_Microsecond": Interval(10),
    "TimeInterval_Millisecond": Interval.of(timedelta(milliseconds=1)),
    "TimeInterval_Second": Interval.of(timedelta(seconds=1)),
    "TimeInterval_Minute": Interval.of(timedelta(minutes=1)),
    "TimeInterval_Hour": Interval.of(timedelta(hours=1)),
    "TimeInterval_Day": Interval.of(timedelta(days=1)),
    "TimeInterval_Week": Interval.of(timedelta(weeks=1)),
    "TimeInterval_Year": Interval.of(choices.YEAR),
    **{option.value: option for option in Deallocation},
}


@dataclass(frozen=True)
class PoolTargets:
    """The pool's present targets in nodes: read until the formula assigns, the result if it does not."""

    dedicated: int = 0
    low_priority: int = 0


class Scope:
    """The variables of one evaluation.

    Raises:
        ValueError: `samples` has a name that is no service variable.
    """

    def __init__(self, samples: Mapping[str, SampleSeries], now: Timestamp, present: PoolTargets) -> None:
        self.user: dict[str, Value] = {}
        self._samples: dict[str, SampleSet] = {}
        for name, series in samples.items():
            spelling = _SPELLING.get(_key(name))
            if spelling not in SERVICE_VARIABLES:
                raise ValueError(f"{name} is no service variable of autoscale formulas")
            self._samples[spelling] = SampleSet(series, now)
        self._nothing = SampleSet(SampleSeries(), now)
        start = Position(1, 1)
        self._present = {
            DEDICATED: (float(present.dedicated), start),
            LOW_PRIORITY: (float(present.low_priority), start),
        }
        self._targets: dict[str, tuple[float, Position]] = {}
        self._option = Deallocation.REQUEUE

    def samples(self, name: str) -> SampleSet | None:
        """The samples of a service variable, None for another name."""
        spelling = _SPELLING.get(_key(name))
        return self._samples.get(spelling, self._nothing) if spelling in SERVICE_VARIABLES else None

    def read(self, name: str) -> Value | None:
        """The value of a variable or constant, None if there is none of that name."""
        spelling = _SPELLING.get(_key(name))
        if spelling is None:
            return CONSTANTS.get(name, self.user.get(name))
        if spelling == OPTION:
            return self._option
        if spelling in _SETTABLE:
            return self._target(spelling)[0]
        latest = self._samples.get(spelling, self._nothing).latest()
        if latest is None:
            return choices.SLOTS_PER_NODE if spelling == "$TaskSlotsPerNode" else choices.NO_SAMPLE
        return latest

    def assign(self, name: str, value: Value, at: Position) -> None:
        """Give a variable a value.

        Raises:
            Mistake: the variable is read-only, or of another type.
        """
        spelling = _SPELLING.get(_key(name))
        if spelling in SERVICE_VARIABLES or name in CONSTANTS:
            raise Mistake(f"{name} cannot be assigned")
        if spelling is None:
            self.user[name] = value
        elif spelling == OPTION and isinstance(value, Deallocation):
            self._option = value
        elif spelling != OPTION and isinstance(value, float):
            self._targets[spelling] = (value, at)
        else:
            raise Mistake(f"A {type_name(value)} cannot be assigned to {spelling}")

    def target(self, name: str) -> int:
        """The whole number of nodes that the target `name` stands at.

        Raises:
            FormulaError: the number is out of range.
        """
        value, at = self._target(name)
        try:
            return choices.whole_target(value)
        except Mistake as mistake:
            raise evaluation_error(at, str(mistake)) from None

    @property
    def option(self) -> str:
        """The deallocation option's word."""
        return self._option.value

    def _target(self, name: str) -> tuple[float, Position]:
        """The value given to a target's full name, else to its alias, else the present one."""
        full = _FULL_NAMES.get(name, name)
        return self._targets.get(full) or self._targets.get(_ALIASES[full]) or self._present[full]
