"""Images of container tasks and pools: pulled, refused by their registry, not there."""

from __future__ import annotations

import logging
import socket
from typing import TYPE_CHECKING

import pytest
from azure.batch import models
from container_place import Place, container_place, failure_of, machine_of, pool_of, registry_of, settled
from docker_daemon import PASSWORD
from waiting import WITHIN

if TYPE_CHECKING:
    from collections.abc import Iterator

    from docker_daemon import DockerPlace


@pytest.fixture(scope="module")
def place(docker: DockerPlace) -> Iterator[Place]:
    with container_place(docker) as made:
        yield made


def test_an_image_is_pulled_with_the_task_s_login(place: Place, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    place.docker.forget_remote()
    wrong = place.run("echo x", place.docker.remote, registry=registry_of(place.docker, "wrong secret"))
    code, said = failure_of(wrong)
    assert code == "ContainerInvalidRegistry"
    assert "401" in said
    nobody = failure_of(place.run("echo x", place.docker.remote))
    assert nobody[0] == "ContainerInvalidImage"
    assert "no basic auth credentials" in nobody[1]
    task = place.run("echo there", place.docker.remote, registry=registry_of(place.docker))
    assert place.said(task) == "there\n", task.execution_info
    for secret in (PASSWORD, "wrong secret"):
        assert secret not in caplog.text
        assert secret not in str(wrong.as_dict())
        assert secret not in str(task.as_dict())
    assert not list(place.local.state_dir.glob("containers/*")), "no login and no variables are left there"


def test_an_image_that_does_not_exist(place: Place) -> None:
    image = f"{place.docker.server}/far/none:2"
    code, said = failure_of(place.run("echo x", image, registry=registry_of(place.docker)))
    assert code == "ContainerInvalidImage"
    assert f"manifest for {image} not found" in said


def test_a_registry_that_is_not_there(place: Place) -> None:
    registry = models.ContainerRegistryReference(registry_server="127.0.0.1:1", username="u", password="p")
    code, said = failure_of(place.run("echo x", "127.0.0.1:1/image", registry=registry))
    assert code == "ContainerInvalidRegistry"
    assert "connection refused" in said


def test_a_pull_that_hangs_ends_with_its_task(place: Place) -> None:
    with socket.create_server(("127.0.0.1", 0)) as mute:
        mute.settimeout(WITHIN)
        name = place.start("echo x", f"127.0.0.1:{mute.getsockname()[1]}/image")
        caller, _ = mute.accept()
        with caller:
            place.batch.terminate_task("j", name)
            task = place.end(name)
    assert failure_of(task)[0] == "TaskEnded"
    assert (task.execution_info.exit_code, task.execution_info.container_info) == (None, None)


def test_a_pool_s_registry_serves_its_images_and_its_start_task_runs_in_one(
    place: Place,
) -> None:
    place.docker.forget_remote()
    start = models.BatchStartTask(
        command_line="sh -c 'id > $AZ_BATCH_NODE_SHARED_DIR/started'",
        container_settings=models.BatchTaskContainerSettings(image_name=place.docker.remote),
        wait_for_success=True,
    )
    machine = machine_of(
        container_image_names=[place.docker.remote], container_registries=[registry_of(place.docker)]
    )
    place.batch.create_pool(pool_of("fetching", machine, start_task=start))
    (node,) = settled(
        lambda: list(place.batch.list_nodes("fetching")),
        lambda found: found and found[0].state not in {"creating", "starting", "waitingforstarttask"},
    )
    assert node.state == "idle", node.as_dict()
    assert node.start_task_info.container_info.state == "exited"
    assert place.docker.docker("images", "--quiet", place.docker.remote)
    assert PASSWORD not in str(place.batch.get_pool("fetching").as_dict())


@pytest.mark.parametrize(
    ("password", "code"), [(PASSWORD, "ContainerInvalidImage"), ("wrong", "ContainerInvalidRegistry")]
)
def test_a_node_whose_images_cannot_be_had_is_unusable(place: Place, password: str, code: str) -> None:
    machine = machine_of(
        container_image_names=[f"{place.docker.server}/far/none:3"],
        container_registries=[registry_of(place.docker, password)],
    )
    name = f"unusable-{code}"
    place.batch.create_pool(pool_of(name, machine))
    (node,) = settled(
        lambda: list(place.batch.list_nodes(name)),
        lambda found: found and found[0].state not in {"creating", "starting"},
    )
    assert (node.state, node.errors[0].code) == ("unusable", code)
