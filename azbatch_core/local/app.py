"""The service as one ASGI application: the Batch account, and beside it the blobs of its storage account."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from azbatch_core.local.errors import BatchError
from azbatch_core.local.http.dispatch import BatchApplication, check_host, read_headers
from azbatch_core.local.routes.table import OPERATIONS

if TYPE_CHECKING:
    from azbatch_core.local.asgi import Application, Receive, Scope, Send
    from azbatch_core.local.auth import SharedKey
    from azbatch_core.local.engine.engine import Engine


class LocalApplication:
    """What the server serves.

    Args:
        engine: the Batch account's engine.
        keys: who may ask.
        blobs: the storage account's application.
        blob_account: its name; requests whose path begins with it are its own.
        endpoint: URL of the service, no slash at the end.

    Attributes:
        last_request: `time.monotonic()` of the latest moment at which a request came or was answered.
        open_requests: requests that are being answered.
    """

    def __init__(
        self, engine: Engine, keys: SharedKey, blobs: Application, blob_account: str, endpoint: str
    ) -> None:
        self._batch = BatchApplication(engine, keys, OPERATIONS, endpoint)
        self._blobs = blobs
        self._blob_prefix = f"/{blob_account}".encode()
        self.last_request = time.monotonic()
        self.open_requests = 0

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        self.open_requests += 1
        try:
            if self._is_blob(scope["raw_path"]):
                await self._answer_blob(scope, receive, send)
            else:
                await self._batch(scope, receive, send)
        finally:
            self.open_requests -= 1
            self.last_request = time.monotonic()

    def _is_blob(self, path: bytes) -> bool:
        prefix = self._blob_prefix
        return path == prefix or path.startswith(prefix + b"/")

    async def _answer_blob(self, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            check_host(read_headers(scope["headers"]))
        except BatchError as error:
            await send({"type": "http.response.start", "status": error.status, "headers": []})
            await send({"type": "http.response.body", "body": b""})
            return
        await self._blobs(scope, receive, send)
