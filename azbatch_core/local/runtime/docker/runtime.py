"""The containers of one service: how they are made and their images."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from azbatch_core.local.runtime.docker.cli import Docker
from azbatch_core.local.runtime.docker.host import ContainerHost
from azbatch_core.local.runtime.docker.images import Images
from azbatch_core.local.runtime.docker.left import FOLDER
from azbatch_core.local.runtime.docker.settings import Registry, registry_of
from azbatch_core.local.runtime.failures import TaskFailure

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from azbatch_core.local.runtime.base import Launch
    from azbatch_core.local.runtime.process import ProcessRuntime


class Containers:
    """What the runtime needs of Docker.

    Args:
        runtime: Whose containers they are.

    Attributes:
        docker: The command.
        mark: Value of the label that all containers of this service's state directory carry.
        folder: Where files for the `docker` command are for a moment. Its existence tells the next service
            that there may be containers.
    """

    def __init__(self, runtime: ProcessRuntime) -> None:
        self.runtime = runtime
        self.docker = Docker()
        self.mark = str(runtime.config.state_dir)
        self.folder = runtime.config.state_dir / FOLDER
        self._images = Images(self.docker, self.folder)

    def host(self, launch: Launch, directory: Path, environment: Mapping[str, str]) -> ContainerHost:
        """A host for a launch with container settings."""
        self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        return ContainerHost(self, launch, directory, environment)

    async def fetch(self, image: str, registry: Registry) -> None:
        """Pull an image unless it is here; see `Images.pull`."""
        if not await self._images.has(image):
            await self._images.pull(image, registry)

    async def fetch_all(
        self, images: Sequence[str], registries: Sequence[Mapping[str, Any]]
    ) -> dict[str, Any] | None:
        """Pull those images that are not here; the `failureInfo` of the first that cannot be had."""
        self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        try:
            for image in images:
                await self.fetch(image, registry_of(image, None, registries))
        except TaskFailure as error:
            return error.info
        return None

    async def close(self) -> None:
        """Give up what is being pulled."""
        await self._images.close()
