"""Multi-instance tasks of a service that was killed."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from gang_fakes import gang, gang_pool, members, subtasks

if TYPE_CHECKING:
    from engine_fakes import Service

pytestmark = pytest.mark.asyncio


async def test_a_gang_of_a_killed_service_is_requeued_as_a_whole(service: Service) -> None:
    await gang_pool(service)
    gang(service)
    gang(service, "done", "exit 0")
    await service.pass_time(1)
    heir = await service.killed()
    try:
        assert heir.state("g") == "running"
        assert heir.info("g")["requeueCount"] == heir.info("g")["retryCount"] == 0
        assert len(members(heir)) == 2
        assert len(subtasks(heir)) == 1
        await heir.pass_time(1)
        assert (heir.counts()["running"], heir.counts()["active"]) == (1, 1)
        heir.engine.tasks.terminate("job", "g")
        await heir.pass_time(1)
        assert heir.state("done") == "completed"
    finally:
        await heir.engine.stop()


async def test_records_of_a_completed_gang_survive_a_kill(service: Service) -> None:
    await gang_pool(service)
    gang(service, command="exit 0")
    await service.pass_time(1)
    before = subtasks(service)
    heir = await service.killed()
    assert subtasks(heir) == before
    await heir.engine.stop()


async def test_subtasks_that_a_kill_caught_after_their_task_are_completed(service: Service) -> None:
    await gang_pool(service)
    gang(service, command="sleep 5")
    await service.pass_time(1)
    members(service)[1].proceed = lambda: None  # type: ignore[method-assign] - it takes its time to die
    await service.pass_time(5)
    assert service.state("g") == "completed"
    assert subtasks(service)[0]["state"] == "running"
    heir = await service.killed()
    assert [(doc["state"], doc["exitCode"]) for doc in subtasks(heir)] == [("completed", 0)]
    await heir.engine.stop()
