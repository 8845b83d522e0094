"""Long bodies and their listeners."""

from __future__ import annotations

import asyncio
import threading
from itertools import repeat
from typing import TYPE_CHECKING, Any

from azbatch_core.local.streaming import stream

if TYPE_CHECKING:
    from collections.abc import Iterator

REQUEST = {"type": "http.request", "body": b"", "more_body": False}


class Line:
    """A server's end of a connection: pieces go nowhere as quickly as they come."""

    def __init__(self) -> None:
        self.sent: list[dict[str, Any]] = []
        self.gone = asyncio.Event()
        self._asked = False

    async def receive(self) -> dict[str, Any]:
        if not self._asked:
            self._asked = True
            return REQUEST
        await self.gone.wait()
        return {"type": "http.disconnect"}

    async def send(self, message: Any) -> None:
        self.sent.append(message)


def test_all_of_it_is_sent_to_who_listens() -> None:
    async def run() -> bytes:
        line = Line()
        await stream(iter([b"a", b"b", b"c"]), line.receive, line.send)
        assert [part.get("more_body", False) for part in line.sent] == [True, True, True, False]
        return b"".join(part["body"] for part in line.sent)

    assert asyncio.run(run()) == b"abc"


def test_nothing_more_is_read_once_the_client_has_gone() -> None:
    async def run() -> None:
        line = Line()
        line.gone.set()
        await asyncio.wait_for(stream(repeat(b"x"), line.receive, line.send), 10)

    asyncio.run(run())


def test_others_have_their_turn_meanwhile() -> None:
    async def run() -> None:
        line = Line()
        turns: list[int] = []

        loop = asyncio.get_running_loop()

        def turn(seen: threading.Event) -> None:
            turns.append(len(line.sent))
            seen.set()

        def pieces() -> Iterator[bytes]:
            for _ in range(5):
                # A slow disk: the loop turns while a piece is being read.
                seen = threading.Event()
                loop.call_soon_threadsafe(turn, seen)
                assert seen.wait(30)
                yield b"x"

        await stream(pieces(), line.receive, line.send)
        assert turns == [0, 1, 2, 3, 4]

    asyncio.run(run())
