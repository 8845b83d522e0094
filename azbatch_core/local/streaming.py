"""Long bodies: sent so that everybody else is served meanwhile, and only as long as somebody listens."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, BinaryIO

if TYPE_CHECKING:
    from collections.abc import Iterator

    from azbatch_core.local.asgi import Receive, Send

__all__ = ["FilePart", "stream"]

_PIECE = 256 * 1024  # bytes read and sent at a time


class FilePart:
    """`length` bytes of an open file from `start` on, in pieces; fewer if the file has shrunk meanwhile.

    Whoever has it closes it.
    """

    def __init__(self, file: BinaryIO, start: int, length: int) -> None:
        file.seek(start)
        self._file = file
        self._left = length

    def __iter__(self) -> FilePart:
        return self

    def __next__(self) -> bytes:
        piece = self._file.read(min(_PIECE, self._left))
        if not piece:
            raise StopIteration
        self._left -= len(piece)
        return piece

    def close(self) -> None:
        """Close the file."""
        self._file.close()


async def stream(
    pieces: Iterator[bytes],
    receive: Receive,
    send: Send,
) -> None:
    """Send `pieces` as the body of a response that has been started.

    On return all of it is sent, or the client has gone and the rest was never read. The server takes pieces
    for nobody without a word and without a pause: many gigabytes of them would hold up all other requests.
    Each piece is read in a thread, for the same reason.
    """
    gone = asyncio.ensure_future(_departure(receive))
    try:
        while (piece := await asyncio.to_thread(next, pieces, None)) is not None:
            await send({"type": "http.response.body", "body": piece, "more_body": True})
            if gone.done():
                return
        await send({"type": "http.response.body", "body": b""})
    finally:
        gone.cancel()


async def _departure(receive: Receive) -> None:
    """Return when the client has gone, what is left of its request thrown away."""
    while (await receive())["type"] == "http.request":  # noqa: ASYNC110 - `receive` waits; the pause is for fakes
        await asyncio.sleep(0)
