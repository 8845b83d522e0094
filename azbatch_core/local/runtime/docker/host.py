"""A host of commands that is a container, made for one try and removed at its end."""

from __future__ import annotations

import asyncio
import json
import logging
import os
import tempfile
from contextlib import suppress
from typing import TYPE_CHECKING, Any, TypeVar

from azbatch_core.local.runtime import commandline
from azbatch_core.local.runtime.docker import settings
from azbatch_core.local.runtime.failures import TaskFailure
from azbatch_core.local.runtime.host import spawn

if TYPE_CHECKING:
    import subprocess
    from collections.abc import Coroutine, Mapping
    from pathlib import Path

    from azbatch_core.local.runtime.base import Launch
    from azbatch_core.local.runtime.docker.cli import Answer
    from azbatch_core.local.runtime.docker.runtime import Containers

log = logging.getLogger(__name__)

_KILL_AGAIN = 0.1
_NO_IMAGE = "No such image"
# Keeps a gang member's container while its two commands run in it, one after the other.
_KEEPER = ("--entrypoint", "sh"), ("-c", "while :; do sleep 3600; done")
_Result = TypeVar("_Result")


class ContainerHost:
    """A `Host` that is a container of the task's image.

    The command is the container's own process. Those of a multi-instance task run inside one after the other,
    beside a process that keeps the container: what the first one left in the background serves the second.
    """

    killed_code = 137

    def __init__(
        self, containers: Containers, launch: Launch, directory: Path, environment: Mapping[str, str]
    ) -> None:
        self.container: dict[str, Any] | None = None
        self._containers = containers
        self._docker = containers.docker
        self._launch = launch
        self._settings = launch.container or {}
        self._image = str(self._settings.get("imageName") or "")
        self._directory = directory
        self._environment = settings.container_environment(launch, environment)
        self._member = launch.coordination_command_line is not None
        self._id: str | None = None
        self._client: subprocess.Popen[bytes] | None = None
        self._killed: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._killing: asyncio.Task[None] | None = None

    async def run(self, command_line: str, *, last: bool = True) -> int:  # noqa: ARG002 - the container's end ends all
        """See `Host.run`."""
        words = self._split(command_line)
        if not self._member:
            self._id = await self._create([], words)
            return await self._watch("start", "--attach", self._id)
        if self._id is None:
            entry, keeper = _KEEPER
            self._id = await self._create([*entry], [*keeper])
            answer = await self._docker.run("start", self._id)
            await self._look(answer)
        return await self._watch("exec", self._id, *words)

    def kill(self) -> None:
        """See `Host.kill`."""
        if not self._killed.done():
            self._killed.set_result(None)
            self._killing = asyncio.get_running_loop().create_task(self._kill())

    async def close(self) -> None:
        """See `Host.close`. The container is gone, and its files belong to the user of this service."""
        if self._killing is not None:
            await self._killing
        if self._id is None:
            return
        if self._member:
            await self._docker.run("kill", self._id)
            with suppress(TaskFailure):  # one that never started has said so before
                await self._look(None)
        await self._give_files_back()
        answer = await self._docker.run("rm", "--force", "--volumes", self._id)
        if answer.code and "No such container" not in answer.said:
            log.warning("Container %s is not removed: %s", self._id, answer.said)

    def _split(self, command_line: str) -> list[str]:
        if not command_line.strip() and not self._member:
            return []  # documented: the image's own entry point and command
        try:
            return commandline.split(command_line)
        except ValueError as error:
            raise TaskFailure("CommandLaunchFailed", CommandLine=command_line, Message=str(error)) from error

    async def _create(self, own: list[str], words: list[str]) -> str:
        """Make the container, pulling the image if it is not here; its id."""
        options = settings.run_options(self._settings)
        lines, rest = settings.environment_arguments(self._environment)
        descriptor, file = tempfile.mkstemp(prefix="env-", dir=self._containers.folder)
        try:
            with os.fdopen(descriptor, "w", encoding="utf-8", errors="replace") as stream:
                stream.write(lines)
            names = ["--env-file", file, *(word for name in rest for word in ("--env", name))]
            arguments = settings.create_arguments(
                self._launch, self._directory, self._user(), self._containers.mark, options, names
            )
            arguments += [*own, "--", self._image, *words]
            answer = await self._try_create(arguments, rest)
            if answer.code and _NO_IMAGE in answer.said:
                await self._unless_killed(self._containers.fetch(self._image, self._registry()))
                answer = await self._try_create(arguments, rest)
        finally:
            os.unlink(file)  # noqa: PTH108 - a name as mkstemp gives it
        if answer.unreachable:
            raise TaskFailure("ContainerMiscError", Message=answer.said)
        if answer.code:
            raise settings.invalid(answer.said)
        found = answer.out.split()[-1]
        if options:
            await self._check_options(found)
        self._note(found, "created", "")
        return found

    async def _try_create(self, arguments: list[str], variables: Mapping[str, str]) -> Answer:
        try:
            return await self._docker.run(*arguments, variables=variables, folder=f"{self._directory}/wd")
        except OSError as error:
            raise settings.invalid(error.strerror or type(error).__name__) from error
        except ValueError as error:
            raise settings.invalid(str(error)) from error

    async def _check_options(self, found: str) -> None:
        """Refuse run options that hold more than options: Docker takes the first other word for the image.

        Then what comes behind, our label too, is part of its command.
        """
        wanted = f'{{{{index .Config.Labels "{settings.STATE_LABEL}"}}}} {{{{.Config.Image}}}}'
        answer = await self._docker.run("inspect", "--format", wanted, found)
        mark, _, image = answer.out.rstrip("\n").rpartition(" ")
        if answer.code == 0 and mark != self._containers.mark:
            await self._docker.run("rm", "--force", found)
            raise settings.invalid(f"Unexpected argument {image} in containerRunOptions")

    def _registry(self) -> settings.Registry:
        return settings.registry_of(self._image, self._settings.get("registry"), self._launch.registries)

    def _user(self) -> str:
        """The one who runs this service, so that he can read and delete the files; root if elevated."""
        auto = (self._launch.user_identity or {}).get("autoUser") or {}
        elevated = str(auto.get("elevationLevel", "")).lower() == "admin"
        if elevated or self._docker.rootless:
            return "0:0"
        return f"{os.getuid()}:{os.getgid()}"

    async def _watch(self, *arguments: str) -> int:
        """Run the client of a command to its end; the command's exit code."""
        runtime = self._containers.runtime
        if self._killed.done():
            raise TaskFailure("TaskEnded")
        ended: asyncio.Future[None] = runtime.loop.create_future()
        client = self._client = spawn(
            ["docker", *arguments], self._directory, self._docker.environment(), runtime.null
        )
        self._note(self._id, "running", "")
        runtime.watcher.watch(client, lambda: ended.set_result(None))
        await ended
        self._client = None
        code = client.wait()
        if self._member:
            return self.killed_code if self._killed.done() else code
        return await self._look(None)

    async def _look(self, started: Answer | None) -> int:
        """Take down how the container stands; its exit code.

        Raises:
            TaskFailure: It did not start, or nobody knows how it stands.
        """
        answer = await self._docker.run("inspect", "--format", "{{json .State}}", self._id or "")
        if answer.code:
            raise TaskFailure("ContainerMiscError", Message=answer.said)
        state = json.loads(answer.out)
        self._note(self._id, state["Status"], state["Error"])
        if state["Status"] == "created" and not self._killed.done():
            raise settings.invalid(state["Error"] or (started.said if started else "") or "It did not start")
        if state["Running"] and started is None:
            # Its client is gone, so nobody would take down what it prints.
            await self._docker.run("kill", self._id or "")
            raise TaskFailure("ContainerMiscError", Message="The connection to the container was lost")
        code: int = state["ExitCode"]
        return code if state["Status"] != "created" else self.killed_code

    def _note(self, container: str | None, state: str, error: str) -> None:
        self.container = {"containerId": container, "state": state, "error": error}

    async def _kill(self) -> None:
        """Kill until the client of the command has noticed: a container that is about to start cannot be."""
        while self._client is not None and self._id is not None:
            await self._docker.run("kill", self._id)
            await asyncio.sleep(_KILL_AGAIN if self._client is not None else 0)

    async def _unless_killed(self, work: Coroutine[Any, Any, _Result]) -> _Result:
        task = asyncio.get_running_loop().create_task(work)
        killed: asyncio.Future[Any] = self._killed
        await asyncio.wait((task, killed), return_when=asyncio.FIRST_COMPLETED)
        if not task.done():
            task.cancel()
            with suppress(asyncio.CancelledError):
                await task
            raise TaskFailure("TaskEnded")
        return task.result()

    async def _give_files_back(self) -> None:
        """Have files of other users in the task's folder belong to this one, by the image's own `chown`.

        Only root can, and this service is not: without it nobody could delete them.
        """
        uid, gid = os.getuid(), os.getgid()
        if uid == 0 or self._docker.rootless:
            return
        answer = await self._docker.run("inspect", "--format", "{{.Config.User}}", self._id or "")
        if answer.code or answer.out.strip() == f"{uid}:{gid}":
            return
        answer = await self._docker.run(
            *("run", "--rm", "--pull", "never", "--network", "none", "--user", "0:0"),
            *("--label", f"{settings.STATE_LABEL}={self._containers.mark}", "--entrypoint", "chown"),
            *("--mount", settings.mount(self._directory, read_only=False)),
            *("--", self._image, "-R", f"{uid}:{gid}", str(self._directory)),
        )
        if answer.code:
            log.warning("Files of root stay in %s: %s", self._directory, answer.said)
