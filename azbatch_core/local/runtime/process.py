"""The process runtime: commands of nodes run as processes of this machine.

No shell comes in between. A try goes: empty its folder, stage its resource files, run, upload its output
files; whichever step fails or is stopped decides the outcome.
"""

from __future__ import annotations

import asyncio
import logging
import os
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from typing import TYPE_CHECKING, Any, TypeVar

from azbatch_core.local.runtime import directories
from azbatch_core.local.runtime.attempt import Attempt
from azbatch_core.local.runtime.base import NoContainersError
from azbatch_core.local.runtime.children import exit_watcher
from azbatch_core.local.runtime.docker.left import remove_left_behind
from azbatch_core.local.runtime.docker.settings import check, check_reference, mount_options
from azbatch_core.local.runtime.environment import task_environment
from azbatch_core.local.runtime.failures import TaskFailure, failure
from azbatch_core.local.runtime.host import ProcessHost
from azbatch_core.local.runtime.reaper import Reaper, kill_marked, node_mark, state_mark
from azbatch_core.local.runtime.threads import DaemonPool

if TYPE_CHECKING:
    from collections.abc import Coroutine, Mapping, Sequence
    from pathlib import Path

    from azbatch_core.local.clock import Clock
    from azbatch_core.local.runtime.base import Launch, NodePlace, Package, RuntimeConfig
    from azbatch_core.local.runtime.children import ExitWatcher
    from azbatch_core.local.runtime.docker.runtime import Containers
    from azbatch_core.local.runtime.host import Host

log = logging.getLogger(__name__)

_STAGING_THREADS = 8
_DELETING_THREADS = 2
_Result = TypeVar("_Result")


