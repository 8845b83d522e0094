"""The `azbatch` command.

A file per noun or verb. `app` holds the root command and the one place where an exception becomes a line and
an exit code. Commands are imported when they are called, so `azbatch --help` costs little more than Python's
start.

stdout carries results and nothing else; progress, notices and errors go to stderr.
"""

from __future__ import annotations

from azbatch_core.cli.app import main

__all__ = ["main"]
