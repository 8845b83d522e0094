"""Hundreds of running jobs: asking how they stand costs what one would."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

import pytest
from pulsar_rig import manager_of, until

from azbatch_core import JobSpec, ManagedPool, Resources, TaskSpec
from azbatch_core.errors import Conflict, InvalidRequest, QuotaExceeded, ServiceUnavailable
from azbatch_core.service.connect import sdk
from azbatch_pulsar.destination import parse
from azbatch_pulsar.jobs import Launch
from azbatch_pulsar.runs import Runs

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from azbatch_core import AzureBatch
    from azbatch_core.local import LocalBatch

MANY = 500


@pytest.fixture
def sent(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The paths of the requests that azbatch sends."""
    paths: list[str] = []
    real = sdk.request

    def noting(client: Any, method: Any, path: str, **options: Any) -> Any:
        paths.append(path)
        return real(client, method, path, **options)

    monkeypatch.setattr(sdk, "request", noting)
    return paths


@pytest.fixture(scope="module")
def many(start_service: Callable[..., LocalBatch]) -> Iterator[tuple[Any, list[Any]]]:
    """A manager, and a client for each of many jobs that run."""
    start_service("here", model=True, node_quota=2 * MANY)
    manager = manager_of()
    params = {"azure_batch_instance": "many", "files_endpoint": "http://galaxy/api/jobs/1/files"}
    clients = [manager.get_client(params, str(number)) for number in range(MANY)]
    batch: AzureBatch = manager._accounts["here"]
    pool = ManagedPool(vm_size="standard_d2s_v5", min_nodes=MANY, max_nodes=MANY)

    def submit(client: Any) -> None:
        job_id = client._first
        task = TaskSpec(id="pulsar", command=["sleep", "86400"])
        needs = Resources(cpus=2)
        batch.submit(
            JobSpec(name=job_id, id=job_id, pool=pool, tasks=(task,), resources=needs, wall_time=None)
        )

    submit(clients[0])
    with ThreadPoolExecutor(8) as threads:
        list(threads.map(submit, clients[1:]))
    yield manager, clients
    manager.shutdown()


def test_many_jobs_are_asked_about_in_one_listing(many: tuple[Any, list[Any]], sent: list[str]) -> None:
    manager, clients = many
    runs = manager.runs("here", "many")
    now = [0.0]
    runs.watch.clock = lambda: now[0]

    def running() -> int:
        now[0] += runs.watch.interval
        sent.clear()
        return sum(client.get_status() == "running" for client in clients)

    until(lambda: running() == MANY)
    assert running() == MANY
    assert sent == ["/jobs"], "once they have been seen running, their nodes are not asked"
    assert sum(client.get_status() == "running" for client in clients) == MANY
    assert sent == ["/jobs"], "and nothing within the interval"


class Account:
    """An account whose submission fails as often as it is told to."""

    def __init__(self, *errors: Exception) -> None:
        self.errors = list(errors)
        self.submitted = 0

    def stage(self, *_: Any, **__: Any) -> None:
        """Take the file."""

    def unstage(self, *_: Any, **__: Any) -> None:
        """Give the files up."""

    def submit(self, *_: Any, **__: Any) -> None:
        """Take the job, or not."""
        if self.errors:
            raise self.errors.pop(0)
        self.submitted += 1

    def watch_jobs(self, prefix: str) -> None:
        """Nobody looks."""

    def job_phases(self, prefix: str) -> dict[str, Any]:
        """No job at all."""
        del prefix
        return {}


def launched(account: Account, **options: Any) -> float:
    """How long a launch waited."""
    waited = [0.0]

    def sleep(seconds: float) -> None:
        waited[0] += seconds

    runs = Runs(account, "main", clock=lambda: waited[0], sleep=sleep, **options)  # type: ignore[arg-type]
    wanted = parse({"azure_batch_runtime": "host"})
    runs.launch(Launch("galaxy-main-7", "/s", "/s/7", wanted, "p", "t", (), {}, {}))
    return waited[0]


@pytest.mark.parametrize(
    "error", [QuotaExceeded("full"), ServiceUnavailable("away", retryable=True)], ids=["quota", "away"]
)
def test_a_launch_waits_for_what_may_pass(error: Exception) -> None:
    account = Account(*[error] * 5)
    assert launched(account) > 0
    assert account.submitted == 1


def test_a_launch_does_not_wait_for_ever() -> None:
    account = Account(*[QuotaExceeded("full")] * 10_000)
    with pytest.raises(QuotaExceeded):
        launched(account)
    tries = 10_000 - len(account.errors)
    assert 10 <= tries < 1000


@pytest.mark.parametrize("error", [InvalidRequest("wrong"), Conflict("taken")], ids=["wrong", "conflict"])
def test_a_launch_does_not_wait_for_what_stays(error: Exception) -> None:
    account = Account(error)
    with pytest.raises(type(error)):
        launched(account)
    assert account.errors == []
