"""Managed pools that grow with their tasks, over hours of a virtual clock."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any

import pytest

from azbatch_core import AccountSpec, AzureBatch, JobSpec, TaskSpec
from azbatch_core.errors import Conflict
from azbatch_core.local import LocalBatch
from azbatch_core.service.connect.clock import Clock
from azbatch_core.service.connect.retry import RetrySettings
from azbatch_core.service.documents import requests

if TYPE_CHECKING:
    from collections.abc import Iterator

MINUTE = 60


class Moved(Clock):
    """Waiting moves the service's clock on."""

    def __init__(self, service: LocalBatch) -> None:
        self._service = service
        self._slept = 0.0

    def monotonic(self) -> float:
        return self._slept

    def sleep(self, seconds: float) -> None:
        self._slept += seconds
        self._service.advance(seconds)


class Place:
    """A service whose tasks only last and whose nodes take two minutes to start, and a client of it."""

    def __init__(self, service: LocalBatch) -> None:
        self.service = service
        self.account = AccountSpec(
            name="grows",
            endpoint=service.endpoint,
            account_name=service.account_name,
            credential="shared_key",
            account_key=service.account_key,
        )
        self.batch = self.client()

    def client(self) -> AzureBatch:
        batch = AzureBatch(self.account)
        batch._connection.clock = Moved(self.service)
        batch._connection._retry = RetrySettings(first_wait=0.01, max_wait=0.1)
        return batch

    def submit(self, tasks: int, seconds: int, **pool: Any) -> str:
        """Submit a job of such tasks; the id of its pool."""
        made = [TaskSpec(command=["sleep", str(seconds)])] * tasks
        plan = self.batch.plan(JobSpec(name="j", tasks=made, pool={"task_slots_per_node": 2, **pool}))
        self.batch.submit(plan)
        assert plan.pool.id is not None
        return plan.pool.id

    def ask(self, *path: str, method: Any = "GET", body: Any = None) -> Any:
        return requests.send(self.batch._connection, method, *path, body=body)

    def nodes(self, pool_id: str) -> int:
        """Nodes that the pool is to have."""
        pool = self.ask("pools", pool_id)
        assert "error" not in pool["autoScaleRun"]
        return int(pool["targetDedicatedNodes"] + pool["targetLowPriorityNodes"])


@pytest.fixture
def place() -> Iterator[Place]:
    with LocalBatch(clock="virtual", model=True, boot_time=120) as service:
        found = Place(service)
        yield found
        found.batch.close()


def test_a_pool_grows_to_its_limit_and_falls_back_to_nothing(place: Place) -> None:
    pool_id = place.submit(20, 20 * MINUTE, max_nodes=5)
    assert place.nodes(pool_id) == 5
    place.service.advance(3 * MINUTE)
    assert {node.state for node in place.batch.nodes(pool_id)} == {"running"}
    place.service.advance(37 * MINUTE)
    assert place.nodes(pool_id) == 5
    for _ in range(25):
        place.service.advance(MINUTE)
    assert place.nodes(pool_id) == 0
    assert list(place.batch.nodes(pool_id)) == []


def test_a_pool_follows_tasks_that_come_later(place: Place) -> None:
    pool_id = place.submit(1, 60 * MINUTE, max_nodes=5)
    assert place.nodes(pool_id) == 1
    place.service.advance(10 * MINUTE)
    job = place.ask("jobs")["value"][0]["id"]
    for number in range(8):
        place.ask("jobs", job, "tasks", method="POST", body={"id": f"l{number}", "commandLine": "sleep 3600"})
    place.service.advance(6 * MINUTE)
    assert place.nodes(pool_id) == 5


def test_a_second_run_uses_the_pool_again_and_one_that_is_empty_starts_at_once(place: Place) -> None:
    pool_id = place.submit(2, MINUTE)
    place.service.advance(4 * MINUTE)
    before = place.ask("pools", pool_id)
    assert place.submit(2, MINUTE) == pool_id
    assert place.ask("pools", pool_id)["eTag"] == before["eTag"]  # it had room, so that nothing was sent
    for _ in range(60):
        place.service.advance(MINUTE)
    assert place.nodes(pool_id) == 0
    assert place.submit(6, MINUTE) == pool_id
    place.service.advance(0)
    assert place.nodes(pool_id) == 3
    assert [pool.id for pool in place.batch.pools()] == [pool_id]


