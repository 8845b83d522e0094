"""A RabbitMQ of the tests' own, that has nothing to do with one of the system."""

from __future__ import annotations

import os
import secrets
import socket
from typing import TYPE_CHECKING

from rig.programs import Program, free_ports

if TYPE_CHECKING:
    from pathlib import Path

_USER = "galaxy"
_HELLO = b"AMQP\x00\x00\x09\x01"
_CONFIGURATION = """\
listeners.tcp.1 = 127.0.0.1:{port}
default_user = {user}
default_pass = {password}
log.console = true
log.console.level = warning
log.file = false
"""


class Broker:
    """RabbitMQ on loopback, with folders, a node name, a port mapper and ports of its own.

    It is stopped and started again on the same port, user, password and messages: `stop()` for the case of a
    broker that is away, `kill()` for one that crashed, `start()` afterwards.

    Args:
        script: RabbitMQ's start script.
        folder: An empty folder for all that it writes.
    """

    def __init__(self, script: str, folder: Path) -> None:
        self._port, self._mapper_port, self._cluster_port = free_ports(3)
        self._password = secrets.token_urlsafe(24)
        self._folder = folder
        self._write_files()
        environment = self._environment()
        self._mapper = Program(
            ["epmd", "-address", "127.0.0.1", "-port", str(self._mapper_port)],
            log=folder / "epmd.log",
            environment=environment,
            folder=folder,
            ready=lambda: _says(self._mapper_port, b"\x00\x01n"),
        )
        self.program = Program(
            [script],
            log=folder / "rabbitmq.log",
            environment=environment,
            folder=folder,
            ready=lambda: _says(self._port, _HELLO),
        )

    def __repr__(self) -> str:
        return f"Broker(127.0.0.1:{self._port})"

    @property
    def url(self) -> str:
        """What Galaxy calls `amqp_url`; the password is in it."""
        return f"amqp://{_USER}:{self._password}@127.0.0.1:{self._port}//"

    def start(self) -> None:
        """Start it; on return it takes connections."""
        # A mapper of our own, or RabbitMQ would leave one behind as a daemon on all addresses.
        if self._mapper.pid is None:
            self._mapper.start()
        self.program.start()

    def stop(self) -> None:
        """Stop it in good order."""
        self.program.stop()

    def kill(self) -> None:
        """End it at once."""
        self.program.kill()

    def close(self) -> None:
        """End all of it."""
        try:
            self.stop()
        finally:
            self._mapper.stop()

    def _write_files(self) -> None:
        private = {
            "rabbitmq.conf": _CONFIGURATION.format(port=self._port, user=_USER, password=self._password),
            ".erlang.cookie": secrets.token_hex(20),
            "enabled_plugins": "[].\n",
            "rabbitmq-env.conf": "",
            "advanced.config": "[].\n",
        }
        for name, text in private.items():
            path = self._folder / name
            path.touch(mode=0o600)
            path.write_text(text)

    def _environment(self) -> dict[str, str]:
        folder = self._folder
        return {
            "PATH": os.environ["PATH"],
            "LANG": "C.UTF-8",
            "HOME": str(folder),
            "ERL_EPMD_PORT": str(self._mapper_port),
            "ERL_EPMD_ADDRESS": "127.0.0.1",
            "RABBITMQ_NODENAME": f"azbatch-{self._port}@localhost",
            "RABBITMQ_DIST_PORT": str(self._cluster_port),
            "RABBITMQ_SERVER_ADDITIONAL_ERL_ARGS": "-kernel inet_dist_use_interface {127,0,0,1}",
            "RABBITMQ_CONF_ENV_FILE": str(folder / "rabbitmq-env.conf"),
            "RABBITMQ_CONFIG_FILE": str(folder / "rabbitmq.conf"),
            "RABBITMQ_ADVANCED_CONFIG_FILE": str(folder / "advanced.config"),
            "RABBITMQ_GENERATED_CONFIG_DIR": str(folder / "config"),
            "RABBITMQ_ENABLED_PLUGINS_FILE": str(folder / "enabled_plugins"),
            "RABBITMQ_MNESIA_BASE": str(folder / "data"),
            "RABBITMQ_LOG_BASE": str(folder / "log"),
            "RABBITMQ_PID_FILE": str(folder / "pid"),
        }


def _says(port: int, hello: bytes) -> bool:
    """Whether whoever listens there answers a greeting."""
    try:
        with socket.create_connection(("127.0.0.1", port), timeout=5) as connection:
            connection.sendall(hello)
            return bool(connection.recv(1))
    except OSError:
        return False
