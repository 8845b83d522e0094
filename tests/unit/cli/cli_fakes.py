"""A client made of plain records: no service, no sockets. Its answers are set by tests."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from datetime import datetime, timedelta, timezone
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, Protocol

from azbatch_core.errors import NotFound
from azbatch_core.service.job_names import split_handle
from azbatch_core.service.states import (
    JobState,
    JobStatus,
    MemberStatus,
    Submission,
    TaskAddResult,
    TaskState,
    TaskStatus,
)
from azbatch_core.service.summaries import (
    AccountCheck,
    Explanation,
    FileInfo,
    JobSummary,
    LogChunk,
    NodeSummary,
    PoolSummary,
)

if TYPE_CHECKING:
    from typing_extensions import Self

T0 = datetime(2026, 3, 1, 12, 0, 0, tzinfo=timezone.utc)


def done(task_id: str = "t1", exit_code: int | None = 0, **more: Any) -> TaskStatus:
    """A task that ran on node-1 for two seconds."""
    state = TaskState.SUCCEEDED if exit_code == 0 else TaskState.FAILED
    known: dict[str, Any] = {
        "state": state,
        "exit_code": exit_code,
        "node_id": "node-1",
        "pool_id": "pool-1",
        "started": T0,
        "ended": T0 + timedelta(seconds=2),
    }
    return TaskStatus(task_id, **{**known, **more})


@dataclass
class FakeJob:
    """A job handle whose answers a test sets."""

    account: str = "local"
    id: str = "job-1"
    listed: list[TaskStatus] = field(default_factory=lambda: [done()])
    chunks: list[LogChunk] = field(default_factory=list)
    reasons: list[Explanation] = field(default_factory=list)
    updates: list[JobStatus] = field(default_factory=list)
    found_files: list[FileInfo] = field(default_factory=list)
    state: JobState | None = None
    reason: str | None = None
    raises: dict[str, BaseException] = field(default_factory=dict)
    there: bool = True
    goes_on: bool = True
    time: datetime | None = None
    gang_members: dict[str, tuple[MemberStatus, ...]] = field(default_factory=dict)
    on_cancel: Callable[[], object] = lambda: None
    calls: list[tuple[Any, ...]] = field(default_factory=list)

    @property
    def handle(self) -> str:
        return f"{self.account}:{self.id}"

    def _called(self, name: str, *arguments: Any) -> None:
        self.calls.append((name, *arguments))
        if name in self.raises:
            raise self.raises[name]

    def status(self) -> JobStatus:
        self._called("status")
        counts: dict[TaskState, int] = {}
        for task in self.listed:
            counts[task.state] = counts.get(task.state, 0) + 1
        good = set(counts) <= {TaskState.SUCCEEDED}
        return JobStatus(
            self.handle,
            self.id,
            self.state or (JobState.SUCCEEDED if good else JobState.FAILED),
            counts,
            len(self.listed),
            "pool-1",
            T0,
            T0,
            T0 + timedelta(seconds=3),
            self.reason,
            tuple(task for task in self.listed if task.state is TaskState.FAILED)[:10],
            gangs=tuple(task for task in self.listed if task.nodes),
        )

    def wait(
        self, timeout: float | None = None, on_update: Callable[[JobStatus], None] | None = None
    ) -> JobStatus:
        for update in self.updates:
            if on_update is not None:
                on_update(update)
        self._called("wait", timeout)
        return self.status()

    def tasks(self, states: Any = None) -> Iterator[TaskStatus]:
        self._called("tasks", states)
        return iter([task for task in self.listed if states is None or task.state in states])

    def logs(
        self,
        task_id: str | None = None,
        stream: str = "stdout",
        *,
        follow: bool = False,
        member: int | None = None,
    ) -> Iterator[LogChunk]:
        yield from (chunk for chunk in self.chunks if member in {None, chunk.member})
        self._called("logs", task_id, stream, follow)

    def members(self, task_id: str) -> tuple[MemberStatus, ...]:
        return self.gang_members[task_id]

    def exists(self) -> bool:
        return self.there

    def cancel(self) -> bool:
        self._called("cancel")
        self.on_cancel()
        return self.there and self.goes_on

    def delete(self, *, wait: bool = False, timeout: float = 600.0) -> None:  # noqa: ARG002 - the real signature
        self._called("delete", wait)

    def virtual_time(self) -> datetime | None:
        return self.time

    def why(self) -> list[Explanation]:
        self._called("why")
        return self.reasons

    def files(self, task_id: str) -> Iterator[FileInfo]:
        self._called("files", task_id)
        return iter(self.found_files)

    def download(self, task_id: str, path: str, dest: Path) -> None:
        self._called("download", task_id, path, dest)
        target = dest / Path(path).name if dest.is_dir() else dest
        target.write_bytes(b"\x00content\xff")


@dataclass
class FakePlan:
    """What the command line looks at in a plan."""

    account: str = "local"
    job_id: str = "job-1"
    tasks: tuple[Any, ...] = (SimpleNamespace(body={}),)
    warnings: tuple[str, ...] = ()
    pool: Any = field(default_factory=lambda: SimpleNamespace(id="pool-1"))

    def to_json(self) -> dict[str, Any]:
        return {"job_id": self.job_id, "secret": "***"}

    def to_table(self) -> str:
        return "the plan as a table"


class FakeBatch:
    """A client whose answers a test sets, and which remembers what was asked of it."""

    def __init__(self) -> None:
        self.opened: list[str | None] = []
        self.planned: list[Any] = []
        self.submitted: list[tuple[Any, bool]] = []
        self.deleted_pools: list[tuple[str, bool]] = []
        self.fake_job = FakeJob()
        self.fake_plan = FakePlan()
        self.results: list[TaskAddResult] = [TaskAddResult("t1", "added")]
        self.raises: dict[str, BaseException] = {}
        self.found_jobs: list[JobSummary] = []
        self.others_jobs: list[JobSummary] = []
        self.found_pools: list[PoolSummary] = []
        self.found_nodes: list[NodeSummary] = []
        self.mine: list[bool] = []
        self.limits: list[int | None] = []
        self.resized: list[tuple[str, int | None, int | None]] = []
        self.account_check = AccountCheck("local", "http://127.0.0.1:1", True, ())

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        return None

    def _called(self, name: str) -> None:
        if name in self.raises:
            raise self.raises[name]

    def plan(self, job: Any) -> FakePlan:
        self._called("plan")
        self.planned.append(job)
        return self.fake_plan

    def submit(
        self, plan: Any, *, recreate: bool = False, on_progress: Callable[[int], None] | None = None
    ) -> Submission:
        if on_progress is not None:
            on_progress(1)
        self._called("submit")
        self.submitted.append((plan, recreate))
        return Submission(self.fake_job, self.results)  # type: ignore[arg-type]

    def job(self, job_id: str) -> FakeJob:
        self.fake_job.id = split_handle(job_id)[1]
        return self.fake_job

    @property
    def account(self) -> Any:
        return SimpleNamespace(name=self.opened[-1] or "local")

    def jobs(self, *, mine: bool = True, limit: int | None = None) -> Iterator[JobSummary]:
        self._called("jobs")
        self.mine.append(mine)
        self.limits.append(limit)
        found = self.found_jobs if mine else [*self.found_jobs, *self.others_jobs]
        return iter(found[:limit])

    def pool(self, pool_id: str) -> PoolSummary:
        for pool in self.found_pools:
            if pool.id.lower() == pool_id.lower():
                return pool
        raise NotFound(f"the account local has no pool {pool_id!r}", hint="`azbatch pools` lists them")

    def resize_pool(self, pool_id: str, *, nodes: int | None = None, spot_nodes: int | None = None) -> None:
        self._called("resize_pool")
        self.resized.append((pool_id, nodes, spot_nodes))

    def pools(self) -> Iterator[PoolSummary]:
        return iter(self.found_pools)

    def delete_pool(self, pool_id: str, *, wait: bool = False, timeout: float = 900.0) -> None:  # noqa: ARG002 - real
        self._called(f"delete_pool {pool_id}")
        self.deleted_pools.append((pool_id, wait))

    def nodes(self, pool_id: str) -> Iterator[NodeSummary]:  # noqa: ARG002 - the real signature
        self._called("nodes")
        return iter(self.found_nodes)

    def virtual_time(self) -> datetime | None:
        return self.fake_job.time

    def check(self) -> AccountCheck:
        return self.account_check


@dataclass(frozen=True)
class Result:
    """What a call of the command left behind."""

    code: int
    out: str
    err: str


class Azbatch(Protocol):
    """Call the command with these words."""

    def __call__(self, *words: str) -> Result: ...


class MakeTask(Protocol):
    """A task that has run: `make_task("t1", 3)` failed with exit code 3."""

    def __call__(self, task_id: str = ..., exit_code: int | None = ..., **more: Any) -> TaskStatus: ...


Terminal = Callable[[int], None]
Chunk = type[LogChunk]
