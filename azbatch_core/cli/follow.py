"""Follow a job: its output live, a line of progress, and a way back for whoever stops looking."""

from __future__ import annotations

import re
import signal
import sys
import threading
from typing import TYPE_CHECKING

import click

from azbatch_core.cli import exits
from azbatch_core.cli.client import gone
from azbatch_core.cli.paint import is_terminal, paint, wants_colour
from azbatch_core.cli.progress import Progress, info, job_line
from azbatch_core.errors import AzBatchError, LocalServiceStopped

if TYPE_CHECKING:
    from azbatch_core.client import JobHandle
    from azbatch_core.service.states import JobStatus
    from azbatch_core.service.summaries import LogChunk, LogStream

_MOST_FOLLOWED_TASKS = 200
"""Reading the output of more tasks than this, live, costs the account more requests than a person can use."""

_LINE = re.compile(r"[^\r\n]*(?:\r\n|\n|\r)|[^\r\n]+")
_SILENCE_SECONDS = 30.0
_JOIN_SECONDS = 0.2


class LogWriter:
    """Writes chunks of output: stdout to stdout, stderr to stderr.

    Where several tasks, or several members of a gang, write: whole lines with the name before each.

    Args:
        progress: The line to hold back meanwhile.
        prefix: Whether lines begin with the task's name. Without it, pieces are written as they come.
        members: Whether lines of gangs begin with the member's rank all the same.
    """

    def __init__(self, progress: Progress, *, prefix: bool, members: bool = True) -> None:
        self._progress = progress
        self._prefix = prefix
        self._members = members
        self._pieces: dict[tuple[str, str], str] = {}

    def write(self, chunk: LogChunk) -> None:
        """Write a chunk; with `prefix`, keep the rest of an unfinished line until its end comes."""
        if chunk.stream == "notice":
            member = "" if chunk.member is None else f" member {chunk.member}"
            info(f"{chunk.task_id}{member}: {chunk.text.strip()}")
            return
        name = self._name(chunk)
        if name is None:
            self._put(chunk.stream, chunk.text, chunk.data)
            # A piece may end within a line, and redrawing would write over it.
            self._progress.show(lambda _width: "")
            return
        key = (name, chunk.stream)
        lines = _LINE.findall(self._pieces.pop(key, "") + chunk.text)
        # A carriage return at the end may be half of a line's end.
        if lines and not lines[-1].endswith("\n"):
            self._pieces[key] = lines.pop()
        # A bar that begins with a carriage return leaves an empty line before it.
        shown = [line for line in lines if line != "\r"]
        self._put(chunk.stream, "".join(map(self._label(*key).__add__, shown)))

    def close(self) -> None:
        """Write the unfinished lines."""
        for (name, stream), text in self._pieces.items():
            line = text.removesuffix("\r")
            if line:
                self._put(stream, f"{self._label(name, stream)}{line}\n")
        self._pieces.clear()

    def _name(self, chunk: LogChunk) -> str | None:
        """What stands before each line; None for nothing."""
        if chunk.member is None or not self._members:
            return chunk.task_id if self._prefix else None
        return f"{chunk.task_id}/{chunk.member}" if self._prefix else str(chunk.member)

    def _label(self, name: str, stream: str) -> str:
        return paint(f"[{name}]", err=stream == "stderr", fg="cyan") + " "

    def _put(self, stream: str, text: str, data: bytes = b"") -> None:
        if not text:
            return
        # Not click.echo: that would take the colours out of what a task printed.
        target = sys.stderr if stream == "stderr" else sys.stdout
        binary = getattr(target, "buffer", None)
        with self._progress.aside():
            if data and binary is not None and not is_terminal(err=stream == "stderr"):
                binary.write(data)  # into a file or a pipe it goes as it is
            else:
                target.write(text)
            target.flush()


