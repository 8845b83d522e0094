"""Images: pulled if they are not on this machine, with the login that their registry asks for."""

from __future__ import annotations

import asyncio
import base64
import json
import os
import shutil
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from azbatch_core.local.runtime.failures import TaskFailure

if TYPE_CHECKING:
    from collections.abc import Mapping

    from azbatch_core.local.runtime.docker.cli import Answer, Docker
    from azbatch_core.local.runtime.docker.settings import Registry

_PULL_SECONDS = 3600.0
_HUB = "docker.io"
_HUB_KEY = "https://index.docker.io/v1/"


class Images:
    """Gets images. Who asks for one that is on its way waits for it, too.

    Args:
        docker: The command.
        folder: Where a login is kept, for the time of a pull, readable for this user alone.
    """

    def __init__(self, docker: Docker, folder: Path) -> None:
        self._docker = docker
        self._folder = folder
        self._pulls: dict[tuple[str, Registry], asyncio.Task[None]] = {}

    async def has(self, image: str) -> bool:
        """Whether an image is on this machine."""
        return (await self._docker.run("image", "inspect", "--format", "{{.Id}}", image)).code == 0

    async def pull(self, image: str, registry: Registry) -> None:
        """Pull an image, whether or not it is here. Cancelling the wait lets the pull go on for others.

        Raises:
            TaskFailure: ContainerInvalidRegistry if the login was refused, ContainerInvalidImage if the image
                cannot be had, both with Docker's words; ContainerMiscError if no daemon answers.
        """
        key = (image, registry)
        task = self._pulls.get(key)
        if task is None:
            task = self._pulls[key] = asyncio.get_running_loop().create_task(self._pull(image, registry))
            task.add_done_callback(lambda done: self._forget(key, done))
        await asyncio.shield(task)

    async def close(self) -> None:
        """Give up what is under way."""
        tasks = list(self._pulls.values())
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    def _forget(self, key: tuple[str, Registry], done: asyncio.Task[None]) -> None:
        self._pulls.pop(key, None)
        if not done.cancelled():
            done.exception()  # perhaps nobody waits for it any more

    async def _pull(self, image: str, registry: Registry) -> None:
        if registry.username is None:
            _check(await self._docker.run("pull", "--quiet", image, seconds=_PULL_SECONDS), image)
            return
        folder = Path(tempfile.mkdtemp(prefix="login-", dir=self._folder))
        try:
            _write_login(folder, registry)
            # A folder of its own has no contexts: the daemon has to be named.
            where = await self._docker.run("context", "inspect", "--format", "{{.Endpoints.docker.Host}}")
            variables = {"DOCKER_HOST": where.out.strip()} if where.code == 0 else {}
            await self._login(folder, registry, variables)
            answer = await self._docker.run(
                *("--config", str(folder), "pull", "--quiet", image),
                variables=variables,
                seconds=_PULL_SECONDS,
            )
            _check(answer, image)
        finally:
            shutil.rmtree(folder, ignore_errors=True)

    async def _login(self, folder: Path, registry: Registry, variables: Mapping[str, str]) -> None:
        """Have the registry check the login: a pull would not tell a bad one from a missing image."""
        server = () if registry.server == _HUB else (registry.server,)
        answer = await self._docker.run(
            *("--config", str(folder), "login", "--username", registry.username or "", "--password-stdin"),
            *server,
            given=registry.password,
            variables=variables,
        )
        if answer.unreachable:
            raise TaskFailure("ContainerMiscError", Message=answer.said)
        if answer.code:
            raise TaskFailure("ContainerInvalidRegistry", RegistryServer=registry.server, Message=answer.said)


def _write_login(folder: Path, registry: Registry) -> None:
    # Written before the login: without an entry, docker would hand the password to the desktop's keyring.
    token = base64.b64encode(f"{registry.username}:{registry.password}".encode()).decode()
    server = _HUB_KEY if registry.server == _HUB else registry.server
    descriptor = os.open(folder / "config.json", os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    with os.fdopen(descriptor, "w", encoding="utf-8") as file:
        json.dump({"auths": {server: {"auth": token}}}, file)


def _check(answer: Answer, image: str) -> None:
    if answer.unreachable:
        raise TaskFailure("ContainerMiscError", Message=answer.said)
    if answer.code:
        raise TaskFailure("ContainerInvalidImage", ImageName=image, Message=answer.said)