def test_a_job_beside_others_gets_nodes_at_once(place: Place) -> None:
    pool_id = place.submit(2, 60 * MINUTE)
    place.service.advance(10 * MINUTE)
    place.submit(2, 60 * MINUTE)
    place.service.advance(0)
    assert place.nodes(pool_id) == 2


def test_a_run_that_meets_a_pool_on_its_way_to_nothing_waits_for_that(place: Place) -> None:
    pool_id = place.submit(1, MINUTE)
    for _ in range(40):
        place.service.advance(MINUTE)
    assert place.nodes(pool_id) == 0
    place.submit(1, MINUTE, max_nodes=8)
    place.submit(1, MINUTE, max_nodes=9)  # less than 30 seconds after the other
    assert "maxNodes = 9;" in place.ask("pools", pool_id)["autoScaleFormula"]


def test_another_limit_changes_the_pool_in_place(place: Place) -> None:
    pool_id = place.submit(40, 60 * MINUTE, max_nodes=2)
    place.service.advance(5 * MINUTE)
    assert place.submit(1, 60 * MINUTE, max_nodes=6) == pool_id
    place.service.advance(6 * MINUTE)
    assert place.nodes(pool_id) == 6
    assert place.submit(1, 60 * MINUTE) == pool_id  # without a limit of its own
    assert "maxNodes = 6;" in place.ask("pools", pool_id)["autoScaleFormula"]


def test_spot_nodes(place: Place) -> None:
    pool_id = place.submit(4, MINUTE, spot=True)
    pool = place.ask("pools", pool_id)
    assert (pool["targetDedicatedNodes"], pool["targetLowPriorityNodes"]) == (0, 2)
    assert pool_id != place.submit(4, MINUTE)


def test_a_gang_gets_all_of_its_nodes_and_others_their_own(place: Place) -> None:
    def submit(nodes: int) -> str:
        lasts = {"AZBATCH_MODEL_SECONDS": "3600"}
        gang = TaskSpec(command=["train"], gang=nodes, environment=lasts)
        job = place.batch.submit(JobSpec(name="g", tasks=[gang], pool={"max_nodes": 8})).job
        return str(place.ask("jobs", job.id)["poolInfo"]["poolId"])

    pool_id = submit(3)
    assert place.nodes(pool_id) == 3
    place.service.advance(10 * MINUTE)
    assert {node.state for node in place.batch.nodes(pool_id)} == {"running"}
    assert submit(4) == pool_id
    place.service.advance(10 * MINUTE)
    assert place.nodes(pool_id) == 7
    assert {node.state for node in place.batch.nodes(pool_id)} == {"running"}
    assert place.submit(1, 1) != pool_id


def test_two_runs_that_make_the_same_pool_both_succeed(place: Place) -> None:
    ready = threading.Barrier(2, timeout=30)
    errors: list[BaseException] = []

    def run() -> None:
        with place.client() as batch:
            plan = batch.plan(JobSpec(name="j", tasks=[TaskSpec(command=["sleep", "1"])]))
            ready.wait()
            try:
                batch.submit(plan)
            except BaseException as error:  # noqa: BLE001 - told in the test's own thread
                errors.append(error)

    threads = [threading.Thread(target=run) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert errors == []
    assert len(list(place.batch.pools())) == 1
    assert len(place.ask("jobs")["value"]) == 2


def test_a_pool_that_somebody_changed_is_not_used(place: Place) -> None:
    pool_id = place.submit(1, MINUTE)
    place.ask("pools", pool_id, method="PATCH", body={"startTask": {"commandLine": "theirs"}})
    place.submit(1, MINUTE)  # a start task beside what was planned harms nobody
    planned = {"start_task": {"command": ["mine"]}}
    other = place.submit(1, MINUTE, **planned)
    place.ask("pools", other, method="PATCH", body={"startTask": {"commandLine": "theirs"}})
    with pytest.raises(Conflict, match=r"startTask\.commandLine is 'theirs', not 'mine'") as caught:
        place.submit(1, MINUTE, **planned)
    assert other in str(caught.value.hint)


def test_a_formula_of_somebody_elses_is_put_right(place: Place) -> None:
    pool_id = place.submit(1, MINUTE)
    place.service.advance(10 * MINUTE)
    body = {"autoScaleFormula": "$TargetDedicatedNodes = 0;"}
    place.ask("pools", pool_id, "enableautoscale", method="POST", body=body)
    place.service.advance(10 * MINUTE)
    assert place.nodes(pool_id) == 0
    place.submit(1, MINUTE)
    place.service.advance(0)
    assert place.nodes(pool_id) == 1
