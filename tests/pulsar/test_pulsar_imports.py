"""azbatch_pulsar with other Pulsars, or none; its runner in Galaxy's oldest and newest."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from importlib import metadata
from pathlib import Path

import pytest

PRETEND = """
import importlib.abc, sys
class NoPulsar(importlib.abc.MetaPathFinder):
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in {"pulsar", "galaxy"}:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)
sys.meta_path.insert(0, NoPulsar())
"""


def run(code: str) -> str:
    """What a new Python says."""
    ended = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=False, timeout=60
    )
    assert ended.returncode == 0, ended.stderr
    return ended.stdout


def test_it_is_imported_without_a_pulsar() -> None:
    code = PRETEND + (
        "import azbatch_pulsar, azbatch_pulsar.destination, azbatch_pulsar.jobs, azbatch_pulsar.job_ids\n"
        "try: azbatch_pulsar.build_client_manager\n"
        "except ModuleNotFoundError as error: print(error.name)\n"
        "print('nothing else', hasattr(azbatch_pulsar, 'no_such_name'))\n"
    )
    assert run(code) == "pulsar\nnothing else False\n"


def test_every_public_name_is_there_with_this_one() -> None:
    code = "import azbatch_pulsar as a; print([type(getattr(a, name)).__name__ for name in a.__all__])"
    assert "type" in run(code)


def test_pulsar_is_asked_for_by_the_extra_alone() -> None:
    """Galaxy has pulsar-galaxy-lib: the same files, which pulsar-app beside it would overwrite."""
    wanted = [text for text in metadata.requires("azbatch") or () if text.startswith(("pulsar", "galaxy"))]
    assert wanted
    assert all("extra ==" in text for text in wanted)
    assert not [text for text in wanted if text.startswith("galaxy")]


def test_other_destinations_go_to_pulsar_s_own_managers() -> None:
    code = (
        "from azbatch_pulsar import build_client_manager as b\n"
        "from azbatch_pulsar.compat import build_client_manager as theirs\n"
        "print(type(b()).__name__ == type(theirs()).__name__)\n"
        "print(type(b(azure_batch_account='local')).__name__)\n"
    )
    assert run(code).endswith("True\nAzureBatchPollingClientManager\n")


@pytest.mark.parametrize("version", ["24.0", "26.1"])
def test_the_runner_is_made_by_galaxy_s_oldest_and_newest(version: str, tmp_path: Path) -> None:
    variable = f"AZBATCH_TEST_GALAXY_{version.replace('.', '')}"
    if variable not in os.environ:
        reason = f"{variable} names no environment with Galaxy {version}; `nox -s pulsar` makes it"
        pytest.fail(reason) if os.environ.get("CI") else pytest.skip(reason)
    ended = subprocess.run(
        [
            f"{os.environ[variable]}/bin/python",
            "-W",
            "ignore",
            str(Path(__file__).with_name("galaxy_runner.py")),
        ],
        cwd=tmp_path,
        env={
            "PATH": os.environ["PATH"],
            "HOME": str(tmp_path),
            "AZURE_BATCH_ENDPOINT": "http://127.0.0.1:1",
            "AZURE_BATCH_ACCOUNT": "away",
            "AZURE_BATCH_ACCESS_KEY": "a2V5",
        },
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )
    assert ended.returncode == 0, ended.stderr
    found = json.loads(ended.stdout)
    assert found.pop("galaxy").startswith(version)
    assert found == {
        "polling": [
            "AzureBatchPollingClientManager",
            "AzureBatchPollingCoexecutionJobClient",
            *("7", 2.0, False, True, "main"),
        ],
        "queue": [
            "AzureBatchMessageQueueClientManager",
            "AzureBatchMessageCoexecutionJobClient",
            *("7", 2.0, True, True, "main"),
        ],
    }
