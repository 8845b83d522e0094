"""Messages by AMQP or by a relay, with Batch asked beside them."""

from __future__ import annotations

import sys
import threading
from typing import TYPE_CHECKING, Any

import pytest
from pulsar.client.exceptions import PulsarClientTransportError
from pulsar_rig import HOST, Rig, until

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from files_endpoint import FilesEndpoint


@pytest.fixture(params=["broker", "relay"])
def queue_rig(
    files: FilesEndpoint,
    service: Any,
    tmp_path: Path,
    start_manager: Callable[..., Any],
    request: pytest.FixtureRequest,
) -> Rig:
    """Jobs whose results come by messages, on a queue of the test's own."""
    del service
    return Rig(files, tmp_path, HOST, start_manager(request.param))


ON_BROKER = pytest.mark.parametrize("queue_rig", ["broker"], indirect=True)


def test_the_final_message_has_the_full_status(queue_rig: Rig) -> None:
    seen: list[dict[str, Any]] = []
    came = threading.Event()

    def note(message: dict[str, Any]) -> None:
        seen.append(message)
        if message["complete"] == "true":
            came.set()

    queue_rig.manager.ensure_has_status_update_callback(note)
    job = queue_rig.job("echo x >$1; exit 2").launch()
    assert came.wait(90)
    assert (seen[-1]["status"], seen[-1]["returncode"]) == ("complete", 2)
    client = job.new_client()
    assert client.full_status() == queue_rig.manager.status_cache[job.job_id]
    assert client.get_status() == "complete"
    client.clean()
    assert job.job_id not in queue_rig.manager.status_cache


def test_a_job_whose_final_message_is_lost_is_complete_all_the_same(queue_rig: Rig) -> None:
    job = queue_rig.job("echo x >$1").launch()  # and nobody listens
    assert job.client.get_status() in {"queued", "running"}
    with pytest.raises(PulsarClientTransportError, match="is not over"):
        job.client.full_status()
    ended = job.wait()
    client = job.new_client()
    assert client.get_status() == "complete"
    assert client.full_status() == ended
    assert ended["returncode"] == 0
    assert job.output.read_text() == "x\n"


def test_an_image_or_node_that_is_not_there_ends_the_job_though_no_message_comes(queue_rig: Rig) -> None:
    job = queue_rig.job("true", azure_batch_path="/nowhere").launch()
    assert job.wait()["status"] == "failed"
    assert "there is no pulsar-submit on the node's PATH" in job.reason()[1]


@ON_BROKER
def test_a_node_whose_pulsar_has_no_kombu_is_told_of(queue_rig: Rig, tmp_path: Path) -> None:
    (tmp_path / "without").mkdir()
    (tmp_path / "without/kombu.py").write_text("raise ImportError")
    python, submit = tmp_path / "python", tmp_path / "pulsar-submit"
    python.write_text(f'#!/bin/sh\nPYTHONPATH={tmp_path}/without exec {sys.executable} "$@"\n')
    submit.write_text(f"#!{python}\n")
    for program in (python, submit):
        program.chmod(0o755)
    job = queue_rig.job("true", azure_batch_path=str(tmp_path)).launch()
    assert job.wait()["status"] == "failed"
    reason = job.reason()[1]
    assert reason.startswith("Pulsar could not prepare the job on the node: ")
    assert "kombu" in reason


def test_a_job_is_killed_by_the_client_of_a_queue_too(queue_rig: Rig) -> None:
    job = queue_rig.job('touch "$2"; sleep 600')
    job.arguments = (str(job.mark("begun")),)
    job.launch()
    until(job.mark("begun").exists)
    job.new_client().kill()
    job.new_client().kill()
    assert job.wait()["status"] == "cancelled"


@ON_BROKER
def test_nodes_may_reach_the_queue_by_another_address(queue_rig: Rig, broker_url: str) -> None:
    queue_rig.manager.url = "amqp://nobody@127.0.0.1:1//"
    job = queue_rig.job("true", azure_batch_message_queue_url=broker_url)
    config = job.new_client().get_pulsar_app_config(
        {},
        container="x",
        wait_after_submission=False,
        manager_name=queue_rig.manager.manager_name,
        manager_type="coexecution",
        dependencies_description=None,
    )
    assert config["message_queue_url"] == broker_url


def test_a_message_of_an_earlier_run_says_nothing_of_the_next_one(queue_rig: Rig) -> None:
    flag = queue_rig.folder / "second"
    job = queue_rig.job('[ -e "$2" ] && echo x >$1 || exit 5')
    job.arguments = (str(flag),)
    came = threading.Event()
    queue_rig.manager.ensure_has_status_update_callback(
        lambda message: came.set() if message["complete"] == "true" else None
    )
    job.launch()
    assert came.wait(90)
    assert job.wait()["returncode"] == 5
    stale = dict(queue_rig.manager.status_cache[job.job_id])
    flag.touch()
    job.launch()
    assert job.new_client().get_status() in {"queued", "running"}
    assert job.wait()["returncode"] == 0
    queue_rig.manager.status_cache[job.job_id] = stale  # it comes late, too
    assert job.new_client().full_status()["returncode"] == 0
