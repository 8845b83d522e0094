"""A Docker daemon and a registry that asks for a login, both on this machine and gone at the end."""

from __future__ import annotations

import io
import os
import shutil
import socket
import subprocess
import tarfile
import tempfile
import time
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Iterator

_SECONDS = 60
_NEEDED = ("dockerd", "docker", "docker-registry", "busybox")
USER, PASSWORD = "reader", "correct horse"
# bcrypt of the password, as `htpasswd -B` writes it
_HTPASSWD = f"{USER}:$2b$05$abcdefghijklmnopqrstuuHNbAKRhpaujgo33bRWs.NLUTJO3lOy2\n"
_REGISTRY = """
version: 0.1
log: {{level: error}}
storage: {{filesystem: {{rootdirectory: {folder}/images}}}}
http: {{addr: "{server}"}}
auth: {{htpasswd: {{realm: tests, path: {folder}/htpasswd}}}}
"""


@dataclass(frozen=True)
class DockerPlace:
    """What was started.

    Attributes:
        host: For `DOCKER_HOST`.
        server: Host and port of the registry.
        image: An image on the machine: busybox with `/bin/sh`, nothing for an entry point.
        echo: Another: its entry point is `/bin/echo entry`, its command `cmd`, its folder `/opt/here`.
        remote: An image in the registry alone.
    """

    host: str
    server: str
    image: str = "busybox-here:1"
    echo: str = "echo-here:1"

    @property
    def remote(self) -> str:
        """An image in the registry alone."""
        return f"{self.server}/far/busybox:1"

    def docker(self, *arguments: str, given: bytes | None = None) -> str:
        """The output of a `docker` command that has to succeed."""
        environment = {**os.environ, "DOCKER_HOST": self.host}
        command = ["docker", *arguments]
        done = subprocess.run(
            command, env=environment, input=given, capture_output=True, timeout=_SECONDS, check=False
        )
        assert done.returncode == 0, done.stderr.decode()
        return done.stdout.decode()

    def containers(self) -> list[str]:
        """The ids of all containers, whatever their state."""
        return self.docker("ps", "--all", "--quiet", "--no-trunc").split()

    def running(self) -> list[str]:
        """The ids of those that run."""
        return self.docker("ps", "--quiet", "--no-trunc").split()

    def forget_remote(self) -> None:
        """Have the remote image in the registry alone."""
        if self.docker("images", "--quiet", self.remote):
            self.docker("rmi", self.remote)


@contextmanager
def docker_place() -> Iterator[DockerPlace]:
    """A daemon, a registry and their images while the context lasts.

    Skips the test where they are not installed or the user is not root, but fails it where `CI` is set.
    """
    missing = [name for name in _NEEDED if shutil.which(name) is None]
    why = f"not installed: {', '.join(missing)}" if missing else "" if os.geteuid() == 0 else "only root can"
    if why:
        reason = f"no Docker daemon for tests: {why}"
        pytest.fail(reason) if os.environ.get("CI") else pytest.skip(reason)
    with ExitStack() as cleanup:
        # Not pytest's folder: a socket's path has to be short.
        folder = Path(tempfile.mkdtemp(prefix="azb-"))
        cleanup.callback(shutil.rmtree, folder, ignore_errors=True)
        place = DockerPlace(f"unix://{folder}/sock", f"127.0.0.1:{free_port()}")
        cleanup.enter_context(_daemon(folder))
        cleanup.enter_context(_registry(folder, place.server))
        _fill(folder, place)
        yield place


@contextmanager
def _daemon(folder: Path) -> Iterator[None]:
    words = ["--data-root", f"{folder}/data", "--exec-root", f"{folder}/exec", "--pidfile", f"{folder}/pid"]
    words += ["--host", f"unix://{folder}/sock", "--bridge", "none", "--iptables=false"]
    with _running("dockerd", words, folder / "dockerd.txt") as process:
        command = ["docker", "--host", f"unix://{folder}/sock", "version"]
        _await(
            lambda: subprocess.run(command, capture_output=True, check=False).returncode == 0,
            process,
            folder / "dockerd.txt",
        )
        yield
    left = ["umount", f"{folder}/exec/netns/default"]  # by containers with the host's network
    subprocess.run(left, capture_output=True, check=False)


@contextmanager
def _registry(folder: Path, server: str) -> Iterator[None]:
    (folder / "htpasswd").write_text(_HTPASSWD)
    (folder / "registry.yml").write_text(_REGISTRY.format(folder=folder, server=server))
    words = ["serve", str(folder / "registry.yml")]
    with _running("docker-registry", words, folder / "registry.txt") as process:
        name, _, port = server.partition(":")
        _await(lambda: _listens(name, int(port)), process, folder / "registry.txt")
        yield


@contextmanager
def _running(program: str, words: list[str], log: Path) -> Iterator[subprocess.Popen[bytes]]:
    with log.open("wb") as output:
        process = subprocess.Popen([program, *words], stdout=output, stderr=output, start_new_session=True)
    try:
        yield process
    finally:
        process.terminate()
        try:
            process.wait(_SECONDS)
        finally:
            process.kill()


def _await(ready, process: subprocess.Popen[bytes], log: Path) -> None:
    deadline = time.monotonic() + _SECONDS
    while not ready():
        if process.poll() is not None or time.monotonic() > deadline:
            pytest.fail(f"it did not start: {log.read_text()[-2000:]}")
        time.sleep(0.05)


def _listens(name: str, port: int) -> bool:
    try:
        socket.create_connection((name, port)).close()
    except OSError:
        return False
    return True


def free_port() -> int:
    """A port that nobody listens on."""
    with socket.create_server(("127.0.0.1", 0)) as probe:
        return int(probe.getsockname()[1])


def _fill(folder: Path, place: DockerPlace) -> None:
    """Make the images of the one program that needs no library, and put one into the registry."""
    root = folder / "root"
    for name in ("bin", "opt/here", "tmp"):
        (root / name).mkdir(parents=True)
    shutil.copy(str(shutil.which("busybox")), root / "bin/busybox")
    for name in ("sh", "cat", "chown", "echo", "env", "id", "ls", "nc", "pwd", "sleep", "touch"):
        (root / "bin" / name).symlink_to("busybox")
    with io.BytesIO() as packed:
        with tarfile.open(fileobj=packed, mode="w") as tar:
            tar.add(root, ".")
        layer = packed.getvalue()
    changes = ["--change", 'ENTRYPOINT ["/bin/echo", "entry"]', "--change", 'CMD ["cmd"]']
    place.docker("import", "-", place.image, given=layer)
    place.docker("import", *changes, "--change", "WORKDIR /opt/here", "-", place.echo, given=layer)
    place.docker("tag", place.image, place.remote)
    login = ["--config", str(folder / "login")]
    place.docker(*login, "login", "-u", USER, "--password-stdin", place.server, given=PASSWORD.encode())
    place.docker(*login, "push", "--quiet", place.remote)
    place.forget_remote()
