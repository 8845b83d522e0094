"""Galaxy itself on loopback with SQLite, started, ended and started again by tests, and its Celery worker."""

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

_SERVE = (
    "galaxy.webapps.galaxy.fast_factory:factory()",
    "--worker-class=galaxy.webapps.galaxy.workers.Worker",
    "--workers=1",
    "--timeout=300",
    "--graceful-timeout=10",
)
_WORK = (
    *("--app=galaxy.celery", "worker", "--pool=threads", "--concurrency=2", "--loglevel=INFO"),
    *("--without-gossip", "--without-mingle", "--without-heartbeat"),
    "--queues=galaxy.internal,galaxy.external",
)


class GalaxyServer:
    """A real Galaxy. Users, histories and jobs survive `stop()` or `kill()` and the next `start()`.

    Args:
        programs: The folder `bin` of Galaxy's environment.
        folder: An empty folder for all that it writes.
        plan: Its runners and environments.
        addresses: What stands for `{amqp_url}` and what else there is, but `{galaxy_url}`.
        variables: More variables, for azbatch in Galaxy: its configuration and keys.
    """

    def __init__(
        self,
        programs: Path,
        folder: Path,
        plan: Plan,
        *,
        addresses: Mapping[str, str],
        variables: Mapping[str, str],
    ) -> None:
        port = free_port()
        self.url = f"http://127.0.0.1:{port}"
        self.admin_key = secrets.token_hex(16)
        configuration = write_files(folder, plan, {**addresses, "galaxy_url": self.url}, self.admin_key)
        (folder / "tmp").mkdir()
        environment = {
            **_kept(),
            "PATH": f"{programs}{os.pathsep}{os.environ['PATH']}",
            "VIRTUAL_ENV": str(programs.parent),
            "HOME": str(folder),
            "TMPDIR": str(folder / "tmp"),
            "GALAXY_CONFIG_FILE": str(configuration),
            **variables,
        }
        self.program = Program(
            [str(programs / "gunicorn"), *_SERVE, f"--bind=127.0.0.1:{port}"],
            log=folder / "galaxy.log",
            environment=environment,
            folder=folder,
            ready=self._answers,
        )
        self._worker = Program(
            [str(programs / "celery"), *_WORK],
            log=folder / "worker.log",
            environment=environment,
            folder=folder,
            ready=lambda: True,  # what it is to do waits for it
        )

    def __repr__(self) -> str:
        return f"GalaxyServer({self.url})"

    def start(self) -> None:
        """Start it; on return it answers and its job handler runs."""
        self.program.start()
        if self._worker.pid is None:
            self._worker.start()

    def stop(self) -> None:
        """Stop it in good order."""
        self.program.stop()

    def kill(self) -> None:
        """End it at once; its worker stays."""
        self.program.kill()

    def close(self) -> None:
        """End all of it."""
        try:
            self.stop()
        finally:
            self._worker.kill()

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
