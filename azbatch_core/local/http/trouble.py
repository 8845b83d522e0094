"""What scripted faults do to a request: refuse it, hold it up, or end its connection without an answer."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from azbatch_core.local.errors import BatchError, ErrorInfo
from azbatch_core.local.transport import HANG_UP

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from azbatch_core.local.asgi import Receive, Scope
    from azbatch_core.local.faults import Fault

__all__ = ["HungUpError", "Refusal", "before", "hang_up"]

_CODES = {"throttle": "TooManyRequests", "unavailable": "ServerBusy"}


class Refusal(BatchError):  # noqa: N818 - a `BatchError` with a header more
    """A request that a fault refuses.

    Attributes:
        headers: What the answer has besides its usual headers.
    """

    def __init__(self, fault: Fault) -> None:
        super().__init__(fault.values.get("code") or _CODES[fault.kind])
        self.info = ErrorInfo(fault.values.get("status", self.info.status), self.info.message)
        wait = fault.values.get("retry-after")
        self.headers = {} if wait is None else {"Retry-After": str(wait)}


class HungUpError(Exception):
    """The connection is to end without an answer, orderly or by a reset."""

    def __init__(self, *, reset: bool) -> None:
        super().__init__("reset" if reset else "lost reply")
        self.reset = reset


async def before(faults: Iterable[Fault], where: Mapping[str, str]) -> bool:
    """What comes before the work on a request; whether its reply is to be lost.

    Faults strike in the order in which they were set; a slow one lets the next ones have their turn.

    Raises:
        Refusal: it is refused.
        HungUpError: its connection is reset.
    """
    for fault in tuple(faults):
        if not (fault.befalls(where) and fault.hit()):
            continue
        if fault.kind == "slow":
            await asyncio.sleep(fault.values["seconds"])
        elif fault.kind == "reset":
            raise HungUpError(reset=True)
        elif fault.kind == "lost-reply":
            return True
        else:
            raise Refusal(fault)
    return False


async def hang_up(scope: Scope, receive: Receive, *, reset: bool) -> None:
    """End a request's connection; on return it is closed. A server that cannot leaves it to its own ways."""
    end = scope.get(HANG_UP)
    if end is None:
        return
    end(reset=reset)
    while (await receive())["type"] != "http.disconnect":  # noqa: ASYNC110 - `receive` waits
        await asyncio.sleep(0)
