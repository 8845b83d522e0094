"""Learning that a child process has ended, without a thread for each.

On Linux a pidfd becomes readable at the end of its process and the event loop watches it. Elsewhere a timer
of the loop asks for all children, often just after a start and rarely later.
"""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    import asyncio
    import subprocess
    from collections.abc import Callable

_FASTEST_POLL = 0.001  # seconds
_SLOWEST_POLL = 0.02


class ExitWatcher(Protocol):
    """Calls back when a child process has ended."""

    def watch(self, process: subprocess.Popen[bytes], ended: Callable[[], None]) -> None:
        """Call `ended` once, in the loop, never during this call, when the process has ended.

        The process may or may not have been reaped by then: `process.wait()` returns at once either way.
        """


class PidfdWatcher:
    """For Linux. Does not reap, so the process's id is still its own when `ended` is called."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self._poll = PollWatcher(loop)

    def watch(self, process: subprocess.Popen[bytes], ended: Callable[[], None]) -> None:
        """See `ExitWatcher.watch`."""
        try:
            fd = _pidfd_open(process.pid)
        except OSError:  # out of descriptors: the process runs all the same
            self._poll.watch(process, ended)
            return
        self._loop.add_reader(fd, self._readable, fd, ended)

    def _readable(self, fd: int, ended: Callable[[], None]) -> None:
        self._loop.remove_reader(fd)
        os.close(fd)
        ended()


class PollWatcher:
    """For every system: one timer for all children, none while there are none."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self._watched: dict[int, tuple[subprocess.Popen[bytes], Callable[[], None]]] = {}
        self._delay = _FASTEST_POLL
        self._timer: asyncio.TimerHandle | None = None

    def watch(self, process: subprocess.Popen[bytes], ended: Callable[[], None]) -> None:
        """See `ExitWatcher.watch`."""
        self._watched[process.pid] = (process, ended)
        self._delay = _FASTEST_POLL
        if self._timer is not None:
            self._timer.cancel()
        self._timer = self._loop.call_later(self._delay, self._poll)

    def _poll(self) -> None:
        self._timer = None
        over = [pid for pid, (process, _) in self._watched.items() if process.poll() is not None]
        for pid in over:
            _, ended = self._watched.pop(pid)
            ended()
        self._delay = _FASTEST_POLL if over else min(self._delay * 1.5, _SLOWEST_POLL)
        if self._watched and self._timer is None:
            self._timer = self._loop.call_later(self._delay, self._poll)


def exit_watcher(loop: asyncio.AbstractEventLoop) -> ExitWatcher:
    """The best watcher of this system."""
    return PidfdWatcher(loop) if _has_pidfd() else PollWatcher(loop)


def _has_pidfd() -> bool:
    try:
        os.close(_pidfd_open(os.getpid()))
    except OSError:  # an old kernel, or a sandbox that forbids the call
        return False
    return True


def _pidfd_open(pid: int) -> int:
    if sys.platform == "linux":
        return os.pidfd_open(pid)
    raise OSError("No pidfd on this system")
