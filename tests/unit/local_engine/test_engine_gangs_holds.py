"""Nodes that a pool keeps free for a multi-instance task."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from gang_fakes import gang, gang_pool

if TYPE_CHECKING:
    from engine_fakes import Service

pytestmark = pytest.mark.asyncio


async def test_nodes_are_kept_for_a_gang_whose_turn_it_is(service: Service) -> None:
    await gang_pool(service, nodes=2)
    service.task("first", "sleep 30")
    gang(service, command="exit 0")
    service.task("later", "sleep 30")
    await service.pass_time(29)
    assert service.state("later") == "active"  # a node is free, but kept
    await service.pass_time(2)
    assert service.state("g") == "completed"
    assert service.state("later") == "running"


async def test_a_gang_that_cannot_have_its_nodes_lets_others_run_meanwhile(service: Service) -> None:
    await gang_pool(service, nodes=2)
    service.task("endless", "hang")
    gang(service, command="exit 0")
    for number in range(40):
        service.task(f"later{number}", "sleep 10")
    await service.pass_time(3600)
    assert all(service.state(f"later{number}") == "completed" for number in range(40))
    assert service.state("g") == "active"
    service.engine.tasks.terminate("job", "endless")
    await service.pass_time(60)
    assert service.state("g") == "completed"


async def test_a_stream_of_long_tasks_does_not_keep_a_gang_waiting_for_ever(service: Service) -> None:
    await gang_pool(service, nodes=2)
    service.task("a0", "sleep 500")
    await service.pass_time(250)
    service.task("b0", "sleep 500")
    gang(service, command="exit 0")
    for number in range(100):
        service.task(f"x{number}", "sleep 500")
    await service.pass_time(7200)
    assert service.state("g") == "completed"


async def test_a_gang_that_is_gone_keeps_no_nodes(service: Service) -> None:
    await gang_pool(service, nodes=2)
    service.task("first", "hang")
    gang(service)
    service.task("later", "exit 0")
    await service.pass_time(1)
    service.engine.tasks.delete("job", "g")
    await service.pass_time(1)
    assert service.state("later") == "completed"
    await service.pass_time(3600)
    assert service.engine.account.holds == {}
