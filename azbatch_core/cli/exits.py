"""What the command exits with, and how an error becomes one line on stderr."""

from __future__ import annotations

import errno
import os
import re
import sys
import traceback
from contextlib import suppress
from typing import TYPE_CHECKING

import click

from azbatch_core.cli.paint import paint
from azbatch_core.errors import AzBatchError, ConfigurationError, JobFailed, SpecError, WaitTimeout

if TYPE_CHECKING:
    from typing import NoReturn, TextIO

    from azbatch_core.service.states import TaskStatus

OK = 0
JOB_FAILED = 1
BAD_INPUT = 2
SERVICE = 3
BUG = 70
TIMED_OUT = 124
INTERRUPTED = 130
BROKEN_PIPE = 141

_SHELL_SIGNAL_BASE = 128
_WRITE_FAILURES = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO, errno.EBADF})
_MAX_EXIT_CODE = 255

# What must not be shown even in a traceback: signatures in URLs, keys in connection strings and headers.
_SECRET_SHAPES = (
    (re.compile(r"(?i)([?&;]?\bsig=)[^&\s'\"]+"), r"\1***"),
    (re.compile(r"(?i)\b(AccountKey=|SharedAccessSignature=)[^;\s'\"]+"), r"\1***"),
    (re.compile(r"(?i)\b(SharedKey\s+[^:\s]+:|Bearer\s+)[^\s'\"]+"), r"\1***"),
)
_SECRET_VARIABLES = ("AZURE_BATCH_ACCESS_KEY", "AZURE_CLIENT_SECRET", "AZURE_STORAGE_KEY")


class StreamError(OSError):
    """A standard stream of this command cannot be read or written; the message names it."""


# The first match holds. 1 says "the job failed"; a service that refused or was silent must not look like it.
_CODES: tuple[tuple[type[BaseException], int], ...] = (
    (SpecError, BAD_INPUT),
    (ConfigurationError, BAD_INPUT),
    (WaitTimeout, TIMED_OUT),
    (JobFailed, JOB_FAILED),
    (AzBatchError, SERVICE),
    (click.Abort, INTERRUPTED),
    (KeyboardInterrupt, INTERRUPTED),
    (StreamError, SERVICE),
    (click.ClickException, BAD_INPUT),
    (BrokenPipeError, BROKEN_PIPE),
    (OSError, BAD_INPUT),
)


def finish(code: int) -> None:
    """End the command with an exit code; 0 lets it return."""
    if code:
        raise click.exceptions.Exit(code)


def exit_code_of(error: BaseException) -> int:
    """The exit code that an error stands for. The table in docs/cli.md is this function."""
    return next((code for kind, code in _CODES if isinstance(error, kind)), BUG)


def task_exit_code(task: TaskStatus | None, *, succeeded: bool) -> int:
    """What `run` exits with: the task's own code as a shell would see it; 1 when it has none that fits."""
    if succeeded:
        return OK
    code = task.exit_code if task is not None else None
    if code is None or code == 0:
        return JOB_FAILED
    if code < 0:
        return min(_SHELL_SIGNAL_BASE - code, _MAX_EXIT_CODE)
    return code if code <= _MAX_EXIT_CODE else JOB_FAILED


def debugging() -> bool:
    """Whether tracebacks are wanted: `--debug`, or AZBATCH_DEBUG set to anything but 0."""
    return os.environ.get("AZBATCH_DEBUG", "").lower() not in {"", "0", "false", "no"}


def complain(message: str) -> None:
    """Print `azbatch: error: …` on one line of stderr."""
    line = " ".join(redact(message).split())
    click.echo(f"azbatch: {paint('error:', err=True, fg='red', bold=True)} {line}", err=True)


def say_interrupted(error: BaseException) -> None:
    """Ctrl-C: one line, with what the error says was left."""
    said = str(error)
    with suppress(OSError):
        click.echo(f"azbatch: {said or 'interrupted'}", err=True)
        _trace(error)


def report(error: BaseException) -> int:
    """Say on stderr what went wrong: one line, and the traceback when debugging. Gives the exit code."""
    if _is_of_stdout(error):
        error = StreamError(f"stdout cannot be written: {getattr(error, 'strerror', None) or error}")
    with suppress(OSError):  # stderr is full as well
        complain(_describe(error))
        _trace(error)
    _drain(sys.stdout)
    _drain(sys.stderr)
    return exit_code_of(error)


def _drain(stream: TextIO) -> None:
    """Write what waits, or throw it away: Python would try once more at exit, and complain."""
    try:
        stream.flush()
    except (OSError, ValueError):
        silence(stream)


def _is_of_stdout(error: BaseException) -> bool:
    """Whether it is a failed write to stdout: every other file is named by its error."""
    return (
        isinstance(error, OSError)
        and not isinstance(error, (AzBatchError, StreamError))
        and error.filename is None
        and error.errno in _WRITE_FAILURES
    )


def _trace(error: BaseException) -> None:
    if debugging():
        text = "".join(traceback.format_exception(type(error), error, error.__traceback__))
        click.echo(redact(text), err=True, nl=False)


def redact(text: str) -> str:
    """Blank out what looks like a secret, and the values of the variables that hold one."""
    for shape, replacement in _SECRET_SHAPES:
        text = shape.sub(replacement, text)
    for name in _SECRET_VARIABLES:
        value = os.environ.get(name)
        if value:
            text = text.replace(value, "***")
    return text


def _describe(error: BaseException) -> str:
    if isinstance(error, AzBatchError):
        return f"{error} (request id {error.request_id})" if error.request_id else str(error)
    if isinstance(error, click.ClickException):
        return _describe_usage(error)
    if isinstance(error, StreamError):
        return str(error)
    if isinstance(error, OSError) and error.strerror:
        return f"{error.filename}: {error.strerror}" if error.filename else error.strerror
    return f"this is a bug in azbatch: {type(error).__name__}: {error} - `--debug` shows the traceback"


def _describe_usage(error: click.ClickException) -> str:
    message = error.format_message()
    if not isinstance(error, click.UsageError):
        return message
    help_command = f"{error.ctx.command_path} --help" if error.ctx is not None else "azbatch --help"
    return f"{message}{'' if message.endswith(('.', '?')) else '.'} See `{help_command}`."


def silence(stream: TextIO) -> None:
    """Point a stream at nothing, so that Python's own flush at exit does not complain about it."""
    devnull = os.open(os.devnull, os.O_WRONLY)
    try:
        os.dup2(devnull, stream.fileno())
    except (OSError, ValueError, AttributeError):
        # Not a real file (a test's buffer): nothing to flush into a pipe.
        return
    finally:
        os.close(devnull)


def usage(message: str) -> NoReturn:
    """End the command because of what was typed."""
    raise click.UsageError(message, ctx=click.get_current_context(silent=True))
