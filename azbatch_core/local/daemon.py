"""The service as a background process: start, stop, status, reset, and the process itself.

Only `serve` needs the extra `local`, and only it imports what makes a start slow.
"""

from __future__ import annotations

import contextlib
import os
import select
import shlex
import signal
import subprocess
import sys
import time
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from azbatch_core import __version__
from azbatch_core.local.options import Options, differing
from azbatch_core.local.requirements import missing_modules
from azbatch_core.local.state import StateError
from azbatch_core.local.storage_account import STORAGE_VARIABLE, StorageAccount, StorageAccountError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import TextIO

    from azbatch_core.local.state import Endpoint, StateDirectory

MARK = "azbatch local: "
"""What the service's own words to a person begin with on stderr."""

START_SECONDS = 30.0
STOP_SECONDS = 20.0
_LOG_LIMIT = 5_000_000
_LOG_TAIL = 2_000
_POLL_SECONDS = 0.01
_USUAL = Options()


class DaemonError(Exception):
    """The service could not be started or stopped; the message says why, with the log's end if that helps.

    Attributes:
        malformed: what it was given cannot be, whatever else there is.
    """

    def __init__(self, message: str, *, malformed: bool = False) -> None:
        super().__init__(message)
        self.malformed = malformed


def start(state: StateDirectory, options: Options = _USUAL, asked: frozenset[str] = frozenset()) -> Endpoint:
    """On return a service of this version answers, in a process that outlives this one.

    One that is running is left alone; where it does not do what was asked for, a line on stderr says so. One
    of another version is stopped first, which a line on stderr says as well. Its jobs go on, and tasks that
    ran start again. Of several callers at once, one starts it and the others get the same answer.

    Args:
        state: its directory.
        options: how it is started.
        asked: names of the options that somebody asked for; the others are as good any other way.

    Raises:
        DaemonError: it did not come up.
    """
    try:
        state.make()
    except StateError as error:
        raise DaemonError(str(error)) from None
    with state.starting():
        deadline = time.monotonic() + START_SECONDS
        while True:
            running = _running(state, deadline)
            if running is not None:
                _remark(running, options, asked)
                return running
            _storage()  # what is wrong with it is told here, not in the service's log
            try:
                return _spawn(state, options)
            except DaemonError:
                if not state.held() or time.monotonic() > deadline:
                    raise  # else somebody's `serve` was quicker


def _running(state: StateDirectory, deadline: float) -> Endpoint | None:
    """The service of this version that there is, waited for while it comes up; None if there is none now."""
    while state.held() and time.monotonic() < deadline:
        running = state.announced()
        if running is not None and running.version == __version__:
            return running
        if running is not None:
            sys.stderr.write(
                f"{MARK}version {running.version} is stopped to start {__version__};"
                " its jobs go on, tasks that run start again\n"
            )
            stop(state)
            return None
        time.sleep(_POLL_SECONDS)  # somebody's `serve` is on its way up or down
    return None


def _remark(running: Endpoint, wanted: Options, asked: frozenset[str]) -> None:
    """Say on stderr what a service that runs does otherwise than asked for."""
    port = urlsplit(running.endpoint).port
    words = [*shlex.split(running.options), "--port", str(port)]
    if wanted.port == 0:
        asked -= {"port"}
    found = differing(wanted, asked, words)
    with contextlib.suppress(DaemonError):  # what cannot be is said when it counts
        storage = _storage()
        if storage is not None and storage.endpoint != running.blob_endpoint:
            found.append(f"its storage is not that of {STORAGE_VARIABLE}")
    if found:
        sys.stderr.write(
            f"{MARK}it runs already and stays as it is: {', '.join(found)};"
            " `azbatch local stop` first, then start it so\n"
        )


def stop(state: StateDirectory) -> bool:
    """On return no service runs; False if none did.

    It is asked to end in good order first, and killed if it has not within 20 seconds: what it acknowledged
    is on disk either way. Processes of tasks that a killed one left are ended, too.

    Raises:
        DaemonError: it is alive, but nobody knows its process id.
    """
    ran = state.held() and _end(state)
    _sweep(state)
    return ran


def _sweep(state: StateDirectory) -> None:
    """End what tasks of a service that was killed have left."""
    if (state.path / "nodes").is_dir() and not missing_modules():
        from azbatch_core.local.runtime.reaper import kill_marked, state_mark

        kill_marked((state_mark(state.path),))


def _end(state: StateDirectory) -> bool:
    """On return the service is gone. Raises as `stop`."""
    running = state.announced()
    pid = state.holder() or (running.pid if running is not None else None)
    if pid is None:
        if state.wait_until_free(STOP_SECONDS):
            return True
        raise DaemonError(
            f"a service holds {state.path}, but has not said who it is; end the process that has"
            " service.lock there open (`fuser` names it)"
        )
    for number in (signal.SIGTERM, signal.SIGKILL):
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, number)
        if state.wait_until_free(STOP_SECONDS):
            return True
    raise DaemonError(f"process {pid} does not end, though it was killed; look what it waits for")


