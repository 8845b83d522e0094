"""When the engine acts: its clock, the moments it writes down, its timers and its next turn."""

from __future__ import annotations

import logging
import sqlite3
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Literal

from azbatch_core.local.rules.times import ticks_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from datetime import datetime

    from azbatch_core.local.clock import Cancellable, Clock
    from azbatch_core.local.store.database import Database

__all__ = ["TimerName", "Timing"]

_LOG = logging.getLogger(__name__)

TimerName = Literal[
    "boot",
    "resize",
    "wall clock",
    "wipe",
    "retention",
    "sample",
    "evaluation",
    "schedule",
    "hold",
    "fault",
    "lifetime",
    "notice",
    "slow pool",
    "slow job",
    "slow schedule",
]


class Timing:
    """Time as an account has it: the clock in ticks, stamps of writes, timers, and turns of the engine.

    Attributes:
        tick: One turn of the engine; put in by it, since `tick` knows the account.
        gave_up: Called when the database cannot be written; put in by the engine.
        timers: Those that are set, by name and by the key of what they are for (a record, a task, a fault).
        stopping: No turn begins any more.
    """

    def __init__(self, clock: Clock, store: Database) -> None:
        self.clock = clock
        self.store = store
        self.tick: Callable[[], None] = lambda: None
        self.gave_up: Callable[[], object] = lambda: None
        self.timers: dict[tuple[TimerName, int], Cancellable] = {}
        self.stopping = False
        self._stamp = 0
        self._when: datetime | None = None
        self._ticks = 0
        self._awake: Cancellable | None = None

    def now(self) -> int:
        """The present in ticks."""
        when = self.clock.now()
        if when is not self._when:  # a virtual clock stands still for many calls
            self._when, self._ticks = when, ticks_of(when)
        return self._ticks

    def stamp(self) -> int:
        """The moment of a user's write: never the same twice, since the ETag is made of it."""
        self._stamp = max(self.now(), self._stamp + 1)
        return self._stamp

    def stamped_until(self, ticks: int) -> None:
        """Stamps up to `ticks` have been given by an earlier run."""
        self._stamp = max(self._stamp, ticks)

    def after(self, name: TimerName, key: int, seconds: float, action: Callable[[], object]) -> None:
        """Call `action` and then tick, `seconds` from now; replaces the timer of the same name and key."""

        def fire() -> None:
            with self.whole():
                action()
            self.wake()

        self.quietly_after(name, key, seconds, fire)

    def quietly_after(self, name: TimerName, key: int, seconds: float, action: Callable[[], object]) -> None:
        """Call `action`, which changes nothing, `seconds` from now; otherwise as `after`."""
        self.forget_timer(name, key)

        def fire() -> None:
            self.timers.pop((name, key), None)
            action()

        self.timers[name, key] = self.clock.call_later(seconds, fire)

    def forget_timer(self, name: TimerName, key: int) -> None:
        """Call a timer off; fine if there is none."""
        timer = self.timers.pop((name, key), None)
        if timer is not None:
            timer.cancel()

    def wake(self) -> None:
        """Let the engine tick in the loop's next turn, once however often this is called."""
        if self._awake is None and not self.stopping:
            self._awake = self.clock.call_later(0.0, self._wake_up)

    def _wake_up(self) -> None:
        self._awake = None
        with self.whole():
            self.tick()

    @contextmanager
    def whole(self) -> Iterator[None]:
        """What goes on inside happens wholly, or the engine stops: everything from outside enters here.

        When the database refuses, because the disk is full above all, the changes in hand are undone in the
        tables, but memory has moved on. To go on from the tables is what a start is for, so the service is
        told to stop (`gave_up`); nothing that was acknowledged is lost.
        """
        try:
            yield
        except sqlite3.Error as error:
            _LOG.critical(
                "the database cannot be written (%s); stopping, jobs go on at the next start", error
            )
            self.halt()
            with suppress(sqlite3.Error):
                self.store.rollback()
            self.gave_up()

    def halt(self) -> None:
        """No tick and no timer from now on."""
        self.stopping = True
        for timer in self.timers.values():
            timer.cancel()
        self.timers.clear()
        if self._awake is not None:
            self._awake.cancel()
            self._awake = None
