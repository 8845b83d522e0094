"""Nodes that were on their way when their service was killed."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from node_action_fakes import START, down, only, started

if TYPE_CHECKING:
    from pathlib import Path

    from azbatch_core.local.rules.nodes import GoingDown
    from azbatch_core.local.store.records import Deallocation

pytestmark = pytest.mark.asyncio


@pytest.mark.parametrize("state", ["rebooting", "reimaging"])
async def test_a_boot_goes_on(tmp_path: Path, state: GoingDown) -> None:
    service = await started(tmp_path, boot_time=60)
    await service.pool(startTask=START)
    service.job(jobPreparationTask={"commandLine": "exit 0"})
    service.task("a")
    await service.pass_time(100)
    assert service.state("a") == "completed"
    down(service, state)
    await service.pass_time(30)
    heir = await service.killed()
    assert only(heir)["state"] == state
    heir.task("b")
    await heir.pass_time(65)
    assert only(heir)["state"] == "waitingforstarttask"
    await heir.pass_time(10)
    assert heir.state("b") == "completed"
    assert [launch.kind for launch in heir.runtime.launches] == ["start", "preparation", "task"]
    await heir.engine.stop()


@pytest.mark.parametrize(
    ("option", "result"), [("terminate", "failure"), ("requeue", None), ("taskcompletion", None)]
)
async def test_what_was_to_happen_to_tasks_happens(
    tmp_path: Path, option: Deallocation, result: str | None
) -> None:
    service = await started(tmp_path)
    await service.pool()
    service.job()
    service.task("t", "hang")
    await service.pass_time(1)
    node = only(service)["id"]
    down(service, "deallocating", option)
    heir = await service.killed()
    assert only(heir)["state"] == "deallocated"
    assert heir.info("t").get("result") == result
    assert heir.counts()["active"] == (result is None)
    heir.engine.nodes.start("pool", node)
    await heir.pass_time()
    assert only(heir)["state"] == ("idle" if result else "running")
    await heir.engine.stop()


async def test_nodes_that_are_offline_deallocated_or_leaving_stay_so(tmp_path: Path) -> None:
    service = await started(tmp_path)
    await service.pool(nodes=3)
    ids = [node["id"] for node in service.nodes()]
    nodes = service.engine.nodes
    nodes.disable_scheduling("pool", ids[0], "requeue")
    nodes.go_down("pool", ids[1], "deallocating", "requeue")
    await service.pass_time()
    service.job()
    service.task("t", "hang")
    await service.pass_time()
    service.engine.pools.remove_nodes("pool", {"nodeList": [ids[2]]})
    heir = await service.killed()
    heir.task("u")
    await heir.pass_time()
    assert {node["id"]: node["state"] for node in heir.nodes()} == {
        ids[0]: "offline",
        ids[1]: "deallocated",
    }
    assert (heir.state("t"), heir.info("t")["requeueCount"], heir.state("u")) == ("active", 1, "active")
    assert heir.engine.pools.get("pool")["targetDedicatedNodes"] == 2
    await heir.engine.stop()


async def test_a_node_that_was_starting_again_comes_up(tmp_path: Path) -> None:
    service = await started(tmp_path, boot_time=60)
    await service.pool()
    await service.pass_time(61)
    down(service, "deallocating")
    await service.pass_time()
    service.engine.nodes.start("pool", only(service)["id"])
    heir = await service.killed()
    assert only(heir)["state"] == "starting"
    await heir.pass_time(61)
    assert only(heir)["state"] == "idle"
    await heir.engine.stop()
