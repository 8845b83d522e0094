"""The model runtime: tasks do nothing but last, so that days of a large pool pass in seconds.

There is no process, no folder, no file and no staging. A task itself says how long it lasts and how it ends:

- the environment setting `AZBATCH_MODEL_SECONDS`; without it the time of a command line `sleep TIME`, as
  `sleep` writes it (`90`, `1.5m`, `2h`, `1d`); without both it ends at once.
- the environment setting `AZBATCH_MODEL_EXIT_CODE`; without it 0.

The job's common settings count as for a process. Start, preparation and release tasks follow the same rule.
"""

from __future__ import annotations

import asyncio
import math
import re
import signal
from functools import lru_cache
from typing import TYPE_CHECKING, Any, NamedTuple

from azbatch_core.local.runtime import directories
from azbatch_core.local.runtime.base import Outcome
from azbatch_core.local.runtime.docker.left import remove_left_behind
from azbatch_core.local.runtime.failures import exit_failure, failure, stop_failure
from azbatch_core.local.runtime.reaper import kill_marked, state_mark
from azbatch_core.local.runtime.scripted import scripted

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path

    from azbatch_core.local.clock import Clock
    from azbatch_core.local.runtime.base import Launch, NodePlace, Package, RuntimeConfig, StopCause

__all__ = ["EXIT_CODE", "SECONDS", "ModelRuntime"]

SECONDS = "AZBATCH_MODEL_SECONDS"
EXIT_CODE = "AZBATCH_MODEL_EXIT_CODE"

