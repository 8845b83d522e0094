"""The blob service as an ASGI application.

Serves `/<account>/<container>/<blob>` (path style, as Azurite does), so the genuine azure-storage-blob client
works with `account_url="http://127.0.0.1:PORT/<account>"`.
"""

from __future__ import annotations

import logging
import sqlite3
import uuid
from contextlib import closing
from datetime import datetime, timezone
from string import ascii_letters
from typing import TYPE_CHECKING

from azbatch_core.local.blobs.auth import Authorizer, Need
from azbatch_core.local.blobs.documents import error_document, http_date
from azbatch_core.local.blobs.errors import BlobError
from azbatch_core.local.blobs.operations import TABLE, Operations
from azbatch_core.local.blobs.request import Answer, Disconnected, Request
from azbatch_core.local.blobs.store import BlobStore
from azbatch_core.local.streaming import stream

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from azbatch_core.local.asgi import Receive, Scope, Send
    from azbatch_core.local.blobs.operations import Handler

log = logging.getLogger(__name__)

_METHODS = {"GET", "HEAD", "PUT", "DELETE"}
_ANYTHING = Need(ascii_letters)
"""Of a request for what is not served: any permission will do to be told so."""


class BlobApp:
    """The application, which alone writes to its folder. Close it when it is not served any more."""

    def __init__(self, root: Path, account: str, key: str, now: Callable[[], datetime]) -> None:
        self._account = account
        self._store = BlobStore(root)
        self._store.sweep()
        self._operations = Operations(self._store)
        self._authorizer = Authorizer(account, key, now)

    def close(self) -> None:
        """Let go of the store; calling it again is fine."""
        self._store.close()

    async def __call__(
        self,
        scope: Scope,
        receive: Receive,
        send: Send,
    ) -> None:
        """Serve one request."""
        if scope["type"] != "http":
            return
        try:
            answer = await self._answer(scope, receive)
        except Disconnected:
            return
        await _send(scope, answer, receive, send)

    async def _answer(self, scope: Scope, receive: Receive) -> Answer:
        try:
            request = Request.parse(scope, receive)
            return await self._handler(request)(self._operations, request)
        except BlobError as error:
            return _refusal(error)
        except (OSError, sqlite3.Error):
            # Full or vanished disk: as the service says when a part of it is away.
            log.exception("A blob request broke down")
            return Answer(503, {"x-ms-error-code": "ServerBusy"}, error_document("ServerBusy", "Try again."))

    def _handler(self, request: Request) -> Handler:
        if request.account != self._account:
            raise BlobError("ResourceNotFound")
        handler, need = TABLE.get(_kind(request), (None, _ANYTHING))
        # What is served is nobody's business before they have shown who they are.
        self._authorizer.check(request, need)
        if handler is None:
            raise BlobError("NotImplemented" if request.method in _METHODS else "UnsupportedHttpVerb")
        return handler


def _kind(request: Request) -> tuple[str, str, str, str]:
    query = request.query
    return request.method, request.level, query.get("restype", ""), query.get("comp", "")


def create_blob_app(
    root: Path, account: str, key: str, *, now: Callable[[], datetime] | None = None
) -> BlobApp:
    """The application for one account.

    Args:
        root: Folder of the blobs; made if it is not there.
        account: Name of the account, the first part of every path.
        key: Its key, base64.
        now: Tells the time that signatures expire by; the system's clock by default.
    """
    return BlobApp(root, account, key, now or (lambda: datetime.now(timezone.utc)))


def _refusal(error: BlobError) -> Answer:
    headers = {"x-ms-error-code": error.code, "content-type": "application/xml"}
    if error.code == "NoAuthenticationInformation":
        headers["www-authenticate"] = "SharedKey"
    return Answer(error.status, headers, error_document(error.code, error.message, error.detail))


async def _send(
    scope: Scope,
    answer: Answer,
    receive: Receive,
    send: Send,
) -> None:
    headers = {
        "server": "Windows-Azure-Blob/1.0 Microsoft-HTTPAPI/2.0",
        "date": http_date(datetime.now(timezone.utc)),
        "x-ms-request-id": str(uuid.uuid4()),
        **answer.headers,
    }
    for name, value in scope["headers"]:
        if name.lower() in {b"x-ms-version", b"x-ms-client-request-id"}:
            headers[name.lower().decode()] = value.decode("latin-1")
    if "content-length" not in headers and answer.status != 304:  # noqa: PLR2004 - Not Modified has no body
        headers["content-length"] = str(len(answer.body))
    wire = [(name.encode("latin-1"), value.encode("latin-1", "replace")) for name, value in headers.items()]
    start = {"type": "http.response.start", "status": answer.status, "headers": wire}
    if answer.file is None:
        await send(start)
        body = b"" if scope["method"] == "HEAD" else answer.body
        await send({"type": "http.response.body", "body": body})
        return
    with closing(answer.file):
        await send(start)
        await stream(answer.file, receive, send)
