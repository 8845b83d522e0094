"""What the service's documents leave open about formulas, and what is assumed here, all in one place.

Choices that are a value or a rule are below and read by the interpreter. Those that are only the absence of
something:

- Number literals are digits with an optional fraction: no exponent, no bare dot at either end. No unary plus.
- Function, method and constant names are taken exactly as documented; only service variables ignore case.
- A missing semicolon, more than 100 statements and a formula without any statement are syntax errors
  (refused), as is nesting deeper than `limits.NESTING`. Everything about names, types and values is an
  evaluation error.
- A number stands on either side of a vector; vectors of unequal length are an error. A vector is never taken
  for a number, not even one of one element. `timestamp - timeinterval` works, dividing intervals does not.
- Strings have no escapes and do not stand for a deallocation option. Vectors and options cannot be compared.
- A division by zero, a logarithm outside its domain and any result that is not a finite number are errors, as
  are `avg`, `max`, `min`, `range`, `std` and `percentile` of nothing (`sum`, `norm`, `len` of nothing are 0).
- Windows of samples may be given with either end first.
- A value keeps its fraction inside the formula; a target becomes whole only at the end.
- Service variables, time intervals and option words cannot be assigned.
"""

from __future__ import annotations

import math
from datetime import timedelta

from azbatch_core.local.autoscale.errors import Mistake

__all__ = [
    "DEFAULT_SAMPLE_PERCENT",
    "LOGIC_IS_LAZY",
    "NO_SAMPLE",
    "SAMPLE_PERIOD",
    "SERVICE_NAMES_IGNORE_CASE",
    "SLOTS_PER_NODE",
    "YEAR",
    "expected_samples",
    "percentile",
    "round_half",
    "sort_key",
    "val",
    "weekday",
    "whole_percent",
    "whole_target",
]

SAMPLE_PERIOD = timedelta(seconds=30)
"""Documented."""

DEFAULT_SAMPLE_PERCENT = 70.0
"""Undocumented; a published error text of the service shows it."""

SERVICE_NAMES_IGNORE_CASE = True
"""The documents spell `$preemptedNodeCount` and `$PreemptedNodeCount` for the same variable."""

LOGIC_IS_LAZY = True
"""`&&` and `||` leave their right side alone once decided; the conditional operator is known to."""

NO_SAMPLE = 0.0
"""A service variable used as a number before its first sample."""

SLOTS_PER_NODE = 1.0
"""`$TaskSlotsPerNode` where the caller gives none: the service's default for pools."""

YEAR = timedelta(days=365)
"""Length of `TimeInterval_Year`."""

_LARGEST_TARGET = 2**31 - 1


def weekday(iso_weekday: int) -> int:
    """Monday is 1 (documented), so Sunday is 0: the numbers of .NET's DayOfWeek."""
    return iso_weekday % 7


def whole_target(value: float) -> int:
    """Fractions of a node are cut off.

    Raises:
        Mistake: the target is negative or no 32-bit integer. Every published formula clamps with
            `max(0, ...)`; one that needs the clamp and lacks it shall fail here, not only on a real account.
    """
    nodes = math.trunc(value)
    if nodes < 0:
        raise Mistake(f"A target must not be negative, it is {nodes}")
    if nodes > _LARGEST_TARGET:
        raise Mistake(f"A target must not exceed {_LARGEST_TARGET}")
    return nodes


def expected_samples(window: timedelta, period: timedelta) -> int:
    """Whole periods in the window; a window shorter than one period still expects a sample."""
    return max(1, window // period)


def whole_percent(percent: float) -> int:
    """Percents in an error's text: cut, so that a failing share never reads as the wanted one."""
    return math.floor(percent)


def val(vector: tuple[float, ...], index: float) -> float:
    """Element `index` from zero, a fraction cut off; 0 for an empty vector.

    A published failure of the service shows `val(x.GetSample(1), 0)` passing on a pool without samples.

    Raises:
        Mistake: no such element in a vector that has some.
    """
    place = math.trunc(index)
    if not vector and place == 0:
        return 0.0
    if not 0 <= place < len(vector):
        raise Mistake(f"Index {place} is outside a vector of {len(vector)} elements")
    return vector[place]


def percentile(vector: tuple[float, ...], percent: float) -> float:
    """Linear interpolation between the two nearest ranks, both ends included.

    Raises:
        Mistake: nothing to take it of, or a percent outside 0 to 100.
    """
    if not vector:
        raise Mistake("percentile of nothing")
    if not 0 <= percent <= 100:  # noqa: PLR2004 - the bounds of a percentage
        raise Mistake("percentile needs a percent from 0 to 100")
    ranked = sorted(vector)
    rank = percent / 100 * (len(ranked) - 1)
    low = math.floor(rank)
    high = min(low + 1, len(ranked) - 1)
    share = rank - low
    return ranked[low] * (1 - share) + ranked[high] * share


def round_half(value: float) -> float:
    """Halves go to the even neighbour, as .NET's Math.Round does."""
    return float(round(value))


def sort_key(name: str) -> tuple[str, str]:
    """Order of the user's variables in a results string: alphabetical (seen), upper and lower case alike."""
    return name.lower(), name
