"""A runtime that runs nothing, and an engine on a virtual clock around it."""

from __future__ import annotations

import asyncio
import shutil
from datetime import datetime, timezone
from typing import TYPE_CHECKING, Any

import pytest

from azbatch_core.local.clock import VirtualClock
from azbatch_core.local.engine.engine import Engine
from azbatch_core.local.errors import BatchError
from azbatch_core.local.runtime.base import Launch, NodePlace, Outcome, Package
from azbatch_core.local.settings import Settings

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path

    from azbatch_core.local.runtime.base import StopCause

BASE = "http://127.0.0.1:1"
AUTO = {"autoPoolSpecification": {"poolLifetimeOption": "job", "pool": {"vmSize": "standard_d2"}}}


def failure(code: str = "FailureExitCode") -> dict[str, Any]:
    return {"category": "UserError", "code": code, "message": code}


def refused(code: str) -> Any:
    """What goes on inside is refused with that code."""
    return pytest.raises(BatchError, match=rf"^{code} \(")


class FakeTry:
    """A try whose end is written in its command line.

    `exit 3` ends at once, `sleep 5` after five seconds of the clock, `sleep 5; exit 3` both, `hang` when it
    is stopped, `missing` before there is a process, `upload` after it exited 0.
    """

    def __init__(self, launch: Launch, clock: VirtualClock) -> None:
        self.launch = launch
        self.clock = clock
        self.done: asyncio.Future[Outcome] = asyncio.get_running_loop().create_future()
        self.started = clock.now()
        self.cause: StopCause | None = None
        self.container: dict[str, Any] | None = None
        self.coordinated: asyncio.Future[None] | None = None
        self._ending = False
        if launch.coordination_command_line is None:
            self._run(launch.command_line)
        else:
            self.coordinated = asyncio.get_running_loop().create_future()
            self._run(launch.coordination_command_line, last=False)
        if launch.wall_time is not None:
            clock.call_later(launch.wall_time, lambda: self.stop("walltime"))

    def _run(self, command: str, *, last: bool = True) -> None:
        fault = self.launch.fault
        if fault is not None:
            code = fault.exit_code if fault.step == "command" else None
            self.clock.call_later(0, lambda: self.end(code, failure(fault.code or "FailureExitCode")))
            return
        parts = [part.strip() for part in command.split(";")]
        delay = sum(float(part.split()[1]) for part in parts if part.startswith("sleep"))
        status = next((int(part.split()[1]) for part in parts if part.startswith("exit")), 0)
        failed = failure() if status else None
        exit_code: int | None = status
        if "missing" in parts:
            exit_code, failed = None, failure("CommandProgramNotFound")
        if "upload" in parts:
            failed = failure("FileUploadContainerNotFound")
        if "hang" in parts:
            return
        if last or failed is not None:
            self.clock.call_later(delay, lambda: self.end(exit_code, failed))
        else:
            self.clock.call_later(delay, self._coordinate)

    def _coordinate(self) -> None:
        if self.coordinated is not None and not self.done.done() and not self._ending:
            self.coordinated.set_result(None)

    def end(self, exit_code: int | None, failed: dict[str, Any] | None) -> None:
        """Resolve the try."""
        if not self.done.done():
            self.done.set_result(Outcome(exit_code, failed, self.started, self.clock.now(), self.cause))

    def when_over(self, action: Callable[[Outcome], object]) -> None:
        """Tell of the end."""
        self.done.add_done_callback(lambda done: action(done.result()))

    def proceed(self) -> None:
        """Run the command; a subtask ends in the next turn."""
        if self.coordinated is None or self._ending or self.done.done():
            return
        if self.launch.command_line:
            self._run(self.launch.command_line)
        else:
            self.clock.call_later(0, lambda: self.end(0, None))

    def stop(self, cause: StopCause) -> None:
        """End it in the next turn."""
        if not self.done.done() and not self._ending:
            self._ending = True
            self.cause = cause
            self.clock.call_later(0, lambda: self.end(-9, failure("TaskEnded")))


