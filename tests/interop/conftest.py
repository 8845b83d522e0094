"""Clients that are not ours, on a local service: each started as a program with its own packages."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from azbatch_core.local import LocalBatch

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

ROOT = Path(__file__).parents[2]
_SECONDS = 600


@pytest.fixture(scope="session")
def clients() -> Path:
    """The folder of the clients, as the session `interop` of noxfile.py fills it."""
    folder = os.environ.get("AZBATCH_TEST_CLIENTS")
    if not folder:
        pytest.skip("AZBATCH_TEST_CLIENTS names no folder of clients; `nox -s interop` makes one")
    return Path(folder)


@pytest.fixture
def local(tmp_path: Path) -> Iterator[LocalBatch]:
    """An empty account."""
    with LocalBatch(tmp_path / "state") as service:
        yield service


@pytest.fixture
def run(local: LocalBatch, clients: Path, tmp_path: Path) -> Callable[..., subprocess.CompletedProcess[str]]:
    """Run a program that finds the account in its environment, and the named Python packages first."""

    def start(*command: str | Path, packages: str = "", **extra: str) -> subprocess.CompletedProcess[str]:
        environment = {
            **os.environ,
            "AZURE_BATCH_ACCOUNT": local.account_name,
            "AZURE_BATCH_ACCESS_KEY": local.account_key,
            "AZURE_BATCH_ENDPOINT": local.endpoint,
            "AZURE_CONFIG_DIR": str(tmp_path / "azure"),
            "AZURE_CORE_COLLECT_TELEMETRY": "false",
            "NODE_PATH": str(clients / "node_modules"),
            "PYTHONPATH": os.pathsep.join([str(clients / packages), os.environ.get("PYTHONPATH", "")]),
            **extra,
        }
        return subprocess.run(
            [str(word) for word in command],
            env=environment,
            cwd=tmp_path,
            capture_output=True,
            text=True,
            timeout=_SECONDS,
            check=False,
        )

    return start


@pytest.fixture(scope="session")
def python() -> str:
    """The interpreter of the clients' programs."""
    return sys.executable
