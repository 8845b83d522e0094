"""What a job handler's log says while Batch or the storage is away: a line at its begin, one at its end."""

from __future__ import annotations

import logging
import time
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Callable

LOG: Final = logging.getLogger("azbatch")


class Outages:
    """Which jobs could not be asked about, by account. For one thread.

    Args:
        clock: Seconds that only grow.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._waiting: dict[str, tuple[float, set[str]]] = {}

    def met(self, account: str, job_id: str, error: Exception) -> None:
        """A job could not be asked about: the first one is a warning."""
        _, jobs = self._waiting.setdefault(account, (self._clock(), set()))
        level = logging.DEBUG if jobs else logging.WARNING
        text = "(%s) account %s cannot be asked; no job is given up, it is asked until it answers: %s"
        LOG.log(level, text, job_id, account, error)
        jobs.add(job_id)

    def passed(self, account: str, job_id: str) -> None:
        """It could, or nobody asks about it any more: with the last of them the outage is over."""
        began, jobs = self._waiting.get(account, (0.0, set()))
        if job_id in jobs:
            jobs.discard(job_id)
            if not jobs:
                del self._waiting[account]
                LOG.warning("account %s answers again, after %d s", account, self._clock() - began)
