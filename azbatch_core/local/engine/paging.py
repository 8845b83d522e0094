"""Pages of lists.

In the order of ids, continued after the last id shown, so that no change in between shifts them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from azbatch_core.local.odata.parser import Match
    from azbatch_core.local.store.records import Doc

__all__ = ["Listed", "by_id", "page"]

_T = TypeVar("_T")

if TYPE_CHECKING:
    Listed = tuple[list[Doc], str | None]


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