class ProcessRuntime:
    """A `Runtime` of plain processes.

    Belongs to the event loop in which it first launches something.

    Args:
        config: What is the same for all nodes and tasks.
        clock: Tells the times in outcomes and measures wall times.
    """

    def __init__(self, config: RuntimeConfig, clock: Clock) -> None:
        self.config = config
        self.clock = clock
        self.staging = DaemonPool(_STAGING_THREADS, "azbatch-staging")
        self._deleting = ThreadPoolExecutor(_DELETING_THREADS, "azbatch-deleting")
        self._killing = ThreadPoolExecutor(1, "azbatch-killing")
        self.trash = directories.Trash(config.state_dir / "trash", self._deleting)
        self._attempts: dict[Attempt, None] = {}
        self._background: set[asyncio.Task[Any]] = set()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._watcher: ExitWatcher | None = None
        self._reaper: Reaper | None = None
        self._containers: Containers | None = None
        self._null: int | None = None
        self._closed = False
        self._warned = False

    @property
    def loop(self) -> asyncio.AbstractEventLoop:
        """The event loop of this runtime."""
        if self._loop is None:
            self._loop = asyncio.get_running_loop()
        return self._loop

    @property
    def watcher(self) -> ExitWatcher:
        """Tells the ends of processes."""
        if self._watcher is None:
            self._watcher = exit_watcher(self.loop)
        return self._watcher

    @property
    def reaper(self) -> Reaper:
        """Kills what left its process group."""
        if self._reaper is None:
            self._reaper = Reaper(self._killing)
        return self._reaper

    @property
    def null(self) -> int:
        """A descriptor of the null device, every task's standard input."""
        if self._null is None:
            self._null = os.open(os.devnull, os.O_RDONLY | os.O_CLOEXEC)
        return self._null

    def create_node(self, place: NodePlace) -> None:
        """See `Runtime.create_node`."""
        directories.create_node(place.root)

    def remove_node(self, place: NodePlace) -> None:
        """See `Runtime.remove_node`. Processes that left their groups die shortly after the return."""
        for attempt in list(self._attempts):
            if attempt.launch.node.root == place.root:
                attempt.stop("node")
        self.trash.throw(place.root)
        with suppress(RuntimeError):  # no loop runs: then no task of ours does either
            self._start(self.reaper.kill(node_mark(place.root)))

    def halt_node(self, place: NodePlace, *, wipe: bool) -> asyncio.Future[None]:
        """See `Runtime.halt_node`."""
        return self._start(self._halt(place.root, wipe=wipe))

    async def _halt(self, root: Path, *, wipe: bool) -> None:
        await self.reaper.kill(node_mark(root))
        if wipe:
            self.trash.throw(root)

    def send_files(self, url: str, identity: Mapping[str, Any] | None, files: Mapping[str, bytes]) -> None:
        """See `Runtime.send_files`."""
        from azbatch_core.local.runtime.sending import send

        self.staging.submit(lambda: send(url, identity, files, self.config.blobs))

    def launch(self, launch: Launch) -> Attempt:
        """See `Runtime.launch`."""
        if self._closed:
            raise RuntimeError("The runtime is closed")
        attempt = Attempt(self, launch)
        self._attempts[attempt] = None
        attempt.done.add_done_callback(lambda _: self._attempts.pop(attempt, None))
        return attempt

    def install_packages(
        self, place: NodePlace, packages: Sequence[Package]
    ) -> asyncio.Future[dict[str, Any] | None]:
        """See `Runtime.install_packages`."""
        return self._start(self._install(place, packages))

    async def _install(self, place: NodePlace, packages: Sequence[Package]) -> dict[str, Any] | None:
        from azbatch_core.local.runtime.packages import install

        given_up = threading.Event()
        try:
            await asyncio.wrap_future(self.staging.submit(lambda: install(packages, place.root, given_up)))
        except TaskFailure as error:
            return error.info
        finally:
            given_up.set()
        return None

    def fetch_images(
        self, images: Sequence[str], registries: Sequence[Mapping[str, Any]]
    ) -> asyncio.Future[dict[str, Any] | None]:
        """See `Runtime.fetch_images`."""
        return self._start(self._fetch(images, registries))

    async def _fetch(
        self, images: Sequence[str], registries: Sequence[Mapping[str, Any]]
    ) -> dict[str, Any] | None:
        try:
            for image in images:
                check_reference(image)
        except TaskFailure as error:
            return error.info
        if self.config.containers == "host":
            return None
        absence = await self.containers.docker.absence()
        if absence is None:
            return await self.containers.fetch_all(images, registries)
        return None if self.config.containers == "auto" else failure("ContainerMiscError", Message=absence)

    def task_directory(self, place: NodePlace, job_id: str, task_id: str) -> Path:
        """See `Runtime.task_directory`."""
        return directories.task_directory(place.root, job_id, task_id)

    def clear_task(self, place: NodePlace, job_id: str, task_id: str) -> None:
        """See `Runtime.clear_task`."""
        self.trash.throw(directories.task_directory(place.root, job_id, task_id))

    def clear_job(self, place: NodePlace, job_id: str) -> None:
        """See `Runtime.clear_job`."""
        folder = directories.job_directory(place.root, job_id)
        self.trash.throw(folder)
        with suppress(OSError):  # a schedule's folder holds its other jobs
            folder.parent.rmdir()

    def kill_orphans(self) -> None:
        """See `Runtime.kill_orphans`. Also deletes what an earlier service had thrown away."""
        kill_marked((state_mark(self.config.state_dir),))
        remove_left_behind(self.config.state_dir)
        self.trash.empty()

    async def close(self) -> None:
        """See `Runtime.close`."""
        self._closed = True
        attempts = list(self._attempts)
        for attempt in attempts:
            attempt.stop("node")
        if attempts:
            await asyncio.wait([attempt.done for attempt in attempts])
        if self._containers is not None:
            await self._containers.close()
        if self._background:
            await asyncio.wait(self._background)
        self.staging.close()
        await asyncio.to_thread(self._shut_down, sweep=bool(self._watcher))
        if self._null is not None:
            os.close(self._null)
            self._null = None

    async def check_containers(self) -> None:
        """Look whether there can be containers, if commands are to run in them.

        Raises:
            NoContainersError: They are, and there cannot.
        """
        if self.config.containers == "docker":
            absence = await self.containers.docker.absence()
            if absence is not None:
                raise NoContainersError(
                    f"container tasks are to run in Docker, and there is none: {absence};"
                    " start it, or choose `auto` or `host`"
                )

    async def host(self, launch: Launch, directory: Path) -> Host:
        """Where the command of a launch runs.

        Raises:
            TaskFailure: It is to run in a container, and there can be none, here or anywhere.
        """
        environment = task_environment(self.config, launch, directory)
        if launch.container is not None:
            check(launch.container)
        if launch.container is None or self.config.containers == "host":
            return ProcessHost(self, directory, environment)
        absence = await self.containers.docker.absence()
        if absence is None:
            return self.containers.host(launch, directory, environment)
        if self.config.containers == "docker":
            raise TaskFailure("ContainerMiscError", Message=absence)
        self._explain(launch.container, absence, directory)
        return ProcessHost(self, directory, environment)

    @property
    def containers(self) -> Containers:
        """What makes containers; imported with the first one."""
        if self._containers is None:
            from azbatch_core.local.runtime.docker.runtime import Containers

            self._containers = Containers(self)
        return self._containers

    def _explain(self, settings: dict[str, Any], absence: str, directory: Path) -> None:
        """Say in the task's stderr, and once on the console, that container settings have no effect here."""
        image = settings.get("imageName", "")
        mounts = mount_options(settings)
        without = f", without {', '.join(mounts)}" if mounts else ""
        with (directory / "stderr.txt").open("a", encoding="utf-8") as file:
            file.write(
                f"azbatch: no container runtime here ({absence}); this command does not run in {image} "
                f"but on this machine itself{without}\n"
            )
        if not self._warned:
            self._warned = True
            log.warning("Container tasks run on this machine itself: %s", absence)

    def _start(self, work: Coroutine[Any, Any, _Result]) -> asyncio.Task[_Result]:
        try:
            task = asyncio.get_running_loop().create_task(work)
        except RuntimeError:
            work.close()
            raise
        self._background.add(task)
        task.add_done_callback(self._background.discard)
        return task

    def _shut_down(self, *, sweep: bool) -> None:
        for pool in (self._killing, self._deleting):
            pool.shutdown(wait=True)
        if sweep:  # something ran: it may have left what is in no group of a try
            kill_marked((state_mark(self.config.state_dir),))
