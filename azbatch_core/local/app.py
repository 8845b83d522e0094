"""The service as one ASGI application: the Batch account, and beside it whatever else is served."""

from __future__ import annotations

import asyncio
import time
from typing import TYPE_CHECKING

from azbatch_core.local.errors import BatchError
from azbatch_core.local.http.dispatch import check_host, read_headers
from azbatch_core.local.http.trouble import hang_up

if TYPE_CHECKING:
    from collections.abc import Mapping

    from azbatch_core.local.asgi import Application, Receive, Scope, Send


class LocalApplication:
    """What the server serves.

    Args:
        batch: the Batch account.
        beside: other applications by the first part of the paths that are theirs, `/name`. Requests that were
            sent to another name than this machine's do not reach them.

    Attributes:
        last_request: `time.monotonic()` of the latest moment at which a request came or was answered.
        open_requests: requests that are being answered.
    """

    def __init__(self, batch: Application, beside: Mapping[str, Application]) -> None:
        self._batch = batch
        self._beside = {name.encode(): application for name, application in beside.items()}
        self.last_request = time.monotonic()
        self.open_requests = 0

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        self.open_requests += 1
        try:
            first, _, _ = scope["raw_path"][1:].partition(b"/")
            application = self._beside.get(b"/" + first)
            if application is None:
                await self._batch(scope, receive, send)
            elif _is_for_us(scope):
                await application(scope, receive, send)
            else:
                await send({"type": "http.response.start", "status": 400, "headers": []})
                await send({"type": "http.response.body", "body": b""})
        except asyncio.CancelledError:
            # The service ends and has waited long enough: whoever asked learns no more than of a lost reply.
            await hang_up(scope, receive, reset=False)
        finally:
            self.open_requests -= 1
            self.last_request = time.monotonic()


def _is_for_us(scope: Scope) -> bool:
    try:
        check_host(read_headers(scope["headers"]))
    except BatchError:
        return False
    return True
