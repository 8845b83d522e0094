"""The types of the formula language and how their values are printed.

double is `float` (also truth, 1 or 0), doubleVec a tuple of floats, string `str`; timestamp, timeinterval and
nodeDeallocationOption are the classes below. A doubleVecList exists only as arguments: `flatten`.
Time counts in ticks of 100 ns, the smallest interval that the language names.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from datetime import datetime, timedelta, timezone
from enum import Enum
from typing import TYPE_CHECKING, TypeAlias

from azbatch_core.local.autoscale import choices
from azbatch_core.local.autoscale.errors import Mistake

if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = ["Deallocation", "Interval", "Timestamp", "Value", "Vec", "finite", "flatten", "text", "type_name"]

_EPOCH = datetime(1, 1, 1, tzinfo=timezone.utc)
_MICROSECOND = timedelta(microseconds=1)
_SECOND_TICKS = 10_000_000
_DAY_TICKS = 86_400 * _SECOND_TICKS
_LARGEST_INTERVAL = 2**63 - 1
_LARGEST_MOMENT = (datetime.max.replace(tzinfo=timezone.utc) - _EPOCH) // _MICROSECOND * 10 + 9


@dataclass(frozen=True, order=True)
class Interval:
    """A timeinterval: signed ticks of 100 ns that fit 64 bits, as .NET's TimeSpan.

    Raises:
        Mistake: out of range.
    """

    ticks: int

    def __post_init__(self) -> None:
        if abs(self.ticks) > _LARGEST_INTERVAL:
            raise Mistake("The time interval is out of range")

    @classmethod
    def of(cls, delta: timedelta) -> Interval:
        """The interval of a `timedelta`."""
        return cls(delta // _MICROSECOND * 10)

    def __str__(self) -> str:
        """.NET's constant format: `[-][d.]hh:mm:ss[.fffffff]`."""
        days, rest = divmod(abs(self.ticks), _DAY_TICKS)
        seconds, fraction = divmod(rest, _SECOND_TICKS)
        sign = "-" if self.ticks < 0 else ""
        clock = f"{seconds // 3600:02}:{seconds // 60 % 60:02}:{seconds % 60:02}"
        return sign + (f"{days}." if days else "") + clock + (f".{fraction:07}" if fraction else "")


@dataclass(frozen=True, order=True)
class Timestamp:
    """A timestamp: ticks since 0001-01-01T00:00:00Z, up to the end of the year 9999.

    Raises:
        Mistake: out of range.
    """

    ticks: int

    def __post_init__(self) -> None:
        if not 0 <= self.ticks <= _LARGEST_MOMENT:
            raise Mistake("The time is out of range")

    @classmethod
    def of(cls, moment: datetime) -> Timestamp:
        """The timestamp of `moment`; one without a zone is taken as UTC."""
        aware = moment if moment.tzinfo else moment.replace(tzinfo=timezone.utc)
        return cls((aware - _EPOCH) // _MICROSECOND * 10)

    def moment(self) -> datetime:
        """The time in UTC, cut to microseconds."""
        return _EPOCH + timedelta(microseconds=self.ticks // 10)

    def member(self, name: str) -> float | None:
        """`year`, `month`, `day`, `weekday`, `hour`, `minute` or `second`, in UTC; None for another name."""
        moment = self.moment()
        if name == "weekday":
            return float(choices.weekday(moment.isoweekday()))
        if name in {"year", "month", "day", "hour", "minute", "second"}:
            return float(getattr(moment, name))
        return None

    def __str__(self) -> str:
        return self.moment().replace(tzinfo=None).isoformat(timespec="milliseconds") + "Z"


class Deallocation(Enum):
    """What becomes of the tasks on a node that is removed."""

    REQUEUE = "requeue"
    TERMINATE = "terminate"
    TASK_COMPLETION = "taskcompletion"
    RETAINED_DATA = "retaineddata"


Vec: TypeAlias = tuple[float, ...]
Value: TypeAlias = float | Vec | str | Timestamp | Interval | Deallocation

_NAMES: dict[type, str] = {
    float: "double",
    tuple: "doubleVec",
    str: "string",
    Timestamp: "timestamp",
    Interval: "timeinterval",
    Deallocation: "nodeDeallocationOption",
}


def type_name(value: Value) -> str:
    """The language's name of the value's type."""
    return _NAMES[type(value)]


def finite(number: float) -> float:
    """`number` itself.

    Raises:
        Mistake: infinite or not a number.
    """
    if not math.isfinite(number):
        raise Mistake("The result is not a finite number")
    return number


def flatten(values: Iterable[Value]) -> Vec:
    """A doubleVecList as one vector.

    Raises:
        Mistake: an element is neither a number nor a vector.
    """
    flat: list[float] = []
    for value in values:
        if isinstance(value, tuple):
            flat.extend(value)
        elif isinstance(value, float):
            flat.append(value)
        else:
            raise Mistake(f"A {type_name(value)} is given where numbers are wanted")
    return tuple(flat)


def text(value: Value) -> str:
    """The value as a results string prints it."""
    if isinstance(value, float):
        # .NET's 15 significant digits; adding zero turns -0 into 0.
        return f"{value + 0.0:.15G}"
    if isinstance(value, tuple):
        return f"[{','.join(map(text, value))}]"
    if isinstance(value, Deallocation):
        return value.value
    return str(value)
