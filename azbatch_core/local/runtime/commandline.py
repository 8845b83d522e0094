"""Command lines: split into arguments as the node agent on Linux does, without a shell."""

from __future__ import annotations

import shlex


def split(command_line: str) -> list[str]:
    """The arguments of a command line.

    POSIX quoting only: no variables, no wildcards, no operators, no comments ("Command lines" in the Batch
    docs: "The command line does not run under a shell").

    Raises:
        ValueError: A quote is not closed, or there is nothing to run.
    """
    arguments = shlex.split(command_line, comments=False, posix=True)
    if not arguments or not arguments[0]:
        raise ValueError("The command line is empty")
    return arguments
