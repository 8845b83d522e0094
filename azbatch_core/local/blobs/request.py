"""A request to the blob service, taken apart; and the answers to it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote_to_bytes

from azbatch_core.local.blobs.errors import BlobError

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Mapping

    from azbatch_core.local.asgi import Receive
    from azbatch_core.local.streaming import FilePart

_LARGEST_DOCUMENT = 16 * 1024 * 1024  # bytes; a block list of 50,000 ids has less


class Disconnected(Exception):  # noqa: N818 - nobody is there to be told of an error
    """The client went away."""


@dataclass(frozen=True)
class Request:
    """A request whose path is `/<account>[/<container>[/<blob>]]`.

    Attributes:
        path: As sent, still percent-encoded.
        query: Decoded; of repeated names the first counts.
        headers: Names in lower case.
        container: Decoded, None in a request about the account.
        blob: Decoded, None in a request about the account or a container.
    """

    method: str
    path: str
    query: Mapping[str, str]
    headers: Mapping[str, str]
    account: str
    container: str | None
    blob: str | None
    receive: Receive = field(repr=False)

    @classmethod
    def parse(cls, scope: Mapping[str, Any], receive: Receive) -> Request:
        """Take an ASGI scope apart; raises `InvalidUri` for what is not UTF-8."""
        raw: bytes = scope.get("raw_path") or scope["path"].encode()
        path = raw.split(b"?", 1)[0].decode("latin-1")
        account, _, rest = path.lstrip("/").partition("/")
        container, slash, blob = rest.partition("/")
        return cls(
            scope["method"],
            path,
            _query(scope.get("query_string", b"").decode("latin-1")),
            {name.decode("latin-1").lower(): value.decode("latin-1") for name, value in scope["headers"]},
            _decode(account),
            _decode(container) or None,
            (_decode(blob) or None) if slash else None,
            receive,
        )

    @property
    def level(self) -> str:
        """What it is about: `account`, `container` or `blob`."""
        if self.blob is not None:
            return "blob"
        return "account" if self.container is None else "container"

    async def chunks(self) -> AsyncIterator[bytes]:
        """The body, piece by piece.

        Raises:
            Disconnected: The client went away in the middle.
        """
        more = True
        while more:
            message = await self.receive()
            if message["type"] == "http.disconnect":
                raise Disconnected
            yield message.get("body", b"")
            more = message.get("more_body", False)

    async def document(self) -> bytes:
        """The whole body, up to a size that block lists have."""
        body = b""
        async for chunk in self.chunks():
            body += chunk
            if len(body) > _LARGEST_DOCUMENT:
                raise BlobError("OutOfRangeInput")
        return body


@dataclass(frozen=True)
class Answer:
    """An answer to send.

    Attributes:
        file: The body, instead of `body`; closed when the answer has gone.
    """

    status: int
    headers: Mapping[str, str] = field(default_factory=dict)
    body: bytes = b""
    file: FilePart | None = None


def _query(text: str) -> dict[str, str]:
    query: dict[str, str] = {}
    for pair in text.split("&"):
        name, _, value = pair.partition("=")
        if name:
            query.setdefault(_decode(name), _decode(value))
    return query


def _decode(text: str) -> str:
    # Not unquote_plus: a plus sign in a signature stands for itself.
    try:
        return unquote_to_bytes(text).decode()
    except UnicodeDecodeError:
        raise BlobError("InvalidUri") from None
