"""The `azbatch` command.

A file per noun or verb. `app` holds the root command and the one place where an exception becomes a line and
an exit code. Commands are imported when they are called, so `azbatch --help` costs little more than Python's
start.

stdout carries results and nothing else; progress, notices and errors go to stderr.
"""

from __future__ import annotations

import sys
from contextlib import suppress
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["main"]

_INTERRUPTED = 130


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command; return its exit code. See `azbatch_core.cli.app.main`.

    Imports take most of a short command's time, so Ctrl-C is as likely to come in the middle of one.
    """
    try:
        from azbatch_core.cli import app

        return app.main(arguments)
    except KeyboardInterrupt:
        with suppress(OSError, AttributeError):  # AttributeError: stderr is closed
            sys.stderr.write("azbatch: interrupted\n")
        return _INTERRUPTED
