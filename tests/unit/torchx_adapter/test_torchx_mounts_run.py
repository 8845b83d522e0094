"""The lines that link a pool's mounts, run by the shell of this machine."""

from __future__ import annotations

import subprocess
from typing import TYPE_CHECKING

import pytest

from azbatch_torchx import mounts

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def node(tmp_path: Path) -> Path:
    (tmp_path / "fsmounts" / "it's here").mkdir(parents=True)
    (tmp_path / "fsmounts" / "it's here" / "file").write_text("found")
    return tmp_path


def run(node: Path, name: str, target: Path, *command: str) -> subprocess.CompletedProcess[str]:
    line = mounts.linked(command, [(name, str(target))])
    environment = {"AZ_BATCH_NODE_MOUNTS_DIR": str(node / "fsmounts"), "PATH": "/usr/bin:/bin"}
    return subprocess.run(line, env=environment, capture_output=True, text=True, check=False, timeout=30)


def test_the_command_sees_the_mount(node: Path) -> None:
    target = node / "deep" / "data"
    for _ in range(2):  # a retry finds the link of the first try
        ended = run(node, "it's here", target, "cat", str(target / "file"))
        assert (ended.returncode, ended.stdout) == (0, "found"), ended.stderr
    (node / "empty").mkdir()
    assert run(node, "it's here", node / "empty", "cat", str(node / "empty" / "file")).stdout == "found"


def test_a_mount_that_the_pool_has_not_ends_the_task(node: Path) -> None:
    ended = run(node, "other", node / "data", "echo", "ran")
    assert (ended.returncode, ended.stdout) == (125, "")
    assert ended.stderr == "azbatch: the pool has no mount named other\n"
    assert not (node / "data").exists()


def test_a_folder_with_something_in_it_is_not_replaced(node: Path) -> None:
    (node / "full").mkdir()
    (node / "full" / "kept").write_text("")
    ended = run(node, "it's here", node / "full", "echo", "ran")
    assert ended.returncode == 125
    assert ended.stdout == ""
    assert [path.name for path in (node / "full").iterdir()] == ["kept"]
