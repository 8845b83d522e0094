"""Time, as everything that waits takes it."""

from __future__ import annotations

import time
from datetime import datetime, timezone


class Clock:
    """Time, and waiting for it. Tests and simulations put another in its place."""

    def now(self) -> datetime:
        """The time of day, in UTC, aware."""
        return datetime.now(timezone.utc)

    def monotonic(self) -> float:
        """Seconds that never go back, for measuring."""
        return time.monotonic()

    def sleep(self, seconds: float) -> None:
        """Wait."""
        time.sleep(seconds)
