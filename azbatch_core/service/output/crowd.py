"""Many who follow output at the same time, and one account that answers: they take turns."""

from __future__ import annotations

import threading
import weakref
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterator

    from azbatch_core.service.connect.clock import Clock
    from azbatch_core.service.connect.connection import Connection

FEW: Final = 4
"""So many followers ask as often as they like."""
_PER_SECOND: Final = 8.0
_LOOK: Final = 2.0


class Crowd:
    """Those of this process who follow output of one account.

    More than a few together ask for files eight times a second at most, in the order in which they come; with
    what they share (how the job stands, and its gangs), that is fewer than ten requests a second.
    """

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._lock = threading.Lock()
        self._followers = 0
        self._free_at = 0.0

    @contextmanager
    def joined(self) -> Iterator[None]:
        """Follow, while the context lasts."""
        with self._lock:
            self._followers += 1
        try:
            yield
        finally:
            with self._lock:
                self._followers -= 1

    def turn(self) -> None:
        """Return when a file may be asked for."""
        with self._lock:
            if self._followers <= FEW:
                return
            now = self._clock.monotonic()
            mine = max(now, self._free_at)
            self._free_at = mine + 1 / _PER_SECOND
        self._clock.sleep(mine - now)

    def age(self, wanted: float) -> float:
        """How old, in seconds, what is shared may be."""
        return wanted if self._followers <= FEW else max(wanted, _LOOK)


_CROWDS: weakref.WeakKeyDictionary[Connection, Crowd] = weakref.WeakKeyDictionary()
_LOCK = threading.Lock()


def of(connection: Connection) -> Crowd:
    """The crowd of a connection."""
    with _LOCK:
        return _CROWDS.setdefault(connection, Crowd(connection.clock))
