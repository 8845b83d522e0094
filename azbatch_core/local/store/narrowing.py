"""A `$filter` over tasks as an SQL expression: it leaves out the rows that cannot match.

It has the eyes of the document: a property that is not shown is null, whatever the column holds from an
earlier try. What is let through is asked again, so what is not known here narrows nothing.
"""

from __future__ import annotations

from datetime import datetime
from typing import Any

import orjson

from azbatch_core.local.wire.durations import TICKS_PER_SECOND

__all__ = ["narrowed"]

# The unary plus keeps SQLite on the index of ids: the order matters more than the filter.
_TEXTS = {
    "id": "id",
    "state": "+state",
    "executionInfo/result": (
        "CASE WHEN state='completed' THEN CASE WHEN failure IS NULL THEN 'success' ELSE 'failure' END END"
    ),
}
_NUMBERS = {"executionInfo/exitCode": "CASE WHEN state='completed' THEN exit_code END"}
_TIMES = {
    "stateTransitionTime": "+since",
    "creationTime": "+created",
    "lastModifiedTime": "+modified",
    "executionInfo/startTime": "CASE WHEN state IN ('running','completed') THEN started END",
    "executionInfo/endTime": "CASE WHEN state='completed' THEN ended END",
}
_COLUMNS = {**_TEXTS, **_NUMBERS, **_TIMES}
_SIGNS = {"eq": "IS", "ne": "IS NOT", "gt": ">", "ge": ">=", "lt": "<", "le": "<="}
_SQL = tuple[str, list[Any]]
_ALL: _SQL = ("1", [])
_NONE: _SQL = ("0", [])
_VALUES_MOST = 900
"""SQLite before 3.32 takes 999."""

_INT64 = 2**63
_EPOCH = datetime(1, 1, 1)  # noqa: DTZ001 - all times are in UTC here
_BEHIND_ALL = "\x7f"
"""Greater than every character that an id may have."""


def narrowed(condition: tuple[Any, ...] | None) -> _SQL:
    """An SQL expression that is true for each task that `condition` (of `odata.parser`) holds for."""
    sql, values = _expression(condition)
    return (sql, values) if len(values) <= _VALUES_MOST else _ALL


def _expression(condition: tuple[Any, ...] | None) -> _SQL:
    if condition is None:
        return _ALL
    first, *rest = condition
    if first in {"and", "or"}:
        return _joined(first, rest[0])
    return _comparison(first, *rest)


def _joined(word: str, parts: list[Any]) -> _SQL:
    """Parts joined by `and` or `or`; many values of one property, the usual long filter, become one list."""
    verb = "eq" if word == "or" else "ne"
    lists: dict[str, list[Any]] = {}
    others: list[_SQL] = []
    for part in parts:
        if part is not None and part[1] == verb and part[0] in _COLUMNS and _is_plain(part[2]):
            lists.setdefault(part[0], []).append(_value(part[0], part[2]))
        else:
            others.append(_expression(part))
    return _balanced(word, [*others, *(_listed(name, verb, values) for name, values in lists.items())])


def _listed(name: str, verb: str, values: list[Any]) -> _SQL:
    column = _COLUMNS[name]
    if len(values) == 1:
        return f"{column} {_SIGNS[verb]} ?", values
    held = "(SELECT value FROM json_each(?))"
    found = f"{column} IN {held}" if verb == "eq" else f"({column} IS NULL OR {column} NOT IN {held})"
    return found, [orjson.dumps(values).decode()]


def _balanced(word: str, parts: list[_SQL]) -> _SQL:
    """Joined as a tree of little depth, which SQLite limits."""
    if len(parts) == 1:
        return parts[0]
    half = len(parts) // 2
    (left, some), (right, more) = _balanced(word, parts[:half]), _balanced(word, parts[half:])
    return f"({left} {word} {right})", [*some, *more]


def _is_plain(value: Any) -> bool:
    """Whether a value is one that SQLite and JSON have as it is."""
    if isinstance(value, str):
        return value.isprintable()
    return isinstance(value, int) and -_INT64 <= value < _INT64


def _comparison(name: str, verb: str, value: Any) -> _SQL:
    column = _COLUMNS.get(name)
    if column is None:
        return _ALL
    if verb == "startswith":
        return ("(id>=? AND id<?)", [value, value + _BEHIND_ALL]) if name == "id" else _ALL
    if isinstance(value, int) and not _is_plain(value):
        return _beyond(column, verb, value)
    return f"{column} {_SIGNS[verb]} ?", [_value(name, value)]


def _beyond(column: str, verb: str, value: int) -> _SQL:
    """A comparison with a number that is greater or less than every number there is."""
    if verb in {"eq", "ne"}:
        return _NONE if verb == "eq" else _ALL
    return (f"{column} IS NOT NULL", []) if (verb in {"lt", "le"}) == (value > 0) else _NONE


def _value(name: str, value: Any) -> Any:
    return _ticks(value) if name in _TIMES and value is not None else value


def _ticks(sortable: str) -> int:
    whole, _, fraction = sortable.partition(".")
    since = datetime.fromisoformat(whole) - _EPOCH
    return (since.days * 86400 + since.seconds) * TICKS_PER_SECOND + int(fraction)
