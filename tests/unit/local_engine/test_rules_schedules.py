"""When the jobs of a schedule are due."""

from __future__ import annotations

import pytest

from azbatch_core.local.rules.schedules import Plan, Turn, is_over, next_turn, plan_of
from azbatch_core.local.rules.times import moment, ticks_at
from azbatch_core.local.wire.durations import UNLIMITED

DAY, WEEK = 24, 168
"""Hours stand for ticks: the rules do not care."""
NEVER = ticks_at("9999-12-31T23:59:59.9999999Z") + 1


def due(plan: Plan, now: int, *, anchor: int = 0, last: int | None = None) -> int | None:
    turn = next_turn(plan, anchor, last, now)
    return None if turn is None else turn.due


def test_a_schedule_without_a_plan_is_one_job_at_once() -> None:
    assert plan_of({}) == Plan()
    assert next_turn(Plan(), 5, None, 5) == Turn(5, NEVER)
    assert next_turn(Plan(), 5, 5, 6) is None


def test_plans_are_read_in_ticks() -> None:
    second = 10_000_000
    plan = plan_of(
        {
            "schedule": {
                "doNotRunUntil": "2026-01-01T00:00:00.5Z",
                "doNotRunAfter": "2026-01-02T00:00:00Z",
                "startWindow": "PT5M",
                "recurrenceInterval": "P1D",
            }
        }
    )
    start = ticks_at("2026-01-01T00:00:00Z")
    assert plan == Plan(start + second // 2, start + 86400 * second, 300 * second, 86400 * second)


def test_moments_come_back_as_they_went() -> None:
    for text in ("2026-01-01T00:00:00Z", "2026-01-01T00:00:00.0000001Z", "0001-01-01T00:00:00.25Z"):
        assert moment(ticks_at(text)) == text


@pytest.mark.parametrize(
    ("now", "last", "expected"),
    [
        (-5, None, 0),  # before the first
        (0, None, 0),
        (23, None, 0),  # its window is as long as the interval
        (24, None, 24),
        (50, None, 48),  # what was missed is not carried forward
        (0, 0, 24),  # has had its job
        (30, 0, 24),
        (50, 0, 48),
        (50, 48, 72),
        (10, 48, 72),  # the clock was set back
    ],
)
def test_recurrences_lie_on_a_grid(now: int, last: int | None, expected: int) -> None:
    assert due(Plan(interval=DAY), now, last=last) == expected


@pytest.mark.parametrize(
    ("now", "last", "expected"), [(0, None, 0), (1, None, 0), (2, None, 24), (25, 0, 24), (26, 0, 48)]
)
def test_a_turn_is_lost_when_its_window_has_passed(now: int, last: int | None, expected: int) -> None:
    assert due(Plan(window=2, interval=DAY), now, last=last) == expected


def test_a_window_longer_than_the_interval_is_an_infinite_one() -> None:
    for now in range(0, 100, 7):
        assert next_turn(Plan(window=99, interval=DAY), 0, None, now) == next_turn(
            Plan(interval=DAY), 0, None, now
        )


def test_a_single_job_can_be_missed() -> None:
    assert due(Plan(window=2), 1) == 0
    assert due(Plan(window=2), 2) is None
    assert is_over(Plan(window=2), None, 2)


def test_no_turn_begins_after_the_end() -> None:
    plan = Plan(end=30, interval=DAY)
    assert due(plan, 25, last=0) == 24
    assert due(plan, 25, last=24) is None
    assert due(plan, 31) is None
    assert due(Plan(end=24, interval=DAY), 24, last=0) == 24


def test_a_recurring_schedule_is_over_with_its_end_only() -> None:
    turn = next_turn(Plan(interval=DAY), 0, None, 0)
    assert not is_over(Plan(interval=DAY), turn, 0)
    assert not is_over(Plan(interval=DAY), None, 10**6)
    assert not is_over(Plan(end=30, interval=DAY), None, 30)
    assert is_over(Plan(end=30, interval=DAY), None, 31)


def test_a_week_of_days() -> None:
    plan, last, made = Plan(interval=DAY), None, []
    for now in range(WEEK):
        turn = next_turn(plan, 0, last, now)
        assert turn is not None
        if turn.due <= now:
            last = turn.due
            made.append(now)
    assert made == [0, 24, 48, 72, 96, 120, 144]


def test_nothing_is_due_after_the_last_day_of_the_calendar() -> None:
    assert next_turn(Plan(interval=NEVER), 10, 10, 20) is None


@pytest.mark.parametrize("start", ["9999-12-31T23:59:59.9999999Z", "9999-12-31T00:00:00Z"])
@pytest.mark.parametrize("window", [None, "PT1M", UNLIMITED])
@pytest.mark.parametrize("interval", [None, "PT1M", UNLIMITED])
def test_the_end_of_time_is_a_moment_like_others(
    start: str, window: str | None, interval: str | None
) -> None:
    given = {"doNotRunUntil": start, "startWindow": window, "recurrenceInterval": interval}
    plan = plan_of({"schedule": given})
    now = ticks_at("2026-01-01T00:00:00Z")
    turn = next_turn(plan, ticks_at(start), None, now)
    assert turn is not None
    assert moment(turn.due) == start
    assert not is_over(plan, turn, now)
