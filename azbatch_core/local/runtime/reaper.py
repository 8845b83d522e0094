"""Finding and killing processes by what their environment says about where they belong.

Every process of a task inherits `AZ_BATCH_TASK_DIR` and `AZ_BATCH_NODE_ROOT_DIR`, whose values name this
state directory, node and task and nothing else. So a child that made itself a daemon is found although it
left its parent's session, and what a killed service left behind is found by the next one. A process that
wiped its environment is found by its session, as long as another one of it has not.
"""

from __future__ import annotations

import asyncio
import os
import signal
import time
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from azbatch_core.local.runtime.environment import NODE_ROOT_VARIABLE, TASK_DIR_VARIABLE

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator
    from concurrent.futures import Executor

_PATIENCE = 5.0  # seconds for killed processes to be gone
_PAUSE = 0.005
_HAS_PROC = Path("/proc/self/environ").exists()


def task_mark(directory: Path) -> bytes:
    """What the environment of every process of one task contains."""
    return _mark(TASK_DIR_VARIABLE, f"{directory}\0")


def node_mark(root: Path) -> bytes:
    """What the environment of every process of one node contains."""
    return _mark(NODE_ROOT_VARIABLE, f"{root}\0")


def state_mark(state_dir: Path) -> bytes:
    """What the environment of every process of all nodes below a state directory contains."""
    return _mark(NODE_ROOT_VARIABLE, f"{state_dir}{os.sep}")


def kill_marked(marks: Collection[bytes]) -> None:
    """Kill all processes with one of the marks. On return they are gone, or 5 seconds have passed.

    Repeats until none is found, since a process may fork while it is being killed. Blocks.
    """
    deadline = time.monotonic() + _PATIENCE
    while found := find_marked(marks):
        for pid in found:
            with suppress(ProcessLookupError, PermissionError):
                os.kill(pid, signal.SIGKILL)
        if time.monotonic() > deadline:
            return
        time.sleep(_PAUSE)


def find_marked(marks: Collection[bytes]) -> list[int]:
    """The ids of the living processes, but for this one, whose environment contains one of the marks.

    And of those that share a session with one of them.
    """
    own = os.getpid()
    found = [pid for pid, block in _environments() if pid != own and any(mark in block for mark in marks)]
    if not found:
        return found
    sessions = {_session(pid) for pid in found} - {None, os.getsid(0)}
    return sorted({*found, *(pid for session in sessions if session for pid in find_session(session))})


def find_session(session: int) -> list[int]:
    """The ids of the processes of a session, such as are in groups of their own among them."""
    return [pid for pid in _pids() if _session(pid) == session]


def _session(pid: int) -> int | None:
    with suppress(OSError):
        return os.getsid(pid)
    return None


def _pids() -> list[int]:
    if _HAS_PROC:
        return [int(entry) for entry in os.listdir("/proc") if entry.isdigit()]  # noqa: PTH208 - twice as quick
    import psutil  # type: ignore[import-untyped]

    return list(psutil.pids())


class Reaper:
    """Kills by marks in a thread; requests that come in meanwhile share the next walk over all processes."""

    def __init__(self, executor: Executor) -> None:
        self._executor = executor
        self._waiting: dict[bytes, None] = {}
        self._next: asyncio.Task[None] | None = None
        self._lock = asyncio.Lock()

    async def kill(self, mark: bytes) -> None:
        """On return no process with the mark is alive."""
        self._waiting[mark] = None
        if self._next is None:
            self._next = asyncio.get_running_loop().create_task(self._walk())
        await asyncio.shield(self._next)

    async def _walk(self) -> None:
        async with self._lock:
            self._next = None
            marks, self._waiting = tuple(self._waiting), {}
            await asyncio.get_running_loop().run_in_executor(self._executor, kill_marked, marks)


def _mark(name: str, value: str) -> bytes:
    return b"\0" + os.fsencode(f"{name}={value}")


def _environments() -> Iterator[tuple[int, bytes]]:
    """Process ids and their environments as NAME=VALUE, each with a zero byte before and behind it."""
    return _environments_by_proc() if _HAS_PROC else _environments_by_psutil()


def _environments_by_proc() -> Iterator[tuple[int, bytes]]:
    for entry in os.listdir("/proc"):  # noqa: PTH208 - twice as quick, and hundreds at a time
        if entry.isdigit():
            # Another user's process cannot be read and is not ours.
            with suppress(OSError):
                yield int(entry), b"\0" + Path(f"/proc/{entry}/environ").read_bytes() + b"\0"


def _environments_by_psutil() -> Iterator[tuple[int, bytes]]:
    import psutil

    for process in psutil.process_iter():
        with suppress(psutil.Error, OSError):
            block = "\0".join(f"{name}={value}" for name, value in process.environ().items())
            yield process.pid, b"\0" + os.fsencode(block) + b"\0"
