"""Where the command of a try runs: the seam below `Attempt`, and the host that is this machine itself."""

from __future__ import annotations

import os
import signal
import subprocess
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Protocol

from azbatch_core.local.runtime import commandline
from azbatch_core.local.runtime.environment import docker_of_the_node
from azbatch_core.local.runtime.failures import TaskFailure
from azbatch_core.local.runtime.reaper import find_session, task_mark

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from azbatch_core.local.runtime.process import ProcessRuntime

OUTPUT_FLAGS = os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC
# Batch shows this Windows wording on Linux, too.
_NOT_FOUND = "The system cannot find the file specified"


class Host(Protocol):
    """Runs the command lines of one try, whose folders exist and whose resource files are there."""

    container: dict[str, Any] | None
    """`containerInfo` as on the wire, None where no container was made."""
    killed_code: int
    """Exit code of a try that is killed between its commands."""

    async def run(self, command_line: str, *, last: bool = True) -> int:
        """Run a command line to its end; its exit code, minus the signal's number if one ended it.

        What it prints is in the try's files as it comes. What it leaves in the background is killed, unless
        it is not the `last` one of the try: a multi-instance task's coordination command.

        Raises:
            TaskFailure: It could not be started.
        """

    def kill(self) -> None:
        """Have `run` end soon, also one that comes later. Does not wait."""

    async def close(self) -> None:
        """On return nothing runs any more that a killed command or a coordination command left behind."""


class ProcessHost:
    """A `Host` that starts commands as processes of this machine, each in a session of its own."""

    container: dict[str, Any] | None = None
    killed_code = -signal.SIGKILL

    def __init__(self, runtime: ProcessRuntime, directory: Path, environment: Mapping[str, str]) -> None:
        self._runtime = runtime
        self._directory = directory
        self._environment = {**docker_of_the_node(), **environment}
        self._process: subprocess.Popen[bytes] | None = None
        self._killed = False
        self._left_running = False

    async def run(self, command_line: str, *, last: bool = True) -> int:
        """See `Host.run`."""
        exited = self._runtime.loop.create_future()
        process = self._process = self._spawn(command_line)
        self._runtime.watcher.watch(process, lambda: exited.set_result(None))
        if self._killed:
            self._kill_group()
        await exited
        if last:
            # What the command left in the background goes with it. First this, then reap: until then the
            # number of the group cannot be anybody else's.
            self._kill_group()
        else:
            self._left_running = True
        self._process = None
        return process.wait()

    def kill(self) -> None:
        """See `Host.kill`."""
        self._killed = True
        if self._process is not None:
            # Groups of its own that a command made, whatever their environment; while the leader has not
            # been reaped, the session's number is nobody else's.
            for pid in find_session(self._process.pid):
                with suppress(ProcessLookupError, PermissionError):
                    os.kill(pid, signal.SIGKILL)
        self._kill_group()

    async def close(self) -> None:
        """See `Host.close`. Also finds processes that left their group."""
        if self._killed or self._left_running:
            await self._runtime.reaper.kill(task_mark(self._directory))

    def _kill_group(self) -> None:
        if self._process is not None:
            # PermissionError: what macOS says of a group that holds only zombies.
            with suppress(ProcessLookupError, PermissionError):
                os.killpg(self._process.pid, signal.SIGKILL)

    def _spawn(self, command_line: str) -> subprocess.Popen[bytes]:
        try:
            arguments = commandline.split(command_line)
        except ValueError as error:
            make_output_files(self._directory)
            raise TaskFailure("CommandLaunchFailed", CommandLine=command_line, Message=str(error)) from error
        try:
            return spawn(arguments, self._directory, self._environment, self._runtime.null)
        except (FileNotFoundError, NotADirectoryError) as error:
            raise TaskFailure(
                "CommandProgramNotFound", CommandLine=command_line, Message=_NOT_FOUND
            ) from error
        except (OSError, ValueError) as error:
            reason = error.strerror if isinstance(error, OSError) else str(error)
            raise TaskFailure(
                "CommandLaunchFailed", CommandLine=command_line, Message=reason or type(error).__name__
            ) from error


def make_output_files(directory: Path) -> None:
    """Have the output files of a try, which exist whatever becomes of it."""
    for name in ("stdout.txt", "stderr.txt"):
        os.close(os.open(f"{directory}/{name}", OUTPUT_FLAGS, 0o644))


def spawn(
    arguments: list[str], directory: Path, environment: Mapping[str, str], null: int
) -> subprocess.Popen[bytes]:
    """Start a program in a session of its own and in the try's `wd`, writing to the try's output files.

    Raises:
        OSError: It cannot be started.
        ValueError: An argument or a variable holds what the system cannot take.
    """
    stdout = stderr = -1
    try:
        stdout = os.open(f"{directory}/stdout.txt", OUTPUT_FLAGS, 0o644)
        stderr = os.open(f"{directory}/stderr.txt", OUTPUT_FLAGS, 0o644)
        return subprocess.Popen(
            arguments,
            stdin=null,
            stdout=stdout,
            stderr=stderr,
            cwd=f"{directory}/wd",
            env=environment,
            start_new_session=True,
        )
    finally:
        for descriptor in (stdout, stderr):
            if descriptor >= 0:
                os.close(descriptor)