def reset(state: StateDirectory) -> None:
    """On return no service runs, and pools, jobs, files, keys are gone. Files that no service made stay.

    Raises:
        DaemonError: no service ever had its state there.
    """
    if not state.path.exists():
        return
    if not state.path.is_dir() or (not state.known() and any(state.path.iterdir())):
        raise DaemonError(
            f"{state.path} does not look like the state of a local service; nothing was deleted"
        )
    stop(state)
    state.clear()


def serve(state: StateDirectory, options: Options, ready: Callable[[Endpoint], None]) -> None:
    """Be the service until a signal or idleness ends it.

    Raises:
        DaemonError: another service holds the directory, the port is taken, or its files cannot be used.
    """
    import asyncio
    import gc
    import logging

    from azbatch_core.local.service import LocalService

    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(levelname)s %(name)s: %(message)s")
    logging.getLogger("azure").setLevel(logging.WARNING)  # it tells every header of every transfer

    # Records of thousands of nodes live for long: to look for cycles among them as often as Python does took
    # a fifth of the time of a large simulation. There, as many objects come as go while a clock is moved.
    gc.set_threshold(2_000_000 if options.model else 20_000, 20, 20)
    storage = _storage()

    async def run() -> None:
        service = LocalService(state, options, storage=storage, own_process=True)
        loop = asyncio.get_running_loop()
        for number in (signal.SIGTERM, signal.SIGINT):
            loop.add_signal_handler(number, service.stop)
        await service.run(ready)

    with _in_one_line(state, options):
        asyncio.run(run())


@contextlib.contextmanager
def _in_one_line(state: StateDirectory, options: Options) -> Iterator[None]:
    """Whatever a person can mend is a `DaemonError` that says how."""
    import sqlite3

    from azbatch_core.local.faults import FaultError
    from azbatch_core.local.runtime.base import NoContainersError
    from azbatch_core.local.store.database import VersionError

    try:
        yield
    except (BlockingIOError, FaultError, StateError, VersionError, NoContainersError) as error:
        raise DaemonError(str(error)) from None
    except sqlite3.Error as error:
        way_out = "`azbatch local reset` begins anew, without its jobs"
        if "full" in str(error):
            way_out = "make room on the disk and start it again, its jobs go on"
        raise DaemonError(f"the database in {state.path} cannot be used: {error}; {way_out}") from None
    except OSError as error:
        if options.port:
            raise DaemonError(f"{error.strerror}; --port 0 takes a free one") from None
        raise


def _storage() -> StorageAccount | None:
    text = os.environ.get(STORAGE_VARIABLE)
    try:
        return StorageAccount.parse(text) if text else None
    except StorageAccountError as error:
        raise DaemonError(f"{STORAGE_VARIABLE}: {error}", malformed=True) from None


def announce_on(stream: TextIO) -> Callable[[Endpoint], None]:
    """A `ready` that writes the endpoint as a line to `stream` and closes it."""

    def ready(endpoint: Endpoint) -> None:
        with stream:
            stream.write(endpoint.to_json() + "\n")

    return ready


def _spawn(state: StateDirectory, options: Options) -> Endpoint:
    """Start `serve` in a session of its own; it tells through a pipe when it answers."""
    reading, writing = os.pipe()
    command = [sys.executable, "-m", "azbatch_core.local", "serve", "--state-dir", str(state.path)]
    command += [*options.arguments(), "--ready-fd", str(writing)]
    log_size = _prepare_log(state)
    try:
        with state.log.open("ab") as log:
            process = subprocess.Popen(
                command,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                cwd=state.path,
                pass_fds=(writing,),
                start_new_session=True,
            )
    finally:
        os.close(writing)
    with os.fdopen(reading, "rb") as pipe:
        said = pipe.readline() if select.select([pipe], [], [], START_SECONDS)[0] else b""
    endpoint = state.announced() if said else None
    if endpoint is None:
        process.kill()
        process.wait()
        raise DaemonError(f"the local service did not start: {_reason(state, log_size)}")
    process.returncode = 0  # it lives on without us; nobody is to wait for it
    return endpoint


def _reason(state: StateDirectory, log_size: int) -> str:
    """What a service said last in its log: its own words, or whatever there is."""
    tail = state.log.read_bytes()[log_size:][-_LOG_TAIL:].decode(errors="replace").strip()
    own = [line for line in tail.splitlines() if line.startswith(MARK)]
    if own:
        return own[-1].removeprefix(MARK)
    return tail or f"no word from it within {START_SECONDS:.0f} seconds, its log is {state.log}"


def _prepare_log(state: StateDirectory) -> int:
    """Make the log private and short; the size from which the new service's words begin."""
    descriptor = os.open(state.log, os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC, 0o600)
    with os.fdopen(descriptor, "ab") as log:
        if log.tell() > _LOG_LIMIT:
            log.truncate(0)
            return 0
        return log.tell()
