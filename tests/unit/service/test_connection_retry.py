"""Retrying: what, how often, how long between, and what the log says of it."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

import pytest

from azbatch_core.errors import AzBatchError, Conflict, QuotaExceeded, ServiceUnavailable, Throttled
from azbatch_core.service.connect import retry
from azbatch_core.service.connect.retry import RetrySettings, backoff

if TYPE_CHECKING:
    from collections.abc import Callable


class FakeTime:
    """A clock that moves only when someone sleeps."""

    def __init__(self) -> None:
        self.now = 0.0
        self.slept: list[float] = []

    def sleep(self, seconds: float) -> None:
        """Let time pass."""
        self.slept.append(seconds)
        self.now += seconds

    def clock(self) -> float:
        """The time."""
        return self.now


def failing(*errors: BaseException) -> Callable[[], str]:
    """A function that raises these errors one after the other, then returns."""
    left = list(errors)

    def function() -> str:
        if left:
            raise left.pop(0)
        return "done"

    return function


def run(
    function: Callable[[], str],
    settings: RetrySettings,
    time: FakeTime,
    retry_after: float | None = None,
    *,
    answered: bool = True,
) -> str:
    return retry.run(
        function,
        settings,
        retry_after=lambda _: retry_after,
        answered=lambda: answered,
        name="get_job",
        sleep=time.sleep,
        clock=time.clock,
        draw=lambda: 0.0,
    )


def busy(kind: type[AzBatchError] = Throttled) -> AzBatchError:
    return kind("busy", code="TooManyRequests", retryable=True)


def test_two_refusals_and_an_answer_are_an_answer() -> None:
    time = FakeTime()
    assert run(failing(busy(), busy(ServiceUnavailable)), RetrySettings(), time) == "done"
    assert time.slept == [0.25, 0.5]


@pytest.mark.parametrize(
    "error",
    [
        Conflict("taken", retryable=True),
        QuotaExceeded("full", retryable=True),
        ServiceUnavailable("the certificate is not trusted"),
        ValueError("a fault in a program"),
    ],
)
def test_what_waiting_cannot_mend_is_raised_at_once(error: Exception) -> None:
    time = FakeTime()
    with pytest.raises(type(error)):
        run(failing(error), RetrySettings(), time)
    assert time.slept == []


def test_the_last_error_is_raised_when_the_attempts_are_used_up() -> None:
    time = FakeTime()
    errors = [busy() for _ in range(10)]
    with pytest.raises(Throttled) as caught:
        run(failing(*errors), RetrySettings(attempts=4), time)
    assert caught.value is errors[3]
    assert len(time.slept) == 3


def test_no_wait_begins_that_would_end_too_late() -> None:
    time = FakeTime()
    with pytest.raises(Throttled):
        run(failing(*(busy() for _ in range(99))), RetrySettings(attempts=99, total_time=10), time)
    assert time.now <= 10
    assert len(time.slept) > 3


def test_the_services_own_wish_is_a_floor() -> None:
    time = FakeTime()
    run(failing(busy(), busy()), RetrySettings(), time, retry_after=12.0)
    assert time.slept == [12.0, 12.0]


def test_a_wish_that_outlasts_the_total_time_ends_it_without_waiting() -> None:
    time = FakeTime()
    with pytest.raises(Throttled):
        run(failing(busy()), RetrySettings(total_time=60), time, retry_after=3600.0)
    assert time.slept == []


def test_a_host_that_never_answered_is_given_up_sooner() -> None:
    time = FakeTime()
    with pytest.raises(ServiceUnavailable):
        run(failing(*(busy(ServiceUnavailable) for _ in range(99))), RetrySettings(), time, answered=False)
    assert len(time.slept) == 2


def test_waits_grow_to_a_limit_and_spread() -> None:
    settings = RetrySettings(first_wait=1.0, max_wait=8.0)
    assert [backoff(n, None, settings, 0.0) for n in (1, 2, 3, 4, 5, 10_000)] == [0.5, 1, 2, 4, 4, 4]
    assert backoff(1, None, settings, 0.999) == pytest.approx(0.9995)
    assert 10.0 <= backoff(1, 10.0, settings, 0.999) <= 11.0
    assert backoff(4, 0.1, settings, 0.0) == 4


def test_each_retry_leaves_a_line_and_no_secret(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG, "azbatch")
    run(failing(busy()), RetrySettings(attempts=5), FakeTime())
    assert [record.getMessage() for record in caplog.records] == [
        "get_job: TooManyRequests; attempt 1 of 5 failed, the next in 0.2 s"
    ]


@pytest.mark.parametrize("wrong", [{"attempts": 0}, {"total_time": -1.0}, {"first_contact_attempts": 0}])
def test_bounds_that_make_no_sense_are_refused(wrong: dict[str, float]) -> None:
    with pytest.raises(ValueError, match=r"attempts|negative"):
        RetrySettings(**wrong)  # type: ignore[arg-type]
