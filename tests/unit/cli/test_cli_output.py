from __future__ import annotations

from datetime import datetime, timedelta, timezone
from typing import TYPE_CHECKING

import pytest

from azbatch_core.cli.output import Column, ago, jsonable, print_fields, print_table, size, span
from azbatch_core.service.states import TaskState
from azbatch_core.service.summaries import CheckItem

if TYPE_CHECKING:
    from cli_fakes import Terminal

NOW = datetime(2026, 3, 1, tzinfo=timezone.utc)


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(0, "0s"), (-5, "0s"), (119, "119s"), (120, "2m"), (7199, "119m"), (7200, "2h"), (172_800, "2d")],
)
def test_age_is_one_figure(seconds: int, text: str) -> None:
    assert ago(NOW - timedelta(seconds=seconds), NOW) == text


def test_age_of_nothing() -> None:
    assert ago(None) == "-"


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(0.04, "0s"), (9.94, "9.9s"), (12, "12s"), (65, "1m5s"), (3600, "1h"), (7869, "2h11m")],
)
def test_length_of_time(seconds: float, text: str) -> None:
    assert span(timedelta(seconds=seconds)) == text


@pytest.mark.parametrize(
    ("count", "text"), [(0, "0"), (1023, "1023"), (1024, "1.0K"), (20 * 1024, "20K"), (5 * 1024**4, "5.0T")]
)
def test_bytes_for_a_person(count: int, text: str) -> None:
    assert size(count) == text


def test_records_become_json_with_utc_times_and_words() -> None:
    east = timezone(timedelta(hours=2))
    value = {
        TaskState.RUNNING: datetime(2026, 3, 1, 2, 0, 0, 5000, tzinfo=east),
        "duration": timedelta(minutes=1),
        "list": (CheckItem("t", ok=True, text="x"),),
    }
    assert jsonable(value) == {
        "running": "2026-03-01T00:00:00.005Z",
        "duration": 60.0,
        "list": [{"name": "t", "ok": True, "text": "x", "hint": None}],
    }


COLUMNS = (Column("ID"), Column("STATE", state=True), Column("POOL", drop=1), Column("NOTE", shrink=True))
ROWS = [("a" * 20, "failed", "p" * 30, "long " * 30), ("b", "running", "", "")]


def test_away_from_a_terminal_every_row_is_one_whole_line(capsys: pytest.CaptureFixture[str]) -> None:
    print_table(COLUMNS, ROWS, empty="nothing")
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 3
    assert lines[1].split() == ["a" * 20, "failed", "p" * 30, *["long"] * 30]
    assert lines[2].split() == ["b", "running", "-", "-"]
    assert all(line == line.rstrip() for line in lines)


@pytest.mark.parametrize("width", [60, 80, 120])
def test_on_a_terminal_the_table_fits(
    width: int,
    terminal: Terminal,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("NO_COLOR", "1")
    terminal(width)
    print_table(COLUMNS, ROWS, empty="nothing")
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 3
    assert max(map(len, lines)) <= width
    assert lines[1].startswith("a" * 20), "an id is never cut"
    assert lines[1].endswith("…")
    assert ("POOL" in lines[0]) == (width >= 80)


def test_wide_characters_count_as_two_cells(
    terminal: Terminal, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NO_COLOR", "1")
    terminal(80)
    print_table((Column("A"), Column("B")), [("日本", "x"), ("abcd", "y")], empty="")
    assert capsys.readouterr().out.splitlines() == ["A     B", "日本  x", "abcd  y"]


def test_states_are_coloured_on_a_terminal_only(
    terminal: Terminal, capsys: pytest.CaptureFixture[str]
) -> None:
    print_table(COLUMNS, ROWS, empty="")
    assert "\x1b" not in capsys.readouterr().out
    terminal(200)
    print_table(COLUMNS, ROWS, empty="")
    assert "\x1b[31mfailed\x1b[0m" in capsys.readouterr().out


@pytest.mark.parametrize(("name", "value"), [("NO_COLOR", "1"), ("TERM", "dumb")])
def test_colour_can_be_refused(
    name: str,
    value: str,
    terminal: Terminal,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    terminal(200)
    monkeypatch.setenv(name, value)
    print_table(COLUMNS, ROWS, empty="")
    print_fields([("State", "failed")])
    assert "\x1b" not in capsys.readouterr().out


def test_colour_can_be_forced(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setenv("FORCE_COLOR", "1")
    print_table(COLUMNS, ROWS, empty="")
    assert "\x1b[31mfailed" in capsys.readouterr().out


def test_an_empty_table_is_a_remark_not_a_result(capsys: pytest.CaptureFixture[str]) -> None:
    print_table(COLUMNS, [], empty="No jobs.")
    captured = capsys.readouterr()
    assert (captured.out, captured.err) == ("", "No jobs.\n")


def test_line_breaks_in_a_cell_do_not_break_the_row(capsys: pytest.CaptureFixture[str]) -> None:
    print_table((Column("A"), Column("B")), [("x", "two\nlines")], empty="")
    assert capsys.readouterr().out.splitlines()[1] == "x  two lines"
