"""The one way to send a request with an SDK of Azure: a failure is translated, and retried if that helps."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, TypeVar

from azbatch_core.errors import AzBatchError
from azbatch_core.service.connect import error_mapping, retry

if TYPE_CHECKING:
    from collections.abc import Callable

    from azbatch_core.service.connect.clock import Clock
    from azbatch_core.service.connect.retry import RetrySettings

T = TypeVar("T")

LOG = logging.getLogger("azbatch")
RETRIES = logging.getLogger("azbatch.retries")
"""Each try of each request: a program that tells of outages itself can turn it down."""


def remark(error: BaseException, seconds: float) -> None:
    """Tell that a request will be sent again, in words for a person."""
    code = getattr(error, "code", None)
    message = getattr(error, "message", type(error).__name__)
    RETRIES.warning("%s%s; trying again in %.1f s", message, f" [{code}]" if code else "", seconds)


def send(
    function: Callable[[], T],
    *,
    endpoint: str,
    name: str,
    clock: Clock,
    settings: RetrySettings,
    on_answer: Callable[[], None] = lambda: None,
    answered: Callable[[], bool] = lambda: True,
    on_silence: Callable[[], None] = lambda: None,
    on_retry: Callable[[BaseException, float], object] = remark,
) -> T:
    """Call a function that sends one request, again and again while a retry can help.

    Args:
        function: Sends the request. It must be fit to be called twice: after a lost reply the first call may
            have taken effect.
        endpoint: URL of the service that is called, to be named where there is no answer.
        name: What the debug log calls the request; must hold no secret.
        clock: Time and waiting.
        settings: The bounds of retrying.
        on_answer: Called whenever the service has answered, be it with an error.
        answered: Whether the service has ever answered.
        on_silence: Called whenever there was no answer; may raise an `AzBatchError` that ends it.
        on_retry: Called before each wait with the error and the seconds.

    Raises:
        AzBatchError: Whatever went wrong, after all retries; the SDK's own exception is its cause.
    """

    def attempt() -> T:
        try:
            result = function()
        except AzBatchError:
            raise
        except Exception as exc:
            if not _is_failure(exc):
                raise
            if error_mapping.reply_of(exc) is not None:
                on_answer()
            else:
                on_silence()
            raise error_mapping.from_sdk(exc, endpoint) from exc
        on_answer()
        return result

    return retry.run(
        attempt,
        settings,
        retry_after=_retry_after,
        answered=answered,
        name=name,
        on_retry=on_retry,
        sleep=clock.sleep,
        clock=clock.monotonic,
    )


def _is_failure(exc: Exception) -> bool:
    """Whether an exception tells of the service or the way to it; anything else is a fault in a program."""
    if isinstance(exc, (ConnectionError, TimeoutError)):
        return True
    from azure.core.exceptions import AzureError

    return isinstance(exc, AzureError)


def _retry_after(error: BaseException) -> float | None:
    reply = error_mapping.reply_of(error)
    return reply.retry_after if reply else None
