"""A database that cannot be written: what was refused has not happened, and the service does not go on."""

from __future__ import annotations

import logging
import sqlite3
from typing import TYPE_CHECKING

import pytest
from engine_fakes import Service

from azbatch_core.local.errors import BatchError
from azbatch_core.local.store.database import Database
from azbatch_core.local.store.records import Pool

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

BIG = [{"name": "X", "value": "x" * 50_000}]


def fill_disk(store: Database) -> None:
    """Let the file grow no more."""
    pages = store.connection.execute("PRAGMA page_count").fetchone()[0]
    store.connection.execute(f"PRAGMA max_page_count={pages}")


def free_disk(store: Database) -> None:
    store.connection.execute("PRAGMA max_page_count=1000000")


def pool(key: int, filler: str = "") -> Pool:
    return Pool(key, f"p{key}", {"x": filler}, 0, 0, 0, 0)


def test_a_full_disk_costs_the_transaction_and_nothing_after_it(tmp_path: Path) -> None:
    store = Database(tmp_path / "x.sqlite3")
    store.touch(pool(1))
    store.commit()
    fill_disk(store)
    store.touch(pool(2, "x" * 100_000))
    with pytest.raises(sqlite3.OperationalError, match="full"):
        store.commit()
    store.rollback()
    store.commit()
    assert [found.key for found in store.load(Pool)] == [1]
    free_disk(store)
    store.touch(pool(3))
    store.commit()
    store.close()
    again = Database(tmp_path / "x.sqlite3")
    assert [found.key for found in again.load(Pool)] == [1, 3]
    again.close()


def test_what_a_failed_commit_was_to_write_is_not_forgotten(tmp_path: Path) -> None:
    store = Database(tmp_path / "x.sqlite3")
    fill_disk(store)
    store.touch(pool(1, "x" * 100_000))
    with pytest.raises(sqlite3.OperationalError, match="full"):
        store.commit()
    free_disk(store)
    store.commit()
    assert [found.key for found in store.load(Pool)] == [1]
    store.close()


CALLS: dict[str, Callable[[Service], object]] = {
    "a job": lambda service: service.job("new", commonEnvironmentSettings=BIG),
    "a task": lambda service: service.task("new", environmentSettings=BIG),
    "tasks": lambda service: service.engine.tasks.add_collection(
        "job", [{"id": f"new{n}", "commandLine": "exit 0", "environmentSettings": BIG} for n in range(3)]
    ),
    "a pool": lambda service: service.engine.pools.create(
        {"id": "new", "vmSize": "standard_d2s_v3", "metadata": BIG, "targetDedicatedNodes": 2}
    ),
}


@pytest.mark.parametrize("name", CALLS)
@pytest.mark.asyncio
async def test_a_call_that_the_disk_has_no_room_for_changes_nothing(
    name: str, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    told: list[str] = []
    service = Service(tmp_path)
    service.engine.account.gave_up = lambda: told.append("stop")
    await service.start()
    await service.pool(nodes=1)
    service.job()
    service.task("kept", "hang")
    await service.pass_time()
    fill_disk(service.engine.account.store)
    with (
        caplog.at_level(logging.CRITICAL),
        pytest.raises(BatchError, match="ServerBusy"),
        service.engine.guard(),
    ):
        CALLS[name](service)
    assert told == ["stop"]
    assert "full" in caplog.text
    with pytest.raises(BatchError, match="ServerBusy"), service.engine.guard():
        raise AssertionError("memory is not to be trusted any more")
    await service.engine.stop()
    heir = await Service(tmp_path).start()
    assert [found["id"] for found in heir.engine.pools.page()[0]] == ["pool"]
    assert [found["id"] for found in heir.engine.jobs.page()[0]] == ["job"]
    assert [found["id"] for found in heir.engine.tasks.page("job")[0]] == ["kept"]
    assert heir.counts()["running"] == 1
    await heir.engine.stop()


@pytest.mark.asyncio
async def test_a_turn_that_the_disk_has_no_room_for_ends_the_service(
    service: Service, caplog: pytest.LogCaptureFixture
) -> None:
    told: list[str] = []
    service.engine.account.gave_up = lambda: told.append("stop")
    await service.pool(nodes=1)
    service.job()
    fill_disk(service.engine.account.store)
    node = next(iter(service.engine.account.nodes.values()))
    node.errors = [{"code": "x" * 100_000}]
    service.engine.account.touch(node)
    service.engine.account.wake()
    with caplog.at_level(logging.CRITICAL):
        await service.pass_time()
    assert told == ["stop"]
    assert "full" in caplog.text
    assert service.engine.account.stopping


@pytest.mark.asyncio
async def test_a_refusal_leaves_the_service_as_it_is(service: Service) -> None:
    with pytest.raises(BatchError, match="JobNotFound"), service.engine.guard():
        service.engine.jobs.get("none")
    with service.engine.guard():
        service.job()
    assert not service.engine.account.stopping
