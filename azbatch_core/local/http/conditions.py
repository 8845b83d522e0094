"""Conditional headers: `If-Match`, `If-None-Match`, `If-Modified-Since`, `If-Unmodified-Since`.

ETags are compared with quotes stripped: the service sends them bare and the SDK sends them back quoted.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from azbatch_core.local.errors import BatchError
from azbatch_core.local.http.dates import http_date, parse_http_date

if TYPE_CHECKING:
    from collections.abc import Mapping

_HEADERS = ("if-match", "if-none-match", "if-modified-since", "if-unmodified-since")


class NotModifiedError(Exception):
    """A read whose condition says that the client has it already: 304, without a body."""


def has_conditions(headers: Mapping[str, str]) -> bool:
    """Whether any conditional header was sent."""
    return any(headers.get(name) for name in _HEADERS)


def check_conditions(headers: Mapping[str, str], document: Mapping[str, Any], *, reading: bool) -> None:
    """Return if the request's condition holds for the current state of the resource.

    Args:
        headers: the request's headers, names in lower case.
        document: the resource: `eTag` (none for files) and `lastModified`.
        reading: the request is a GET or HEAD.

    Raises:
        BatchError: `ConditionNotMet`; `MultipleConditionHeadersNotSupported` if more than one is sent;
            `InvalidHeaderValue`.
        NotModifiedError: a read under `If-None-Match` or `If-Modified-Since`.
    """
    given = [name for name in _HEADERS if headers.get(name)]
    if not given:
        return
    if len(given) > 1:
        raise BatchError("MultipleConditionHeadersNotSupported")
    name = given[0]
    value = headers[name]
    if name in ("if-match", "if-none-match"):
        matches = _tag_matches(value, document.get("eTag"))
        holds = matches if name == "if-match" else not matches
    else:
        modified = parse_http_date("Last-Modified", http_date(document["lastModified"]))
        since = parse_http_date(name, value)
        holds = modified > since if name == "if-modified-since" else modified <= since
    if holds:
        return
    if reading and name in ("if-none-match", "if-modified-since"):
        raise NotModifiedError
    raise BatchError("ConditionNotMet")


def _tag_matches(header: str, etag: str | None) -> bool:
    tags = [tag.strip().removeprefix("W/").strip('"') for tag in header.split(",")]
    return "*" in tags or etag in tags
