"""Long bodies: sent so that everybody else is served meanwhile, and only as long as somebody listens."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterable, MutableMapping

__all__ = ["stream"]


async def stream(
    pieces: Iterable[bytes],
    receive: Callable[[], Awaitable[MutableMapping[str, Any]]],
    send: Callable[[MutableMapping[str, Any]], Awaitable[None]],
) -> None:
    """Send `pieces` as the body of a response that has been started.

    On return all of it is sent, or the client has gone and the rest was never read. The server takes pieces
    for nobody without a word and without a pause: many gigabytes of them would hold up all other requests.
    """
    gone = asyncio.ensure_future(_departure(receive))
    try:
        for piece in pieces:
            await send({"type": "http.response.body", "body": piece, "more_body": True})
            await asyncio.sleep(0)  # a client that reads fast would let nobody else in
            if gone.done():
                return
        await send({"type": "http.response.body", "body": b""})
    finally:
        gone.cancel()


async def _departure(receive: Callable[[], Awaitable[MutableMapping[str, Any]]]) -> None:
    """Return when the client has gone, what is left of its request thrown away."""
    while (await receive())["type"] == "http.request":  # noqa: ASYNC110 - `receive` waits; the pause is for fakes
        await asyncio.sleep(0)
