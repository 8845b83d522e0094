"""Pools, jobs and schedules that take their time to go, on demand."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from azbatch_core.local.errors import BatchError

if TYPE_CHECKING:
    from engine_fakes import Service

pytestmark = pytest.mark.asyncio


async def _fault(service: Service, kind: str, **fields: Any) -> None:
    service.engine.faults.add({"kind": kind, **fields})
    await service.pass_time()


async def test_pools_and_jobs_go_slowly_if_they_are_to(service: Service) -> None:
    await service.pool()
    service.job()
    service.job("other")
    await _fault(service, "slow-delete", job="job", seconds=60)
    await _fault(service, "slow-delete", pool="*", seconds=30, count=1)
    service.engine.jobs.terminate("job")
    service.engine.jobs.delete("other")
    service.engine.pools.delete("pool")
    await service.pass_time(29)
    assert service.engine.jobs.get("job")["state"] == "terminating"
    assert service.engine.pools.get("pool")["state"] == "deleting"
    assert service.engine.under_way()
    with pytest.raises(BatchError, match="JobNotFound"):
        service.engine.jobs.get("other")
    await service.pass_time(2)
    with pytest.raises(BatchError, match="PoolNotFound"):
        service.engine.pools.get("pool")
    await service.pass_time(30)
    assert service.engine.jobs.get("job")["state"] == "completed"
    service.engine.jobs.delete("job")
    await service.pass_time(59)
    with pytest.raises(BatchError, match="JobBeingDeleted"):
        service.job()
    await service.pass_time(2)
    assert not service.engine.under_way()
    service.job()


async def test_what_goes_slowly_is_gone_after_a_restart(service: Service) -> None:
    await service.pool()
    await _fault(service, "slow-delete", seconds=3600)
    service.engine.pools.delete("pool")
    await service.pass_time(1)
    service = await service.killed()
    await service.pass_time(1)
    with pytest.raises(BatchError, match="PoolNotFound"):
        service.engine.pools.get("pool")


async def test_schedules_go_slowly_if_they_are_to(service: Service) -> None:
    fields = {"schedule": {}, "jobSpecification": {"poolInfo": {"poolId": "pool"}}}
    service.engine.schedules.create({"id": "s", **fields})
    await _fault(service, "slow-delete", schedule="s", seconds=60)
    service.engine.schedules.delete("s")
    await service.pass_time(59)
    assert service.engine.schedules.get("s")["state"] == "deleting"
    await service.pass_time(2)
    service.engine.schedules.create({"id": "s", **fields})
