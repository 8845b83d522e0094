"""Pools that live with their job."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest
from engine_fakes import AUTO, Service, refused

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.asyncio


async def test_an_auto_pool_lives_as_long_as_its_job(service: Service) -> None:
    spec = {
        "autoPoolIdPrefix": "mine",
        "poolLifetimeOption": "job",
        "pool": {"vmSize": "STANDARD_D2", "targetDedicatedNodes": 1},
    }
    doc = service.engine.jobs.create({"id": "job", "poolInfo": {"autoPoolSpecification": spec}})
    pool_id = doc["executionInfo"]["poolId"]
    assert re.fullmatch(r"mine_[0-9A-F-]{36}", pool_id)
    shown = doc["poolInfo"]["autoPoolSpecification"]
    assert {**shown, "pool": spec["pool"]} == {**spec, "keepAlive": False}
    assert shown["pool"] == {
        "vmSize": "standard_d2",
        "targetDedicatedNodes": 1,
        "targetLowPriorityNodes": 0,
        "resizeTimeout": "PT15M",
        "enableAutoScale": False,
        "enableInterNodeCommunication": False,
        "taskSlotsPerNode": 1,
        "taskSchedulingPolicy": {"nodeFillType": "spread"},
    }
    assert service.engine.pools.get(pool_id)["state"] == "active"
    service.task("t")
    await service.pass_time(1)
    assert service.state("t") == "completed"
    service.engine.jobs.terminate("job")
    await service.pass_time(1)
    with refused("PoolNotFound"):
        service.engine.pools.get(pool_id)
    assert service.engine.jobs.get("job")["executionInfo"]["poolId"] == pool_id


async def test_an_auto_pool_goes_with_a_deleted_job(service: Service) -> None:
    service.engine.jobs.create({"id": "job", "poolInfo": AUTO})
    service.engine.jobs.delete("job")
    await service.pass_time(1)
    assert service.engine.pools.page() == ([], None)


async def test_an_auto_pool_may_be_kept(service: Service) -> None:
    doc = service.engine.jobs.create({"id": "job", "poolInfo": AUTO})
    doc = service.engine.jobs.patch(
        "job", {"poolInfo": {"autoPoolSpecification": {"keepAlive": True, "poolLifetimeOption": "job"}}}
    )
    assert doc["poolInfo"]["autoPoolSpecification"]["pool"]["vmSize"] == "standard_d2"
    service.engine.jobs.terminate("job")
    await service.pass_time(1)
    assert service.engine.pools.get(doc["executionInfo"]["poolId"])["state"] == "active"


async def test_a_job_cannot_be_given_an_auto_pool_later(service: Service) -> None:
    service.job()
    with refused("InvalidPropertyValue"):
        service.engine.jobs.patch("job", {"poolInfo": AUTO})


async def test_an_auto_pool_over_the_quota_ends_its_job(tmp_path: Path) -> None:
    service = await Service(tmp_path, pool_quota=0).start()
    doc = service.engine.jobs.create({"id": "job", "poolInfo": AUTO})
    assert doc["state"] == "completed"
    assert doc["executionInfo"]["schedulingError"]["code"] == "AutoPoolCreationFailedWithQuotaReached"
    assert "terminateReason" not in doc["executionInfo"]
    assert "endTime" in doc["executionInfo"]
    await service.engine.stop()
