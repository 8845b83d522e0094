"""Values that are made once each, by whoever asks first."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Generic, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable

K = TypeVar("K", bound="Hashable")
V = TypeVar("V")


class OnceEach(Generic[K, V]):
    """A value for each key. May be shared by threads: only those that want the same value wait for it."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._locks: dict[K, threading.Lock] = {}
        self._values: dict[K, V] = {}

    def get(self, key: K, make: Callable[[], V]) -> V:
        """The value of a key, made now if nobody has made it; what `make` raises is raised, and not kept."""
        with self._lock:
            own = self._locks.setdefault(key, threading.Lock())
        with own:
            if key not in self._values:
                self._values[key] = make()
            return self._values[key]
