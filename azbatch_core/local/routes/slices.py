"""Pages of lists that no store pages: short ones, and those of files."""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    from collections.abc import Iterable

    from azbatch_core.local.http.paging import Page

_T = TypeVar("_T")


def page_of(documents: Iterable[dict[str, Any]], page: Page) -> tuple[list[dict[str, Any]], int | None]:
    """The documents of the page, and how many matches come before the next one (None: there is none)."""
    return slice_of((document for document in documents if page.match is None or page.match(document)), page)


def slice_of(matches: Iterable[_T], page: Page) -> tuple[list[_T], int | None]:
    """Those of the page, and how many come before the next one (None: there is none)."""
    start = page.after or 0
    found = list(islice(matches, start, start + page.limit + 1))
    return found[: page.limit], start + page.limit if len(found) > page.limit else None
