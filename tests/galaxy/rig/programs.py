"""A server in a process of its own: started, ended and started again by tests, its log in a file."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import time
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path

STARTS_WITHIN = 400.0
ENDS_WITHIN = 60.0
"""Seconds after which a start or an end is a failure, on the slowest machine."""
_WITH_US = ("setpriv", "--pdeathsig", "TERM")
"""Has a program end when whoever started it is gone, even where the tests are killed."""
_POLL_SECONDS = 0.1
_TAIL_BYTES = 20_000


def free_port() -> int:
    """A port of 127.0.0.1 that nobody listens on."""
    with socket.create_server(("127.0.0.1", 0)) as probe:
        return int(probe.getsockname()[1])


def free_ports(number: int) -> list[int]:
    """As many different ones."""
    probes = [socket.create_server(("127.0.0.1", 0)) for _ in range(number)]
    try:
        return [int(probe.getsockname()[1]) for probe in probes]
    finally:
        for probe in probes:
            probe.close()


def until(
    condition: Callable[[], bool], within: float, what: Callable[[], str], every: float = _POLL_SECONDS
) -> None:
    """Return as soon as the condition holds; ask again and again, as other processes send no events.

    Args:
        condition: What is to hold.
        within: So many seconds.
        what: What was waited for, in words.
        every: Seconds between two looks.

    Raises:
        AssertionError: it does not hold in time.
    """
    deadline = time.monotonic() + within
    while not condition():
        assert time.monotonic() < deadline, f"not within {within:g} s: {what()}"
        time.sleep(every)


class Program:
    """A program that is started and ended any number of times, and ends with the tests at the latest.

    Its group of processes is its own.

    Args:
        words: Its command line. Secrets have no place in it.
        log: Where its output goes, appended to over all its lives.
        environment: All its variables.
        folder: Where it runs.
        ready: Whether it answers.
        stdout_is_secret: Only its errors go into the log.
    """

    def __init__(
        self,
        words: Sequence[str],
        *,
        log: Path,
        environment: Mapping[str, str],
        folder: Path,
        ready: Callable[[], bool],
        stdout_is_secret: bool = False,
    ) -> None:
        self.log = log
        self._stdout_is_secret = stdout_is_secret
        self._words = list(words)
        self._environment = dict(environment)
        self._folder = folder
        self._ready = ready
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def pid(self) -> int | None:
        """Its process, if it was started and not ended by us."""
        return None if self._process is None else self._process.pid

    def start(self) -> None:
        """Start it; on return it answers.

        Raises:
            AssertionError: it ended or did not answer in time; the message has the end of its log.
        """
        assert self._process is None, f"{self._words[0]} runs already"
        with self.log.open("ab") as output:
            self._process = subprocess.Popen(
                [*_WITH_US, *self._words],
                cwd=self._folder,
                env=self._environment,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL if self._stdout_is_secret else output,
                stderr=output,
                start_new_session=True,
            )
        try:
            until(self._answers, STARTS_WITHIN, lambda: f"{self._words[0]} answers; its log:\n{self.tail()}")
        except BaseException:
            self.kill()
            raise

    def stop(self) -> None:
        """Have it end in good order; on return its process is gone. Nothing happens if none runs."""
        self._end(signal.SIGTERM)

    def kill(self) -> None:
        """End it and its group of processes at once, as a lost machine would."""
        self._end(signal.SIGKILL)

    def tail(self) -> str:
        """The end of its log."""
        if not self.log.exists():
            return ""
        with self.log.open("rb") as said:
            said.seek(max(0, self.log.stat().st_size - _TAIL_BYTES))
            return said.read().decode(errors="replace")

    def _answers(self) -> bool:
        assert self._process is not None
        assert not _ended(self._process.pid), f"{self._words[0]} ended; its log:\n{self.tail()}"
        return self._ready()

    def _end(self, how: signal.Signals) -> None:
        process, self._process = self._process, None
        if process is None:
            return
        # A server ends its own processes in order; what is to be lost is lost as a whole.
        send = os.killpg if how == signal.SIGKILL else os.kill
        send(process.pid, how)
        try:
            until(lambda: _ended(process.pid), ENDS_WITHIN, lambda: f"{self._words[0]} ends on {how.name}")
        finally:
            # The leader is not reaped yet, so that its number is nobody else's.
            os.killpg(process.pid, signal.SIGKILL)
            process.wait(ENDS_WITHIN)


def _ended(pid: int) -> bool:
    """Whether a child of ours ended; its number stays taken."""
    return os.waitid(os.P_PID, pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None
