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
    for second in range(5_000):
        service.clock.call_later(second + 0.5, service.engine.account.wake)
    seen: list[int] = []
    for moment in (60, 5_000):
        service.clock.call_later(moment, lambda: seen.append(completed_on_disk(tmp_path)))
    await service.pass_time(5_100)
    assert seen == [0, 5]
    await service.engine.stop()


def rows_on_disk(folder: Path) -> list[list[tuple[object, ...]]]:
    connection = sqlite3.connect(folder / "batch.sqlite3")
    tables = ("tasks", "subtasks", "needs", "nodes", "jobs", "pools")
    rows = [
        connection.execute(f"SELECT * FROM {table} ORDER BY 1, 2").fetchall()  # noqa: S608 - constants
        for table in tables
    ]
    connection.close()
    return rows


async def eventful(folder: Path, *, simulated: bool, depending: bool) -> list[list[tuple[object, ...]]]:
    """What is on disk after tasks that end well and badly, are tried again, requeued, ended, awaited."""
    service = await Service(folder, simulated=simulated).start()
    await service.pool(nodes=3, taskSlotsPerNode=2)
    service.job(usesTaskDependencies=depending)
    for number in range(30):
        waits = depending and number % 3 == 0 and number > 6
        after = {"dependsOn": {"taskIds": [str(number - 7)]}} if waits else {}
        command = f"sleep {number % 4 + 1}" + f"; exit {number % 2}" * (number % 5 == 0)
        limits = {"maxTaskRetryCount": number % 3, "retentionTime": "PT20S"}
        service.task(str(number), command, constraints=limits, **after)
    service.task("hangs", "hang")
    commands, node = service.engine.tasks, service.nodes()[0]["id"]
    for when, disturb in {
        4.5: lambda: service.engine.nodes.go_down("pool", node, "rebooting", "requeue"),
        22.0: lambda: commands.terminate("job", "hangs"),
        23.0: lambda: commands.reactivate("job", "5"),
        23.5: lambda: commands.delete("job", "1"),
    }.items():
        service.clock.call_later(when, disturb)
    await service.pass_time(30)
    meanwhile = rows_on_disk(folder)
    await service.pass_time(70)
    assert service.counts()["completed"] == 30 - depending
    await service.engine.stop()
    return meanwhile + rows_on_disk(folder)


@pytest.mark.parametrize("depending", [False, True])
async def test_what_is_written_late_is_what_would_have_been_written_at_once(
    tmp_path: Path,
    depending: bool,  # noqa: FBT001 - pytest's
) -> None:
    late = await eventful(tmp_path / "late", simulated=True, depending=depending)
    assert late == await eventful(tmp_path / "once", simulated=False, depending=depending)
