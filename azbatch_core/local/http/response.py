"""A reply on its way out."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import orjson

if TYPE_CHECKING:
    from azbatch_core.local.streaming import FilePart

JSON_TYPE = "application/json;odata=minimalmetadata"


@dataclass
class Response:
    """Status, headers and body.

    A body without `Content-Length` goes out chunked, as the service sends successes.

    Attributes:
        body: the bytes, or a part of a file, which is closed when the response has gone.
    """

    status: int
    headers: dict[str, str] = field(default_factory=dict)
    body: bytes | FilePart = b""

    def close(self) -> None:
        """Let go of the file of a reply that is not sent."""
        if not isinstance(self.body, bytes):
            self.body.close()


def json_response(status: int, document: dict[str, Any]) -> Response:
    """A JSON answer."""
    return Response(status, {"Content-Type": JSON_TYPE}, orjson.dumps(document))
