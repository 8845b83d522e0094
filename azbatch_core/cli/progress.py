"""Progress on stderr: one line redrawn on a terminal, plain lines elsewhere, nothing when quiet."""

from __future__ import annotations

import shutil
import threading
import time
from contextlib import contextmanager, nullcontext
from typing import TYPE_CHECKING

import click

from azbatch_core.cli.output import paint_state
from azbatch_core.cli.paint import is_terminal, paint, stream_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from types import TracebackType

    from typing_extensions import Self

    from azbatch_core.service.states import JobStatus

_REDRAW_SECONDS = 0.2
_FIRST_LINE_AFTER = 5.0
_SLOWEST_LINES = 60.0
_SPINNER = "⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏"
_BAR_WIDTH = 20
_NARROW = 60
_LEAST_NAME = 12


def info(text: str) -> None:
    """A remark for the person on stderr."""
    _say(text)


def warn(text: str) -> None:
    """A warning on stderr."""
    _say(f"{paint('warning:', err=True, fg='yellow', bold=True)} {text}")


def _say(text: str) -> None:
    with _DRAWING[-1].aside() if _DRAWING else nullcontext():
        click.echo(f"azbatch: {text}", err=True)


_DRAWING: list[Progress] = []
"""Whose line may be on the terminal now, the innermost last."""


class Progress:
    """Keeps one line about something that takes a while.

    On a terminal the line is redrawn in place, with the time that has passed. Elsewhere it is printed when it
    changed, at first after five seconds and then less and less often, so that a log of hours stays short.
    Whoever writes to the terminal meanwhile does so inside `aside()`.

    Args:
        quiet: Print nothing.
        monotonic: Seconds; replaced in tests.
    """

    def __init__(self, *, quiet: bool = False, monotonic: Callable[[], float] = time.monotonic) -> None:
        self._live = is_terminal(err=True)
        self._quiet = quiet
        self._monotonic = monotonic
        self._began = self._last_line = monotonic()
        self._every = _FIRST_LINE_AFTER
        self._lock = threading.RLock()
        self._over = threading.Event()
        self._render: Callable[[int], str] = lambda _width: ""
        self._printed = ""
        self._drawn = False
        self._frame = 0
        self._thread: threading.Thread | None = None

    def __enter__(self) -> Self:
        if not self._quiet:
            _DRAWING.append(self)
            self._thread = threading.Thread(target=self._keep_drawing, name="progress", daemon=True)
            self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._over.set()
        if self._thread is not None:
            self._thread.join()
            _DRAWING.remove(self)
        self._erase()

    def show(self, render: Callable[[int], str]) -> None:
        """Set what the line says: a function from the width at hand to the text."""
        with self._lock:
            self._render = render

    @contextmanager
    def aside(self) -> Iterator[None]:
        """Hold the line back while something else is written; it comes back with the next redraw."""
        with self._lock:
            self._erase()
            yield

    def tick(self) -> None:
        """Redraw, or print the line if its time has come. The thread does this; a test may."""
        with self._lock:
            if self._over.is_set() or self._quiet:
                return
            if self._live:
                self._draw()
            else:
                self._print_if_due()

    def _keep_drawing(self) -> None:
        while not self._over.wait(_REDRAW_SECONDS):
            self.tick()

    def _draw(self) -> None:
        passed = clock_face(self._monotonic() - self._began)
        width = shutil.get_terminal_size().columns - 1
        self._frame = (self._frame + 1) % len(_SPINNER)
        text = self._render(width - len(passed) - 4)
        if not text:
            return
        stream = stream_of(err=True)
        spinner = paint(_SPINNER[self._frame], err=True, fg="cyan")
        stream.write(f"\r{spinner} {text}  {paint(passed, err=True, dim=True)}\x1b[K")
        stream.flush()
        self._drawn = True

    def _print_if_due(self) -> None:
        now = self._monotonic()
        if now - self._last_line < self._every:
            return
        text = self._render(10_000)
        if not text or text == self._printed:
            return
        info(text)
        self._printed = text
        self._last_line = now
        self._every = min(self._every * 1.5, _SLOWEST_LINES)

    def _erase(self) -> None:
        with self._lock:
            if self._drawn:
                stream = stream_of(err=True)
                stream.write("\r\x1b[K")
                stream.flush()
                self._drawn = False


def clock_face(seconds: float) -> str:
    """`0:07`, `12:30`, `1:02:03`."""
    minutes, rest = divmod(int(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02d}:{rest:02d}" if hours else f"{minutes}:{rest:02d}"


def count_line(noun: str, done: int, total: int | None) -> Callable[[int], str]:
    """The line of a count that goes up: `adding tasks [####----]  300/1000`."""

    def render(width: int) -> str:
        figures = f"{done}/{total}" if total else str(done)
        bar = f" {_bar(done, total)}" if total and _NARROW <= width < _PLAIN else ""
        return f"{noun}{bar}  {figures}"

    return render


def job_line(status: JobStatus) -> Callable[[int], str]:
    """The line of a job: a bar when it has several tasks, then how many stand how."""

    def render(width: int) -> str:
        plain = width >= _PLAIN
        if status.total <= 1:
            return _fit(status.id, f"  {_single(status)}", width)
        figures = _figures(status, colour=not plain)
        room_for_bar = not plain and width >= len(click.unstyle(figures)) + _BAR_WIDTH + _LEAST_NAME
        bar = f"{_bar(_ended(status), status.total)}  " if room_for_bar else ""
        return _fit(status.id, f"  {bar}{figures}", width)

    return render


_PLAIN = 1000
"""Widths from here on mean "not a terminal": no bar, no colour."""


def _single(status: JobStatus) -> str:
    from azbatch_core.service.states import TaskState

    state = next(iter(status.counts), None)
    if state in {TaskState.QUEUED, None}:
        return f"waiting for a node of pool {status.pool_id}" if status.pool_id else "waiting for a node"
    return str(state)


def _ended(status: JobStatus) -> int:
    return sum(count for state, count in status.counts.items() if state.final)


def _figures(status: JobStatus, *, colour: bool) -> str:
    from azbatch_core.service.states import TaskState

    parts = [f"{_ended(status)}/{status.total} done"]
    for state in (
        TaskState.FAILED,
        TaskState.CANCELLED,
        TaskState.BLOCKED,
        TaskState.RUNNING,
        TaskState.PREPARING,
        TaskState.QUEUED,
        TaskState.WAITING,
    ):
        count = status.counts.get(state, 0)
        if count:
            word = paint_state(state.value, err=True) if colour else state.value
            parts.append(f"{count} {word}")
    return ", ".join(parts)


def _bar(done: int, total: int) -> str:
    full = _BAR_WIDTH * done // total
    return paint("━" * full, err=True, fg="green") + paint("━" * (_BAR_WIDTH - full), err=True, dim=True)


def _fit(name: str, rest: str, width: int) -> str:
    """The name and the rest in one line; the name gives way first."""
    room = width - len(click.unstyle(rest))
    if len(name) > room:
        name = name[: max(0, room - 1)] + "…" if room > 1 else ""
    text = name + rest
    return text if len(click.unstyle(text)) <= width else click.unstyle(text)[:width]