class _LogPump(threading.Thread):
    """Copies a job's output to a writer until it ends or someone says stop."""

    def __init__(self, job: JobHandle, task_id: str | None, writer: LogWriter, stream: LogStream) -> None:
        super().__init__(name="logs", daemon=True)
        self._job = job
        self._task_id = task_id
        self._writer = writer
        self._stream = stream
        self._halt = threading.Event()
        self.chunks = 0
        self.error: BaseException | None = None

    def run(self) -> None:
        """Copy; keep an exception for the main thread."""
        try:
            for chunk in self._job.logs(self._task_id, self._stream, follow=True):
                if self._halt.is_set():
                    return
                self._writer.write(chunk)
                self.chunks += 1
            self._writer.close()
        except OSError as error:
            self.error = error
            if isinstance(error, AzBatchError):
                return
            # Nobody reads, or the disk is full. The main thread may be asleep between two looks: wake it.
            signal.pthread_kill(threading.main_thread().ident or 0, signal.SIGINT)
        except Exception as error:  # noqa: BLE001 - handed to the main thread
            self.error = error

    def check(self) -> None:
        """Raise what closes the command: our own output went away."""
        if isinstance(self.error, OSError) and not isinstance(self.error, AzBatchError):
            raise self.error

    def stop(self) -> None:
        """Write nothing more."""
        self._halt.set()

    def finish(self) -> None:
        """After the job's end: wait for the last bytes, as long as some keep coming."""
        quiet, seen = 0.0, self.chunks
        while self.is_alive() and quiet < _SILENCE_SECONDS:
            self.join(_JOIN_SECONDS)
            quiet = 0.0 if self.chunks != seen else quiet + _JOIN_SECONDS
            seen = self.chunks
        self.check()
        if self.is_alive():
            info("the last output could not be read in time; `azbatch logs` shows it")
            self.stop()
        elif self.error is not None:
            info(f"output could not be followed: {exits.redact(str(self.error))}")


def follow(
    job: JobHandle,
    *,
    tasks: int,
    logs: bool = True,
    stream: LogStream = "both",
    quiet: bool = False,
    timeout: float | None = None,
) -> JobStatus:
    """Wait for the job while showing how it goes; on return every byte that could be read was written.

    Args:
        job: The job.
        tasks: How many tasks it has; one writes as if it ran here, several get their names before each line.
        logs: Whether to show output.
        stream: Which output.
        quiet: No line of progress.
        timeout: Seconds, as for `JobHandle.wait`.

    Raises:
        click.exceptions.Exit: 130 after Ctrl-C, when the way back has been printed. The job goes on.
        WaitTimeout: The job goes on.
    """
    with Progress(quiet=quiet) as progress:
        pump = _LogPump(job, None, LogWriter(progress, prefix=tasks > 1), stream) if logs else None
        single = tasks <= 1

        def on_update(status: JobStatus) -> None:
            if pump is not None:
                pump.check()
            if not (single and pump is not None and pump.chunks):
                progress.show(job_line(status))

        try:
            if pump is not None:
                pump.start()
            say_if_time_stands(job, quiet=quiet)
            status = job.wait(timeout, on_update)
            if pump is not None:
                pump.finish()
        except BaseException as error:
            if pump is not None:
                pump.stop()
                pump.check()
            if isinstance(error, KeyboardInterrupt):
                with progress.aside():
                    say_way_back(job.handle)
                raise click.exceptions.Exit(exits.INTERRUPTED) from None
            if isinstance(error, LocalServiceStopped):
                raise gone(job.handle) from error
            raise
    return status


def too_many_to_follow(tasks: int) -> bool:
    """Whether output is left to `azbatch logs` unless asked for."""
    return tasks > _MOST_FOLLOWED_TASKS


def say_if_time_stands(job: JobHandle, *, quiet: bool = False) -> None:
    """Whoever waits for a job by a virtual clock may wait for ever, unless somebody moves it."""
    now = None if quiet else job.virtual_time()
    if now is not None and not job.status().state.final:
        at = f"{now:%Y-%m-%d %H:%M:%S} UTC"
        info(f"the local service's clock stands at {at}: `azbatch local advance` moves it")


def say_way_back(handle: str) -> None:
    """After Ctrl-C: nothing was cancelled, and how to come back."""
    if is_terminal(err=True):
        click.echo(err=True)
    info("stopped following; the job goes on.")
    for command, purpose in (
        (f"azbatch logs -f {handle}", "follow it again"),
        (f"azbatch cancel {handle}", "end it"),
    ):
        line = f"  {paint(command, err=True, bold=True)}   {purpose}"
        click.echo(line, err=True, color=wants_colour(err=True) or None)
