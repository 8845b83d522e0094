"""The state directory: who the account is, where the service listens, and who holds the directory.

identity.json   names, keys and preferred port; made once, so that they survive restarts (0600)
endpoint.json   where the running service listens, its keys and its process id (0600); gone when it stops
service.lock    locked by the service for as long as it lives; the lock dies with the process, however it dies
                (its process id is in it, for whoever finds `endpoint.json` lost or damaged)
start.lock      locked by whoever is starting the service
service.log     what the background service says
"""

from __future__ import annotations

import base64
import fcntl
import json
import os
import secrets
import shutil
import time
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator

_KEY_BYTES = 64
_POLL_SECONDS = 0.01
_HOLD_SECONDS = 0.5
_NEEDED = ("endpoint", "account_name", "account_key")
_PID_WIDTH = 20  # whatever was there is written over
_OWN = (
    "identity.json",
    "endpoint.json",
    "identity.*.tmp",
    "endpoint.*.tmp",
    "service.lock",
    "start.lock",
    "service.log",
    "batch.sqlite3*",
    "nodes",
    "blobs",
    "trash",
    "applications",
    "containers",
)
"""What belongs to a service in its directory: what it makes, and the packages that users give it."""

_ELSEWHERE = "set AZBATCH_LOCAL_DIR to a folder of its own"


class StateError(Exception):
    """A file of the state directory is not what the service wrote; the message names it."""


@dataclass(frozen=True)
class Identity:
    """The account and its storage account."""

    account_name: str
    account_key: str = field(repr=False)
    blob_account: str
    blob_key: str = field(repr=False)
    port: int = 0


@dataclass(frozen=True)
class Endpoint:
    """Where and how a running service is reached; the contents of `endpoint.json`.

    Attributes:
        page: URL of the page for browsers.
        options: the words of its command line that are not as usual, quoted as for a shell.
    """

    endpoint: str
    account_name: str
    account_key: str = field(repr=False)
    pid: int
    version: str
    blob_endpoint: str
    blob_account: str
    blob_key: str = field(repr=False)
    page: str = ""
    options: str = ""

    def to_json(self) -> str:
        """One line of JSON, keys included."""
        return json.dumps(asdict(self))


