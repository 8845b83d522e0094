from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, Any

import pytest

from azbatch_core.local.page.history import history

if TYPE_CHECKING:
    from engine_fakes import Service

pytestmark = pytest.mark.asyncio

START_MS = 1_767_225_600_000  # 2026-01-01


def seen(service: Service, since: int = 0) -> dict[str, Any]:
    return history(service.engine, "POOL", str(since))


def steps(found: dict[str, Any]) -> list[list[Any]]:
    """Samples with seconds since the start instead of moments."""
    return [[(sample[0] - START_MS) / 1000, *sample[1:]] for sample in found["samples"]]


async def test_samples_follow_queue_running_target_and_nodes(service: Service) -> None:
    await service.pool(nodes=2)
    service.job()
    for number in range(5):
        service.task(str(number), "sleep 10")
    await service.pass_time(60)
    found = steps(seen(service))
    assert found == [
        [0, 3, 2, 2, {"running": 2}],
        [10, 1, 2, 2, {"running": 2}],
        [20, 0, 1, 2, {"idle": 1, "running": 1}],
        [30, 0, 0, 2, {"idle": 2}],
        [60, 0, 0, 2, {"idle": 2}],
    ]


async def test_many_changes_at_once_are_one_sample_and_none_is_missed(service: Service) -> None:
    await service.pool(nodes=1)
    service.job()
    for number in range(40):
        service.task(str(number), "sleep 0.1")
    await service.pass_time(60)
    found = steps(seen(service))
    assert [row[0] for row in found] == [0, 2, 4, 60]
    assert found[-2][1:] == [0, 0, 1, {"idle": 1}]


async def test_a_queue_that_goes_at_once_is_noticed(service: Service) -> None:
    await service.pool(nodes=0)
    service.job()
    service.task("a")
    service.task("b")
    await service.pass_time(10)
    service.engine.tasks.terminate("job", "a")
    await service.pass_time(10)
    service.engine.jobs.terminate("job", {})
    await service.pass_time(10)
    assert [row[:2] for row in steps(seen(service))] == [[0, 2], [10, 1], [20, 0], [30, 0]]


async def test_samples_since_a_moment_begin_with_the_one_that_held_then(service: Service) -> None:
    await service.pool(nodes=1)
    service.job()
    service.task("a", "sleep 10")
    await service.pass_time(100)
    assert [row[0] for row in steps(seen(service, START_MS + 5_000))] == [0, 10, 100]


async def test_spans_tell_each_try_and_how_it_ended(service: Service) -> None:
    await service.pool(nodes=1)
    service.job()
    service.task("bad", "sleep 1; exit 3", constraints={"maxTaskRetryCount": 1})
    service.task("good", "sleep 1")
    service.task("long", "hang")
    await service.pass_time(5)
    node = service.nodes()[0]["id"]
    spans = seen(service)["spans"]
    assert [span[:4] for span in spans] == [
        [node, "task", "job", name] for name in ("bad", "bad", "good", "long")
    ]
    times = [[(moment - START_MS) // 1000 if moment else moment for moment in span[4:6]] for span in spans]
    assert times == [[0, 1], [1, 2], [2, 3], [3, None]]
    assert [span[6] for span in spans] == ["failure", "failure", "success", "running"]
    service.engine.tasks.terminate("job", "long")
    await service.pass_time(1)
    assert [span[6] for span in seen(service, START_MS + 4_000)["spans"]] == ["stopped"]


async def test_memory_is_bounded_and_the_past_grows_coarse(service: Service) -> None:
    await service.pool(nodes=1)
    service.job()
    for number in range(1000):
        service.task(str(number), "sleep 3")
    await service.pass_time(3_000)
    samples = seen(service)["samples"]
    assert len(samples) <= 601
    assert samples[0][0] < START_MS + 10_000
    gaps = [later[0] - sooner[0] for sooner, later in pairwise(samples)]
    assert max(gaps[-100:-1]) < max(gaps[:100])


async def test_the_history_of_a_pool_goes_with_it(service: Service) -> None:
    await service.pool(nodes=1)
    service.engine.pools.delete("pool")
    await service.pass_time(5)
    await service.pool(nodes=1)
    assert steps(seen(service))[0][0] >= 5


async def test_counts_by_state_are_those_of_the_nodes(service: Service) -> None:
    await service.pool(nodes=3)
    service.job()
    service.task("a", "hang")
    await service.pass_time()
    service.engine.pools.resize(
        "pool", {"targetDedicatedNodes": 1, "nodeDeallocationOption": "taskcompletion"}
    )
    await service.pass_time()
    account = service.engine.account
    states = [node.state for node in account.nodes.values()]
    assert dict(account.history.present(account, account.pools[1]).nodes) == {
        state: states.count(state) for state in states
    }
