"""Colour, only where it is welcome: a terminal, no NO_COLOR, TERM not dumb."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from typing import TextIO

STATE_COLOURS = {
    "active": "green",
    "blocked": "yellow",
    "cancelled": "yellow",
    "deleting": "yellow",
    "failed": "red",
    "idle": "green",
    "preparing": "cyan",
    "resizing": "cyan",
    "running": "cyan",
    "starttaskfailed": "red",
    "stuck": "red",
    "succeeded": "green",
    "unusable": "red",
}


def stream_of(*, err: bool) -> TextIO:
    """The stream as it is now; tests and shells replace it."""
    return sys.stderr if err else sys.stdout


def is_terminal(*, err: bool = False) -> bool:
    """Whether a person is looking at that stream."""
    stream = stream_of(err=err)
    try:
        return stream.isatty()
    except ValueError:  # closed
        return False


def wants_colour(*, err: bool = False) -> bool:
    """Whether that stream gets colour. See https://no-color.org and FORCE_COLOR."""
    if os.environ.get("NO_COLOR"):
        return False
    if os.environ.get("FORCE_COLOR"):
        return True
    return is_terminal(err=err) and os.environ.get("TERM") != "dumb"


def paint(
    text: str, *, err: bool = False, fg: str | None = None, bold: bool = False, dim: bool = False
) -> str:
    """The text in a colour, or as it is when colour is not welcome."""
    if not wants_colour(err=err):
        return text
    return click.style(text, fg=fg, bold=bold or None, dim=dim or None)
