"""Durations and times as the service reads and writes them."""

from __future__ import annotations

from datetime import datetime, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st

from azbatch_core.local.wire import durations


@pytest.mark.parametrize(
    ("sent", "shown"),
    [
        ("PT01H00M00S", "PT1H"),
        ("PT06M00S", "PT6M"),
        ("PT20M00S", "PT20M"),
        ("PT0H20M", "PT20M"),
        ("P1D", "P1D"),
        ("P2W", "P14D"),
        ("PT36H", "P1DT12H"),
        ("PT0S", "PT0S"),
        ("PT1.50S", "PT1.5S"),
        ("P3Y6M4DT12H30M5S", "P1279DT12H30M5S"),
        (durations.UNLIMITED, durations.UNLIMITED),
    ],
)
def test_durations_come_back_canonical(sent, shown):
    assert durations.normalise_duration(sent) == shown


@pytest.mark.parametrize(
    "text", ["", "P", "PT", "P1", "1D", "PT1H30", "P1H", "PT1D", "P-1D", "PT1,5S", "P1DT", "P99999999D"]
)
def test_what_is_no_duration_is_refused(text):
    with pytest.raises(ValueError, match=r".*"):
        durations.normalise_duration(text)


@given(st.integers(0, durations.MAX_TICKS))
def test_every_duration_survives_writing_and_reading(ticks):
    assert durations.parse_duration(durations.format_duration(ticks)) == ticks


@pytest.mark.parametrize(
    ("sent", "shown"),
    [
        ("2025-01-16T18:44:41.7974082Z", "2025-01-16T18:44:41.7974082Z"),
        ("2025-01-16T18:44:41.500Z", "2025-01-16T18:44:41.5Z"),
        ("2025-01-16T18:44:41", "2025-01-16T18:44:41Z"),
        ("2025-01-16T20:44:41+02:00", "2025-01-16T18:44:41Z"),
        ("2025-01-16T18:44Z", "2025-01-16T18:44:00Z"),
        ("2025-01-16T18:44:41.000000019Z", "2025-01-16T18:44:41Z"),
    ],
)
def test_times_come_back_in_utc_with_trimmed_fractions(sent, shown):
    assert durations.normalise_time(sent) == shown


@pytest.mark.parametrize(
    "text", ["", "now", "2025-13-01T00:00:00Z", "2025-01-16", "0001-01-01T00:00:00+02:00"]
)
def test_what_is_no_time_is_refused(text):
    with pytest.raises(ValueError, match=r".*"):
        durations.normalise_time(text)


@given(st.datetimes(datetime(2, 1, 1), datetime(9998, 1, 1)), st.datetimes(datetime(2, 1, 1)))  # noqa: DTZ001 - given an offset below
def test_sortable_times_sort_as_the_moments_do(one, two):
    def sortable(moment):
        return durations.sortable_time(durations.normalise_time(moment.isoformat() + "Z"))

    assert (sortable(one) < sortable(two)) == (one < two)


@given(
    st.datetimes(datetime(2, 1, 1), datetime(9998, 1, 1)),  # noqa: DTZ001 - given an offset below
    st.integers(-14 * 60, 14 * 60),
)
def test_offsets_do_not_change_the_moment(moment, minutes):
    zone = timezone(timedelta(minutes=minutes))
    local = moment.replace(tzinfo=timezone.utc).astimezone(zone)
    assert durations.normalise_time(local.isoformat()) == durations.normalise_time(moment.isoformat())
