"""The local service's own options: what cannot be is exit code 2, what a running one does not do is told."""

from __future__ import annotations

import os
import socket
from typing import TYPE_CHECKING, Any

import pytest
from cli_shell import Shell

from azbatch_core.local import LocalBatch

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


@pytest.fixture(scope="module")
def shell(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Shell]:
    """A service on a virtual clock, and the command for it."""
    shell = Shell(tmp_path_factory.mktemp("home"))
    assert shell.run("local", "start", "--clock", "virtual", "--boot-time", "5").returncode == 0
    yield shell
    shell.run("local", "stop")


@pytest.fixture(scope="module")
def virtual() -> Iterator[LocalBatch]:
    """A service in this program, on a virtual clock."""
    with LocalBatch(clock="virtual") as service:
        yield service


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["fault", "add", "throtle"], "did you mean throttle?"),
        (["fault", "add", "throttle", "cuont=3"], "did you mean count?"),
        (["fault", "add", "throttle", "operation=create_tsk"], "did you mean create_task?"),
        (["fault", "clear", "x-1"], "There is no fault x-1"),
        (["start", "--boot-time", "-4"], "--boot-time: -4 is not from 0 seconds"),
        (["start", "--idle-timeout", "nan"], "--idle-timeout: nan is not"),
        (["advance", "nan"], "SECONDS: nan is not from 0 seconds"),
        (["advance", "--", "-5"], "SECONDS: -5 is not from 0 seconds to 100 years"),
    ],
)
def test_what_cannot_be_is_the_callers_mistake(shell: Shell, words: list[str], said: str) -> None:
    done = shell.inside("local", *words)
    assert said in done.stderr
    assert done.returncode == (3 if words[1] == "clear" else 2)
    assert len(done.stderr.splitlines()) == 1


def test_a_file_of_faults_that_cannot_be_is_the_callers_mistake(shell: Shell, tmp_path: Path) -> None:
    for text in ("[{kind: throtle}]", "[{kind: reset, operation: create_tsk}]", "{"):
        (tmp_path / "bad.yaml").write_text(text)
        assert shell.inside("local", "start", "--faults", str(tmp_path / "bad.yaml")).returncode == 2


def test_the_real_clock_refuses_and_that_is_no_mistake_of_words(tmp_path: Path) -> None:
    shell = Shell(tmp_path)
    assert shell.run("local", "start").returncode == 0
    try:
        refused = shell.inside("local", "advance", "5")
        assert (refused.returncode, "--clock virtual" in refused.stderr) == (3, True)
    finally:
        shell.run("local", "stop")


def test_a_start_with_other_options_says_what_is_not_done(shell: Shell) -> None:
    done = shell.inside("local", "start", "--clock", "real", "--model", "--boot-time", "5", "--port", "1")
    assert done.returncode == 0
    (line,) = done.stderr.splitlines()
    for part in ("--clock is virtual, not real", "--model is off, not on", "--port is ", "local stop"):
        assert part in line
    assert "--boot-time" not in line


def test_a_start_that_asks_for_nothing_else_says_nothing(shell: Shell) -> None:
    for words in ([], ["--clock", "virtual"], ["--boot-time", "5.0", "--port", "0"]):
        assert shell.inside("local", "start", *words).stderr == ""


def test_the_options_that_it_runs_with_are_told(shell: Shell) -> None:
    assert shell.document("local", "status")["options"] == "--boot-time 5.0 --clock virtual"


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"boot_time": -4}, "boot_time is a number of seconds, 0 or more, not -4"),
        ({"boot_time": float("nan")}, "not nan"),
        ({"boot_time": "5"}, "not '5'"),
        ({"port": 70_000}, "port is a port from 0 to 65535"),
        ({"node_quota": -1}, "node_quota is a number of nodes"),
        ({"node_quota": 1.5}, "node_quota is a number of nodes"),
        ({"clock": "virtuel"}, "clock is real or virtual, not 'virtuel'"),
        ({"containers": "podman"}, "containers is auto or docker or host"),
    ],
)
def test_a_program_is_told_of_options_that_cannot_be(options: dict[str, Any], said: str) -> None:
    with pytest.raises(ValueError, match="is") as caught:
        LocalBatch(**options)
    assert said in str(caught.value)


@pytest.mark.parametrize("seconds", [-1, float("nan"), float("inf"), 1e300])
def test_a_program_cannot_turn_the_clock_back_or_to_nowhere(virtual: LocalBatch, seconds: float) -> None:
    for move in (virtual.advance, virtual.advance_until_idle):
        with pytest.raises(ValueError, match="0 seconds to 100 years"):
            move(seconds)


def test_a_program_is_told_who_has_the_directory_or_the_port(tmp_path: Path) -> None:
    with LocalBatch(tmp_path), pytest.raises(BlockingIOError) as held, LocalBatch(tmp_path):
        pass
    assert str(held.value) == f"another service is running on {tmp_path} (process {os.getpid()})"
    with socket.create_server(("127.0.0.1", 0)) as other:
        port = other.getsockname()[1]
        with pytest.raises(OSError, match=f"port {port} cannot be had"), LocalBatch(port=port):
            pass
