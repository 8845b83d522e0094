"""The command line on a local service whose clock stands until it is moved."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest
from cli_shell import Shell
from waiting import WITHIN

from azbatch_core.client import AzureBatch
from azbatch_core.local import LocalBatch
from azbatch_core.specs import AccountSpec, Secret

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

STANDS = "azbatch: the local service's clock stands at 2026-01-01 {} UTC: `azbatch local advance` moves it\n"


@pytest.fixture
def shell(tmp_path: Path) -> Iterator[Shell]:
    made = Shell(tmp_path)
    assert made.run("local", "start", "--model", "--clock", "virtual").returncode == 0
    yield made
    made.run("local", "stop")


def test_who_waits_hears_that_time_stands_and_how_to_move_it(shell: Shell) -> None:
    handle = shell.submit("[{id: a, command: [sleep, '7200']}]")
    waited = shell.inside("wait", handle, "--timeout", "0.2s")
    assert (waited.returncode, STANDS.format("00:00:00") in waited.stderr) == (124, True), waited.stderr
    assert "stands" not in shell.inside("wait", handle, "--timeout", "0.2s", "-q").stderr
    with shell.start("run", "--", "sleep", "60") as follower:
        assert follower.stderr is not None
        while "stands" not in (line := follower.stderr.readline()):
            assert line, "it ended, and had not said so"
        assert line == STANDS.format("00:00:00")
        shell.inside("local", "advance", "10800")
        out, err = follower.communicate(timeout=WITHIN)
    assert follower.returncode == 0, out + err
    over = shell.inside("wait", handle)
    assert (over.returncode, "stands" in over.stderr) == (0, False)
    over = shell.inside("logs", "-f", handle, "a")
    assert "stands" not in over.stderr


def test_ages_are_counted_by_the_services_clock(shell: Shell) -> None:
    handle = shell.submit("[{id: a, command: [sleep, '864000']}]")
    begun = json.loads(shell.inside("local", "advance", "18000", "--json").stdout)["now"]
    assert begun.startswith("2026-01-01")
    jobs = {line.split()[0]: line.split() for line in shell.inside("jobs").stdout.splitlines()}
    assert jobs[handle.removeprefix("local:")][4] == "5h"
    (pool,) = shell.inside("pools").stdout.splitlines()[1:]
    assert " 5h " in pool
    assert shell.inside("cancel", handle).returncode == 0


def test_only_a_virtual_clock_is_told_of(tmp_path: Path) -> None:
    for clock, stands in (("virtual", True), ("real", False)):
        with LocalBatch(clock=clock, state_dir=tmp_path / clock) as service:
            account = AccountSpec(
                name="here",
                endpoint=service.endpoint,
                account_name=service.account_name,
                account_key=Secret(service.account_key),
            )
            with AzureBatch(account) as batch:
                assert (batch.virtual_time() == service.now) is stands
                assert (batch.job("j").virtual_time() is not None) is stands
        with AzureBatch(account) as batch:
            assert batch.virtual_time() is None, "nobody is there"
