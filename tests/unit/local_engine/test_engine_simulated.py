"""A simulation writes what happens while its clock is moved some turns later, and never what it was told."""

from __future__ import annotations

import sqlite3
from typing import TYPE_CHECKING

import pytest
from engine_fakes import Service

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.asyncio


async def simulated(folder: Path) -> Service:
    service = await Service(folder, simulated=True).start()
    await service.pool()
    service.job()
    for number in range(5):
        service.task(f"t{number}", "sleep 10")
    return service


def completed_on_disk(folder: Path) -> int:
    connection = sqlite3.connect(folder / "batch.sqlite3")
    (number,) = connection.execute("SELECT COUNT(*) FROM tasks WHERE state='completed'").fetchone()
    connection.close()
    return int(number)


async def test_what_happened_is_written_once_the_clock_has_moved(tmp_path: Path) -> None:
    service = await simulated(tmp_path)
    await service.pass_time(35)
    assert completed_on_disk(tmp_path) == 3
    heir = await service.killed()
    assert [heir.state(f"t{number}") for number in range(5)].count("completed") == 3
    await heir.pass_time(100)
    assert heir.counts()["succeeded"] == 5
    await heir.engine.stop()


async def test_a_request_meanwhile_writes_all(tmp_path: Path) -> None:
    service = await simulated(tmp_path)
    seen: list[int] = []

    def ask() -> None:
        seen.append(completed_on_disk(tmp_path))
        service.job("other")
        seen.append(completed_on_disk(tmp_path))

    service.clock.call_later(35, ask)
    await service.pass_time(36)
    assert seen == [0, 3]
    await service.engine.stop()


async def test_a_long_move_is_written_in_parts(tmp_path: Path) -> None:
    service = await simulated(tmp_path)
    for number in range(100):
        service.task(f"more{number}", f"sleep {number}")
    seen: list[int] = []
    service.clock.call_later(4_900, lambda: seen.append(completed_on_disk(tmp_path)))
    await service.pass_time(5_100)
    assert seen[0] > 30
    await service.engine.stop()
