"""`/_local/clock`: what time it is for the engine, and moving it on."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from azbatch_core.local.clock import VirtualClock
from azbatch_core.local.errors import BatchError

if TYPE_CHECKING:
    from azbatch_core.local.clock import Clock
    from azbatch_core.local.control.app import Request, Routes

__all__ = ["clock_routes"]

_LONGEST = 100 * 366 * 86_400.0


def clock_routes(clock: Clock) -> Routes:
    """`GET /clock` tells the time, `POST /clock` with `{"advance": seconds}` moves a virtual one."""

    async def tell(_: Request) -> dict[str, Any]:
        return _told(clock)

    async def advance(request: Request) -> dict[str, Any]:
        seconds = request.body.get("advance")
        if isinstance(seconds, bool) or not isinstance(seconds, (int, float)):
            raise BatchError("InvalidRequestBody", Reason='{"advance": seconds} is expected.')
        if not (math.isfinite(seconds) and 0 <= seconds <= _LONGEST):
            raise BatchError("InvalidRequestBody", Reason="A clock moves on by 0 seconds to 100 years.")
        if not isinstance(clock, VirtualClock):
            raise BatchError(
                "InvalidRequestBody",
                Reason="The clock is the real one; start it with --clock virtual.",
            )
        await clock.advance(seconds)
        return _told(clock)

    return {("GET", "/clock"): tell, ("POST", "/clock"): advance}


def _told(clock: Clock) -> dict[str, Any]:
    return {"now": clock.now().isoformat(), "virtual": isinstance(clock, VirtualClock)}
