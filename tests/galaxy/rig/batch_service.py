"""The local Azure Batch service in a process of its own, and the account that reaches it."""

from __future__ import annotations

import os
import socket
import sys
from typing import TYPE_CHECKING

from azbatch_core.local.state import StateDirectory
from rig.programs import Program

if TYPE_CHECKING:
    from pathlib import Path

    from azbatch_core.local.state import Endpoint

ACCOUNT = "here"
"""The account's name in azbatch's configuration: what an environment of Galaxy names."""
_NODE_PROGRAMS = ("pulsar-submit", "pulsar-finish")
_CONFIGURATION = """\
default = "{account}"
[accounts.{account}]
endpoint = "{place.endpoint}"
account_name = "{place.account_name}"
account_key = "env:AZBATCH_TEST_KEY"
[accounts.{account}.storage]
blob_endpoint = "{place.blob_endpoint}"
account_name = "{place.blob_account}"
account_key = "env:AZBATCH_TEST_STORAGE_KEY"
"""


class BatchService:
    """A local Batch service; jobs, keys and ports survive `stop()` or `kill()` and the next `start()`.

    Its nodes find Pulsar's programs on their PATH, and container tasks run on this machine itself.

    Args:
        folder: An empty folder for all that it writes.
        node_programs: The folder with Pulsar's programs.
        docker_host: Where its nodes look for Docker.
    """

    def __init__(self, folder: Path, node_programs: Path, docker_host: str) -> None:
        self._folder = folder
        self._state = StateDirectory(folder / "state")
        self._place: Endpoint | None = None
        # Only these two: the Python beside them is none of the tasks' business.
        programs = folder / "bin"
        programs.mkdir()
        for name in _NODE_PROGRAMS:
            (programs / name).symlink_to(node_programs / name)
        self.program = Program(
            [
                *(sys.executable, "-m", "azbatch_core.local", "serve", "--state-dir", str(self._state.path)),
                *("--containers", "host", "--idle-timeout", "0"),
            ],
            log=folder / "batch.log",
            environment={
                **os.environ,
                "PATH": f"{os.environ['PATH']}{os.pathsep}{programs}",
                "DOCKER_HOST": docker_host,
            },
            folder=folder,
            ready=self._answers,
            stdout_is_secret=True,  # it announces its keys there
        )

    def __repr__(self) -> str:
        return f"BatchService({self._folder})"

    @property
    def place(self) -> Endpoint:
        """Where it answers, and its keys."""
        assert self._place is not None, "it never ran"
        return self._place

    @property
    def configuration(self) -> Path:
        """The client's configuration file with the account `here`; keys are not in it."""
        return self._folder / "config.toml"

    @property
    def variables(self) -> dict[str, str]:
        """The environment in which azbatch knows that account."""
        return {
            "AZBATCH_CONFIG": str(self.configuration),
            "AZBATCH_TEST_KEY": self.place.account_key,
            "AZBATCH_TEST_STORAGE_KEY": self.place.blob_key,
            "AZBATCH_LOCAL_DIR": str(self._folder / "never"),
        }

    def start(self) -> None:
        """Start it; on return it answers."""
        self.program.start()
        self._place = self._state.announced()
        self.configuration.write_text(_CONFIGURATION.format(account=ACCOUNT, place=self.place))

    def stop(self) -> None:
        """Stop it in good order."""
        self.program.stop()

    def kill(self) -> None:
        """End it at once; what its nodes ran begins again with the next `start()`."""
        self.program.kill()

    def _answers(self) -> bool:
        place = self._state.running()
        if place is None or place.pid != self.program.pid:
            return False
        host, _, port = place.endpoint.removeprefix("http://").partition(":")
        try:
            socket.create_connection((host, int(port)), timeout=5).close()
        except OSError:
            return False
        return True
