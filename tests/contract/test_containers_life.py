"""Containers and the life of the local service: kills, missing daemons, members."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import subprocess
import sys
from typing import TYPE_CHECKING, Any

import pytest
import pytest_asyncio
from docker_daemon import free_port
from waiting import WITHIN, until
from wire_client import Wire

from azbatch_core.local import LocalBatch
from azbatch_core.local.clock import RealClock
from azbatch_core.local.runtime.base import Launch, NoContainersError, NodePlace, RuntimeConfig
from azbatch_core.local.runtime.process import ProcessRuntime
from azbatch_core.local.state import StateDirectory

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from pathlib import Path

    from docker_daemon import DockerPlace

MACHINE = {
    "imageReference": {"publisher": "microsoft-dsvm", "offer": "ubuntu-hpc", "sku": "2204"},
    "nodeAgentSKUId": "batch.node.ubuntu 22.04",
    "containerConfiguration": {"type": "dockerCompatible"},
}


def put(wire: Wire, *words: Any) -> None:
    answer, body = wire.ask(*words)
    assert answer.status < 300, body


def local(state: Path, host: str, *words: str) -> subprocess.CompletedProcess[str]:
    """A command of the service's own program."""
    return subprocess.run(
        [sys.executable, "-m", "azbatch_core.local", words[0], "--state-dir", str(state), *words[1:]],
        env={**os.environ, "DOCKER_HOST": host},
        capture_output=True,
        text=True,
        timeout=WITHIN,
        check=False,
    )


def test_a_killed_service_s_containers_are_gone_before_its_tasks_run_again(
    docker: DockerPlace, tmp_path: Path
) -> None:
    started = local(tmp_path, docker.host, "start")
    assert started.returncode == 0, started.stderr
    endpoint = StateDirectory(tmp_path).announced()
    assert endpoint is not None
    wire = Wire(endpoint)
    pool = {"id": "p", "vmSize": "standard_d2s_v3", "targetDedicatedNodes": 1}
    put(wire, "POST", "/pools", {**pool, "virtualMachineConfiguration": MACHINE})
    put(wire, "POST", "/jobs", {"id": "j", "poolInfo": {"poolId": "p"}})
    task = {"id": "t", "commandLine": "sleep 600", "containerSettings": {"imageName": docker.image}}
    put(wire, "POST", "/jobs/j/tasks", task)
    wire.connection.close()
    (first,) = until(docker.running)
    os.kill(endpoint.pid, signal.SIGKILL)
    assert StateDirectory(tmp_path).wait_until_free(WITHIN)
    try:
        assert docker.running() == [first], "nobody is there to kill it"
        assert local(tmp_path, docker.host, "start").returncode == 0
        (second,) = until(lambda: [found for found in docker.running() if found != first])
        assert docker.containers() == [second]
    finally:
        assert json.loads(local(tmp_path, docker.host, "stop").stdout) == {"stopped": True}
    assert docker.containers() == []


