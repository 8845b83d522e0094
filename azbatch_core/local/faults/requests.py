"""Which requests a fault can meet at all: one that would never strike is a slip of its author."""

from __future__ import annotations

import difflib
import re
from typing import TYPE_CHECKING, Protocol

from azbatch_core.local.faults.reading import FaultError

if TYPE_CHECKING:
    from collections.abc import Collection

    from azbatch_core.local.faults.fault import Fault

__all__ = ["Row", "check_requests"]

_NAMES = ("operation", "method", "path")


class Row(Protocol):
    """An operation of the service, as far as faults know it; `{…}` in its path stands for any text."""

    @property
    def name(self) -> str:
        """What `operation` is compared with."""

    @property
    def method(self) -> str:
        """What `method` is compared with."""

    @property
    def path(self) -> str:
        """What `path` may be compared with."""


def check_requests(fault: Fault, operations: Collection[Row]) -> None:
    """Refuse a fault of requests that no request could meet.

    Raises:
        FaultError: no operation has such a name, method or path, or none has all of them.
    """
    places = {name: fault.places[name] for name in _NAMES if name in fault.places}
    for name, glob in places.items():
        known = dict.fromkeys(_word(row, name) for row in operations)
        if not any(_meet(glob, word) for word in known):
            plain = re.sub(r"[*?\[\]]", "", glob)
            near = difflib.get_close_matches(plain, known, 1)
            hint = f"; did you mean {near[0]}?" if near else ""
            raise FaultError(f"{fault.kind}: no request has the {name} {glob!r}{hint}")
    if not any(all(_meet(glob, _word(row, name)) for name, glob in places.items()) for row in operations):
        together = ", ".join(f"{name} {glob!r}" for name, glob in places.items())
        raise FaultError(f"{fault.kind}: no request has all of {together}")


def _word(row: Row, name: str) -> str:
    if name == "path":
        return re.sub(r"\{\w+\}", "*", row.path).lower()
    return (row.name if name == "operation" else row.method).lower()


def _meet(one: str, other: str) -> bool:
    """Whether some text matches both globs; a set of characters counts as any character."""
    one = re.sub(r"\[!?\]?[^\]]*\]", "?", one)
    after = [False] * len(other) + [True]  # whether what is left of `other` may be nothing
    for place in range(len(other) - 1, -1, -1):
        after[place] = other[place] == "*" and after[place + 1]
    for char in reversed(one):
        row = [char == "*" and after[-1]]
        for place in range(len(other) - 1, -1, -1):
            if "*" in (char, other[place]):
                row.insert(0, after[place] or row[0])
            else:
                row.insert(0, after[place + 1] and (char == other[place] or char == "?"))
        after = row
    return after[0]
