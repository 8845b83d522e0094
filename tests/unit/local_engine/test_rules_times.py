from __future__ import annotations

from datetime import datetime, timezone

import pytest

from azbatch_core.local.rules.times import etag, limit_seconds, moment, seconds_of, ticks_of
from azbatch_core.local.wire.durations import UNLIMITED


def test_an_etag_is_the_moment_of_the_write() -> None:
    # A pair that the real service sent.
    ticks = int("8DD365DD6AC9F42", 16)
    assert moment(ticks) == "2025-01-16T18:44:41.7974082Z"
    assert etag(ticks) == "0x8DD365DD6AC9F42"


@pytest.mark.parametrize(
    ("micros", "text"),
    [(0, "2026-01-01T00:00:00Z"), (100_000, "2026-01-01T00:00:00.1Z"), (1, "2026-01-01T00:00:00.000001Z")],
)
def test_trailing_zeros_are_trimmed(micros: int, text: str) -> None:
    assert moment(ticks_of(datetime(2026, 1, 1, microsecond=micros, tzinfo=timezone.utc))) == text


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("PT15M", 900),
        ("P7D", 604800),
        ("PT01H00M00S", 3600),
        ("P1DT2H3M4.5S", 93784.5),
        ("P3Y6M4DT12H30M5S", 1279 * 86400 + 12 * 3600 + 30 * 60 + 5),
        ("P2W", 1209600),
        ("PT0S", 0),
    ],
)
def test_durations_are_read(text: str, seconds: float) -> None:
    assert seconds_of(text) == seconds


@pytest.mark.parametrize("text", ["", "P", "PT", "15M", "PT15", "-PT1S", "P1H", "PT1H x"])
def test_what_is_no_duration_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="is not a duration"):
        seconds_of(text)


def test_unlimited_is_none() -> None:
    assert limit_seconds(UNLIMITED) is None
    assert limit_seconds(None) is None
    assert limit_seconds("P10675199D") is None
    assert limit_seconds("PT1S") == 1
