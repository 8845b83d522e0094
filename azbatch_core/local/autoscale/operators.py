"""The operators between values: the documented table (`choices` says what it leaves open)."""

from __future__ import annotations

import operator
from typing import TYPE_CHECKING, Any

from azbatch_core.local.autoscale.errors import Mistake
from azbatch_core.local.autoscale.values import Interval, Timestamp, finite, type_name

if TYPE_CHECKING:
    from collections.abc import Callable

    from azbatch_core.local.autoscale.values import Value, Vec

__all__ = ["binary", "truth", "unary"]

_COMPARISONS: dict[str, Callable[[Any, Any], bool]] = {
    "==": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}
_COMPARABLE = (float, str, Timestamp, Interval)


def binary(sign: str, left: Value, right: Value) -> Value:
    """`left sign right` for the arithmetic signs and comparisons (`&&` and `||` are the evaluator's).

    Raises:
        Mistake: the operator does not take these types, or the result is out of range.
    """
    if sign in _COMPARISONS:
        if type(left) is not type(right) or not isinstance(left, _COMPARABLE):
            raise _no_operator(sign, left, right)
        return float(_COMPARISONS[sign](left, right))
    if isinstance(left, (float, tuple)) and isinstance(right, (float, tuple)):
        return _numeric(sign, left, right)
    result = _timed(sign, left, right)
    if result is None:
        raise _no_operator(sign, left, right)
    return result


def unary(sign: str, value: Value) -> Value:
    """`-value` or `!value`.

    Raises:
        Mistake: the operator does not take this type.
    """
    if isinstance(value, float):
        return -value if sign == "-" else float(not value)
    if isinstance(value, Interval) and sign == "-":
        return Interval(-value.ticks)
    raise Mistake(f"Operator '{sign}' does not take a {type_name(value)}")


def truth(value: Value) -> bool:
    """Whether a double is not zero.

    Raises:
        Mistake: another type stands where a condition is wanted.
    """
    if not isinstance(value, float):
        raise Mistake(f"A condition must be a double, not a {type_name(value)}")
    return value != 0


def _numeric(sign: str, left: float | Vec, right: float | Vec) -> float | Vec:
    if isinstance(left, float):
        if isinstance(right, float):
            return _number(sign, left, right)
        left = (left,) * len(right)
    elif isinstance(right, float):
        right = (right,) * len(left)
    if len(left) != len(right):
        raise Mistake(f"Operator '{sign}' between vectors of {len(left)} and {len(right)} elements")
    return tuple(_number(sign, a, b) for a, b in zip(left, right, strict=True))


def _number(sign: str, left: float, right: float) -> float:
    if sign == "/":
        if right == 0:
            raise Mistake("Division by zero")
        return finite(left / right)
    if sign == "*":
        return finite(left * right)
    return finite(left + right if sign == "+" else left - right)


def _timed(sign: str, left: Value, right: Value) -> Value | None:  # noqa: PLR0911 - a row of the table a line
    match sign, left, right:
        case "*", Interval(), float():
            return Interval(round(finite(left.ticks * right)))
        case "*", float(), Interval():
            return Interval(round(finite(left * right.ticks)))
        case "/", Interval(), float():
            return Interval(round(_number("/", float(left.ticks), right)))
        case "+", Interval(), Interval():
            return Interval(left.ticks + right.ticks)
        case "-", Interval(), Interval():
            return Interval(left.ticks - right.ticks)
        case "+", Interval(), Timestamp():
            return Timestamp(left.ticks + right.ticks)
        case "+", Timestamp(), Interval():
            return Timestamp(left.ticks + right.ticks)
        case "-", Timestamp(), Interval():
            return Timestamp(left.ticks - right.ticks)
        case "-", Timestamp(), Timestamp():
            return Interval(left.ticks - right.ticks)
    return None


def _no_operator(sign: str, left: Value, right: Value) -> Mistake:
    return Mistake(f"Operator '{sign}' does not take {type_name(left)} and {type_name(right)}")
