"""A reply on its way out."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeAlias

import orjson

if TYPE_CHECKING:
    from collections.abc import Iterable

JSON_TYPE = "application/json;odata=minimalmetadata"
Chunks: TypeAlias = "Iterable[bytes]"


@dataclass
class Response:
    """Status, headers and body.

    A body without `Content-Length` goes out chunked, as the service sends successes.

    Attributes:
        body: the bytes, or an iterable of chunks for files.
    """

    status: int
    headers: dict[str, str] = field(default_factory=dict)
    body: bytes | Chunks = b""


def json_response(status: int, document: dict[str, Any]) -> Response:
    """A JSON answer."""
    return Response(status, {"Content-Type": JSON_TYPE}, orjson.dumps(document))
