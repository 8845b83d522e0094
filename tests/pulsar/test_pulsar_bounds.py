"""What bounds a job, and what an end leaves on the node: the same whether or not the tool has a container."""

from __future__ import annotations

import os
import time
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from pulsar_rig import Rig, until

if TYPE_CHECKING:
    from azbatch_core.local import LocalBatch

WAITS = 'touch "$2"; while [ ! -e "$3" ]; do sleep 0.05; done'


@pytest.fixture(params=["host", "docker", "dependent"])
def plain_rig(request: pytest.FixtureRequest) -> Rig:
    """Jobs in every way there is."""
    found: Rig = request.getfixturevalue("docker_rig" if request.param == "docker" else "rig")
    dependent = {"azure_batch_strategy": "dependent_tasks"}
    return replace(found, params=dependent) if request.param == "dependent" else found


def plain_job(rig: Rig, script: str, **options: Any) -> Any:
    """A job whose tool has no container of its own."""
    return rig.job(script, container=None, **options)


def kept(root: Path, job: Any, what: str) -> list[Path]:
    """What nodes still have of that name, of the job."""
    found = (Path(folder, name) for folder, below, files in os.walk(root) for name in (*below, *files))
    return [path for path in found if path.name == what and job.batch_id in str(path)]


def test_the_wall_time_bounds_a_tool_without_a_container(plain_rig: Rig) -> None:
    job = plain_job(plain_rig, "echo begun >$1; echo said; sleep 600", azure_batch_walltime="2s")
    ended = job.launch().wait()
    assert job.reason()[0] == "walltime_reached", job.reason()
    assert (ended["returncode"], ended["stdout"]) == (137, "said\n"), ended
    assert job.output.read_text() == "begun\n"


def test_a_tool_that_does_not_listen_is_gone_after_its_wall_time(rig: Rig) -> None:
    job = plain_job(rig, "trap '' TERM; echo $$ >$1; sleep 600; sleep 600", azure_batch_walltime="3s")
    job.launch().wait()
    assert job.reason()[0] == "walltime_reached"
    process = Path("/proc", job.output.read_text().strip(), "cmdline")
    assert not process.exists() or not process.read_bytes(), "what has ended has no words left"


def test_the_stage_timeout_does_not_bound_the_tool(plain_rig: Rig) -> None:
    job = plain_job(plain_rig, "sleep 9; echo done >$1", azure_batch_stage_timeout="8s")
    ended = job.launch().wait()
    assert (ended["status"], ended["returncode"]) == ("complete", 0), job.reason()
    assert job.output.read_text() == "done\n"


@pytest.mark.parametrize(
    ("method", "name", "way"),
    [("GET", "slow.txt", "inputs to the node"), ("POST", "dataset_1", "outputs to Galaxy")],
)
def test_staging_that_takes_too_long_says_so(plain_rig: Rig, method: str, name: str, way: str) -> None:
    job = plain_job(plain_rig, "cat $2 >$1", inputs={"slow.txt": "x"}, azure_batch_stage_timeout="8s")
    job.arguments = (f"{job.folder}/slow.txt",)
    began = time.monotonic()
    with plain_rig.files.hold(f"{job.job_id}/{name}") as held:
        job.launch()
        ended = job.wait()
        assert held.is_set(), method
    assert time.monotonic() - began < 60, "what cannot succeed is not tried again"
    assert ended["status"] == "failed"
    assert job.reason() == (
        "unknown_error",
        f"bringing the job's {way} took longer than azure_batch_stage_timeout (8 s), and was ended",
    )


def test_what_was_asked_for_is_seen_by_a_tool_without_a_container(plain_rig: Rig) -> None:
    job = plain_job(
        plain_rig,
        "echo $GALAXY_SLOTS $GALAXY_MEMORY_MB >$1",
        azure_batch_cores="2",
        azure_batch_memory="512MiB",
    )
    assert job.launch().wait()["status"] == "complete", job.reason()
    assert job.output.read_text() == "2 512\n"


@pytest.mark.parametrize("container", [None, "tool-here:1"])
def test_a_cancel_in_the_tool_leaves_no_secret_on_the_node(
    plain_rig: Rig, container: str | None, request: pytest.FixtureRequest
) -> None:
    job = plain_rig.job(WAITS, container=container)
    job.arguments = (str(job.mark("begun")), str(job.mark("go")))
    job.launch()
    until(job.mark("begun").exists)
    nothing_is_left(job, request)


@pytest.mark.parametrize("name", ["slow.txt", "dataset_1"])
def test_a_cancel_while_files_are_brought_leaves_no_secret_on_the_node(
    plain_rig: Rig, name: str, request: pytest.FixtureRequest
) -> None:
    job = plain_job(plain_rig, "cat $2 >$1", inputs={"slow.txt": "x"})
    job.arguments = (f"{job.folder}/slow.txt",)
    with plain_rig.files.hold(f"{job.job_id}/{name}") as held:
        job.launch()
        assert held.wait(60)
        nothing_is_left(job, request)


def nothing_is_left(job: Any, request: pytest.FixtureRequest) -> None:
    """Cancel the job, whose keys are on the node, and see them go."""
    name = "docker_service" if job.rig.account == "docked" else "service"
    service: LocalBatch = request.getfixturevalue(name)
    root = Path(service.state_dir)
    assert kept(root, job, "launch_config") or kept(root, job, "secret"), "they are where they are looked for"
    job.new_client().kill()
    assert job.wait()["status"] == "cancelled"
    until(lambda: not kept(root, job, "launch_config") and not kept(root, job, "message.json"))


def test_a_node_without_pulsar_says_so_once(rig: Rig, service: LocalBatch) -> None:
    del service
    job = plain_job(rig, "true", azure_batch_path="/nowhere")
    job.launch().wait()
    text = "there is no pulsar-submit on the node's PATH: set azure_batch_path to the folder that has it"
    assert job.reason() == ("unknown_error", text)
    said = rig.batch.staged("pulsar", f"results/{job.batch_id}/stderr.txt") or b""
    assert said.decode().count("azbatch: ") == 1, said