_SLEEP = re.compile(r"\s*(?:/bin/|/usr/bin/)?sleep\s+(\d+(?:\.\d*)?|\.\d+)([smhd]?)\s*")
_UNITS = {"": 1.0, "s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0}
_LONGEST = 100 * 366 * 86400.0
_KILLED = -signal.SIGKILL


class _Plan(NamedTuple):
    """How a task means to end."""

    seconds: float
    exit_code: int | None
    failure: dict[str, Any] | None


class ModelTry:
    """A `Running` that ends when its time is over. A coordination command takes no time."""

    __slots__ = (
        "_action",
        "_beside",
        "_cause",
        "_clock",
        "_plan",
        "_timer",
        "coordinated",
        "outcome",
        "started",
    )

    def __init__(self, launch: Launch, clock: Clock, beside: dict[ModelTry, None]) -> None:
        self.started = clock.now()
        self.outcome: Outcome | None = None
        self._action: Callable[[Outcome], object] = _nobody
        self.coordinated: asyncio.Future[None] | None = None
        self._clock = clock
        self._beside = beside
        beside[self] = None
        self._cause: StopCause | None = None
        self._plan = _plan(launch)
        limit = launch.wall_time
        if launch.coordination_command_line is not None:
            self.coordinated = asyncio.get_running_loop().create_future()
            clock.call_later(0.0, self._coordinate)
            self._timer = clock.call_later(_LONGEST if limit is None else limit, self._wall_time_over)
        elif limit is not None and limit < self._plan.seconds:
            self._timer = clock.call_later(limit, self._wall_time_over)
        else:
            self._timer = clock.call_later(self._plan.seconds, self._end)

    @property
    def container(self) -> None:
        """See `Running.container`; there is none."""

    def when_over(self, action: Callable[[Outcome], object]) -> None:
        """See `Running.when_over`."""
        self._action = action

    def proceed(self) -> None:
        """See `Running.proceed`."""
        if self._cause is None and self.outcome is None:
            self._clock.call_later(self._plan.seconds, self._end)

    def stop(self, cause: StopCause) -> None:
        """See `Running.stop`."""
        if self._cause is None and self.outcome is None:
            self._cause = cause
            self._timer.cancel()
            self._timer = self._clock.call_later(0.0, self._end)

    def _coordinate(self) -> None:
        if self.coordinated is not None and not self.coordinated.done() and self._cause is None:
            self.coordinated.set_result(None)

    def _wall_time_over(self) -> None:
        self.stop("walltime")

    def _end(self) -> None:
        if self.outcome is not None:
            return
        if self.coordinated is not None:
            self._timer.cancel()
        self._beside.pop(self, None)
        exit_code, failed = self._plan.exit_code, self._plan.failure
        if self._cause is not None:
            exit_code, failed = _KILLED, stop_failure(self._cause)
        self.outcome = Outcome(exit_code, failed, self.started, self._clock.now(), self._cause)
        action, self._action = self._action, _nobody  # it knows who holds this try
        action(self.outcome)


class ModelRuntime:
    """A `Runtime` whose tasks only last.

    Args:
        config: What is the same for all nodes and tasks.
        clock: What the tasks last by.
    """

    def __init__(self, config: RuntimeConfig, clock: Clock) -> None:
        self._config = config
        self._clock = clock
        self._on_node: dict[str, dict[ModelTry, None]] = {}

    def create_node(self, place: NodePlace) -> None:
        """See `Runtime.create_node`; there are no folders."""

    def remove_node(self, place: NodePlace) -> None:
        """See `Runtime.remove_node`."""
        for running in tuple(self._on_node.pop(place.node_id, ())):
            running.stop("node")

    def halt_node(self, place: NodePlace, *, wipe: bool) -> asyncio.Future[None]:  # noqa: ARG002 - no disk
        """See `Runtime.halt_node`; tasks that have ended leave nothing."""
        return _done()

    def send_files(self, url: str, identity: Mapping[str, Any] | None, files: Mapping[str, bytes]) -> None:
        """See `Runtime.send_files`; nothing is written anywhere."""

    def install_packages(
        self,
        place: NodePlace,  # noqa: ARG002 - the protocol's
        packages: Sequence[Package],  # noqa: ARG002 - the protocol's
    ) -> asyncio.Future[dict[str, Any] | None]:
        """See `Runtime.install_packages`; all are as good as there."""
        return _done()

    def fetch_images(
        self,
        images: Sequence[str],  # noqa: ARG002 - the protocol's
        registries: Sequence[Mapping[str, Any]],  # noqa: ARG002 - the protocol's
    ) -> asyncio.Future[dict[str, Any] | None]:
        """See `Runtime.fetch_images`; all are as good as there."""
        return _done()

    def launch(self, launch: Launch) -> ModelTry:
        """See `Runtime.launch`."""
        return ModelTry(launch, self._clock, self._on_node.setdefault(launch.node.node_id, {}))

    def task_directory(self, place: NodePlace, job_id: str, task_id: str) -> Path:
        """See `Runtime.task_directory`: where its files would be."""
        return directories.task_directory(place.root, job_id, task_id)

    def clear_task(self, place: NodePlace, job_id: str, task_id: str) -> None:
        """See `Runtime.clear_task`."""

    def clear_job(self, place: NodePlace, job_id: str) -> None:
        """See `Runtime.clear_job`."""

    def kill_orphans(self) -> None:
        """See `Runtime.kill_orphans`: an earlier service here may have had processes."""
        kill_marked((state_mark(self._config.state_dir),))
        remove_left_behind(self._config.state_dir)

    async def close(self) -> None:
        """See `Runtime.close`."""
        running = [item for node in self._on_node.values() for item in node]
        ends = [asyncio.get_running_loop().create_future() for _ in running]
        for item, end in zip(running, ends, strict=True):
            item.when_over(end.set_result)
            item.stop("node")
        if ends:
            await asyncio.wait(ends)


def _nobody(_: Outcome) -> None:
    """Who is told of the end of a try until somebody wants to be."""


def _done() -> asyncio.Future[Any]:
    future: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
    future.set_result(None)
    return future


def _plan(launch: Launch) -> _Plan:
    if not launch.command_line:
        return _Plan(0.0, 0, None)  # a subtask, which ends with its primary
    fault = launch.fault
    if fault is not None and fault.step == "command":
        return _Plan(0.0, fault.exit_code, exit_failure())
    if fault is not None and fault.step != "upload":
        return _Plan(0.0, None, scripted(fault, launch).info)
    try:
        return _said(launch.environment, launch.command_line)
    except ValueError as error:
        return _Plan(0.0, None, failure("CommandLaunchFailed", Message=f"not a number: {error}"))


@lru_cache(maxsize=4096)
def _said(environment: tuple[tuple[str, str], ...], command_line: str) -> _Plan:
    settings = dict(environment)
    try:
        exit_code = int(settings.get(EXIT_CODE) or 0)
        return _Plan(_seconds(settings, command_line), exit_code, exit_failure() if exit_code else None)
    except ValueError:
        said = (f"{name}={settings[name]!r}" for name in (SECONDS, EXIT_CODE) if name in settings)
        raise ValueError(", ".join(said)) from None


def _seconds(settings: dict[str, str], command_line: str) -> float:
    given = settings.get(SECONDS)
    if given:
        seconds = float(given)
    else:
        found = _SLEEP.fullmatch(command_line)
        seconds = float(found[1]) * _UNITS[found[2]] if found else 0.0
    if not math.isfinite(seconds) or seconds < 0:
        raise ValueError(given)
    return min(seconds, _LONGEST)
