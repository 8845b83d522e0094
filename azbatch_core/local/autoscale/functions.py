"""The functions that depend on their arguments alone. `time`, `rand` and `stop` are the evaluator's."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from azbatch_core.local.autoscale import choices
from azbatch_core.local.autoscale.errors import Mistake
from azbatch_core.local.autoscale.values import finite, flatten

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from azbatch_core.local.autoscale.values import Value, Vec

__all__ = ["FUNCTIONS", "call"]

_PAIR = 2


def call(name: str, arguments: Sequence[Value]) -> Value:
    """The value of the function `name`, which is one of `FUNCTIONS`.

    Raises:
        Mistake: the arguments do not suit it, or the result is not a finite number.
    """
    return FUNCTIONS[name](arguments)


def _avg(numbers: Vec) -> float:
    return math.fsum(numbers) / len(numbers)


def _std(numbers: Vec) -> float:
    """Sample standard deviation (documented by its formula with n - 1); 0 for a single number."""
    if len(numbers) == 1:
        return 0.0
    mean = _avg(numbers)
    return math.sqrt(math.fsum((number - mean) ** 2 for number in numbers) / (len(numbers) - 1))


def _range(numbers: Vec) -> float:
    return max(numbers) - min(numbers)


def _len(numbers: Vec) -> float:
    return float(len(numbers))


def _of_list(
    name: str, function: Callable[[Vec], float], *, some: bool = True
) -> Callable[[Sequence[Value]], Value]:
    """A function of a flattened list; `some`: it needs at least one number."""

    def run(arguments: Sequence[Value]) -> Value:
        numbers = flatten(arguments)
        if some and not numbers:
            raise Mistake(f"{name} of nothing")
        try:
            return finite(float(function(numbers)))
        except OverflowError:
            raise Mistake("The result is not a finite number") from None

    return run


def _each(name: str, function: Callable[[float], float]) -> Callable[[Sequence[Value]], Value]:
    """A function of a number, or of each number of a list."""

    def run(arguments: Sequence[Value]) -> Value:
        if not arguments:
            raise Mistake(f"{name} needs an argument")
        numbers = flatten(arguments)
        try:
            results = tuple(finite(float(function(number))) for number in numbers)
        except ValueError:
            raise Mistake(f"{name} is not defined for this argument") from None
        alone = len(arguments) == 1 and isinstance(arguments[0], float)
        return results[0] if alone else results

    return run


def _vector_and_number(
    name: str, function: Callable[[Vec, float], float]
) -> Callable[[Sequence[Value]], Value]:
    def run(arguments: Sequence[Value]) -> Value:
        if len(arguments) == _PAIR:
            vector, number = arguments
            if isinstance(vector, tuple) and isinstance(number, float):
                return finite(function(vector, number))
        raise Mistake(f"{name} takes a doubleVec and a double")

    return run


FUNCTIONS: dict[str, Callable[[Sequence[Value]], Value]] = {
    "avg": _of_list("avg", _avg),
    "len": _of_list("len", _len, some=False),
    "max": _of_list("max", max),
    "min": _of_list("min", min),
    "norm": _of_list("norm", lambda numbers: math.hypot(*numbers), some=False),
    "range": _of_list("range", _range),
    "std": _of_list("std", _std),
    "sum": _of_list("sum", math.fsum, some=False),
    "vec": flatten,
    "lg": _each("lg", math.log2),
    "ln": _each("ln", math.log),
    "log": _each("log", math.log10),
    "ceil": _each("ceil", math.ceil),
    "floor": _each("floor", math.floor),
    "round": _each("round", choices.round_half),
    "val": _vector_and_number("val", choices.val),
    "percentile": _vector_and_number("percentile", choices.percentile),
}
