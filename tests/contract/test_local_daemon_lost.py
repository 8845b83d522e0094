"""A background service that was killed or whose files were lost: its commands are a way out of each."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

import pytest
import sdk_bodies as bodies
from azure.batch import models
from azure.core.exceptions import ServiceRequestError, ServiceResponseError
from cli_shell import Shell
from daemon_shell import SECONDS, client, has_ended, run, start
from waiting import until

from azbatch_core.local.runtime.reaper import find_marked, state_mark
from azbatch_core.local.state import StateDirectory

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path


def strip(file: Path) -> None:
    """Leave what says where, and lose the key."""
    found = json.loads(file.read_text())
    file.write_text(json.dumps({name: found[name] for name in ("pid", "endpoint")}))


DAMAGE: dict[str, Callable[[Path], object]] = {
    "gone": lambda file: file.unlink(),
    "empty": lambda file: file.write_text(""),
    "broken": lambda file: file.write_text("{"),
    "binary": lambda file: file.write_bytes(b"\xff\xfe"),
    "a list": lambda file: file.write_text("[1]"),
    "without a key": strip,
    "of numbers": lambda file: file.write_text(
        json.dumps({"pid": os.getpid(), "endpoint": 1, "account_key": 2})
    ),
}


@pytest.fixture
def path(tmp_path: Path) -> Iterator[Path]:
    path = tmp_path / "state"
    yield path
    if path.exists():
        assert run("stop", path).returncode == 0


@pytest.fixture(params=DAMAGE)
def damage(request: pytest.FixtureRequest) -> Callable[[Path], object]:
    """What becomes of `endpoint.json`."""
    return DAMAGE[request.param]


def test_a_service_says_again_where_it_listens(path: Path, damage: Callable[[Path], object]) -> None:
    first = start(path)
    damage(path / "endpoint.json")
    assert start(path) == first
    assert json.loads((path / "endpoint.json").read_text()) == first


def test_commands_find_a_service_whose_word_was_damaged(path: Path, damage: Callable[[Path], object]) -> None:
    pid = start(path)["pid"]
    damage(path / "endpoint.json")
    done = Shell(path.parent).run("jobs", "--json", AZBATCH_LOCAL_DIR=str(path))
    assert (done.returncode, done.stdout) == (0, "[]\n")
    announced = StateDirectory(path).running()
    assert announced is not None
    assert announced.pid == pid


@pytest.mark.parametrize("verb", ["stop", "reset"])
def test_a_service_that_cannot_say_where_it_listens_is_ended(path: Path, verb: str) -> None:
    pid = start(path)["pid"]
    os.kill(pid, signal.SIGSTOP)
    (path / "endpoint.json").unlink()
    try:
        said = run("status", path)
        assert (said.returncode, json.loads(said.stdout)["held_by"]) == (1, pid)
        assert f"process {pid}" in run("fault", path, "list").stderr
        served = run("serve", path)
        assert (served.returncode, f"(process {pid})" in served.stderr) == (1, True)
    finally:
        os.kill(pid, signal.SIGCONT)
    assert run(verb, path).returncode == 0
    assert has_ended(pid)


def test_another_process_is_never_taken_for_the_service(path: Path) -> None:
    first = start(path)
    with subprocess.Popen(["/bin/sleep", "600"]) as bystander:
        (path / "endpoint.json").write_text(json.dumps({**first, "pid": bystander.pid}))
        assert run("stop", path).returncode == 0
        assert has_ended(first["pid"])
        assert bystander.poll() is None
        bystander.kill()


@pytest.mark.skipif(sys.platform != "linux", reason="macOS has no setsid")
@pytest.mark.parametrize("verb", ["stop", "reset", "start"])
def test_what_a_killed_service_left_is_ended(path: Path, verb: str) -> None:
    first = start(path)
    with client(first) as batch:
        batch.create_pool(bodies.pool("p", 1))
        batch.create_job(models.BatchJobCreateOptions(id="j", pool_info=models.BatchPoolInfo(pool_id="p")))
        command = "sh -c '(setsid setsid sleep 600 &); exec sleep 600'"
        batch.create_tasks("j", [models.BatchTaskCreateOptions(id="t", command_line=command)])
        left = until(lambda: len(found := find_marked([state_mark(path)])) == 2 and found)
        os.kill(first["pid"], signal.SIGKILL)
    assert StateDirectory(path).wait_until_free(SECONDS)
    assert run(verb, path).returncode == 0
    assert all(has_ended(pid) for pid in left or ())


@pytest.mark.parametrize("words", [["local", "start"], ["jobs"], ["account", "check"]])
def test_a_service_that_cannot_start_is_one_line_and_no_mistake_of_the_caller(
    path: Path, words: list[str]
) -> None:
    start(path)
    run("stop", path)
    with (path / "batch.sqlite3").open("r+b") as file:
        file.write(b"x" * 4096)
    done = Shell(path.parent).run(*words, AZBATCH_LOCAL_DIR=str(path))
    assert done.returncode == 3
    assert done.stderr.count("the local service did not start") == 1
    assert "azbatch local:" not in done.stderr
    assert "azbatch local reset" in done.stderr


LOST = (ServiceResponseError, ServiceRequestError)


@pytest.mark.parametrize("arguments", [(), ("--model", "--clock", "virtual")])
def test_requests_that_are_held_when_it_stops_leave_no_traceback(
    path: Path, arguments: tuple[str, ...]
) -> None:
    endpoint = start(path, *arguments)
    assert run("fault", path, "add", "slow", "operation=list_*", "seconds=600").returncode == 0
    with client(endpoint) as batch, ThreadPoolExecutor(2) as pool:
        asked = [pool.submit(lambda: list(batch.list_jobs())), pool.submit(lambda: list(batch.list_pools()))]
        until(lambda: json.loads(run("fault", path, "list").stdout)["faults"][0]["hits"] == 2)
        assert run("stop", path).returncode == 0
        assert all(
            isinstance(held.exception(), (ServiceResponseError, ServiceRequestError)) for held in asked
        )
    log = (path / "service.log").read_text()
    assert "Traceback" not in log
