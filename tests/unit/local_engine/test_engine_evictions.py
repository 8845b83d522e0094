"""Work that a node is to get rid of."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from engine_fakes import Service

pytestmark = pytest.mark.asyncio

PREPARATION = {"id": "prepares", "commandLine": "sleep 10"}


async def test_a_leaving_node_lets_the_preparation_finish_that_its_tasks_wait_for(service: Service) -> None:
    await service.pool()
    service.job(jobPreparationTask=PREPARATION)
    service.task("t", "sleep 5")
    await service.pass_time(1)
    assert service.state("t") == "preparing"
    service.engine.pools.resize(
        "pool", {"targetDedicatedNodes": 0, "nodeDeallocationOption": "taskcompletion"}
    )
    await service.pass_time(5)
    assert service.nodes()[0]["state"] == "leavingpool"
    await service.pass_time(10)
    assert service.info("t")["result"] == "success"
    assert service.nodes() == []
    assert service.engine.pools.get("pool")["allocationState"] == "steady"


async def test_a_preparation_that_was_cut_off_runs_again_when_its_job_goes_on(service: Service) -> None:
    await service.pool(nodes=2)
    service.job(jobPreparationTask=PREPARATION)
    service.task("t", "sleep 5")
    await service.pass_time(1)
    service.engine.pools.resize("pool", {"targetDedicatedNodes": 1})
    await service.pass_time(1)
    service.engine.pools.resize("pool", {"targetDedicatedNodes": 0})
    await service.pass_time(1)
    assert (service.state("t"), service.nodes()) == ("active", [])
    service.engine.pools.resize("pool", {"targetDedicatedNodes": 1})
    await service.pass_time(20)
    assert service.info("t")["result"] == "success"
