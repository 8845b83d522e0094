"""Results on stdout: one JSON document, or a table that fits the terminal."""

from __future__ import annotations

import json
import shutil
from dataclasses import dataclass, fields, is_dataclass
from datetime import datetime, timedelta, timezone
from enum import Enum
from typing import TYPE_CHECKING, Any

import click

from azbatch_core.cli.paint import STATE_COLOURS, is_terminal, paint, wants_colour

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from azbatch_core.service.states import JobStatus, TaskStatus

_MINUTE, _HOUR, _DAY = 60, 3600, 86_400
_TEN_SECONDS, _TWO_MINUTES, _TWO_DAYS = 10, 120, 172_800
_KIB = 1024
_ONE_DIGIT = 10


def _iso(moment: datetime) -> str:
    return moment.astimezone(timezone.utc).isoformat(timespec="milliseconds").replace("+00:00", "Z")


_CONVERSIONS: tuple[tuple[type, Callable[[Any], Any]], ...] = (
    (Enum, lambda word: word.value),
    (datetime, _iso),
    (timedelta, lambda duration: duration.total_seconds()),
)


def jsonable(value: Any) -> Any:
    """A record as JSON: field names as keys, times in ISO 8601 UTC, durations in seconds, enums as words."""
    for kind, convert in _CONVERSIONS:
        if isinstance(value, kind):
            return convert(value)
    if is_dataclass(value) and not isinstance(value, type):
        return {item.name: jsonable(getattr(value, item.name)) for item in fields(value)}
    if isinstance(value, dict):
        return {str(key): jsonable(item) for key, item in value.items()}
    if isinstance(value, (list, tuple, set, frozenset)):
        return [jsonable(item) for item in value]
    return value


def task_document(task: TaskStatus) -> dict[str, Any]:
    """A task for `--json`."""
    return {**jsonable(task), "duration_seconds": jsonable(task.duration)}


def job_document(status: JobStatus) -> dict[str, Any]:
    """A job for `--json`. `counts` has every state, those without tasks as 0, for scripts to rely on."""
    from azbatch_core.service.states import TaskState

    return {
        **jsonable(status),
        "counts": {state.value: status.counts.get(state, 0) for state in TaskState},
        "failures": [task_document(task) for task in status.failures],
        "gangs": [task_document(task) for task in status.gangs],
        "exit_code": status.exit_code,
    }


def print_json(document: Any) -> None:
    """Print one JSON document, ended by a newline."""
    click.echo(json.dumps(document, indent=2, ensure_ascii=False))


def ago(moment: datetime | None, now: datetime | None = None) -> str:
    """How long ago that was, in one unit: `42s`, `5m`, `3h`, `9d`; `-` for never."""
    if moment is None:
        return "-"
    seconds = ((now or datetime.now(timezone.utc)) - moment).total_seconds()
    if seconds < _TWO_MINUTES:
        return f"{max(0, int(seconds))}s"
    if seconds < 2 * _HOUR:
        return f"{int(seconds // _MINUTE)}m"
    if seconds < _TWO_DAYS:
        return f"{int(seconds // _HOUR)}h"
    return f"{int(seconds // _DAY)}d"


def span(duration: timedelta | None) -> str:
    """A measured length of time, rounded for reading: `0.4s`, `12s`, `3m5s`, `2h10m`; `-` for none."""
    if duration is None:
        return "-"
    from azbatch_core.specs import format_duration

    seconds = max(0.0, duration.total_seconds())
    step = 1 if seconds < _HOUR else _MINUTE
    shown = round(seconds, 1) if seconds < _TEN_SECONDS else seconds // step * step
    return format_duration(timedelta(seconds=shown))


def clock(moment: datetime | None) -> str:
    """A moment in the reader's own time zone, to the second; `-` for none."""
    return moment.astimezone().strftime("%Y-%m-%d %H:%M:%S") if moment else "-"


def size(count: int) -> str:
    """Bytes for a person: `980`, `1.5K`, `20M`."""
    amount = float(count)
    for unit in ("", "K", "M", "G"):
        if amount < _KIB:
            return f"{amount:.1f}{unit}" if unit and amount < _ONE_DIGIT else f"{amount:.0f}{unit}"
        amount /= _KIB
    return f"{amount:.1f}T"


