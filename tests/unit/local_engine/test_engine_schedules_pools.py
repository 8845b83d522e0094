"""Pools that live with a job schedule or with its jobs."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest
from engine_fakes import Service
from schedule_fakes import HOUR, MINUTE, auto, jobs, make, state

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.asyncio


async def test_jobs_share_the_pool_of_their_schedule(service: Service) -> None:
    make(service, auto(), recurrenceInterval="PT1H")
    pool_id = service.engine.jobs.get("s:job-1")["executionInfo"]["poolId"]
    assert re.fullmatch(r"mine_[0-9A-F-]{36}", pool_id)
    await service.pass_time(HOUR + MINUTE)
    assert jobs(service) == {"s:job-1": "completed", "s:job-2": "completed"}
    assert service.engine.jobs.get("s:job-2")["executionInfo"]["poolId"] == pool_id
    assert [doc["id"] for doc in service.engine.pools.page()[0]] == [pool_id]
    service.engine.schedules.terminate("s")
    await service.pass_time(1)
    assert (state(service), service.engine.pools.page()) == ("completed", ([], None))


async def test_the_pool_goes_with_a_deleted_schedule(service: Service) -> None:
    make(service, auto(), recurrenceInterval="PT1H")
    service.engine.schedules.delete("s")
    await service.pass_time(1)
    assert service.engine.pools.page() == ([], None)


async def test_a_pool_that_is_kept_alive_stays(service: Service) -> None:
    make(service, auto(keepAlive=True))
    await service.pass_time(MINUTE)
    assert (state(service), len(service.engine.pools.page()[0])) == ("completed", 1)


async def test_a_schedules_pool_that_was_deleted_is_made_anew(service: Service) -> None:
    make(service, auto(), recurrenceInterval="PT1H")
    await service.pass_time(MINUTE)
    first = service.engine.pools.page()[0][0]["id"]
    service.engine.pools.delete(first)
    await service.pass_time(HOUR)
    (pool,) = service.engine.pools.page()[0]
    assert pool["id"] != first
    assert jobs(service)["s:job-2"] == "completed"


async def test_pools_that_live_with_their_job(service: Service) -> None:
    make(service, auto(poolLifetimeOption="job"), recurrenceInterval="PT1H")
    first = service.engine.jobs.get("s:job-1")["executionInfo"]["poolId"]
    await service.pass_time(MINUTE)
    assert service.engine.pools.page() == ([], None)
    await service.pass_time(HOUR)
    assert service.engine.jobs.get("s:job-2")["executionInfo"]["poolId"] != first


async def test_a_pool_that_cannot_be_had_ends_the_job_not_the_plan(tmp_path: Path) -> None:
    service = await Service(tmp_path, pool_quota=0).start()
    make(service, auto(), recurrenceInterval="PT1H")
    await service.pass_time(HOUR)
    assert jobs(service) == {"s:job-1": "completed", "s:job-2": "completed"}
    error = service.engine.jobs.get("s:job-2")["executionInfo"]["schedulingError"]
    assert error["code"] == "AutoPoolCreationFailedWithQuotaReached"
    assert state(service) == "active"
    await service.engine.stop()
