"""What has to be installed for these tests, and is not azbatch's to install."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest


def galaxy_programs() -> Path:
    """The folder `bin` of Galaxy's environment, which has azbatch in it too.

    Skips the test where there is none, but fails it where `CI` is set.
    """
    return _programs("AZBATCH_TEST_GALAXY", "gunicorn")


def node_programs() -> Path:
    """The folder `bin` of the environment with `pulsar-submit` and `pulsar-finish`; else as above."""
    return _programs("AZBATCH_TEST_PULSAR", "pulsar-submit")


def rabbitmq_server() -> str:
    """RabbitMQ's own start script; else as above."""
    found = shutil.which("rabbitmq-server", path=f"{os.environ['PATH']}{os.pathsep}/usr/sbin")
    if found is None:
        _missing("rabbitmq-server is not installed")
    # Debian's command changes to the user of the system's broker, whose folders are not ours.
    return str(Path(str(found)).resolve().parent / "rabbitmq-server")


def relay_programs() -> Path:
    """The folder `bin` of the environment with `pulsar-relay`; else as above."""
    return _programs("AZBATCH_TEST_RELAY", "pulsar-relay")


def docker_daemon() -> None:
    """Docker's daemon and a registry can be started; else as above."""
    missing = [name for name in ("dockerd", "docker", "docker-registry") if shutil.which(name) is None]
    if missing:
        _missing(f"{', '.join(missing)} not installed")
    if os.geteuid() != 0:
        _missing("only root can start a Docker daemon")


def _programs(variable: str, program: str) -> Path:
    folder = Path(os.environ.get(variable, ""), "bin").absolute()
    if not (os.environ.get(variable) and (folder / program).exists()):
        _missing(f"{variable} names no environment with {program}; nox makes it")
    return folder


def _missing(reason: str) -> None:
    pytest.fail(reason) if os.environ.get("CI") else pytest.skip(reason)
