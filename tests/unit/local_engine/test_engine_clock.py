"""Where a virtual clock goes on after a restart: nowhere behind what has happened."""

from __future__ import annotations

from datetime import datetime, timedelta, timezone
from typing import TYPE_CHECKING

import pytest
from engine_fakes import FakeRuntime, Service

from azbatch_core.local.clock import RealClock
from azbatch_core.local.engine.engine import Engine
from azbatch_core.local.settings import Settings

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.asyncio

BEGIN = datetime(2026, 1, 1, tzinfo=timezone.utc)


async def test_it_stands_where_a_move_ended_though_nothing_happened(tmp_path: Path) -> None:
    first = await Service(tmp_path).start()
    await first.pass_time(36_000)
    await first.engine.stop()
    second = await Service(tmp_path).start()
    assert second.clock.now() == BEGIN + timedelta(hours=10)
    await second.pass_time(0.5)
    await second.engine.stop()
    third = await Service(tmp_path).start()
    assert third.clock.now() == BEGIN + timedelta(hours=10, seconds=0.5)
    await third.engine.stop()


async def test_it_stands_where_a_killed_service_had_come_to_in_the_middle_of_a_move(tmp_path: Path) -> None:
    service = await Service(tmp_path).start()
    await service.pool()
    service.job()
    service.task("t", "sleep 100")
    service.clock.call_later(200, lambda: None)
    await service.clock.advance_until(lambda: service.state("t") == "completed", 1000)
    account = service.engine.account
    account.halt()
    account.store.rollback()
    account.store.tables.close()
    heir = await Service(tmp_path).start()
    assert heir.clock.now() >= BEGIN + timedelta(seconds=100)
    assert heir.info("t")["endTime"] == "2026-01-01T00:01:40Z"
    await heir.engine.stop()


async def test_it_is_not_behind_a_real_clock_that_went_before(tmp_path: Path) -> None:
    settings = Settings(state_dir=tmp_path, account_name="local", endpoint="http://x")
    clock = RealClock()
    engine = Engine(settings, clock, FakeRuntime(clock))
    await engine.start()
    engine.jobs.create({"id": "job", "poolInfo": {"poolId": "pool"}})
    made = clock.now()
    await engine.stop()
    service = await Service(tmp_path).start()
    assert abs(service.clock.now() - made) < timedelta(minutes=1)
    service.task("t")
    created = service.engine.tasks.get("job", "t")["creationTime"]
    assert created >= service.engine.jobs.get("job")["creationTime"]
    await service.engine.stop()


async def test_what_is_due_after_a_restart_comes_when_it_would_have(tmp_path: Path) -> None:
    first = await Service(tmp_path).start()
    await first.pool()
    first.engine.schedules.create(
        {
            "id": "hourly",
            "schedule": {"recurrenceInterval": "PT1H"},
            "jobSpecification": {"poolInfo": {"poolId": "pool"}},
        }
    )
    await first.pass_time(36_060)
    await first.engine.stop()
    second = await Service(tmp_path).start()
    for number in (1, 2):
        second.engine.jobs.terminate(f"hourly:job-{number}", {})
        await second.pass_time()
    assert second.engine.schedules.get("hourly")["executionInfo"]["nextRunTime"] == "2026-01-01T11:00:00Z"
    await second.pass_time(3_600)
    assert second.engine.jobs.get("hourly:job-3")["creationTime"] == "2026-01-01T11:00:00Z"
    await second.engine.stop()
