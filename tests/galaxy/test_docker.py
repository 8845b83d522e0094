"""Nodes that are to run tools in containers, and cannot."""

from __future__ import annotations

from typing import TYPE_CHECKING

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
