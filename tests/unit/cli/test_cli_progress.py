from __future__ import annotations

import itertools
from typing import TYPE_CHECKING

import click
import pytest

from azbatch_core.cli.progress import Progress, clock_face, count_line, job_line, warn
from azbatch_core.service.states import JobState, JobStatus, TaskState

if TYPE_CHECKING:
    from cli_fakes import Terminal


class Clock:
    """A clock that a test sets."""

    now = 0.0

    def __call__(self) -> float:
        """Seconds."""
        return self.now


def status(counts: dict[TaskState, int], *, total: int = 41, job_id: str = "pi-1") -> JobStatus:
    return JobStatus(f"local:{job_id}", job_id, JobState.RUNNING, counts, total, "pool-1")


def test_plain_lines_come_when_something_changed_and_ever_less_often(
    capsys: pytest.CaptureFixture[str],
) -> None:
    clock = Clock()
    progress = Progress(monotonic=clock)
    printed = []
    for second in range(200):
        clock.now = second
        progress.show(lambda _width, second=second: f"line {second}")  # type: ignore[misc]
        progress.tick()
        if capsys.readouterr().err:
            printed.append(second)
    assert printed[0] == 5
    gaps = [later - sooner for sooner, later in itertools.pairwise(printed)]
    assert gaps == sorted(gaps)
    assert gaps[-1] >= 38
    assert len(printed) < 9


def test_an_unchanged_line_is_not_printed_again(capsys: pytest.CaptureFixture[str]) -> None:
    clock = Clock()
    progress = Progress(monotonic=clock)
    progress.show(lambda _width: "same")
    for second in (6, 60, 600):
        clock.now = second
        progress.tick()
    assert capsys.readouterr().err == "azbatch: same\n"


def test_quiet_prints_nothing(capsys: pytest.CaptureFixture[str], terminal: Terminal) -> None:
    terminal(80)
    with Progress(quiet=True) as progress:
        progress.show(lambda _width: "x")
        progress.tick()
    assert capsys.readouterr().err == ""


def test_a_terminal_gets_one_line_redrawn_and_erased(
    capsys: pytest.CaptureFixture[str], terminal: Terminal
) -> None:
    terminal(80)
    clock = Clock()
    progress = Progress(monotonic=clock)
    progress.show(lambda _width: "halfway")
    clock.now = 65
    progress.tick()
    with progress.aside():
        pass
    text = capsys.readouterr().err
    assert "\n" not in text
    assert text.startswith("\r")
    assert "halfway" in text
    assert "1:05" in text
    assert text.endswith("\r\x1b[K")


def test_the_line_is_gone_when_progress_ends(capsys: pytest.CaptureFixture[str], terminal: Terminal) -> None:
    terminal(80)
    with Progress() as progress:
        progress.show(lambda _width: "halfway")
        progress.tick()
    assert capsys.readouterr().err.endswith("\r\x1b[K")


def test_a_remark_does_not_land_on_the_line(capsys: pytest.CaptureFixture[str], terminal: Terminal) -> None:
    terminal(80)
    with Progress() as progress:
        progress.show(lambda _width: "halfway")
        progress.tick()
        warn("the service is slow")
    before, after = capsys.readouterr().err.split("azbatch: ", 1)
    assert before.endswith("\r\x1b[K")
    assert after.startswith("\x1b[33m\x1b[1mwarning:\x1b[0m the service is slow\n")


@pytest.mark.parametrize("width", [20, 40, 60, 80, 120])
def test_a_job_line_fits_and_keeps_its_figures(width: int) -> None:
    counts = {TaskState.SUCCEEDED: 10, TaskState.FAILED: 1, TaskState.RUNNING: 8, TaskState.QUEUED: 22}
    line = click.unstyle(job_line(status(counts, job_id="j" * 64))(width))
    assert len(line) <= width
    if width >= 60:
        assert "11/41 done, 1 failed, 8 running, 22 queued" in line


def test_a_plain_job_line_has_no_bar() -> None:
    line = job_line(status({TaskState.SUCCEEDED: 41}))(10_000)
    assert line == "pi-1  41/41 done"


def test_a_single_task_says_what_it_waits_for() -> None:
    assert (
        job_line(status({TaskState.QUEUED: 1}, total=1))(10_000) == "pi-1  waiting for a node of pool pool-1"
    )
    assert job_line(status({TaskState.RUNNING: 1}, total=1))(10_000) == "pi-1  running"


def test_counts() -> None:
    assert count_line("adding tasks", 3, 10)(10_000) == "adding tasks  3/10"
    assert "━" in count_line("adding tasks", 3, 10)(79)


@pytest.mark.parametrize(("seconds", "face"), [(0, "0:00"), (65.9, "1:05"), (3723, "1:02:03")])
def test_clock_face(seconds: float, face: str) -> None:
    assert clock_face(seconds) == face
