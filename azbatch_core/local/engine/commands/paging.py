"""Pages of lists.

In the order of ids, continued after the last id shown, so that no change in between shifts them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from azbatch_core.local.odata.parser import Match
    from azbatch_core.local.store.records import Doc

__all__ = ["Listed", "by_id", "in_order", "page"]

if TYPE_CHECKING:
    Listed = tuple[list[Doc], str | None]


class _HasState(Protocol):
    @property
    def id(self) -> str:
        """Its id."""

    @property
    def state(self) -> str:
        """Its state."""


_T = TypeVar("_T")
_R = TypeVar("_R", bound=_HasState)


def page(
    items: Iterable[_T],
    document: Callable[[_T], Doc],
    match: Match | None,
    limit: int,
    *,
    name: Callable[[Doc], str] = lambda doc: str(doc["id"]),
    seen: Callable[[_T], Mapping[str, Any]] | None = None,
) -> Listed:
    """At most `limit` documents that match, and the id to go on after if another matches.

    `items` come in the order of ids. `seen` builds what `match` looks at if that is less than the document.
    """
    docs: list[Doc] = []
    for item in items:
        if match is not None and not match((seen or document)(item)):
            continue
        if len(docs) == limit:
            return docs, name(docs[-1])
        docs.append(document(item))
    return docs, None


def by_id(items: Iterable[_T], key: Callable[[_T], str], after: str | None) -> list[_T]:
    """Items in the order of their ids, those after an id."""
    ordered = sorted(items, key=lambda item: key(item).lower())
    if after is None:
        return ordered
    return [item for item in ordered if key(item).lower() > after.lower()]


def in_order(records: Iterable[_R], after: str | None, hints: Mapping[str, str] | None) -> list[_R]:
    """Records in the order of their ids, those after an id; `hints` (`{"state": …}`) leave some out."""
    state = (hints or {}).get("state")
    found = [record for record in records if state in {None, record.state}]
    return by_id(found, lambda record: record.id, after)
