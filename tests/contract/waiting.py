"""Waiting in tests: asking again, never sleeping."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable

WITHIN = 60.0
"""Seconds after which a wait in a test is a failure, on the slowest machine."""

_T = TypeVar("_T")


def until(condition: Callable[[], _T]) -> _T:
    """The condition's first true value; each question gives the service a turn."""
    deadline = time.monotonic() + WITHIN
    while not (found := condition()):
        assert time.monotonic() < deadline, "it did not come to that in time"
    return found
