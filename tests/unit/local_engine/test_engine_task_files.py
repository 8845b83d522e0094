"""How long files of tasks are there."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from engine_fakes import refused

from azbatch_core.local.errors import BatchError
from azbatch_core.local.wire.durations import UNLIMITED

if TYPE_CHECKING:
    from engine_fakes import Service

pytestmark = pytest.mark.asyncio


async def test_deleting_a_task_takes_its_files(service: Service) -> None:
    await service.pool()
    service.job()
    service.task("t")
    await service.pass_time()
    folder = service.engine.tasks.directory("job", "t")
    assert folder.is_dir()
    service.engine.tasks.delete("job", "t")
    assert not folder.exists()
    with refused("TaskNotFound"):
        service.engine.tasks.get("job", "t")
    assert service.counts()["completed"] == 0
    with refused("TaskNotFound"):
        service.engine.tasks.delete("job", "t")


async def test_files_of_a_task_that_did_not_run_cannot_be_had(service: Service) -> None:
    service.job()
    service.task("t")
    with pytest.raises(BatchError) as caught:
        service.engine.tasks.directory("job", "t")
    assert caught.value.code == "OperationInvalidForCurrentState"
    assert caught.value.values == [
        ("Reason", "The files of the specified task cannot be accessed as the task state is still active")
    ]
    service.engine.tasks.terminate("job", "t")
    with pytest.raises(BatchError, match="moved to completed state without running"):
        service.engine.tasks.directory("job", "t")


async def test_files_go_with_their_node(service: Service) -> None:
    await service.pool()
    service.job()
    service.task("t")
    await service.pass_time()
    service.engine.pools.delete("pool")
    await service.pass_time()
    with refused("TaskFilesUnavailable"):
        service.engine.tasks.directory("job", "t")
    assert service.info("t")["result"] == "success"


async def test_files_go_with_their_retention(service: Service) -> None:
    await service.pool()
    service.job()
    service.task("soon", constraints={"retentionTime": "PT1H"})
    service.task("later", constraints={"retentionTime": "PT2H"})
    service.task("always", constraints={"retentionTime": UNLIMITED})
    service.task("default")
    await service.pass_time()
    folders = {name: service.engine.tasks.directory("job", name) for name in ("soon", "later", "default")}
    await service.pass_time(3700)
    assert not folders["soon"].exists()
    with refused("TaskFilesCleanedup"):
        service.engine.tasks.directory("job", "soon")
    assert folders["later"].exists()
    await service.pass_time(3700)
    assert not folders["later"].exists()
    await service.pass_time(7 * 86400)
    assert not folders["default"].exists()
    assert service.engine.tasks.directory("job", "always").exists()
    assert service.state("soon") == "completed"
