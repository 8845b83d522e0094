"""The part of a `$filter` over tasks that SQLite can decide: it leaves out rows that cannot match.

What is let through is not sure to match, and is asked again; so whatever is not known here narrows nothing.
"""

from __future__ import annotations

from datetime import datetime
from typing import Any

from azbatch_core.local.wire.durations import TICKS_PER_SECOND

__all__ = ["narrowed"]

_RESULT = "CASE WHEN state<>'completed' THEN '' WHEN failure IS NULL THEN 'success' ELSE 'failure' END"
# The unary plus keeps SQLite on the index of ids: the order matters more than the filter.
_TEXTS = {"id": "id", "state": "+state", "executionInfo/result": _RESULT}
_NUMBERS = {"executionInfo/exitCode": "exit_code"}
_TIMES = {
    "stateTransitionTime": "since",
    "creationTime": "created",
    "lastModifiedTime": "modified",
    "executionInfo/startTime": "started",
    "executionInfo/endTime": "ended",
}
_SIGNS = {"eq": "=", "gt": ">", "ge": ">=", "lt": "<", "le": "<="}
_ALL: tuple[str, list[Any]] = ("1", [])
_VALUES_MOST = 200
_INT64 = 2**63
_EPOCH = datetime(1, 1, 1)  # noqa: DTZ001 - all times are in UTC here
_BEHIND_ALL = "\x7f"
"""Greater than every character that an id may have."""


def narrowed(condition: tuple[Any, ...] | None) -> tuple[str, list[Any]]:
    """An SQL expression that is true for each task that `condition` (of `odata.parser`) holds for."""
    sql, values = _expression(condition)
    # SQLite takes no expression of arbitrary size.
    return (sql, values) if len(values) <= _VALUES_MOST else _ALL


def _expression(condition: tuple[Any, ...] | None) -> tuple[str, list[Any]]:
    if condition is None:
        return _ALL
    first, *rest = condition
    if first in {"and", "or"}:
        parts = [_expression(part) for part in rest[0]]
        return f"({f' {first} '.join(sql for sql, _ in parts)})", [one for _, some in parts for one in some]
    return _comparison(first, *rest)


def _comparison(name: str, verb: str, value: Any) -> tuple[str, list[Any]]:
    if verb == "startswith":
        return ("(id>=? AND id<?)", [value, value + _BEHIND_ALL]) if name == "id" else _ALL
    if name in _TIMES:
        return f"+{_TIMES[name]}{_SIGNS[verb]}?", [_ticks(value)]
    column = _TEXTS.get(name) or _NUMBERS.get(name)
    if column is None or (isinstance(value, int) and not -_INT64 <= value < _INT64):
        return _ALL
    return f"{column}{_SIGNS[verb]}?", [value]


def _ticks(sortable: str) -> int:
    whole, _, fraction = sortable.partition(".")
    since = datetime.fromisoformat(whole) - _EPOCH
    return (since.days * 86400 + since.seconds) * TICKS_PER_SECOND + int(fraction)