def test_without_a_daemon_a_service_that_is_to_use_it_does_not_start(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    host = f"unix://{tmp_path}/nobody"
    refused = local(tmp_path / "state", host, "start", "--containers", "docker")
    assert refused.returncode == 1
    assert refused.stderr.count("\n") == 1, refused.stderr
    assert "container tasks are to run in Docker, and there is none: " in refused.stderr
    monkeypatch.setenv("DOCKER_HOST", host)
    with pytest.raises(NoContainersError), LocalBatch(containers="docker"):
        pass


@pytest.mark.parametrize("choice", ["auto", "host"])
def test_without_a_daemon_tasks_run_on_the_machine_and_say_so_if_nobody_chose_that(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, choice: Any
) -> None:
    monkeypatch.setenv("DOCKER_HOST", f"unix://{tmp_path}/nobody")
    with LocalBatch(containers=choice) as batch:
        wire = Wire(batch)
        configuration = {"type": "dockerCompatible", "containerImageNames": ["somewhere/image"]}
        machine = {**MACHINE, "containerConfiguration": configuration}
        pool = {"id": "p", "vmSize": "standard_d2s_v3", "targetDedicatedNodes": 1}
        put(wire, "POST", "/pools", {**pool, "virtualMachineConfiguration": machine})
        put(wire, "POST", "/jobs", {"id": "j", "poolInfo": {"poolId": "p"}})
        settings = {"imageName": "somewhere/image", "containerRunOptions": "--rm -v /data:/data"}
        task = {"id": "t", "commandLine": "echo hi", "containerSettings": settings}
        put(wire, "POST", "/jobs/j/tasks", task)
        until(lambda: wire.json("GET", "/jobs/j/tasks/t")["state"] == "completed")
        info = wire.json("GET", "/jobs/j/tasks/t")["executionInfo"]
        assert (info["exitCode"], info.get("containerInfo")) == (0, None)
        said = wire.ask("GET", "/jobs/j/tasks/t/files/stderr.txt")[1].decode()
        wire.connection.close()
    expected = "does not run in somewhere/image but on this machine itself, without -v /data:/data\n"
    assert (expected in said) == (choice == "auto")


class Members:
    """A runtime with two nodes, and a member of one multi-instance task on each."""

    def __init__(self, state_dir: Path, image: str) -> None:
        self.image = image
        config = RuntimeConfig(state_dir, "acct", "http://127.0.0.1:1/acct", containers="docker")
        self.runtime = ProcessRuntime(config, RealClock())
        self.nodes = [NodePlace("pool", f"n{n}", state_dir / f"n{n}", f"127.1.9.{n}") for n in (1, 2)]
        for node in self.nodes:
            self.runtime.create_node(node)

    def launch(self, member: int, coordination: str, command: str = "", options: str = "") -> Any:
        """Begin a try on a node."""
        return self.runtime.launch(
            Launch(
                self.nodes[member],
                "task",
                "job",
                "t",
                command and f"sh -c '{command}'",
                coordination_command_line=f"sh -c '{coordination}'",
                container={"imageName": self.image, "containerRunOptions": options},
                extra_environment={"AZ_BATCH_HOST_LIST": ",".join(node.address for node in self.nodes)},
            )
        )

    def said(self, member: int, name: str = "stdout.txt") -> str:
        """A file of a member."""
        return (self.runtime.task_directory(self.nodes[member], "job", "t") / name).read_text()


@pytest_asyncio.fixture
async def members(
    docker: DockerPlace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> AsyncIterator[Members]:
    monkeypatch.setenv("DOCKER_HOST", docker.host)
    made = Members(tmp_path, docker.image)
    yield made
    await made.runtime.close()
    assert docker.containers() == []


@pytest.mark.asyncio
async def test_members_keep_their_containers_and_find_each_other_by_address(
    members: Members, docker: DockerPlace
) -> None:
    port = free_port()
    ask = f"cat /kept; until nc ${{AZ_BATCH_HOST_LIST#*,}} {port} < /dev/null; do sleep 0.1; done; exit 5"
    serve = f"nc -l -p {port} -e echo hello > /dev/null 2>&1 &"
    subtask = members.launch(1, serve)
    primary = members.launch(0, "echo first > /kept", ask)
    await asyncio.wait_for(asyncio.gather(subtask.coordinated, primary.coordinated), WITHIN)
    assert len(docker.running()) == 2
    primary.proceed()
    outcome = await asyncio.wait_for(primary.done, WITHIN)
    assert members.said(0) == "first\nhello\n", members.said(0, "stderr.txt")
    assert (outcome.exit_code, outcome.container["state"]) == (5, "exited")
    subtask.stop("user")
    ended = await asyncio.wait_for(subtask.done, WITHIN)
    assert (ended.exit_code, ended.failure["code"]) == (137, "TaskEnded")


@pytest.mark.asyncio
async def test_a_coordination_command_that_hangs_is_killed(members: Members, docker: DockerPlace) -> None:
    stuck = members.launch(0, "echo begun; sleep 600")
    while not docker.running() or "begun" not in await asyncio.to_thread(members.said, 0):
        assert not stuck.done.done()
        await asyncio.sleep(0)
    stuck.stop("node")
    outcome = await asyncio.wait_for(stuck.done, WITHIN)
    assert (outcome.stopped, outcome.exit_code) == ("node", 137)


@pytest.mark.asyncio
async def test_a_member_whose_container_does_not_start_leaves_none(members: Members) -> None:
    outcome = await asyncio.wait_for(members.launch(0, "true", options="-u nobody-here").done, WITHIN)
    assert outcome.failure["code"] == "ContainerInvalidSettings"
    assert outcome.exit_code is None
