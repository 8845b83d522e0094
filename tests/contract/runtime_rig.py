"""The process runtime with one node, for tests that launch tries themselves."""

from __future__ import annotations

from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

from azbatch_core.local.clock import RealClock
from azbatch_core.local.runtime.base import Launch, NodePlace, Outcome, RuntimeConfig
from azbatch_core.local.runtime.process import ProcessRuntime

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from pathlib import Path

    from azbatch_core.local.clock import Clock
    from azbatch_core.local.runtime.base import BlobPlace


class Rig:
    """A runtime with one node, perhaps with a blob service; its task is `job`/`t`."""

    def __init__(self, state_dir: Path, clock: Clock | None = None, blobs: BlobPlace | None = None) -> None:
        config = RuntimeConfig(state_dir, "acct", "http://127.0.0.1:1/acct", blobs)
        self.state_dir = state_dir
        self.runtime = ProcessRuntime(config, clock or RealClock())
        self.node = NodePlace("pool", "node1", state_dir / "nodes/pool/node1", "127.0.0.1")
        self.runtime.create_node(self.node)

    def launch(self, command: str = "true", **fields: Any) -> Any:
        """Begin a try."""
        values = {"node": self.node, "kind": "task", "job_id": "job", "task_id": "t", **fields}
        return self.runtime.launch(Launch(command_line=command, **values))

    async def run(self, command: str = "true", **fields: Any) -> Outcome:
        """The outcome of a try."""
        outcome: Outcome = await self.launch(command, **fields).done
        return outcome

    async def stage(self, *files: dict[str, Any]) -> Outcome:
        """The outcome of a task that only has resource files."""
        return await self.run(resource_files=files)

    @property
    def task(self) -> Path:
        """The task's directory."""
        return self.runtime.task_directory(self.node, "job", "t")

    def read(self, name: str = "stdout.txt") -> str:
        """A file of the task."""
        return (self.task / name).read_text()

    def staged(self) -> dict[str, str]:
        """What is in the working directory."""
        wd = self.task / "wd"
        return {p.relative_to(wd).as_posix(): p.read_text() for p in wd.rglob("*") if p.is_file()}


@asynccontextmanager
async def rig_of(
    path: Path, clock: Clock | None = None, blobs: BlobPlace | None = None
) -> AsyncIterator[Rig]:
    """A rig whose processes are gone at the end."""
    rig = Rig(path, clock, blobs)
    try:
        yield rig
    finally:
        await rig.runtime.close()


def code_of(outcome: Outcome) -> str | None:
    """The code of a try's failure."""
    return None if outcome.failure is None else outcome.failure["code"]


def details_of(outcome: Outcome) -> dict[str, str]:
    """The details of a try's failure."""
    assert outcome.failure is not None
    return {pair["name"]: pair["value"] for pair in outcome.failure["details"]}
