from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from engine_fakes import Service

pytestmark = pytest.mark.asyncio


async def test_a_job_runs_from_pool_to_completion(service: Service) -> None:
    pool = await service.pool(nodes=2, taskSlotsPerNode=2)
    assert pool["allocationState"] == "steady"
    assert [node["state"] for node in service.nodes()] == ["idle", "idle"]
    service.job()
    results = service.engine.tasks.add_collection(
        "job", [{"id": f"t{n}", "commandLine": "sleep 1"} for n in range(6)]
    )
    assert [result["status"] for result in results] == ["Success"] * 6
    await service.pass_time()
    assert service.counts() == {"active": 2, "running": 4, "succeeded": 0, "failed": 0, "completed": 0}
    assert [node["state"] for node in service.nodes()] == ["running", "running"]
    await service.pass_time(2)
    assert service.counts() == {"active": 0, "running": 0, "succeeded": 6, "failed": 0, "completed": 6}
    assert [node["state"] for node in service.nodes()] == ["idle", "idle"]
    service.engine.jobs.patch("job", {"onAllTasksComplete": "terminatejob"})
    await service.pass_time()
    job = service.engine.jobs.get("job")
    assert job["state"] == "completed"
    assert job["executionInfo"]["terminateReason"] == "AllTasksComplete"
