"""`kill -9` of the local service in the middle of a job, and `azbatch local start`."""

from __future__ import annotations

import json
import os
import re
import signal
import time
from typing import TYPE_CHECKING, Any

import pytest
from cli_shell import WITHIN, Shell

from azbatch_core.local.state import StateDirectory

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


@pytest.fixture
def shell(tmp_path: Path) -> Iterator[Shell]:
    """A shell whose service nobody else needs."""
    made = Shell(tmp_path)
    yield made
    made.run("local", "stop")


def succeeded(shell: Shell, handle: str) -> dict[str, Any]:
    return {task["id"]: task for task in shell.document("tasks", handle) if task["state"] == "succeeded"}


def test_a_job_goes_on_and_runs_each_task_to_success_once(shell: Shell) -> None:
    state = StateDirectory(shell.home / "local")
    handle = shell.run("submit", "examples/pi.yaml").stdout.strip()
    with shell.start("wait", handle) as waiter:
        deadline = time.monotonic() + WITHIN
        while len(before := succeeded(shell, handle)) < 5:
            assert time.monotonic() < deadline
        os.kill(json.loads((state.path / "endpoint.json").read_text())["pid"], signal.SIGKILL)
        assert len(before) < 40, "it was over before it was killed"
        assert state.wait_until_free(WITHIN)
        assert shell.run("local", "start").returncode == 0
        out, err = waiter.communicate(timeout=WITHIN)
    assert waiter.returncode == 0, out + err
    assert out.count(" succeeded ") == 41

    after = succeeded(shell, handle)
    assert len(after) == 41
    assert {name: after[name] for name in before} == before, "what had ended is left alone"
    assert {(task["exit_code"], task["retries"]) for task in after.values()} == {(0, 0)}
    job = shell.document("show", handle)
    assert (job["state"], job["total"]) == ("succeeded", 41)
    assert {state: count for state, count in job["counts"].items() if count} == {"succeeded": 41}
    (listed,) = [found for found in shell.document("jobs") if found["handle"] == handle]
    assert [listed[name] for name in ("succeeded", "failed", "active", "running")] == [41, 0, 0, 0]
    assert all(shell.inside("logs", handle, name).stdout.count(" says ") == 1 for name in after)
    mean = shell.inside("logs", handle, "mean").stdout
    assert re.fullmatch(r"pi is about 3\.141\d* says the mean of 40\n", mean)
