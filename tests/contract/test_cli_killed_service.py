"""The local service is killed or stopped in the middle of a job, and started again or not."""

from __future__ import annotations

import json
import os
import re
import signal
import socket
import time
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import pytest
from cli_shell import Shell
from waiting import WITHIN

from azbatch_core.client import AzureBatch
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
    assert "/jobs/" not in err, "no remark names a request"
    mean = shell.inside("logs", handle, "mean").stdout
    assert re.fullmatch(r"pi is about 3\.141\d* says the mean of 40\n", mean)


@pytest.mark.parametrize("words", [("wait",), ("logs", "-f")], ids=["wait", "logs"])
def test_who_waits_is_told_at_once_that_it_was_stopped(words: tuple[str, ...], shell: Shell) -> None:
    handle = shell.submit("[{id: a, command: {shell: 'echo here; sleep 300'}}]")
    with shell.start(*words, handle) as waiter:
        deadline = time.monotonic() + WITHIN
        while shell.document("show", handle)["state"] != "running":
            assert time.monotonic() < deadline
        assert shell.run("local", "stop").returncode == 0
        stopped = time.monotonic()
        _, err = waiter.communicate(timeout=WITHIN)
    assert time.monotonic() - stopped < 6, "not the many attempts that a service far away gets"
    assert waiter.returncode == 3
    lines = err.splitlines()
    assert lines[-1] == (
        f"azbatch: error: the local service was stopped - `azbatch wait {handle}` starts it again and goes on"
    )
    assert lines[:-1] in ([], ["azbatch: warning: no answer from the local service, trying again"])
    assert shell.run("cancel", handle).returncode == 0


def test_a_service_that_came_back_at_another_address_is_found(
    shell: Shell, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in shell.environment.items():
        monkeypatch.setenv(name, value)
    handle = shell.submit("[{id: a, command: [echo, hi]}]")
    with AzureBatch("local") as batch:
        job = batch.job(handle)
        assert job.wait(WITHIN).state == "succeeded"
        before = batch.account.endpoint
        assert shell.run("local", "stop").returncode == 0
        with socket.create_server(("127.0.0.1", urlsplit(str(before)).port or 0)):
            assert shell.run("local", "start").returncode == 0
        assert job.status().state == "succeeded"
        assert batch.account.endpoint != before


@pytest.mark.parametrize(
    ("kind", "told"),
    [
        (
            ("throttle", "retry-after=0"),
            r"The request rate is too high\. .*\[TooManyRequests\]; trying again in \d\.\d s",
        ),
        (("unavailable",), r"The server is currently unable .*\[ServerBusy\]; trying again in \d\.\d s"),
        (("reset",), "no answer from the local service, trying again"),
    ],
)
def test_a_busy_answer_is_not_called_a_lost_one(shell: Shell, kind: tuple[str, ...], told: str) -> None:
    name, *fields = kind
    fault = ("local", "fault", "add", name, "operation=create_task*", "count=2", *fields)
    assert shell.run("local", "start").returncode == 0
    assert shell.run(*fault).returncode == 0
    done = shell.run("run", "--", "echo", "x")
    assert (done.returncode, done.stdout) == (0, "x\n"), done.stderr
    warned = [line for line in done.stderr.splitlines() if "warning" in line]
    assert warned
    assert all(re.fullmatch(f"azbatch: warning: {told}", line) for line in warned), warned
