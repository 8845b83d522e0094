"""The one place where a request is tried again.

Retried are exactly the errors that `azbatch_core.errors` calls `Throttled` and `ServiceUnavailable` and that
say they are retryable: 408, 429, 5xx, a refused or broken connection, a timeout. A conflict or a quota may
also pass with time, but waiting for that is a decision of whoever asked.

The wait grows from `RetrySettings.first_wait`, doubled each time and drawn at random from its upper half, so
that many clients do not come back together; a ``Retry-After`` of the service is a floor under it. The SDK's
own retries are off, so the bounds here are the bounds.
"""

from __future__ import annotations

import logging
import random
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeVar

from azbatch_core.errors import AzBatchError, ServiceUnavailable, Throttled

if TYPE_CHECKING:
    from collections.abc import Callable

    import tenacity

__all__ = ["RetrySettings", "backoff", "is_transient", "run"]

T = TypeVar("T")

LOG = logging.getLogger("azbatch")


@dataclass(frozen=True)
class RetrySettings:
    """The bounds of retrying, in seconds where not a count.

    Attributes:
        attempts: How often a request is sent at most; 1 turns retries off.
        total_time: No wait begins that would end later than this after the first attempt began.
        first_wait: The wait before the second attempt, before jitter.
        max_wait: The longest wait that grows by itself; a longer Retry-After is still honoured.
        first_contact_attempts: How often a connection that never had an answer tries a host that is not
            there: a typing error in an endpoint should not look like an outage.
    """

    attempts: int = 8
    total_time: float = 180.0
    first_wait: float = 0.5
    max_wait: float = 30.0
    first_contact_attempts: int = 3

    def __post_init__(self) -> None:
        if self.attempts < 1 or self.first_contact_attempts < 1:
            raise ValueError("attempts must be at least 1")
        if min(self.total_time, self.first_wait, self.max_wait) < 0:
            raise ValueError("waits cannot be negative")


def is_transient(error: BaseException) -> bool:
    """Whether the same request should simply be sent again."""
    return isinstance(error, (Throttled, ServiceUnavailable)) and error.retryable


def backoff(attempt: int, retry_after: float | None, settings: RetrySettings, draw: float) -> float:
    """Seconds to wait after the attempt with this number, counted from 1.

    Args:
        attempt: The attempt that just failed.
        retry_after: What the service asked for; never undercut.
        settings: The bounds.
        draw: A random number in [0, 1).
    """
    # 2**60 is past any max_wait; the cap keeps the float finite whatever `attempts` is.
    grown = min(settings.max_wait, settings.first_wait * 2.0 ** min(attempt - 1, 60))
    jittered = grown * (0.5 + draw / 2)
    if retry_after is None:
        return jittered
    # Everyone was told the same moment: spread the return a little, to later only.
    return max(jittered, retry_after * (1 + draw / 10))


def run(
    function: Callable[[], T],
    settings: RetrySettings,
    *,
    retry_after: Callable[[BaseException], float | None] = lambda _: None,
    answered: Callable[[], bool] = lambda: True,
    name: str = "request",
    on_retry: Callable[[BaseException, float], object] = lambda _error, _seconds: None,
    sleep: Callable[[float], None] = time.sleep,
    clock: Callable[[], float] = time.monotonic,
    draw: Callable[[], float] = random.random,
) -> T:
    """Call `function` until it returns, fails for good, or the bounds are reached; then raise its last error.

    Args:
        function: Raises `AzBatchError`; anything else passes through at once.
        settings: The bounds.
        retry_after: Gives the seconds that the service asked for, from the error.
        answered: Whether the service has ever answered; asked after each failure.
        name: What the debug log calls it; must hold no secret.
        on_retry: Called before each wait with the error and the seconds.
        sleep: Waits that many seconds.
        clock: Monotonic seconds.
        draw: Random numbers in [0, 1).
    """
    started = clock()
    try:
        return function()
    except AzBatchError as error:
        if not is_transient(error):
            raise
        failed = [error]
    import tenacity  # takes longer than a request, so only where one failed

    def again() -> T:
        if failed:
            raise failed.pop()
        return function()

    def limit() -> int:
        return settings.attempts if answered() else min(settings.attempts, settings.first_contact_attempts)

    def wait(state: tenacity.RetryCallState) -> float:
        return backoff(state.attempt_number, retry_after(_error(state)), settings, draw())

    def stop(state: tenacity.RetryCallState) -> bool:
        # tenacity works out the wait before it asks whether to stop.
        out_of_time = clock() - started + state.upcoming_sleep > settings.total_time
        return out_of_time or state.attempt_number >= limit()

    def log(state: tenacity.RetryCallState) -> None:
        error = _error(state)
        LOG.debug(
            "%s: %s; attempt %d of %d failed, the next in %.1f s",
            name,
            getattr(error, "code", None) or getattr(error, "message", type(error).__name__),
            state.attempt_number,
            limit(),
            state.upcoming_sleep,
        )
        on_retry(error, state.upcoming_sleep)

    retrying = tenacity.Retrying(
        retry=tenacity.retry_if_exception(is_transient),
        wait=wait,
        stop=stop,
        before_sleep=log,
        sleep=sleep,
        reraise=True,
    )
    return retrying(again)


def _error(state: tenacity.RetryCallState) -> BaseException:
    error = state.outcome.exception() if state.outcome else None
    return error or AzBatchError("no error")