@dataclass(frozen=True)
class Column:
    """One column of a table.

    Attributes:
        title: The heading.
        right: Whether figures line up on the right.
        drop: Columns with the highest figure above 0 go first when the terminal is too narrow.
        shrink: Whether the text may be cut to fit.
        most: Cells that it may take on a terminal, however wide; None for no bound.
        state: Whether the words are states and get their colours.
    """

    title: str
    right: bool = False
    drop: int = 0
    shrink: bool = False
    most: int | None = None
    state: bool = False


def print_table(
    columns: Sequence[Column], rows: Iterable[Sequence[str]], *, empty: str, err: bool = False
) -> None:
    """Print rows under headings, or the `empty` line on stderr when there are none.

    On a terminal the table fits its width: the least needed columns go first, then long texts are cut.
    Elsewhere every row is one whole line, so that grep and awk see all of it.
    """
    lines = [list(map(_one_line, row)) for row in rows]
    if not lines:
        click.echo(empty, err=True)
        return
    click.echo(_render(columns, lines, err=err), err=err, nl=False, color=wants_colour(err=err) or None)


def print_fields(pairs: Iterable[tuple[str, str | None]]) -> None:
    """Print names and values, one pair a line; pairs without a value are left out."""
    known = [(name, value) for name, value in pairs if value]
    width = max((len(name) for name, _ in known), default=0) + 1
    for name, value in known:
        click.echo(f"{paint(f'{name}:'.ljust(width), bold=True)} {value}")


def paint_state(state: str, *, err: bool = False) -> str:
    """A state in its colour."""
    return paint(state, fg=STATE_COLOURS.get(state), err=err)


def _one_line(cell: str) -> str:
    return " ".join(cell.split()) if cell else "-"


def _render(columns: Sequence[Column], rows: list[list[str]], *, err: bool) -> str:
    from rich.cells import cell_len

    terminal = shutil.get_terminal_size().columns if is_terminal(err=err) else None
    table = [[column.title for column in columns], *rows]
    widths = [max(cell_len(row[index]) for row in table) for index in range(len(columns))]
    kept = list(range(len(columns)))
    if terminal is not None:
        widths = [min(width, column.most or width) for width, column in zip(widths, columns, strict=True)]
        kept = _columns_that_fit(columns, widths, terminal)
        _shrink(columns, widths, kept, terminal)

    lines = []
    for number, row in enumerate(table):
        cells = [
            _cell(row[index], widths[index], columns[index], heading=number == 0, err=err) for index in kept
        ]
        line = "  ".join(cells).rstrip()
        lines.append(paint(line, bold=True, err=err) if number == 0 else line)
    return "".join(f"{line}\n" for line in lines)


def _cell(text: str, width: int, column: Column, *, heading: bool, err: bool) -> str:
    """The text, cut or padded to exactly that width as a terminal counts it."""
    from rich.cells import cell_len, set_cell_size

    if cell_len(text) > width:
        return set_cell_size(text, max(0, width - 1)) + "…"
    gap = " " * (width - cell_len(text))
    if column.state and not heading:
        text = paint_state(text, err=err)
    return gap + text if column.right else text + gap


def _total(widths: list[int], kept: list[int]) -> int:
    return sum(widths[index] for index in kept) + 2 * (len(kept) - 1)


def _columns_that_fit(columns: Sequence[Column], widths: list[int], limit: int) -> list[int]:
    kept = list(range(len(columns)))
    while _total(_least(columns, widths), kept) > limit:
        droppable = [index for index in kept if columns[index].drop]
        if not droppable:
            break
        kept.remove(max(droppable, key=lambda index: columns[index].drop))
    return kept


_LEAST_TEXT = 16


def _least(columns: Sequence[Column], widths: list[int]) -> list[int]:
    return [
        min(width, _LEAST_TEXT) if column.shrink else width
        for column, width in zip(columns, widths, strict=True)
    ]


def _shrink(columns: Sequence[Column], widths: list[int], kept: list[int], limit: int) -> None:
    """Cut the widest shrinkable column, one cell at a time, until the row fits."""
    shrinkable = [index for index in kept if columns[index].shrink]
    while shrinkable and _total(widths, kept) > limit:
        widest = max(shrinkable, key=lambda index: widths[index])
        if widths[widest] <= 1:
            return
        widths[widest] -= 1
