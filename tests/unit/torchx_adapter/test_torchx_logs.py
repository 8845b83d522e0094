"""Lines of replicas: whole, of a span of time, those that match. Pure."""

from __future__ import annotations

from datetime import datetime, timedelta, timezone

import pytest

from azbatch_core import LogChunk
from azbatch_torchx import log_times, logs

UTC = timezone.utc
NOON = datetime(2026, 12, 1, 12, tzinfo=UTC)
NOW = NOON + timedelta(hours=1)


@pytest.mark.parametrize(
    ("line", "at"),
    [
        ("2026-12-01 12:00:00,250 INFO hello\n", NOON + timedelta(milliseconds=250)),
        ("[2026-12-01 12:00:00] hello\n", NOON),
        ("[0]:2026-12-01T12:00:00.5Z hello\n", NOON + timedelta(milliseconds=500)),
        ("2026-12-01T14:00:00+0200 hello\n", NOON),
        ("2026-12-01T14:00:00+02:00 hello\n", NOON),
        (
            "W1201 12:00:00.364000 29016 torch/distributed/run.py:874] hello\n",
            NOON + timedelta(microseconds=364000),
        ),
        ("[1]:I1231 12:00:00.0 hello\n", datetime(2025, 12, 31, 12, tzinfo=UTC)),
        ("2026-13-45 12:00:00 no such day\n", None),
        ("W0230 12:00:00.1 neither\n", None),
        ("loss 0.5 at 2026-12-01 12:00:00\n", None),
        ("\n", None),
    ],
)
def test_times_that_lines_begin_with(line: str, at: datetime | None) -> None:
    assert log_times.moment(line, UTC, NOW) == at


def test_a_line_without_a_time_is_as_old_as_the_one_before() -> None:
    lines = [
        "head\n",
        "2026-12-01 11:00:00 a\n",
        "  a2\n",
        "2026-12-01 12:00:00 b\n",
        "  b2\n",
        "2026-12-01 13:00:00 c\n",
    ]
    since, until = NOON - timedelta(minutes=1), NOON + timedelta(minutes=1)
    assert list(log_times.between(lines, since, until, UTC)) == ["head\n", *lines[3:5]]
    assert list(log_times.between(lines, since, None, UTC)) == ["head\n", *lines[3:]]
    assert list(log_times.between(lines, None, until, UTC)) == lines[:5]
    assert list(log_times.between(lines, None, None, UTC)) == lines


def test_a_half_line_of_a_lost_try_is_not_the_beginning_of_the_next() -> None:
    chunks = [
        LogChunk("t", "stdout", "one\nha", b""),
        LogChunk("t", "notice", "the task started again; so does its output"),
        LogChunk("t", "stdout", "one\n", b""),
    ]
    assert list(logs.lines(chunks)) == ["one\n", "ha\n", "one\n"]


def test_carriage_returns_stay_within_their_line() -> None:
    chunks = [LogChunk("t", "stdout", "1%\r2%\r", b""), LogChunk("t", "stdout", "3%\nend\r\n", b"")]
    assert list(logs.lines(chunks)) == ["1%\r2%\r3%\n", "end\r\n"]


def test_only_lines_that_match() -> None:
    assert list(logs.matching(["a 1\n", "b\n"], r"\d$")) == ["a 1\n"]
    assert list(logs.matching(["a\n"], None)) == ["a\n"]
