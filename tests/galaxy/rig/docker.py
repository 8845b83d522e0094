"""A Docker daemon and a registry of the tests' own; the registry is empty."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import tempfile
from pathlib import Path

from rig.programs import ENDS_WITHIN, Program, free_port

_IMAGES = Path(__file__).parents[2] / "pulsar" / "pulsar_images.py"
_REGISTRY = """\
version: 0.1
log: {{level: error}}
storage: {{filesystem: {{rootdirectory: {folder}/images}}}}
http: {{addr: "{server}"}}
"""


class Docker:
    """What the nodes' Docker is, once it is started: until then the nodes have none that answers.

    Attributes:
        host: For `DOCKER_HOST`.
        registry: Host and port of the registry.
    """

    def __init__(self) -> None:
        # Not pytest's folder: a socket's path has to be short.
        self._folder = folder = Path(tempfile.mkdtemp(prefix="azb-"))
        self.host = f"unix://{folder}/sock"
        self.registry = f"127.0.0.1:{free_port()}"
        (folder / "registry.yml").write_text(_REGISTRY.format(folder=folder, server=self.registry))
        words = [f"--data-root={folder}/data", f"--exec-root={folder}/exec", f"--pidfile={folder}/pid"]
        words += [f"--host={self.host}", "--bridge=none", "--iptables=false"]
        self.program = Program(
            ["dockerd", *words],
            log=folder / "dockerd.log",
            environment=os.environ,
            folder=folder,
            ready=self._answers,
        )
        self._registry = Program(
            ["docker-registry", "serve", str(folder / "registry.yml")],
            log=folder / "registry.log",
            environment=os.environ,
            folder=folder,
            ready=self._listens,
        )

    def __repr__(self) -> str:
        return f"Docker({self.host})"

    def start(self) -> None:
        """Start both; on return they answer."""
        self.program.start()
        self._registry.start()

    def have_images(self, python: Path) -> None:
        """Have the images of `pulsar_images`, of the Pulsar that is in the environment of that Python."""
        if "pulsar-here" not in self._docker("images").stdout:
            words = [str(python), str(_IMAGES), self.host]
            subprocess.run(words, check=True, timeout=ENDS_WITHIN * 5)

    def stop(self) -> None:
        """Stop both; images stay."""
        try:
            self.program.stop()
        finally:
            self._registry.stop()

    def close(self) -> None:
        """End both, and remove what they wrote."""
        try:
            self.stop()
        finally:
            shutil.rmtree(self._folder, ignore_errors=True)

    def _answers(self) -> bool:
        return self._docker("version").returncode == 0

    def _docker(self, *words: str) -> subprocess.CompletedProcess[str]:
        command = ["docker", "--host", self.host, *words]
        return subprocess.run(command, capture_output=True, text=True, check=False)

    def _listens(self) -> bool:
        name, _, port = self.registry.partition(":")
        try:
            socket.create_connection((name, int(port)), timeout=5).close()
        except OSError:
            return False
        return True
