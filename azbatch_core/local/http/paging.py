"""Pages of lists: how many, from where, and which documents."""

from __future__ import annotations

import base64
import binascii
import hashlib
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

import orjson

from azbatch_core.local.http.query import invalid_parameter
from azbatch_core.local.odata.filters import FILTERS
from azbatch_core.local.odata.lexer import FilterError
from azbatch_core.local.odata.parser import Condition, Match, parse_filter
from azbatch_core.local.wire.schema import properties

if TYPE_CHECKING:
    from azbatch_core.local.http.operation import Operation
    from azbatch_core.local.http.query import Query

MAX_RESULTS = 1000
_CHECK_BYTES = 6


@dataclass(frozen=True)
class Page:
    """What a list was asked for.

    Attributes:
        match: the compiled `$filter`, None without one.
        hints: equalities that every match fulfils, by property.
        condition: the `$filter` as data (see `odata.parser.Filter`).
        after: where the page before ended, as the list's own store knows it; None for the first page.
        limit: most documents on the page.
    """

    match: Match | None = None
    hints: dict[str, str] = field(default_factory=dict)
    condition: Condition = None
    after: Any = None
    limit: int = MAX_RESULTS


def read_page(operation: Operation, query: Query, path: str) -> Page:
    """The page that a list request asks for.

    Raises:
        BatchError: `InvalidQueryParameterValue`.
    """
    match, hints, condition = None, {}, None
    text = query.get("$filter")
    if text is not None and text.strip():
        try:
            compiled = parse_filter(text, FILTERS[operation.filter])
        except FilterError as error:
            raise invalid_parameter("$filter", text, str(error)) from None
        match, hints, condition = compiled.match, compiled.hints, compiled.condition
    token = query.get("$skiptoken")
    after = None if token is None else decode_token(token, path)
    return Page(match, hints, condition, after, _max_results(query.get("maxresults")))


def read_select(operation: Operation, query: Query) -> tuple[str, ...]:
    """The properties named in `$select`, none when the whole document is wanted.

    Raises:
        BatchError: `InvalidQueryParameterValue` for a property that the resource does not have.
    """
    text = query.get("$select")
    if text is None or not text.strip():
        return ()
    known = properties(operation.select)
    names = tuple(name.strip() for name in text.split(",") if name.strip())
    for name in names:
        if name not in known:
            raise invalid_parameter("$select", text, f"{name} is not a property of the resource")
    return names


def check_expand(query: Query) -> None:
    """Return if `$expand` names nothing but `stats`.

    Raises:
        BatchError: `InvalidQueryParameterValue`.
    """
    text = query.get("$expand")
    if text is not None and {name.strip() for name in text.split(",")} - {"stats", ""}:
        raise invalid_parameter("$expand", text, "only stats can be expanded")


def encode_token(after: Any, path: str) -> str:
    """An opaque token for the place after which the next page of the list at `path` begins."""
    payload = orjson.dumps(after)
    return base64.urlsafe_b64encode(_check(payload, path) + payload).decode().rstrip("=")


def decode_token(token: str, path: str) -> Any:
    """The place that `encode_token` wrote for the same list.

    Raises:
        BatchError: `InvalidQueryParameterValue`: it did not write this.
    """
    try:
        raw = base64.b64decode(token + "=" * (-len(token) % 4), altchars=b"-_", validate=True)
        payload = raw[_CHECK_BYTES:]
        if raw[:_CHECK_BYTES] == _check(payload, path):
            return orjson.loads(payload)
    except (binascii.Error, ValueError):
        pass
    raise invalid_parameter("$skiptoken", token, "the token is not one of this list")


def next_link(base: str, path: str, query: Query, after: Any) -> str:
    """The absolute URL of the next page: the request's own, with all its query, and the token."""
    kept = [part for part in query.raw.split("&") if part and not _is_token(part)]
    return f"{base}{path}?{'&'.join([*kept, f'$skiptoken={quote(encode_token(after, path))}'])}"


def _is_token(part: str) -> bool:
    return part.lower().startswith(("$skiptoken=", "%24skiptoken="))


def _check(payload: bytes, path: str) -> bytes:
    """Keeps made-up tokens away from the store; no secret is needed for that."""
    return hashlib.blake2s(path.encode() + b"\0" + payload, digest_size=_CHECK_BYTES).digest()


def _max_results(text: str | None) -> int:
    if text is None:
        return MAX_RESULTS
    try:
        number = int(text)
    except ValueError:
        raise invalid_parameter("maxresults", text, "MaxResults must be a whole number") from None
    if number < 1:
        raise invalid_parameter("maxresults", text, "MaxResults cannot be less than 1")
    if number > MAX_RESULTS:
        raise invalid_parameter("maxresults", text, f"MaxResults cannot be greater than {MAX_RESULTS}")
    return number
