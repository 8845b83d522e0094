"""Whether a pool that is there is still what azbatch made."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from azbatch_core.plan.secrets import StorageRef
from azbatch_core.specs.secrets import Secret
from azbatch_core.specs.urls import UrlSecret

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

_EXACT = frozenset({"commandLine", "value"})
"""Text whose case means something; enumerations and names come back in any case."""
_NEVER_SHOWN = (Secret, UrlSecret, StorageRef)
_LONGEST = 60


def differences(fixed: Mapping[str, Any], pool: Mapping[str, Any]) -> list[str]:
    """What differs between the planned part of a pool's body that is fixed and the pool's document.

    The document may say more (what Batch fills in); secrets are not compared, as it does not show them.
    """
    return list(_compare(fixed, pool, ""))


def _compare(wanted: Any, found: Any, path: str) -> Iterator[str]:
    if isinstance(wanted, _NEVER_SHOWN):
        return
    if isinstance(wanted, dict):
        there = found if isinstance(found, dict) else {}
        for name, value in wanted.items():
            yield from _compare(value, there.get(name), f"{path}.{name}" if path else name)
    elif isinstance(wanted, list) and isinstance(found, list) and len(wanted) == len(found):
        for place, (one, other) in enumerate(zip(wanted, found, strict=True)):
            yield from _compare(one, other, f"{path}[{place}]")
    elif not _same(wanted, found, path.rpartition(".")[2]):
        yield f"{path} is {_short(found)}, not {_short(wanted)}"


def _same(wanted: Any, found: Any, name: str) -> bool:
    if isinstance(wanted, str) and isinstance(found, str) and name not in _EXACT:
        return wanted.casefold() == found.casefold()
    return bool(wanted == found or (not wanted and found is None))


def _short(value: Any) -> str:
    text = "not there" if value is None else repr(value)
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 1]}…"
