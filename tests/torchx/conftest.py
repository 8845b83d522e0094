"""A local service for the tests of the TorchX adapter, and the command line of the TorchX that is installed.

They run once for each line of TorchX, in an environment of its own, with azbatch installed from its wheel.
"""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from azbatch_core.local import LocalBatch

if TYPE_CHECKING:
    from collections.abc import Iterator

    from docker_daemon import DockerPlace

WITHIN = 60.0
"""Seconds after which a wait in a test is a failure, on the slowest machine."""
BIN = Path(sys.executable).parent


@dataclass(frozen=True)
class Ended:
    """A command that ended."""

    code: int
    out: str
    err: str


@dataclass(frozen=True)
class Commands:
    """Runs `torchx` in a folder of its own, with a configuration of its own."""

    folder: Path
    variables: dict[str, str]

    def __call__(self, *words: str, **variables: str) -> Ended:
        """Run it to its end."""
        ended = subprocess.run(
            [str(BIN / "torchx"), *words],
            cwd=self.folder,
            env={**self.variables, **variables},
            capture_output=True,
            text=True,
            check=False,
            timeout=WITHIN,
        )
        return Ended(ended.returncode, ended.stdout, ended.stderr)

    def run(self, *words: str, cfg: str = "account=here") -> str:
        """`torchx run` that must succeed; gives the app's handle."""
        ended = self("run", "-s", "azure_batch", "-cfg", cfg, *words)
        assert ended.code == 0, ended.err
        return ended.out.strip().splitlines()[-1]


@pytest.fixture(scope="session")
def service() -> Iterator[LocalBatch]:
    """One local service for the whole run."""
    with LocalBatch() as local:
        yield local


@pytest.fixture(scope="session")
def variables(service: LocalBatch, tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """The environment in which `here` is an account on that service, and the default one."""
    home = tmp_path_factory.mktemp("home")
    config = home / "config.toml"
    config.write_text(
        f'default = "here"\n[accounts.here]\nendpoint = "{service.endpoint}"\n'
        f'account_name = "{service.account_name}"\naccount_key = "env:AZBATCH_TEST_KEY"\n'
        f'[accounts.here.storage]\nblob_endpoint = "{service.blob_endpoint}"\n'
        f'account_name = "{service.blob_account}"\naccount_key = "env:AZBATCH_TEST_STORAGE_KEY"\n'
    )
    ours = ("AZBATCH", "AZURE", "TORCHX", "LOGLEVEL", "PYTHON")
    kept = {name: value for name, value in os.environ.items() if not name.startswith(ours)}
    return {
        **kept,
        "HOME": str(home),
        "AZBATCH_CONFIG": str(config),
        "AZBATCH_TEST_KEY": service.account_key,
        "AZBATCH_TEST_STORAGE_KEY": service.blob_key,
        "AZBATCH_LOCAL_DIR": str(home / "local"),
    }


@pytest.fixture(scope="session")
def docker() -> Iterator[DockerPlace]:
    """A Docker daemon with small images, for the whole run."""
    sys.path.append(str(Path(__file__).parents[1] / "contract"))
    from docker_daemon import docker_place

    with docker_place() as place:
        yield place


@pytest.fixture
def torchx(variables: dict[str, str], tmp_path: Path) -> Commands:
    """The command line."""
    return Commands(tmp_path, variables)


@pytest.fixture
def scheduler(variables: dict[str, str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Any]:
    """The scheduler in this process, in the same environment."""
    from azbatch_torchx.scheduler import create_scheduler

    for name, value in variables.items():
        if name.startswith(("AZBATCH", "HOME")):
            monkeypatch.setenv(name, value)
    monkeypatch.chdir(tmp_path)
    made = create_scheduler("session")
    yield made
    made.close()
