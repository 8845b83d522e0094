"""Tools that end in other ways than well, and what tools see."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

import pytest
from pulsar_images import NO_BASH, TOOL

if TYPE_CHECKING:
    from docker_daemon import DockerPlace
    from pulsar_rig import Rig


def test_a_tool_that_is_killed_is_no_success(any_rig: Rig) -> None:
    job = any_rig.job("kill -9 $PPID; kill -9 $$")
    ended = job.launch().wait()
    assert ended["returncode"] == 137, ended


def test_a_tool_that_runs_too_long_is_ended_and_its_outputs_come(any_rig: Rig) -> None:
    job = any_rig.job("echo begun >$1; sleep 600", azure_batch_walltime="2s")
    ended = job.launch().wait()
    reason, message = job.reason()
    assert reason == "walltime_reached"
    assert message == "the tool ran longer than the 2 s that it may, and was ended"
    assert ended["returncode"] == 137, ended
    assert job.output.read_text() == "begun\n"


def test_a_tool_that_takes_too_much_memory(docker_rig: Rig) -> None:
    script = "echo begun >$1; python -c 'x = bytearray(600_000_000)'"
    job = docker_rig.job(script, azure_batch_memory="64MiB")
    job.launch().wait()
    assert job.reason() == (
        "memory_limit_reached",
        "the tool used more memory than it asked for (64 MB) and was killed",
    )
    assert job.output.read_text() == "begun\n"


def test_a_tool_s_image_that_is_not_there(docker_rig: Rig, docker: DockerPlace) -> None:
    begun = time.monotonic()
    image = f"{docker.server}/far/none:2"
    job = docker_rig.job("echo never", container=image)
    ended = job.launch().wait()
    assert ended["status"] == "failed"
    reason, message = job.reason()
    assert reason == "unknown_error"
    assert message.startswith(f"the node cannot get the image {image}: ")
    assert "no basic auth credentials" in message
    assert time.monotonic() - begun < 30


def test_an_image_without_bash_is_said_to_have_none(docker_rig: Rig) -> None:
    job = docker_rig.job("echo never", container=NO_BASH)
    job.launch().wait()
    assert job.reason() == (
        "unknown_error",
        f"the image {NO_BASH} has no /bin/bash, which Galaxy's tool scripts need",
    )


def test_an_image_without_pulsar_is_said_to_have_none(docker_rig: Rig) -> None:
    job = docker_rig.job("echo never", pulsar_container_image=TOOL)
    job.launch().wait()
    assert job.reason() == ("unknown_error", f"there is no pulsar-submit in the image {TOOL}")


def test_what_galaxy_says_of_cores_and_memory_is_seen_by_the_tool(any_rig: Rig) -> None:
    env = [{"name": "GALAXY_SLOTS", "value": "2"}, {"name": "GALAXY_MEMORY_MB", "value": "512"}]
    job = any_rig.job("echo $GALAXY_SLOTS $GALAXY_MEMORY_MB >$1", env=env)
    job.params["env"] = env
    assert job.launch().wait()["status"] == "complete"
    assert job.output.read_text() == "2 512\n"
    assert job.client.destination.resources.cpus == 2


def test_volumes_are_in_both_kinds_of_containers(docker_rig: Rig, docker: DockerPlace) -> None:
    (docker_rig.folder / "reference").write_text("genome")
    job = docker_rig.job("cat $2 >$1; touch $3; while [ ! -e $4 ]; do sleep 0.1; done")
    job.arguments = (f"{docker_rig.folder}/reference", str(job.mark("begun")), str(job.mark("go")))
    with docker_rig.files.hold(f"{job.job_id}/dataset_1") as held:
        job.launch()
        job.mark("go").touch()
        assert held.wait(60)
        (running,) = docker.running()
        mounts = docker.docker("inspect", "-f", "{{json .Mounts}}", running)
        name = docker.docker("inspect", "-f", "{{.Name}}", running)
    assert name.strip().endswith("-finish")
    assert str(docker_rig.folder) in mounts
    assert job.wait()["status"] == "complete"
    assert job.output.read_text() == "genome"


@pytest.mark.parametrize("wanted", ["", "yes"])
def test_the_job_is_pulsar_s_alone_where_there_is_no_container(rig: Rig, wanted: str) -> None:
    job = rig.job(f"echo '{wanted}' >$1", container=None)
    ended = job.launch().wait()
    assert (ended["status"], ended["returncode"]) == ("complete", 0), ended
    assert job.output.read_text() == f"{wanted}\n"
