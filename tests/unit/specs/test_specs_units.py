"""Durations and sizes: every accepted form has one meaning, everything else is refused."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from specs_refusals import refusal

from azbatch_core.specs import Resources, TaskSpec, format_duration, format_size, parse_duration, parse_size
from azbatch_core.specs.units import MAX_DURATION, exact_size, iso_duration


@pytest.mark.parametrize(
    ("given_value", "seconds"),
    [
        (90, 90),
        (1.5, 1.5),
        (timedelta(minutes=2), 120),
        ("90s", 90),
        ("15m", 900),
        ("2h", 7200),
        ("7d", 604800),
        ("1w", 604800),
        ("1h30m", 5400),
        ("1.5h", 5400),
        (" 5m ", 300),
        ("PT15M", 900),
        ("P1DT2H", 93600),
        ("P7D", 604800),
        ("P1W", 604800),
        ("PT0.5S", 0.5),
        ("PT1,5S", 1.5),
        (0, 0),
    ],
)
def test_durations(given_value: Any, seconds: float):
    assert parse_duration(given_value) == timedelta(seconds=seconds)


@pytest.mark.parametrize(
    "value",
    [
        "x",
        "",
        "5 minutes",
        "5x",
        "P1Y",
        "P1M",
        "P",
        "PT",
        "P1H",
        "1e5s",
        "01:30:00",
        "٣s",
        True,
        None,
        [],
        {},
    ],
)
def test_what_is_not_a_duration_is_refused_with_the_forms_that_are(value: Any):
    error = refusal(parse_duration, value)
    assert "is not a duration" in error.message
    assert error.hint
    assert "PT15M" in error.hint


@pytest.mark.parametrize("value", [-1, -0.5, "-5m", timedelta(seconds=-1)])
def test_a_negative_duration_is_refused(value: Any):
    assert "negative" in refusal(parse_duration, value).message


@pytest.mark.parametrize("value", [1e300, float("inf"), "9" * 400 + "d", "10675200d", 10**400, timedelta.max])
def test_a_duration_that_batch_cannot_express_is_refused(value: Any):
    assert "longer than Batch can express" in refusal(parse_duration, value).message


def test_not_a_number_is_not_a_duration():
    assert "NaN" in refusal(parse_duration, float("nan")).message


def test_the_longest_duration_is_accepted():
    assert parse_duration(MAX_DURATION) == MAX_DURATION


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (0, "PT0S"),
        (0.5, "PT0.5S"),
        (900, "PT15M"),
        (604800, "P7D"),
        (365 * 86400, "P365D"),
        (93784.25, "P1DT2H3M4.25S"),
    ],
)
def test_durations_in_iso_8601_have_no_months_and_years(seconds: float, text: str):
    assert iso_duration(timedelta(seconds=seconds)) == text


@pytest.mark.parametrize("value", [0, "0s", "PT0S"])
def test_a_wall_time_of_nothing_is_refused(value: Any):
    assert "more than zero" in refusal(TaskSpec, command=["x"], wall_time=value).message


@given(st.timedeltas(min_value=timedelta(0), max_value=timedelta(days=9999)))
def test_durations_are_read_back_as_they_are_written(value: timedelta):
    task = TaskSpec(command=["x"], retention=value)
    assert TaskSpec.model_validate_json(task.model_dump_json()) == task
    assert parse_duration(iso_duration(value)) == value
    whole = timedelta(seconds=int(value.total_seconds()))
    assert parse_duration(format_duration(whole)) == whole


@pytest.mark.parametrize(
    ("given_value", "size"),
    [
        (1048576, 1048576),
        ("16GiB", 16 * 2**30),
        ("16Gi", 16 * 2**30),
        ("16GB", 16 * 10**9),
        ("512 MiB", 512 * 2**20),
        ("1.5GiB", 1536 * 2**20),
        ("1tib", 2**40),
        ("0.1KB", 100),
        ("10B", 10),
    ],
)
def test_sizes(given_value: Any, size: int):
    assert parse_size(given_value) == size


@pytest.mark.parametrize(
    "value", ["16", "GiB", "16XB", "", "1e3GiB", "NaN", "16GiB ram", 1.5, True, None, [], "٣GiB"]
)
def test_what_is_not_a_size_is_refused_with_the_forms_that_are(value: Any):
    error = refusal(parse_size, value)
    assert error.hint
    assert "16GiB" in error.hint


def test_a_unit_that_tools_disagree_about_is_refused():
    error = refusal(parse_size, "16G")
    assert "ambiguous" in error.message
    assert error.hint == "write '16GiB' or '16GB'"


@pytest.mark.parametrize("value", [-1, "-1GiB"])
def test_a_negative_size_is_refused(value: Any):
    assert "negative" in refusal(parse_size, value).message


@pytest.mark.parametrize("value", [2**63, "8388608TiB", "9" * 5000 + "GiB", "9" * 500 + ".5GiB", 10**4000])
def test_a_size_that_overflows_is_refused(value: Any):
    assert "too large" in refusal(parse_size, value).message


def test_a_memory_that_was_meant_in_gibibytes_is_refused():
    error = refusal(Resources, memory=16)
    assert "16B is less than 1MiB" in error.message
    assert error.hint
    assert "'16GiB'" in error.hint


@pytest.mark.parametrize("text", ["0", "90", " 1.5 "])
def test_text_without_a_unit_is_not_told_that_seconds_are_fine(text: str):
    error = refusal(parse_duration, text)
    assert error.message == f"{text!r} is text without a unit"
    assert error.hint == f"write '{text.strip()}s' for seconds"


@pytest.mark.parametrize(
    ("size", "text"),
    [
        (900 * 2**50, "900PiB"),
        (16 * 2**30, "16GiB"),
        (1536 * 2**20, "1.5GiB"),
        (512, "512B"),
        (2**40, "1TiB"),
        (0, "0B"),
    ],
)
def test_sizes_for_people(size: int, text: str):
    assert format_size(size) == text


@given(st.integers(0, 2**62))
def test_sizes_are_read_back_as_they_are_written(size: int):
    assert parse_size(exact_size(size)) == size
