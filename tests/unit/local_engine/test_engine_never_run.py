"""Tasks that never run, because of what they depend on."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from engine_fakes import Service

pytestmark = pytest.mark.asyncio


def _needs(*ids: str) -> dict[str, dict[str, list[str]]]:
    return {"dependsOn": {"taskIds": list(ids)}}


async def test_it_is_told_which_failed_task_is_behind_it(service: Service) -> None:
    await service.pool()
    service.job(usesTaskDependencies=True)
    service.task("7", "exit 1")
    service.task("fine")
    service.task("named", **_needs("7", "fine"))
    service.task("8", dependsOn={"taskIdRanges": [{"start": 5, "end": 7}]})
    service.task("far", **_needs("9"))
    service.task("9", dependsOn={"taskIdRanges": [{"start": 8, "end": 8}]})
    service.task("done", **_needs("fine"))
    service.task("hopes", **_needs("nobody"))
    assert service.engine.tasks.never_run("job", 100) == {}
    await service.pass_time()
    assert service.engine.tasks.never_run("JOB", 100) == {"named": "7", "8": "7", "9": "7", "far": "7"}
    assert len(service.engine.tasks.never_run("job", 1)) < 4
    service.engine.tasks.reactivate("job", "7")
    assert service.engine.tasks.never_run("job", 100) == {}


async def test_a_failure_that_satisfies_blocks_nobody(service: Service) -> None:
    await service.pool()
    service.job(usesTaskDependencies=True)
    service.task("a", "exit 1", exitConditions={"default": {"dependencyAction": "satisfy"}})
    service.task("b", "hang", **_needs("a"))
    await service.pass_time()
    assert service.engine.tasks.never_run("job", 100) == {}
