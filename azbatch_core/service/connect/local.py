"""The account ``local``: a Batch service on this machine that is there whenever it is named.

The client half knows the local service by what it writes down (a file with endpoint and keys, readable by its
owner alone) and by its command line; it imports nothing of it.
"""

from __future__ import annotations

import json
import os
import socket
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from azbatch_core.errors import AzBatchError, ConfigurationError, LocalServiceStopped, ServiceUnavailable

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from azbatch_core.service.connect.clock import Clock
    from azbatch_core.specs import AccountSpec

__all__ = ["LOCAL", "is_local_service", "local_account", "state_dir", "wait_for_return"]

LOCAL = "local"
_WRONG_INPUT = 2
_MISSING_EXTRA = 3
_ANSWER_WITHIN = 2.0
_START_WITHIN = 60.0
# How long somebody may take to start it again. One that was stopped took its address away; one that was
# killed left it, and whoever killed it may well be about to start it.
_STOPPED_GRACE = 1.5
_KILLED_GRACE = 8.0
_LOOK_AGAIN = 0.1
_ITS_MARK = "azbatch local: "
_NEEDED = ("endpoint", "account_name", "account_key")
_GIVEN: set[str] = set()


def state_dir(environ: Mapping[str, str] | None = None) -> Path:
    """Where the local service's state is: ``$AZBATCH_LOCAL_DIR``, else ``~/.local/state/azbatch/local``."""
    chosen = (os.environ if environ is None else environ).get("AZBATCH_LOCAL_DIR")
    return Path(chosen).expanduser() if chosen else Path.home() / ".local" / "state" / "azbatch" / "local"


def local_account(*, start: bool = True) -> AccountSpec:
    """The account of the local service.

    Args:
        start: Start the service when it is not running; on return it answers.

    Raises:
        ConfigurationError: The extra ``local`` is not installed, or what the service is told cannot be.
        ServiceUnavailable: It did not start; or it is not running, and `start` is False.
    """
    directory = state_dir()
    found = _read(directory / "endpoint.json")
    if found is not None and _answers(found):
        return _account(found)
    if not start:
        raise ServiceUnavailable("the local service is not running", hint="azbatch local start")
    return _account(_start(directory))


def is_local_service(account: AccountSpec) -> bool:
    """Whether `local_account` gave this address in this process; it may be a namesake otherwise."""
    return account.name == LOCAL and account.endpoint in _GIVEN


def wait_for_return(clock: Clock, remark: Callable[[], object]) -> AccountSpec:
    """The account of the local service after a request had no answer: as it was, or as it is after a restart.

    Args:
        clock: Time and waiting.
        remark: Called before the first wait.

    Raises:
        LocalServiceStopped: Nobody listens, and nobody started it again within a few seconds.
    """
    path = state_dir() / "endpoint.json"
    found = _read(path)
    began = clock.monotonic()
    waited = False
    while found is None or not _answers(found):
        if clock.monotonic() - began >= (_STOPPED_GRACE if found is None else _KILLED_GRACE):
            raise LocalServiceStopped(
                "the local service was stopped",
                hint="the next command starts it again, and what ran begins anew",
            )
        if not waited:
            remark()
        waited = True
        clock.sleep(_LOOK_AGAIN)
        # One that is about to stop closes its door before it takes its address away.
        before, found = found, _read(path)
        if before is not None and found is None:
            began = clock.monotonic()
    return _account(found)


def _read(path: Path) -> dict[str, Any] | None:
    try:
        document = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        # Not there, or half written by a service that is starting: nothing to talk to yet either way.
        return None
    whole = isinstance(document, dict) and all(isinstance(document.get(name), str) for name in _NEEDED)
    return document if whole else None


def _answers(found: Mapping[str, Any]) -> bool:
    """Whether the process that wrote the file lives, and someone listens at its address.

    Both, because after a crash another program may have got the process id, or the port.
    """
    try:
        os.kill(int(found["pid"]), 0)
        url = urlsplit(str(found["endpoint"]))
        with socket.create_connection((url.hostname or "", url.port or 0), timeout=_ANSWER_WITHIN):
            return True
    except (OSError, KeyError, ValueError, TypeError):
        return False


def _start(directory: Path) -> dict[str, Any]:
    import subprocess

    command = [sys.executable, "-m", "azbatch_core.local", "start", "--state-dir", str(directory)]
    try:
        done = subprocess.run(
            command,
            capture_output=True,
            text=True,
            timeout=_START_WITHIN,
            check=False,
            stdin=subprocess.DEVNULL,
        )
    except subprocess.TimeoutExpired:
        raise ServiceUnavailable(
            f"the local service did not start within {_START_WITHIN:.0f} seconds",
            hint=f"see the log in {directory}",
        ) from None
    if done.returncode == _MISSING_EXTRA:
        raise ConfigurationError("the local service is not installed", hint="pip install 'azbatch[local]'")
    try:
        document = json.loads(done.stdout.strip().rpartition("\n")[2]) if done.returncode == 0 else None
    except ValueError:
        document = None
    if not isinstance(document, dict) or "endpoint" not in document:
        raise _refusal(done.returncode, done.stderr, directory)
    return document


def _refusal(returncode: int, stderr: str, directory: Path) -> AzBatchError:
    """Why it did not start: its own words say what to do; anything else only its log can explain."""
    last = stderr.strip().rpartition("\n")[2] or f"exit code {returncode}"
    kind = ConfigurationError if returncode == _WRONG_INPUT else ServiceUnavailable
    if last.startswith(_ITS_MARK):
        return kind(last.removeprefix(_ITS_MARK))
    return kind(f"the local service did not start: {last}", hint=f"see the log in {directory}")


def _account(found: Mapping[str, Any]) -> AccountSpec:
    from azbatch_core.specs import AccountSpec, Secret, StorageSpec

    _GIVEN.add(str(found["endpoint"]))
    storage = None
    if found.get("blob_endpoint"):
        storage = StorageSpec(
            blob_endpoint=found["blob_endpoint"],
            account_name=found["blob_account"],
            account_key=Secret(found["blob_key"]),
        )
    return AccountSpec(
        name=LOCAL,
        endpoint=found["endpoint"],
        account_name=found["account_name"],
        credential="shared_key",
        account_key=Secret(found["account_key"]),
        storage=storage,
    )
