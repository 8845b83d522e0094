"""`/_local/clock`: what time it is for the engine, and moving it on."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from azbatch_core.local.clock import LONGEST, VirtualClock
from azbatch_core.local.errors import BatchError

if TYPE_CHECKING:
    from azbatch_core.local.clock import Clock
    from azbatch_core.local.control.app import Request, Routes
    from azbatch_core.local.engine.engine import Engine

__all__ = ["clock_routes"]


def clock_routes(clock: Clock, engine: Engine) -> Routes:
    """`GET /clock` tells the time, `POST /clock` moves a virtual one.

    `{"advance": seconds}` moves it so far, with `"untilIdle": true` beside it no further than until nothing
    is under way (`Engine.under_way`). `moved` in the answer is how far, in seconds.
    """

    async def tell(_: Request) -> dict[str, Any]:
        return _told(clock)

    async def advance(request: Request) -> dict[str, Any]:
        seconds = request.body.get("advance")
        if isinstance(seconds, bool) or not isinstance(seconds, (int, float)):
            raise BatchError("InvalidRequestBody", Reason='{"advance": seconds} is expected.')
        if not (math.isfinite(seconds) and 0 <= seconds <= LONGEST):
            raise BatchError("InvalidRequestBody", Reason="A clock moves on by 0 seconds to 100 years.")
        if not isinstance(clock, VirtualClock):
            raise BatchError(
                "OperationInvalidForCurrentState",
                Reason="The clock is the real one; start it with --clock virtual.",
            )
        if request.body.get("untilIdle"):
            moved = await clock.advance_until(lambda: not engine.under_way(), seconds)
        else:
            await clock.advance(seconds)
            moved = float(seconds)
        return {**_told(clock), "moved": moved}

    return {("GET", "/clock"): tell, ("POST", "/clock"): advance}


def _told(clock: Clock) -> dict[str, Any]:
    return {"now": clock.now().isoformat(), "virtual": isinstance(clock, VirtualClock)}
