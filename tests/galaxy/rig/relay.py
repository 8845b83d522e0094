"""A pulsar-relay of the tests' own: the server that Pulsar's relay mode talks to, not a stand-in."""

from __future__ import annotations

import os
import secrets
import urllib.error
import urllib.request
from typing import TYPE_CHECKING

from rig.programs import Program, free_port

if TYPE_CHECKING:
    from pathlib import Path

_USER = "galaxy"
_SERVE = ("pulsar_relay.main:app", "--host=127.0.0.1", "--timeout-graceful-shutdown=1", "--no-access-log")


class Relay:
    """The relay on loopback, with one user. Its messages are in memory, so they go with `stop()` or `kill()`.

    Args:
        programs: The folder `bin` of its environment.
        folder: An empty folder for all that it writes.
        limited: It takes 5 logins and 120 messages in a minute from an address, as it does by itself.
    """

    def __init__(self, programs: Path, folder: Path, *, limited: bool = False) -> None:
        port = free_port()
        self.url = f"http://127.0.0.1:{port}"
        self._password = secrets.token_urlsafe(24)
        self.program = Program(
            [str(programs / "uvicorn"), *_SERVE, f"--port={port}"],
            log=folder / "relay.log",
            environment={
                "PATH": os.environ["PATH"],
                "HOME": str(folder),
                "PULSAR_STORAGE_BACKEND": "memory",
                "PULSAR_JWT_SECRET_KEY": secrets.token_urlsafe(48),
                "PULSAR_BOOTSTRAP_ADMIN_USERNAME": _USER,
                "PULSAR_BOOTSTRAP_ADMIN_PASSWORD": self._password,
                "PULSAR_ALLOWED_ORIGINS": f'["{self.url}"]',
                "PULSAR_TRUSTED_HOSTS": '["127.0.0.1"]',
                "RATELIMIT_ENABLED": str(limited),  # slowapi's own variable
            },
            folder=folder,
            ready=self._answers,
        )

    def __repr__(self) -> str:
        return f"Relay({self.url})"

    @property
    def login(self) -> dict[str, str]:
        """What a client manager, or a runner of Galaxy, is told of it."""
        return {"relay_url": self.url, "relay_username": _USER, "relay_password": self._password}

    def start(self) -> None:
        """Start it; on return it answers."""
        self.program.start()

    def stop(self) -> None:
        """Stop it in good order."""
        self.program.stop()

    def kill(self) -> None:
        """End it at once."""
        self.program.kill()

    def _answers(self) -> bool:
        try:
            with urllib.request.urlopen(f"{self.url}/health", timeout=5) as answer:  # noqa: S310 - ours
                return bool(answer.status == 200)
        except (OSError, urllib.error.URLError):
            return False
