"""Work on files beside the event loop: a folder may hold more than anybody should wait for."""

from __future__ import annotations

import asyncio
import threading
from contextlib import suppress
from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Callable

    from azbatch_core.local.http.response import Response

__all__ = ["Aside", "Work"]

Work: TypeAlias = "Callable[[], Response]"
"""The rest of a handler's work, which asks the engine nothing."""

_AT_ONCE = 4


class Aside:
    """Threads for a few works at once. None holds up the end of the service."""

    def __init__(self) -> None:
        self._room = asyncio.Semaphore(_AT_ONCE)

    async def do(self, work: Work) -> Response:
        """What `work` returns or raises."""
        async with self._room:
            loop = asyncio.get_running_loop()
            done: asyncio.Future[Response] = loop.create_future()
            threading.Thread(target=_do, args=(work, done, loop), name="azbatch-files", daemon=True).start()
            return await done


def _do(work: Work, done: asyncio.Future[Response], loop: asyncio.AbstractEventLoop) -> None:
    answer: Response | None = None
    failed: BaseException | None = None
    try:
        answer = work()
    except BaseException as error:  # noqa: BLE001 - handed on
        failed = error

    def tell() -> None:
        if done.cancelled():
            return
        if failed is not None:
            done.set_exception(failed)
        elif answer is not None:
            done.set_result(answer)

    with suppress(RuntimeError):  # the service has ended
        loop.call_soon_threadsafe(tell)
