"""Running the `docker` command without holding up the event loop."""

from __future__ import annotations

import asyncio
import os
import shutil
import time
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

_PATIENCE = 300.0  # seconds; documented: the node agent waits as long for its client (changelog 1.11.3)
_ASK_SECONDS = 10.0
_ASK_AGAIN = 10.0
_KEPT = {"PATH", "HOME", "SSH_AUTH_SOCK", "XDG_RUNTIME_DIR"}
_UNREACHABLE = (
    "Cannot connect to the Docker daemon",
    "failed to connect to the docker API",
    "error during connect",
    "permission denied while trying",
)


@dataclass(frozen=True)
class Answer:
    """What a run of `docker` left: its exit code, its output and its words about an error, in one line."""

    code: int
    out: str
    said: str

    @property
    def unreachable(self) -> bool:
        """Whether it failed because no daemon answered."""
        return self.code != 0 and self.said.startswith(_UNREACHABLE)


class Docker:
    """The `docker` command and the daemon that it reaches: `DOCKER_HOST`, its context or the default socket.

    Attributes:
        rootless: Whether the daemon runs without privileges, so that its root is the user who started it.
            Known after `absence`.
    """

    def __init__(self) -> None:
        self.rootless = False
        self._absence: str | None = None
        self._asked: float | None = None
        self._lock = asyncio.Lock()

    async def absence(self) -> str | None:
        """Why no containers can be run, in one line; None if a daemon answers.

        The answer is remembered: yes until a command does not reach the daemon, no for ten seconds.
        """
        async with self._lock:
            if not self._is_known():
                self._absence = await self._ask()
                self._asked = time.monotonic()
            return self._absence

    def environment(self) -> dict[str, str]:
        """The variables of the `docker` command itself: nothing but what it needs to find its daemon."""
        return {
            name: value for name, value in os.environ.items() if name in _KEPT or name.startswith("DOCKER_")
        }

    async def run(
        self,
        *arguments: str,
        given: str | None = None,
        variables: Mapping[str, str] | None = None,
        folder: str | None = None,
        seconds: float = _PATIENCE,
    ) -> Answer:
        """Run `docker` to its end; killed after `seconds`, which reads as code 124.

        Args:
            arguments: What follows `docker`.
            given: Its standard input.
            variables: More variables of its environment; those it needs itself win.
            folder: Its working folder.
            seconds: How long it may take.

        Raises:
            OSError: It cannot be started.
            ValueError: An argument holds what the system cannot take.
        """
        process = await asyncio.create_subprocess_exec(
            "docker",
            *arguments,
            stdin=asyncio.subprocess.DEVNULL if given is None else asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
            env={**(variables or {}), **self.environment()},
            cwd=folder,
            start_new_session=True,
        )
        try:
            out, err = await asyncio.wait_for(
                process.communicate(None if given is None else given.encode()), seconds
            )
        except asyncio.TimeoutError:
            return Answer(124, "", f"docker {arguments[0]} gave no answer within {seconds:.0f} seconds")
        finally:
            if process.returncode is None:
                with suppress(ProcessLookupError):
                    process.kill()
                await process.wait()
        answer = Answer(process.returncode or 0, out.decode(errors="replace"), words(err))
        if answer.unreachable:
            self._asked = None
        return answer

    def _is_known(self) -> bool:
        if self._asked is None:
            return False
        return self._absence is None or time.monotonic() - self._asked < _ASK_AGAIN

    async def _ask(self) -> str | None:
        if shutil.which("docker") is None:
            return "no docker command on PATH"
        try:
            answer = await self.run("version", "--format", "{{.Server.Version}}", seconds=_ASK_SECONDS)
            if answer.code:
                return answer.said or "docker version failed"
            options = await self.run("info", "--format", "{{json .SecurityOptions}}", seconds=_ASK_SECONDS)
        except OSError as error:
            return f"docker cannot be run: {error.strerror}"
        self.rootless = "rootless" in options.out
        return None


def words(err: bytes) -> str:
    """What `docker` said on its standard error, in one line and without its advice to read the help."""
    lines = [line.strip() for line in err.decode(errors="replace").splitlines()]
    kept: list[str] = []
    for line in lines:
        if kept and (not line or line.startswith(("See 'docker", "Run 'docker"))):
            break
        if line and not line.startswith(("time=", "WARNING")):
            kept.append(line.removeprefix("docker: ").removeprefix("ERROR: "))
    return " ".join(kept)
