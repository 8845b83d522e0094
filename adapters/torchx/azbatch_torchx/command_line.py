"""What is done for the command `torchx`, and for no program that imports TorchX.

TorchX catches few errors of a scheduler; any other ends its command with a traceback. Python lets a program
say what becomes of an error that nobody catches: here a logged line, and exit code 1 as before.
"""

from __future__ import annotations

import atexit
import gc
import os
import sys
import threading
from contextlib import contextmanager
from functools import lru_cache
from types import SimpleNamespace
from typing import TYPE_CHECKING, Final

from torchx.specs.api import UnknownAppException
from torchx.util import entrypoints

from azbatch_torchx import compat

if TYPE_CHECKING:
    from collections.abc import Iterator
    from types import TracebackType

_NEW_OBJECTS: Final = 50_000
_JUDGES: Final = {"torchx.runner.api", "torchx.specs"}
"""Where TorchX refuses an app before it asks a scheduler: no replicas, a named resource that is none."""
_INTERRUPTED: Final = "interrupted: an app that was submitted goes on, and `torchx cancel HANDLE` ends it"


@contextmanager
def collecting_later() -> Iterator[None]:
    """Collect no garbage meanwhile: what is imported stays, and looking through it takes a tenth of a run.

    The command never looks through it, or the first collection afterwards would.
    """
    collecting = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if collecting and compat.is_command():
            gc.freeze()
        if collecting:
            gc.enable()


@lru_cache(maxsize=1)
def set_up() -> None:
    """In the command, have errors that are ours end it with a line, and do nothing again and again. Once."""
    if not compat.is_command():
        return
    # What a command imports stays; looking through it again and again, and at its end, takes a tenth of it.
    gc.set_threshold(_NEW_OBJECTS)
    atexit.register(gc.freeze)
    atexit.register(_drain)
    # For each component that a file holds TorchX asks for entry points, and each time reads the metadata of
    # all that is installed: half of the command's time.
    entrypoints.metadata = SimpleNamespace(entry_points=lru_cache(entrypoints.metadata.entry_points))
    shown, shown_of_thread = sys.excepthook, threading.excepthook

    def show(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
        if not _told(error):
            shown(kind, error, trace)

    def show_of_thread(args: threading.ExceptHookArgs) -> None:
        if not _told(args.exc_value):
            shown_of_thread(args)

    sys.excepthook, threading.excepthook = show, show_of_thread


def _told(error: BaseException | None) -> bool:
    """Whether an error is ours to tell. Then it was told: a line, once in whatever threads it comes up."""
    if isinstance(error, BrokenPipeError):
        return True  # whoever read the output has what it wanted (`| head`)
    line = _line(error)
    if line is None:
        return False
    compat.complain(line)
    compat.LOG.debug("where it came from", exc_info=error)
    return True


def _drain() -> None:
    """Write out what waits to be written; where nobody reads it, throw it away, or Python would complain."""
    try:
        sys.stdout.flush()
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _line(error: BaseException | None) -> str | None:
    from azbatch_core.errors import AzBatchError

    if isinstance(error, (AzBatchError, compat.Refused)):
        return str(error)
    if isinstance(error, KeyboardInterrupt):
        return str(error) or _INTERRUPTED
    if isinstance(error, UnknownAppException) and compat.BACKEND in str(error):
        # Its own text asks whether `session.run()` was called.
        return f"there is no app {str(error).partition(' = ')[2].partition('. ')[0]}"
    if isinstance(error, (KeyError, ValueError)) and _raised_in(error) in _JUDGES:
        return str(error.args[0]) if error.args else None
    return None


def _raised_in(error: BaseException) -> str | None:
    """The module that raised an error."""
    trace = error.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    return trace.tb_frame.f_globals.get("__name__") if trace is not None else None
