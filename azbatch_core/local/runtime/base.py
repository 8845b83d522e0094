"""The seam between the engine and whatever carries out its commands.

The engine decides what runs where and when; a runtime makes node directories, stages files, runs command
lines and reports how they ended. Every method is called in the thread of the event loop and returns without
waiting for disks, networks or processes; what takes time ends in a future.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime, timezone
from typing import TYPE_CHECKING, Any, Literal, Protocol

if TYPE_CHECKING:
    import asyncio
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path

    from azbatch_core.local.options import ContainerChoice

TaskKind = Literal["task", "start", "preparation", "release"]
StopCause = Literal["user", "walltime", "node", "job"]


class NoContainersError(RuntimeError):
    """Containers were asked for, and there can be none; the message is a line that says why."""


@dataclass(frozen=True)
class BlobPlace:
    """The storage account behind the Batch account, as far as a runtime needs it.

    Attributes:
        endpoint: URL of the account, without a slash at its end.
        account: Name of the storage account.
        key: Its key, base64.
        root: Folder that holds the blobs; None where another server keeps them.
        now: Tells the time that signatures expire by there.
    """

    endpoint: str
    account: str
    key: str = field(repr=False)
    root: Path | None
    now: Callable[[], datetime] = field(default=lambda: datetime.now(timezone.utc), repr=False)


@dataclass(frozen=True)
class RuntimeConfig:
    """What is the same for all nodes and tasks of one service.

    Attributes:
        state_dir: The service's own folder; node directories lie below it.
        account_name: Name of the Batch account (`AZ_BATCH_ACCOUNT_NAME`).
        account_url: URL of the Batch account (`AZ_BATCH_ACCOUNT_URL`).
        blobs: The blob service behind auto-storage containers, None when there is none.
        containers: Where commands with container settings run: `docker`, `host` (this machine itself, as if
            they had none), or `auto`: in Docker if a daemon answers, else on the machine, which they say.
    """

    state_dir: Path
    account_name: str
    account_url: str
    blobs: BlobPlace | None = None
    containers: ContainerChoice = "auto"


@dataclass(frozen=True)
class NodePlace:
    """A node, and the folder that stands for its disk.

    Attributes:
        root: The folder that its tasks see as `AZ_BATCH_NODE_ROOT_DIR`; absolute.
        address: The node's IP address.
    """

    pool_id: str
    node_id: str
    root: Path
    address: str
    is_dedicated: bool = True


@dataclass(frozen=True)
class Package:
    """An application package that a node is to have.

    Attributes:
        application: Id of the application.
        source: The zip file; None if there is none (any more), which fails whoever wants it.
        folder: Name of its folder below the node's `applications`. What is there is not unpacked again.
    """

    application: str
    version: str
    source: Path | None
    folder: str


@dataclass(frozen=True)
class LaunchFault:
    """What is to go wrong with a try, on demand.

    Attributes:
        step: Where: as its folder is made, as resource files or the image are had, in place of its command,
            or as output files are sent.
        code: That of the failure; empty for a command that ended with `exit_code`.
        message: What the failure's details say.
    """

    step: Literal["folder", "download", "image", "command", "upload"]
    code: str = ""
    message: str | None = None
    exit_code: int = 1


@dataclass(slots=True)  # frozen, making one of so many fields takes five times as long
class Launch:
    """One try of one task on one node.

    Attributes:
        job_id: None for start tasks only.
        task_id: For start tasks the engine may give anything, it is not used.
        command_line: Split into arguments without a shell. Empty for a subtask of a multi-instance task.
        coordination_command_line: What a member of a multi-instance task runs first; None for others.
        common_resource_files: `resourceFiles` for the task's directory, the parent of `wd`.
        environment: The job's common settings and the task's own, already merged, in order.
        resource_files: `resourceFiles` as on the wire.
        output_files: `outputFiles` as on the wire.
        wall_time: Seconds on the service's clock, None for no limit. Staging counts.
        attempt: 0 for the first try.
        fault: What is to go wrong, None for nothing.
        extra_environment: Variables that only the engine knows (gangs, application packages); they win.
        container: `containerSettings` as on the wire.
        registries: `containerRegistries` of the node's pool, as on the wire.
        user_identity: `userIdentity` as on the wire; beside a user name, `autoUser` tells its elevation.
        job_prep_id: Id of the job's preparation task, if it has one.
        packages: Application packages that the task asks for; unpacked before its resource files are staged.
    """

    node: NodePlace
    kind: TaskKind
    job_id: str | None
    task_id: str
    command_line: str
    environment: tuple[tuple[str, str], ...] = field(default=(), repr=False)
    resource_files: tuple[dict[str, Any], ...] = field(default=(), repr=False)
    output_files: tuple[dict[str, Any], ...] = field(default=(), repr=False)
    wall_time: float | None = None
    attempt: int = 0
    fault: LaunchFault | None = None
    extra_environment: Mapping[str, str] = field(default_factory=dict, repr=False)
    container: dict[str, Any] | None = field(default=None, repr=False)
    registries: tuple[dict[str, Any], ...] = field(default=(), repr=False)
    user_identity: dict[str, Any] | None = None
    job_prep_id: str | None = None
    coordination_command_line: str | None = None
    common_resource_files: tuple[dict[str, Any], ...] = field(default=(), repr=False)
    packages: tuple[Package, ...] = ()


@dataclass(slots=True)
class Outcome:
    """How a try ended.

    Attributes:
        exit_code: The process's code, minus the signal's number if a signal ended it, None if no process ran.
        failure: `failureInfo` as on the wire; None exactly when the try succeeded.
        started: When staging began.
        ended: When all was over, uploads too.
        stopped: The cause given to `Running.stop` (or the wall time), None if the try ended by itself.
        container: `containerInfo` as on the wire, None if no container was made.
    """

    exit_code: int | None
    failure: dict[str, Any] | None
    started: datetime
    ended: datetime
    stopped: StopCause | None = None
    container: dict[str, Any] | None = None

    @property
    def succeeded(self) -> bool:
        """Whether the task's `result` is `success`."""
        return self.failure is None


