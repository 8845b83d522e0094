"""Tools in containers: where they cannot run, and where they take more than they may."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from rig.docker import Docker
    from rig.user import History


def test_without_docker_and_without_an_image_a_job_is_an_error_with_its_reason(
    history: History, docker: Docker
):
    ended = history.run("exits", on="containers", code=0).wait()
    assert ended.state == "error", ended
    assert "the node has no Docker that answers" in ended.info, ended
    docker.start()
    ended = history.run("exits", on="containers", code=0).wait()
    assert ended.state == "error", ended
    assert f"the node cannot get the image {docker.registry}/pulsar:1" in ended.info, ended


@pytest.mark.usefixtures("docker_with_images")
def test_galaxy_submits_again_what_took_too_much_memory(history: History):
    job = history.run("takes_memory", on="little_queue", mebibytes=256)
    greedy = history.run("takes_memory", on="little", mebibytes=2048)
    ended = job.wait()
    assert (ended.state, ended.exit_code) == ("ok", 0), ended
    assert job.outputs["output"].text() == "had 256 MiB\n"
    assert ended.details["external_id"].endswith("-2"), ended
    ended = greedy.wait()
    assert ended.state == "error", ended
    assert "the tool used more memory than it asked for (512 MB) and was killed" in ended.info, ended
    assert ended.details["external_id"].endswith("-2"), ended
