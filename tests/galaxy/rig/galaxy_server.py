"""Galaxy itself: one process on loopback with SQLite, started, ended and started again by tests."""

from __future__ import annotations

import os
import secrets
import urllib.error
import urllib.request
from typing import TYPE_CHECKING

from rig.galaxy_files import write_files
from rig.programs import Program, free_port

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from rig.plan import Plan


class GalaxyServer:
    """A real Galaxy. Users, histories and jobs survive `stop()` or `kill()` and the next `start()`.

    Args:
        programs: The folder `bin` of Galaxy's environment.
        folder: An empty folder for all that it writes.
        plan: Its runners and environments.
        amqp_url: Where the broker is.
        variables: More variables, for azbatch in Galaxy: its configuration and keys.
    """

    def __init__(
        self, programs: Path, folder: Path, plan: Plan, *, amqp_url: str, variables: Mapping[str, str]
    ) -> None:
        port = free_port()
        self.url = f"http://127.0.0.1:{port}"
        self.admin_key = secrets.token_hex(16)
        addresses = {"amqp_url": amqp_url, "galaxy_url": self.url}
        configuration = write_files(folder, plan, addresses, self.admin_key)
        (folder / "tmp").mkdir()
        self.program = Program(
            [
                str(programs / "gunicorn"),
                "galaxy.webapps.galaxy.fast_factory:factory()",
                "--worker-class=galaxy.webapps.galaxy.workers.Worker",
                "--workers=1",
                f"--bind=127.0.0.1:{port}",
                "--timeout=300",
                "--graceful-timeout=10",
            ],
            log=folder / "galaxy.log",
            environment={
                **_kept(),
                "PATH": f"{programs}{os.pathsep}{os.environ['PATH']}",
                "VIRTUAL_ENV": str(programs.parent),
                "HOME": str(folder),
                "TMPDIR": str(folder / "tmp"),
                "GALAXY_CONFIG_FILE": str(configuration),
                **variables,
            },
            folder=folder,
            ready=self._answers,
        )

    def __repr__(self) -> str:
        return f"GalaxyServer({self.url})"

    def start(self) -> None:
        """Start it; on return it answers and its job handler runs."""
        self.program.start()

    def stop(self) -> None:
        """Stop it in good order."""
        self.program.stop()

    def kill(self) -> None:
        """End it at once."""
        self.program.kill()

    def _answers(self) -> bool:
        try:
            with urllib.request.urlopen(f"{self.url}/api/version", timeout=5) as answer:  # noqa: S310 - ours
                return bool(answer.status == 200)
        except (OSError, urllib.error.URLError):
            return False


def _kept() -> dict[str, str]:
    """What Galaxy gets of our environment: PYTHONPATH too, for an azbatch that is not installed."""
    names = ("LANG", "LC_ALL", "PYTHONPATH", "SSL_CERT_FILE", "TZ")
    return {name: os.environ[name] for name in names if name in os.environ}