class Running(Protocol):
    """A try that is under way.

    A member of a multi-instance task (`Launch.coordination_command_line`) stages its files, runs that command
    and, when it has returned 0, stays as it is until `proceed`: what the command left in the background lives
    on and is killed at the end of the try. Both commands share a folder, output files and, if the task has
    one, a container. A coordination command that fails ends the try like any other command.
    """

    started: datetime
    """When staging began: `executionInfo.startTime`."""

    @property
    def container(self) -> dict[str, Any] | None:
        """`containerInfo` as on the wire, as far as it is known; None while there is no container."""

    coordinated: asyncio.Future[None] | None
    """Resolved when a member's coordination command has returned 0; never, if it ends before.

    None for others.
    """

    def when_over(self, action: Callable[[Outcome], object]) -> None:
        """Have `action` called, once, when all is over: never during the call of `launch` or `stop`.

        One action can be given, before the loop's next turn.
        """

    def proceed(self) -> None:
        """Let a coordinated member go on: run its command line or, without one, end as it is.

        Without effect on a try that has ended or is being stopped.
        """

    def stop(self, cause: StopCause) -> None:
        """Kill the try with all its processes. Its end follows. Without effect on one that has ended.

        The first cause counts. Output files of a command that has run are uploaded after all causes but
        `node`, which also ends uploads that are under way.
        """


class Runtime(Protocol):
    """Carries out what the engine decides."""

    def create_node(self, place: NodePlace) -> None:
        """On return the node's folders exist; those that were there are kept with their contents."""

    def remove_node(self, place: NodePlace) -> None:
        """Stop what runs there (cause `node`). On return the node's root is gone."""

    def halt_node(self, place: NodePlace, *, wipe: bool) -> asyncio.Future[None]:
        """Kill what tasks that have ended left behind on a node; with `wipe`, its root goes, too.

        Resolved, never with an exception, once no process of the node is alive.
        """

    def send_files(self, url: str, identity: Mapping[str, Any] | None, files: Mapping[str, bytes]) -> None:
        """Begin to write blobs into a container, by its URL with a signature or by an identity.

        Failures are logged and told to nobody.
        """

    def launch(self, launch: Launch) -> Running:
        """Begin a try. The task's directory is emptied first.

        Raises nothing that has to do with the task: whatever is wrong with it is in the outcome.
        """

    def install_packages(
        self, place: NodePlace, packages: Sequence[Package]
    ) -> asyncio.Future[dict[str, Any] | None]:
        """Unpack application packages on a node; resolves with the `failureInfo` of what cannot be had."""

    def fetch_images(
        self, images: Sequence[str], registries: Sequence[Mapping[str, Any]]
    ) -> asyncio.Future[dict[str, Any] | None]:
        """Have container images on this machine; resolves with the `failureInfo` of what cannot be had.

        Where commands with container settings run on the machine itself, there is nothing to have.

        Args:
            images: `containerImageNames` as on the wire.
            registries: `containerRegistries` as on the wire.
        """

    def task_directory(self, place: NodePlace, job_id: str, task_id: str) -> Path:
        """Where a task's files are (or would be). Preparation and release tasks go by their ids, too."""

    def clear_task(self, place: NodePlace, job_id: str, task_id: str) -> None:
        """On return the directory of a task that no longer runs is gone. None there is fine."""

    def clear_job(self, place: NodePlace, job_id: str) -> None:
        """On return all directories of a job are gone from the node. None there is fine."""

    def kill_orphans(self) -> None:
        """On return no process that an earlier service with this state directory started is alive.

        Call it before the first `launch`.
        """

    async def close(self) -> None:
        """Stop everything (cause `node`). On return all outcomes are in and nothing is left running.

        Nor is what tasks that have ended left behind.
        """
