"""Time, injected: the engine never asks the machine for it.

`RealClock` is the wall clock and the event loop's timers. `VirtualClock` stands still until it is told to
advance, so that days of boot times, retention and wall clocks pass in a test in no time.
"""

from __future__ import annotations

import asyncio
import heapq
from contextlib import asynccontextmanager
from datetime import datetime, timedelta, timezone
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Sized

__all__ = ["LONGEST", "Cancellable", "Clock", "RealClock", "VirtualClock"]

LONGEST = 100 * 366 * 86_400.0
"""Seconds that a clock moves by at most."""

_MICROSECOND = timedelta(microseconds=1)
_MICROSECONDS = 1e6
_QUIET_TURNS = 8
_FEW = 100


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


def _nothing() -> None:
    """What a timer does that was called off."""


class _Timer:
    """An action of a virtual clock."""

    __slots__ = ("_clock", "action", "cancelled")

    def __init__(self, action: Callable[[], object], clock: VirtualClock) -> None:
        self.action = action
        self.cancelled = False
        self._clock = clock

    def cancel(self) -> None:
        """Call the timer off."""
        if not self.cancelled:
            self.cancelled = True
            self.action = _nothing  # it may hold on to much, for years of the clock
            self._clock.forget_some()


class VirtualClock:
    """A clock that moves only in `advance`.

    Actions with no delay run in the next turn of the event loop, without any advance. Without `start` it is
    2026-01-01.

    Attributes:
        moving: whether it is being moved on.
        arrived: called whenever it has been.
    """

    def __init__(self, start: datetime | None = None) -> None:
        self.moving = False
        self.arrived: Callable[[], object] = _nothing
        self._start = self._now = start or datetime(2026, 1, 1, tzinfo=timezone.utc)
        # Moments are whole microseconds since the start: a thousand timers often share one.
        self._passed = 0
        self._timers: dict[int, list[_Timer]] = {}
        self._moments: list[int] = []
        self._waiting = 0
        self._cancelled = 0
        self._soon = 0
        self._moves: tuple[asyncio.AbstractEventLoop, asyncio.Lock] | None = None

    def now(self) -> datetime:
        """The moment the clock stands at."""
        return self._now

    def go_on_from(self, when: datetime) -> None:
        """Stand at `when`, where it stood in an earlier run, unless it is further on. No timer is set yet."""
        ahead = (when - self._now) // _MICROSECOND
        if ahead > 0:
            self._arrive(self._passed + ahead)

    def call_later(self, seconds: float, action: Callable[[], object]) -> Cancellable:
        """A timer that fires when the clock passes its moment."""
        timer = _Timer(action, self)
        if seconds <= 0:
            self._soon += 1
            asyncio.get_running_loop().call_soon(self._fire_soon, timer)
        else:
            moment = self._passed + round(seconds * _MICROSECONDS)
            others = self._timers.get(moment)
            if others is None:
                self._timers[moment] = [timer]
                heapq.heappush(self._moments, moment)
            else:
                others.append(timer)
            self._waiting += 1
        return timer

    async def advance(self, seconds: float = 0.0) -> None:
        """Move on by `seconds`, firing timers in order.

        What those of one moment set off is done before the clock moves on to the next moment. One move waits
        for the end of another; one that is cancelled leaves the clock where it has come to.

        Raises:
            ValueError: not a number from 0 to `LONGEST`.
        """
        _check(seconds)
        async with self._alone():
            until = self._passed + round(seconds * _MICROSECONDS)
            await self._quiet()
            while self._due(until):
                await self._fire_next()
            self._arrive(until)

    async def advance_until(self, reached: Callable[[], bool], most: float) -> float:
        """Move on from timer to timer until `reached`, or no timer is left; how far it went, in seconds.

        At most `most` seconds, which is how far it goes if neither comes true by then. Else as `advance`.
        """
        _check(most)
        async with self._alone():
            start = self._passed
            until = start + round(most * _MICROSECONDS)
            await self._quiet()
            while self._moments and not reached():
                if not self._due(until):
                    self._arrive(until)
                    break
                await self._fire_next()
            return (self._passed - start) / _MICROSECONDS

    @asynccontextmanager
    async def _alone(self) -> AsyncIterator[None]:
        """Two moves at a time would each wait for the other's timers, and the shorter turn the clock back."""
        loop = asyncio.get_running_loop()
        if self._moves is None or self._moves[0] is not loop:  # a service that starts again has another loop
            self._moves = (loop, asyncio.Lock())
        async with self._moves[1]:
            self.moving = True
            try:
                yield
            finally:
                self.moving = False
                self.arrived()

    def _arrive(self, moment: int) -> None:
        self._passed = moment
        self._now = self._start + timedelta(microseconds=moment)

    def _due(self, until: int) -> bool:
        return bool(self._moments) and self._moments[0] <= until

    async def _fire_next(self) -> None:
        """Fire the timers of the next moment that has any."""
        moment = heapq.heappop(self._moments)
        due = self._timers.pop(moment)
        live = [timer for timer in due if not timer.cancelled]
        self._waiting -= len(due)
        self._cancelled -= len(due) - len(live)
        if not live:
            return
        if moment > self._passed:
            self._arrive(moment)
        for timer in live:
            timer.action()
        await self._quiet()

    def forget_some(self) -> None:
        """A timer was called off: when those are most of all, they go."""
        self._cancelled += 1
        if self._cancelled > _FEW and self._cancelled > self._waiting // 2:
            live = ((at, [timer for timer in due if not timer.cancelled]) for at, due in self._timers.items())
            self._timers = {at: timers for at, timers in live if timers}
            self._moments = sorted(self._timers)  # a heap
            self._waiting = sum(map(len, self._timers.values()))
            self._cancelled = 0

    def _fire_soon(self, timer: _Timer) -> None:
        self._soon -= 1
        timer.action()

    async def _quiet(self) -> None:
        """Let the loop turn until nothing without delay is left, and a few turns more for futures.

        Those turns are most of what a timer costs. CPython's loop shows what it has to do in its next turn:
        when that is nothing, there is no need for them.
        """
        waiting: Sized = getattr(asyncio.get_running_loop(), "_ready", (None,))
        quiet = 0
        while quiet < _QUIET_TURNS:
            await asyncio.sleep(0)
            if self._soon:
                quiet = 0
            elif waiting:
                quiet += 1
            else:
                return


def _check(seconds: float) -> None:
    if not 0 <= seconds <= LONGEST:  # nor is `nan`
        raise ValueError(f"a clock moves on by 0 seconds to 100 years, not by {seconds:g}")
