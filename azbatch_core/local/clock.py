"""Time, injected: the engine never asks the machine for it.

`RealClock` is the wall clock and the event loop's timers. `VirtualClock` stands still until it is told to
advance, so that days of boot times, retention and wall clocks pass in a test in no time.
"""

from __future__ import annotations

import asyncio
import heapq
import itertools
from datetime import datetime, timedelta, timezone
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["Cancellable", "Clock", "RealClock", "VirtualClock"]

_QUIET_TURNS = 8


class Cancellable(Protocol):
    """A timer that can be called off."""

    def cancel(self) -> object:
        """Call the timer off. Without effect on one that has fired."""


class Clock(Protocol):
    """What the engine knows of time."""

    def now(self) -> datetime:
        """The present, aware, in UTC."""

    def call_later(self, seconds: float, action: Callable[[], object]) -> Cancellable:
        """Call `action` once, in the event loop's thread, `seconds` from now, never during this call."""


class RealClock:
    """The machine's clock and the running event loop's timers."""

    def now(self) -> datetime:
        """The machine's time in UTC."""
        return datetime.now(timezone.utc)

    def call_later(self, seconds: float, action: Callable[[], object]) -> Cancellable:
        """A timer of the running event loop."""
        return asyncio.get_running_loop().call_later(max(0.0, seconds), action)


class _Timer:
    """An action of a virtual clock."""

    def __init__(self, action: Callable[[], object]) -> None:
        self.action = action
        self.cancelled = False

    def cancel(self) -> None:
        """Call the timer off."""
        self.cancelled = True


class VirtualClock:
    """A clock that moves only in `advance`.

    Actions with no delay run in the next turn of the event loop, without any advance.
    """

    def __init__(self, start: datetime | None = None) -> None:
        self._now = start or datetime(2026, 1, 1, tzinfo=timezone.utc)
        self._timers: list[tuple[datetime, int, _Timer]] = []
        self._order = itertools.count()
        self._soon = 0

    def now(self) -> datetime:
        """The moment the clock stands at."""
        return self._now

    def call_later(self, seconds: float, action: Callable[[], object]) -> Cancellable:
        """A timer that fires when the clock passes its moment."""
        timer = _Timer(action)
        if seconds <= 0:
            self._soon += 1
            asyncio.get_running_loop().call_soon(self._fire_soon, timer)
        else:
            moment = self._now + timedelta(seconds=seconds)
            heapq.heappush(self._timers, (moment, next(self._order), timer))
        return timer

    async def advance(self, seconds: float = 0.0) -> None:
        """Move on by `seconds`, firing timers in order.

        What each sets off is done before the next one fires.
        """
        until = self._now + timedelta(seconds=seconds)
        await self._quiet()
        while self._timers and self._timers[0][0] <= until:
            moment, _, timer = heapq.heappop(self._timers)
            if timer.cancelled:
                continue
            self._now = max(self._now, moment)
            timer.action()
            await self._quiet()
        self._now = until

    def _fire_soon(self, timer: _Timer) -> None:
        self._soon -= 1
        if not timer.cancelled:
            timer.action()

    async def _quiet(self) -> None:
        """Let the loop turn until nothing without delay is left, and a few turns more for futures."""
        quiet = 0
        while quiet < _QUIET_TURNS:
            await asyncio.sleep(0)
            quiet = quiet + 1 if self._soon == 0 else 0
