"""A local service whose pool runs containers, with a real Docker daemon."""

from __future__ import annotations

import time
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pytest
from azure.batch import BatchClient, models
from docker_daemon import PASSWORD, USER
from sdk_client import connect
from waiting import WITHIN

from azbatch_core.local import LocalBatch

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from docker_daemon import DockerPlace


@dataclass
class Place:
    """A local service whose pool runs containers, and a client of it."""

    docker: DockerPlace
    batch: BatchClient
    local: LocalBatch
    count: int = 0

    def start(self, command: str, image: str | None = None, options: str = "", **settings: Any) -> str:
        """Add a task; its id. What is not `task_…` is a container setting."""
        self.count += 1
        name = f"t{self.count}"
        fields = {
            key.removeprefix("task_"): settings.pop(key) for key in list(settings) if key.startswith("task_")
        }
        container = models.BatchTaskContainerSettings(
            image_name=image or self.docker.image, container_run_options=options, **settings
        )
        task = models.BatchTaskCreateOptions(
            id=name, command_line=command, container_settings=container, **fields
        )
        self.batch.create_task("j", task)
        return name

    def end(self, name: str) -> models.BatchTask:
        """The task, once it is completed."""
        return settled(lambda: self.batch.get_task("j", name), lambda found: found.state == "completed")

    def run(
        self, command: str, image: str | None = None, options: str = "", **settings: Any
    ) -> models.BatchTask:
        """The task, completed."""
        return self.end(self.start(command, image, options, **settings))

    def said(self, task: models.BatchTask, name: str = "stdout.txt") -> str:
        """A file of a task."""
        return b"".join(self.batch.download_task_file("j", str(task.id), name)).decode()


def settled(look: Callable[[], Any], good: Callable[[Any], bool]) -> Any:
    """What is seen, once it is good."""
    deadline = time.monotonic() + WITHIN
    while not good(found := look()):
        assert time.monotonic() < deadline, found
    return found


def machine_of(**configuration: Any) -> models.VirtualMachineConfiguration:
    """A machine that runs containers."""
    return models.VirtualMachineConfiguration(
        image_reference=models.BatchVmImageReference(
            publisher="microsoft-dsvm", offer="ubuntu-hpc", sku="2204", version="latest"
        ),
        node_agent_sku_id="batch.node.ubuntu 22.04",
        container_configuration=models.BatchContainerConfiguration(type="dockerCompatible", **configuration),
    )


def pool_of(
    name: str, machine: models.VirtualMachineConfiguration, **fields: Any
) -> models.BatchPoolCreateOptions:
    """A pool of one such machine."""
    return models.BatchPoolCreateOptions(
        id=name,
        vm_size="standard_d2s_v3",
        virtual_machine_configuration=machine,
        target_dedicated_nodes=1,
        task_slots_per_node=4,
        **fields,
    )


def registry_of(docker: DockerPlace, password: str = PASSWORD) -> models.ContainerRegistryReference:
    """The registry that asks for a password."""
    return models.ContainerRegistryReference(registry_server=docker.server, username=USER, password=password)


@contextmanager
def container_place(docker: DockerPlace) -> Iterator[Place]:
    """The service, its images there and its pool and job made."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("DOCKER_HOST", docker.host)
        with LocalBatch(containers="docker") as local, connect(local) as batch:
            batch.create_pool(pool_of("p", machine_of(container_image_names=[docker.image])))
            batch.create_job(models.BatchJobCreateOptions(id="j", pool_info={"poolId": "p"}))
            yield Place(docker, batch, local)


def failure_of(task: models.BatchTask) -> tuple[str, str]:
    """Code and Docker's words."""
    info = task.execution_info.failure_info
    return info.code, {pair.name: pair.value for pair in info.details or ()}.get("Message", "")