class FakeRuntime:
    """Keeps a record of all that it was asked for, and makes real (empty) folders."""

    def __init__(self, clock: VirtualClock) -> None:
        self.clock = clock
        self.tries: list[FakeTry] = []
        self.fetches: list[tuple[Any, Any, asyncio.Future[dict[str, Any] | None]]] = []
        self.orphans_killed = 0
        self.installed: list[tuple[str, tuple[Package, ...]]] = []
        self.sent: list[tuple[str, object, dict[str, bytes]]] = []

    @property
    def launches(self) -> list[Launch]:
        """All that was launched, in order."""
        return [item.launch for item in self.tries]

    @property
    def tasks(self) -> list[str]:
        """Ids of the tasks launched so far, in order."""
        return [launch.task_id for launch in self.launches if launch.kind == "task"]

    def alive(self) -> list[str]:
        """Ids of tasks whose tries have not ended."""
        return [item.launch.task_id for item in self.tries if not item.done.done()]

    def create_node(self, place: NodePlace) -> None:
        """Make the folder."""
        place.root.mkdir(parents=True, exist_ok=True)

    def remove_node(self, place: NodePlace) -> None:
        """Remove the folder; nothing may run there."""
        assert not [i for i in self.tries if i.launch.node.node_id == place.node_id and not i.done.done()]
        shutil.rmtree(place.root, ignore_errors=True)

    def halt_node(self, place: NodePlace, *, wipe: bool) -> asyncio.Future[None]:
        """Nothing may run there; wiping takes the folder away."""
        assert not [i for i in self.tries if i.launch.node.node_id == place.node_id and not i.done.done()]
        if wipe:
            shutil.rmtree(place.root, ignore_errors=True)
        halted: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        halted.set_result(None)
        return halted

    def send_files(self, url: str, identity: object, files: Mapping[str, bytes]) -> None:
        """Keep a record."""
        self.sent.append((url, identity, dict(files)))

    def launch(self, launch: Launch) -> FakeTry:
        """Begin a try; no task may run twice at once."""
        key = (launch.job_id, launch.task_id, launch.node.node_id)
        for other in self.tries:
            same = (other.launch.job_id, other.launch.task_id, other.launch.node.node_id) == key
            assert not same or other.done.done(), f"{launch.task_id} runs twice at once"
        if launch.job_id is not None:
            self.task_directory(launch.node, launch.job_id, launch.task_id).mkdir(parents=True, exist_ok=True)
        self.tries.append(FakeTry(launch, self.clock))
        return self.tries[-1]

    def install_packages(
        self, place: NodePlace, packages: Sequence[Package]
    ) -> asyncio.Future[dict[str, Any] | None]:
        """Those that have a file are there at once."""
        self.installed.append((place.node_id, tuple(packages)))
        future: asyncio.Future[dict[str, Any] | None] = asyncio.get_running_loop().create_future()
        missing = [item for item in packages if item.source is None]
        future.set_result(failure("ApplicationPackageError") if missing else None)
        return future

    def fetch_images(
        self, images: Sequence[str], registries: Sequence[Mapping[str, Any]]
    ) -> asyncio.Future[dict[str, Any] | None]:
        """A future for a test to resolve."""
        self.fetches.append((tuple(images), tuple(registries), asyncio.get_running_loop().create_future()))
        return self.fetches[-1][2]

    def task_directory(self, place: NodePlace, job_id: str, task_id: str) -> Path:
        """Where its files are."""
        return place.root / "workitems" / job_id / "job-1" / task_id

    def clear_task(self, place: NodePlace, job_id: str, task_id: str) -> None:
        """Remove its files."""
        shutil.rmtree(self.task_directory(place, job_id, task_id), ignore_errors=True)

    def clear_job(self, place: NodePlace, job_id: str) -> None:
        """Remove its files."""
        shutil.rmtree(place.root / "workitems" / job_id, ignore_errors=True)

    def kill_orphans(self) -> None:
        """Count the call."""
        self.orphans_killed += 1

    async def close(self) -> None:
        """Stop everything."""
        for item in self.tries:
            item.stop("node")
        await asyncio.sleep(0)


class Service:
    """An engine with its clock and runtime, and the calls that tests make most."""

    def __init__(self, folder: Path, **settings: Any) -> None:
        self.folder = folder
        self.settings = Settings(state_dir=folder, account_name="local", endpoint=BASE, **settings)
        self.clock = VirtualClock(datetime(2026, 1, 1, tzinfo=timezone.utc))
        self.runtime = FakeRuntime(self.clock)
        self.engine = Engine(self.settings, self.clock, self.runtime)
        self.heir: Service | None = None

    async def start(self) -> Service:
        """Start the engine."""
        await self.engine.start()
        await self.pass_time()
        return self

    async def pass_time(self, seconds: float = 0.0) -> None:
        """Let time pass."""
        await self.clock.advance(seconds)

    async def killed(self) -> Service:
        """The service after its process was killed and started anew: what was not committed is lost."""
        account = self.engine.account
        account.halt()
        account.store.connection.close()
        heir = Service(self.folder, boot_time=self.settings.boot_time, resize_time=self.settings.resize_time)
        self.heir = heir
        await heir.clock.advance((self.clock.now() - heir.clock.now()).total_seconds() + 1)
        return await heir.start()

    async def stop(self) -> None:
        """Stop it, or whatever took its place."""
        last = self
        while last.heir is not None:
            last = last.heir
        await last.engine.stop()

    async def pool(self, pool_id: str = "pool", nodes: int = 1, **fields: Any) -> dict[str, Any]:
        """Make a pool of the given size and let it come up."""
        self.engine.pools.create(
            {"id": pool_id, "vmSize": "STANDARD_D2S_V3", "targetDedicatedNodes": nodes, **fields}
        )
        await self.pass_time()
        return self.engine.pools.get(pool_id)

    def job(self, job_id: str = "job", pool_id: str = "pool", **fields: Any) -> dict[str, Any]:
        """Make a job."""
        return self.engine.jobs.create({"id": job_id, "poolInfo": {"poolId": pool_id}, **fields})

    def task(
        self, task_id: str, command: str = "exit 0", job_id: str = "job", **fields: Any
    ) -> dict[str, Any]:
        """Add a task."""
        return self.engine.tasks.create(job_id, {"id": task_id, "commandLine": command, **fields})

    def state(self, task_id: str, job_id: str = "job") -> str:
        """A task's state."""
        return str(self.engine.tasks.get(job_id, task_id)["state"])

    def info(self, task_id: str, job_id: str = "job") -> dict[str, Any]:
        """A task's executionInfo."""
        found: dict[str, Any] = self.engine.tasks.get(job_id, task_id)["executionInfo"]
        return found

    def nodes(self, pool_id: str = "pool") -> list[dict[str, Any]]:
        """A pool's nodes."""
        return self.engine.nodes.page(pool_id)[0]

    def counts(self, job_id: str = "job") -> dict[str, int]:
        """A job's task counts."""
        found: dict[str, int] = self.engine.jobs.task_counts(job_id)["taskCounts"]
        return found
