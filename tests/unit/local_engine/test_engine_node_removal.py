"""Nodes that are removed from their pool."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from engine_fakes import Service
from node_action_fakes import only, started

from azbatch_core.local.errors import BatchError

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.asyncio


async def test_removed_nodes_take_the_targets_with_them(service: Service) -> None:
    await service.pool(nodes=3, targetLowPriorityNodes=2)
    nodes = service.nodes()
    gone = [next(n for n in nodes if n["isDedicated"] == kind)["id"] for kind in (True, False)]
    before = service.engine.pools.get("pool")["eTag"]
    doc = service.engine.pools.remove_nodes(
        "pool", {"nodeList": [gone[0].upper(), *gone], "resizeTimeout": "PT6M"}
    )
    assert (doc["allocationState"], doc["resizeTimeout"]) == ("resizing", "PT6M")
    assert doc["eTag"] != before
    await service.pass_time()
    pool = service.engine.pools.get("pool")
    assert (pool["allocationState"], pool["resizeTimeout"]) == ("steady", "PT15M")
    assert (pool["targetDedicatedNodes"], pool["targetLowPriorityNodes"]) == (2, 1)
    assert (pool["currentDedicatedNodes"], pool["currentLowPriorityNodes"]) == (2, 1)
    assert not {node["id"] for node in service.nodes()} & set(gone)


async def test_a_requeue_by_a_removal_counts(service: Service) -> None:
    await service.pool(nodes=1)
    service.job()
    service.task("t", "hang")
    await service.pass_time(1)
    service.engine.pools.remove_nodes("pool", {"nodeList": [only(service)["id"]]})
    await service.pass_time(1)
    assert (service.state("t"), service.info("t")["requeueCount"]) == ("active", 1)
    assert service.nodes() == []


async def test_removals_are_refused_as_a_whole(tmp_path: Path) -> None:
    service = await started(tmp_path, resize_time=60)
    await service.pool(nodes=2)
    remove = service.engine.pools.remove_nodes
    with pytest.raises(BatchError, match="PoolBeingResized"):
        remove("pool", {"nodeList": ["x"]})
    await service.pass_time(61)
    node = service.nodes()[0]["id"]
    for body, code in (
        ({"nodeList": [node, "tvmps_0_d"]}, "NodeNotFound"),
        ({"nodeList": []}, "InvalidPropertyValue"),
        ({"nodeList": [f"n{n}" for n in range(101)]}, "InvalidPropertyValue"),
        ({"nodeList": [node], "resizeTimeout": "PT4M"}, "InvalidPropertyValue"),
    ):
        with pytest.raises(BatchError, match=code):
            remove("pool", body)
    assert len(service.nodes()) == 2
    service.engine.pools.enable_auto_scale("pool", {"autoScaleFormula": "$TargetDedicatedNodes=2"})
    await service.pass_time(61)
    with pytest.raises(BatchError, match="OperationInvalidForCurrentState"):
        remove("pool", {"nodeList": [node]})
    await service.engine.stop()


async def test_a_removal_from_a_pool_short_of_its_targets_ends(tmp_path: Path) -> None:
    service = await Service(tmp_path, node_quota=3).start()
    await service.pool(nodes=5)
    service.engine.pools.remove_nodes("pool", {"nodeList": [service.nodes()[0]["id"]]})
    await service.pass_time()
    pool = service.engine.pools.get("pool")
    assert (pool["allocationState"], pool["targetDedicatedNodes"]) == ("steady", 2)
    await service.engine.stop()
