"""One try of one task: from its empty folder to its outcome."""

from __future__ import annotations

import asyncio
import logging
import threading
from typing import TYPE_CHECKING, Any

from azbatch_core.local.runtime import directories
from azbatch_core.local.runtime.base import Outcome
from azbatch_core.local.runtime.environment import task_environment
from azbatch_core.local.runtime.failures import (
    TaskFailure,
    disk_failure,
    exit_failure,
    failure,
    stop_failure,
)
from azbatch_core.local.runtime.host import make_output_files
from azbatch_core.local.runtime.scripted import scripted

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from azbatch_core.local.runtime.base import Launch, Package, StopCause
    from azbatch_core.local.runtime.host import Host
    from azbatch_core.local.runtime.process import ProcessRuntime

log = logging.getLogger(__name__)


class Attempt:
    """A `Running` of the process runtime. Begins by itself in the loop's next round."""

    def __init__(self, runtime: ProcessRuntime, launch: Launch) -> None:
        self.launch = launch
        self.started = runtime.clock.now()
        self._runtime = runtime
        self._loop = asyncio.get_running_loop()
        self.done: asyncio.Future[Outcome] = self._loop.create_future()
        self.coordinated: asyncio.Future[None] | None = None
        self._proceeding: asyncio.Future[None] | None = None
        if launch.coordination_command_line is not None:
            self.coordinated = self._loop.create_future()
            self._proceeding = self._loop.create_future()
        self._cause: StopCause | None = None
        self._stopping: asyncio.Future[None] = self._loop.create_future()
        self._node_lost: asyncio.Future[None] = self._loop.create_future()
        self._host: Host | None = None
        self._exit_code: int | None = None
        self._timer = (
            None
            if launch.wall_time is None
            else runtime.clock.call_later(launch.wall_time, self._wall_time_over)
        )
        self._task = self._loop.create_task(self._run())

    def when_over(self, action: Callable[[Outcome], object]) -> None:
        """See `Running.when_over`."""
        self.done.add_done_callback(lambda done: None if done.cancelled() else action(done.result()))

    def stop(self, cause: StopCause) -> None:
        """See `Running.stop`."""
        if self.done.done():
            return
        if cause == "node" and not self._node_lost.done():
            self._node_lost.set_result(None)
        if self._cause is None:
            self._cause = cause
            self._stopping.set_result(None)
            if self._host is not None:
                self._host.kill()

    @property
    def container(self) -> dict[str, Any] | None:
        """See `Running.container`."""
        return None if self._host is None else self._host.container

    def proceed(self) -> None:
        """See `Running.proceed`."""
        if self._proceeding is not None and not self._proceeding.done():
            self._proceeding.set_result(None)

    def _stop_record(self) -> dict[str, Any] | None:
        """The failure of a stopped try, None if it was not stopped so far."""
        return None if self._cause is None else stop_failure(self._cause)

    def _wall_time_over(self) -> None:
        self.stop("walltime")

    async def _run(self) -> None:
        try:
            failed = await self._steps()
        except TaskFailure as error:
            # A folder that goes away under a stopped try is no failure of its own.
            failed = self._stop_record() or error.info
        except Exception as error:  # whatever it is, the engine must learn that the try is over
            log.exception("A try of task %s broke down", self.launch.task_id)
            failed = failure("Unknown", Message=type(error).__name__)
        finally:
            self._cancel_timer()
        self.done.set_result(
            Outcome(
                self._exit_code,
                failed,
                self.started,
                self._runtime.clock.now(),
                self._cause,
                self.container,
            )
        )

    async def _steps(self) -> dict[str, Any] | None:
        if stopped := self._stop_record():
            return stopped
        directory = self._prepare()
        self._strike("folder")
        if self.launch.packages:
            await self._install(self.launch.packages)
        self._strike("download")
        if self.launch.common_resource_files:
            await self._stage(self.launch.common_resource_files, directory)
        if self.launch.resource_files:
            await self._stage(self.launch.resource_files, directory / "wd")
        if stopped := self._stop_record():
            return stopped
        self._strike("image")
        fault = self.launch.fault
        if fault is not None and fault.step == "command":
            self._exit_code = fault.exit_code
            return exit_failure()
        failed = await self._execute(directory)
        # Only what ran has output files; a lost node cannot send any.
        if not self.launch.output_files or self._exit_code is None or self._node_lost.done():
            return failed
        return await self._upload(directory, failed)

    def _strike(self, step: str) -> None:
        """Fail at a step that is to fail on demand."""
        fault = self.launch.fault
        if fault is not None and fault.step == step:
            raise scripted(fault, self.launch)

    def _prepare(self) -> Path:
        """Empty folders; with the output files, unless the command starts at once and makes them."""
        directory = directories.launch_directory(self.launch)
        try:
            self._make_empty(directory)
            if not self._starts_at_once():
                make_output_files(directory)
        except OSError as error:
            raise disk_failure("ResourceDirectoryCreateFailed", error) from error
        return directory

    def _starts_at_once(self) -> bool:
        launch = self.launch
        before = launch.packages or launch.common_resource_files or launch.resource_files
        return not (before or launch.fault or launch.container)

    def _make_empty(self, directory: Path) -> None:
        try:
            directories.prepare_task(directory)
        except FileExistsError:
            self._runtime.trash.throw(directory)
            directories.prepare_task(directory)

    async def _install(self, packages: tuple[Package, ...]) -> None:
        from azbatch_core.local.runtime.packages import install

        root = self.launch.node.root
        await self._in_thread(lambda given_up: install(packages, root, given_up), self._stopping)

    async def _stage(self, files: tuple[dict[str, Any], ...], folder: Path) -> None:
        from azbatch_core.local.runtime.staging import stage

        blobs = self._runtime.config.blobs
        await self._in_thread(lambda given_up: stage(files, folder, blobs, given_up), self._stopping)

    async def _execute(self, directory: Path) -> dict[str, Any] | None:
        host = self._host = await self._runtime.host(self.launch, directory)
        if stopped := self._stop_record():
            return stopped
        try:
            if self.launch.coordination_command_line is None:
                return await self._command(host, self.launch.command_line)
            return await self._execute_member(host, self.launch.coordination_command_line)
        finally:
            await host.close()

    async def _execute_member(self, host: Host, coordination: str) -> dict[str, Any] | None:
        """Both commands of a member of a gang; what the first one left behind goes with the host."""
        failed = await self._command(host, coordination, last=False)
        if failed is not None or self.coordinated is None or self._proceeding is None:
            return failed
        self.coordinated.set_result(None)
        await asyncio.wait({self._proceeding, self._stopping}, return_when=asyncio.FIRST_COMPLETED)
        if stopped := self._stop_record():
            # It was killed, though no process of ours was there to say so.
            self._exit_code = host.killed_code
            return stopped
        if not self.launch.command_line:
            return None
        return await self._command(host, self.launch.command_line)

    async def _command(self, host: Host, command_line: str, *, last: bool = True) -> dict[str, Any] | None:
        """Run a command; its background processes end with it if it is the try's last one."""
        self._exit_code = None
        self._exit_code = await host.run(command_line, last=last)
        if last:
            self._cancel_timer()
        if stopped := self._stop_record():
            return stopped
        return exit_failure() if self._exit_code else None

    async def _upload(self, directory: Path, failed: dict[str, Any] | None) -> dict[str, Any] | None:
        from azbatch_core.local.runtime.upload import upload

        environment = task_environment(self._runtime.config, self.launch, directory)
        try:
            self._strike("upload")
            await self._in_thread(
                lambda given_up: upload(
                    self.launch.output_files,
                    directory,
                    environment,
                    succeeded=failed is None,
                    blobs=self._runtime.config.blobs,
                    given_up=given_up,
                ),
                # The files of a stopped task are sent all the same.
                self._stopping if self._cause is None else self._node_lost,
            )
        except TaskFailure as error:
            return failed or error.info
        return failed or self._stop_record()

    async def _in_thread(self, work: Callable[[threading.Event], None], until: asyncio.Future[None]) -> None:
        """Do work in a staging thread, but return, without waiting for the thread, when `until` is over."""
        given_up = threading.Event()
        future = asyncio.wrap_future(self._runtime.staging.submit(lambda: work(given_up)))
        await asyncio.wait({future, until}, return_when=asyncio.FIRST_COMPLETED)
        if future.done():
            future.result()
        else:
            given_up.set()
            future.cancel()

    def _cancel_timer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
