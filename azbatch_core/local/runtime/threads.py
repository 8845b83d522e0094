"""Threads for work that waits for networks.

Unlike those of `concurrent.futures`, they never hold up the end of the service: a server far away that says
nothing may keep one busy for a minute.
"""

from __future__ import annotations

import queue
import threading
from concurrent.futures import Future
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

_Job = tuple["Callable[[], None]", "Future[None]"]


class DaemonPool:
    """A few threads that are made when there is work for them.

    Args:
        size: How many there may be.
        name: What they are called.
    """

    def __init__(self, size: int, name: str) -> None:
        self._size = size
        self._name = name
        self._jobs: queue.SimpleQueue[_Job | None] = queue.SimpleQueue()
        self._lock = threading.Lock()
        self._threads = 0
        self._open = 0  # jobs that are not done

    def submit(self, work: Callable[[], None]) -> Future[None]:
        """Do `work` in a thread; the future tells when and how it ended."""
        future: Future[None] = Future()
        self._jobs.put((work, future))
        with self._lock:
            self._open += 1
            short = self._threads < min(self._open, self._size)
            self._threads += short
        if short:
            threading.Thread(target=self._work, name=self._name, daemon=True).start()
        return future

    def close(self) -> None:
        """Have the threads end once they have nothing to do; does not wait for them."""
        for _ in range(self._size):
            self._jobs.put(None)

    def _work(self) -> None:
        while (job := self._jobs.get()) is not None:
            _do(*job)
            del job  # do not keep a task's files alive while idle
            with self._lock:
                self._open -= 1


def _do(work: Callable[[], None], future: Future[None]) -> None:
    if not future.set_running_or_notify_cancel():
        return
    try:
        work()
    except BaseException as error:  # noqa: BLE001 - handed on
        future.set_exception(error)
    else:
        future.set_result(None)