class StateDirectory:
    """The files of one service. Nothing is made before it is needed."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __repr__(self) -> str:
        return f"StateDirectory({str(self.path)!r})"

    @staticmethod
    def default() -> StateDirectory:
        """`$AZBATCH_LOCAL_DIR`, else `~/.local/state/azbatch/local`."""
        given = os.environ.get("AZBATCH_LOCAL_DIR")
        return StateDirectory(Path(given or "~/.local/state/azbatch/local").expanduser().absolute())

    @property
    def log(self) -> Path:
        """The background service's log."""
        return self.path / "service.log"

    def make(self) -> None:
        """On return the directory is there and nobody else may look into it.

        Raises:
            StateError: it cannot be made, or it holds somebody's files: a reset would delete a service's own
                files beside them, and nobody could tell which is which.
        """
        try:
            self.path.mkdir(mode=0o700, parents=True, exist_ok=True)
            foreign = [] if self.known() else self.foreign()
            if not foreign:
                self.path.chmod(0o700)
                return
        except OSError as error:
            reason = error.strerror or str(error)
            raise StateError(f"{self.path} cannot hold the service's state: {reason}; {_ELSEWHERE}") from None
        raise StateError(
            f"{self.path} holds other files, such as {foreign[0]}, so no service starts in it; {_ELSEWHERE}"
        )

    def foreign(self) -> list[str]:
        """The names in the directory that no service made."""
        return sorted(path.name for path in self.path.iterdir() if not any(path.match(name) for name in _OWN))

    def clear(self) -> None:
        """Delete what services made, and the directory too if nothing else is in it."""
        for path in [path for name in _OWN for path in self.path.glob(name)]:
            if path.is_dir() and not path.is_symlink():
                shutil.rmtree(path)
            else:
                path.unlink(missing_ok=True)
        if not any(self.path.iterdir()):
            self.path.rmdir()

    def identity(self) -> Identity:
        """The account; made up and written down on the first call.

        Raises:
            StateError: it was written down, but cannot be read any more. New keys would lock everybody out.
        """
        path = self.path / "identity.json"
        try:
            found = json.loads(path.read_text(encoding="utf-8"))
            return Identity(**_known(Identity, found))
        except FileNotFoundError:
            identity = Identity("local", _new_key(), "localstorage", _new_key())
        except (OSError, ValueError, TypeError, AttributeError) as error:
            raise StateError(
                f"{path} cannot be read ({error}); put it back, or delete it to get new keys"
            ) from None
        self.remember(identity)
        return identity

    def remember(self, identity: Identity) -> None:
        """Write the account down."""
        _write_secret(self.path / "identity.json", json.dumps(asdict(identity)))

    def known(self) -> bool:
        """Whether a service ever had its state here."""
        return (self.path / "identity.json").exists()

    def announce(self, endpoint: Endpoint) -> None:
        """Say where the service listens."""
        _write_secret(self.path / "endpoint.json", endpoint.to_json())

    def withdraw(self) -> None:
        """Take back what `announce` said."""
        (self.path / "endpoint.json").unlink(missing_ok=True)

    def announced(self) -> Endpoint | None:
        """What the service, or one that was killed, announced; it may be of another version.

        Fields that this version does not know are passed over, those that are missing are empty. Without a
        process id, an address, a name and a key it is none, nor is what no service wrote.
        """
        try:
            found = json.loads((self.path / "endpoint.json").read_text(encoding="utf-8"))
        except (OSError, ValueError):
            return None
        if not isinstance(found, dict):
            return None
        texts = {item.name: "" for item in fields(Endpoint)} | _known(Endpoint, found)
        pid = texts.pop("pid")
        if type(pid) is not int or pid < 1 or not all(isinstance(text, str) for text in texts.values()):
            return None
        return Endpoint(pid=pid, **texts) if all(texts[name] for name in _NEEDED) else None

    def running(self) -> Endpoint | None:
        """Where the service listens; None when none is alive, or it is still starting."""
        return self.announced() if self.held() else None

    def held(self) -> bool:
        """Whether a service is alive: it holds the lock."""
        try:
            # Shared, so that several who look do not take each other for a service.
            with self._locked("service.lock", fcntl.LOCK_SH | fcntl.LOCK_NB):
                return False
        except BlockingIOError:
            return True
        except (FileNotFoundError, NotADirectoryError):
            return False

    def holder(self) -> int | None:
        """The process id of the service that is alive; None if there is none, or it is of an older version.

        Looks twice: one that has just come writes its own in place of the last one's.
        """
        seen = [self._written_pid() if self.held() else None]
        time.sleep(_POLL_SECONDS)
        seen.append(self._written_pid() if self.held() else None)
        return seen[0] if seen[0] == seen[1] else None

    def _written_pid(self) -> int | None:
        with suppress(OSError, ValueError):
            return int((self.path / "service.lock").read_text(encoding="ascii"))
        return None

    @contextmanager
    def hold(self, *, until_exit: bool = False) -> Iterator[None]:
        """Be the service of this directory.

        Args:
            until_exit: hold it on for as long as this process lives, so that who waits for the directory
                to be free waits for the process to be gone.

        Raises:
            BlockingIOError: another service is; the message says so.
        """
        deadline = time.monotonic() + _HOLD_SECONDS
        with ExitStack() as lock:
            while True:
                try:
                    descriptor = lock.enter_context(
                        self._locked("service.lock", fcntl.LOCK_EX | fcntl.LOCK_NB, create=True)
                    )
                    break
                except BlockingIOError:
                    if time.monotonic() > deadline:
                        pid = self._written_pid()
                        who = "" if pid is None else f" (process {pid})"
                        raise BlockingIOError(f"another service is running on {self.path}{who}") from None
                    time.sleep(_POLL_SECONDS)  # somebody may just be looking whether the lock is held
            with suppress(OSError):  # a full disk: it is for trouble only
                os.pwrite(descriptor, f"{os.getpid():<{_PID_WIDTH}}".encode(), 0)
            if until_exit:
                os.dup(descriptor)  # a lock lasts until the last of its descriptors is closed
            yield

    @contextmanager
    def starting(self) -> Iterator[None]:
        """Be the only one who starts the service; waits for the one who is at it."""
        with self._locked("start.lock", fcntl.LOCK_EX, create=True):
            yield

    def wait_until_free(self, timeout: float) -> bool:
        """Whether the service, if there is one, was gone within `timeout` seconds."""
        deadline = time.monotonic() + timeout
        while self.held():
            if time.monotonic() > deadline:
                return False
            time.sleep(_POLL_SECONDS)
        return True

    @contextmanager
    def _locked(self, name: str, how: int, *, create: bool = False) -> Iterator[int]:
        flags = os.O_RDWR | os.O_CLOEXEC | (os.O_CREAT if create else 0)
        descriptor = os.open(self.path / name, flags, 0o600)
        try:
            fcntl.flock(descriptor, how)
            yield descriptor
        finally:
            os.close(descriptor)


def _new_key() -> str:
    return base64.b64encode(secrets.token_bytes(_KEY_BYTES)).decode()


def _known(kind: type[Identity | Endpoint], found: dict[str, Any]) -> dict[str, Any]:
    """Those items that are fields of `kind`: a later version may have written more."""
    names = {item.name for item in fields(kind)}
    return {name: value for name, value in found.items() if name in names}


def _write_secret(path: Path, text: str) -> None:
    """Replace the file at once; at no moment can others read it, or anybody read half of it."""
    temporary = path.with_suffix(f".{os.getpid()}.{secrets.token_hex(4)}.tmp")
    descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    with os.fdopen(descriptor, "w", encoding="utf-8") as file:
        file.write(text)
    temporary.replace(path)
