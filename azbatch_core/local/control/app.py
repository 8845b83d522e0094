"""The ASGI application of `/_local`: a table of routes, JSON in and out, errors in Batch's envelope."""

from __future__ import annotations

import asyncio
import logging
import uuid
from dataclasses import dataclass
from datetime import datetime, timezone
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote

import orjson

from azbatch_core.local.errors import BatchError
from azbatch_core.local.http.body import DisconnectedError, read_body
from azbatch_core.local.http.dispatch import read_headers
from azbatch_core.local.http.envelope import envelope

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine, Mapping
    from typing import TypeAlias

    from azbatch_core.local.asgi import Receive, Scope, Send
    from azbatch_core.local.auth import SharedKey

__all__ = ["PREFIX", "Control", "Request", "Routes"]

PREFIX = "/_local"
_LOG = logging.getLogger(__name__)


@dataclass(frozen=True)
class Request:
    """A request that was signed with the account's key.

    Attributes:
        body: The JSON object that came with it, empty without one.
        item: The part of the path that `{id}` stands for, decoded.
    """

    body: Mapping[str, Any]
    item: str = ""


Routes: TypeAlias = "Mapping[tuple[str, str], Callable[[Request], Coroutine[Any, Any, dict[str, Any]]]]"
"""Method and path behind the prefix, and who answers: a JSON object, or a `BatchError`.

The last part of a path may be `{id}`, for any text.
"""


class Control:
    """Answers what lies below `/_local`.

    Args:
        keys: who may ask.
        routes: who answers what.
        endpoint: URL of the service, no slash at the end.
    """

    def __init__(self, keys: SharedKey, routes: Routes, endpoint: str) -> None:
        self._keys = keys
        self._routes = routes
        self._endpoint = endpoint

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        try:
            status, body = 200, orjson.dumps(await self._answer(scope, receive))
        except DisconnectedError:
            return
        except BatchError as error:
            status, body = self._refusal(error)
        except Exception:  # noqa: BLE001 - whatever it is, the client gets an answer and the log the trace
            _LOG.exception("%s %s failed", scope["method"], scope["path"])
            status, body = self._refusal(BatchError("InternalError"))
        headers = [(b"content-type", b"application/json"), (b"content-length", str(len(body)).encode())]
        await send({"type": "http.response.start", "status": status, "headers": headers})
        await send({"type": "http.response.body", "body": body})

    def _refusal(self, error: BatchError) -> tuple[int, bytes]:
        return error.status, envelope(error, self._endpoint, str(uuid.uuid4()))

    async def _answer(self, scope: Scope, receive: Receive) -> dict[str, Any]:
        headers = read_headers(scope["headers"])
        path = scope["raw_path"].decode("latin-1")
        query = scope["query_string"].decode("latin-1")
        self._keys.verify(scope["method"], path, query, headers, datetime.now(timezone.utc))
        raw = await read_body(receive)
        name = path.removeprefix(PREFIX)
        parent, _, item = name.rpartition("/")
        for template, found in ((name, ""), (parent + "/{id}", unquote(item))):
            handler = self._routes.get((scope["method"], template))
            if handler is not None:
                return await _while_asked(handler(Request(_object(raw), found)), receive)
        known = any(path in {name, parent + "/{id}"} for _, path in self._routes)
        raise BatchError("UnsupportedHttpVerb" if known else "ResourceNotFound")


async def _while_asked(work: Coroutine[Any, Any, dict[str, Any]], receive: Receive) -> dict[str, Any]:
    """What `work` gives; it ends when the client goes, since a clock may be moved on for hours.

    Raises:
        DisconnectedError: the client went away.
    """
    doing, gone = asyncio.ensure_future(work), asyncio.ensure_future(receive())
    try:
        await asyncio.wait((doing, gone), return_when=asyncio.FIRST_COMPLETED)
        if not doing.done():
            raise DisconnectedError
        return doing.result()
    finally:
        doing.cancel()
        gone.cancel()


def _object(raw: bytes) -> dict[str, Any]:
    try:
        body = orjson.loads(raw) if raw else {}
    except orjson.JSONDecodeError as error:
        raise BatchError("InvalidRequestBody", Reason=f"The body is not JSON: {error}") from None
    if not isinstance(body, dict):
        raise BatchError("InvalidRequestBody", Reason="The body is not an object.")
    return body
