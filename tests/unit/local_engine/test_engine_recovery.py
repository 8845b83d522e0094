"""What a killed service finds when it starts again."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from engine_fakes import Service

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.asyncio


async def started(folder: Path, **settings: float) -> Service:
    return await Service(folder, **settings).start()


async def test_running_tasks_run_again_and_nothing_is_counted(tmp_path: Path) -> None:
    service = await started(tmp_path)
    await service.pool(nodes=2)
    service.job(usesTaskDependencies=True)
    service.task("done")
    service.task("runs", "sleep 100")
    service.task("fails", "exit 1")
    service.task("sum", dependsOn={"taskIds": ["done", "runs"], "taskIdRanges": [{"start": 1, "end": 2}]})
    service.task("1")
    await service.pass_time(5)
    before = {name: service.engine.tasks.get("job", name) for name in ("done", "runs", "fails", "sum", "1")}
    nodes = service.nodes()
    pool, job = service.engine.pools.get("pool"), service.engine.jobs.get("job")

    heir = await service.killed()
    assert heir.runtime.orphans_killed == 1
    assert heir.runtime.tasks == ["runs"]
    assert heir.engine.pools.get("pool") == pool
    assert heir.engine.jobs.get("job") == job
    assert [node["id"] for node in heir.nodes()] == [node["id"] for node in nodes]
    assert [node["ipAddress"] for node in heir.nodes()] == [node["ipAddress"] for node in nodes]
    for name, doc in before.items():
        now = heir.engine.tasks.get("job", name)
        assert now["eTag"] == doc["eTag"]
        assert (now["executionInfo"]["retryCount"], now["executionInfo"]["requeueCount"]) == (0, 0)
        if name != "runs":
            assert now == doc
    assert heir.counts() == {"active": 1, "running": 1, "succeeded": 2, "failed": 1, "completed": 3}
    heir.task("2")
    await heir.pass_time(200)
    assert heir.runtime.tasks == ["runs", "2", "sum"]
    assert heir.counts() == {"active": 0, "running": 0, "succeeded": 5, "failed": 1, "completed": 6}
    await heir.engine.stop()


async def test_a_service_that_was_stopped_goes_on_too(tmp_path: Path) -> None:
    service = await started(tmp_path)
    await service.pool()
    service.job()
    service.task("t", "hang")
    await service.pass_time(1)
    await service.engine.stop()
    heir = await started(tmp_path)
    assert heir.runtime.tasks == ["t"]
    await heir.engine.stop()


async def test_new_etags_and_keys_do_not_repeat_old_ones(tmp_path: Path) -> None:
    service = await started(tmp_path)
    await service.pool(nodes=1)
    service.job()
    tags = {service.task(f"t{n}")["eTag"] for n in range(5)}
    await service.engine.stop()
    # The clock of the second run stands where that of the first did.
    heir = await started(tmp_path)
    tags |= {heir.task(f"u{n}")["eTag"] for n in range(5)}
    assert len(tags) == 10
    heir.engine.pools.resize("pool", {"targetDedicatedNodes": 2})
    await heir.pass_time()
    assert len({node["ipAddress"] for node in heir.nodes()}) == 2
    await heir.engine.stop()


async def test_start_tasks_that_completed_are_not_run_again(tmp_path: Path) -> None:
    service = await started(tmp_path)
    await service.pool(startTask={"commandLine": "sleep 5", "waitForSuccess": True})
    await service.pass_time(10)
    heir = await service.killed()
    assert heir.runtime.launches == []
    assert heir.nodes()[0]["state"] == "idle"
    assert heir.nodes()[0]["startTaskInfo"]["result"] == "success"
    await heir.engine.stop()


async def test_start_tasks_that_were_running_run_again(tmp_path: Path) -> None:
    service = await started(tmp_path)
    await service.pool(startTask={"commandLine": "sleep 5", "waitForSuccess": True})
    await service.pass_time(1)
    heir = await service.killed()
    await heir.pass_time(10)
    assert [launch.kind for launch in heir.runtime.launches] == ["start"]
    assert heir.nodes()[0]["state"] == "idle"
    await heir.engine.stop()


async def test_failed_start_tasks_stay_failed(tmp_path: Path) -> None:
    service = await started(tmp_path)
    await service.pool(startTask={"commandLine": "exit 5", "waitForSuccess": True})
    heir = await service.killed()
    assert heir.nodes()[0]["state"] == "starttaskfailed"
    heir.job()
    heir.task("t")
    await heir.pass_time(10)
    assert heir.state("t") == "active"
    await heir.engine.stop()


async def test_a_resize_goes_on(tmp_path: Path) -> None:
    service = await started(tmp_path, resize_time=60, boot_time=60)
    service.engine.pools.create({"id": "a", "vmSize": "standard_d2", "targetDedicatedNodes": 2})
    await service.pass_time(90)
    service.engine.pools.create({"id": "b", "vmSize": "standard_d2", "targetDedicatedNodes": 1})
    heir = await service.killed()
    await heir.pass_time(200)
    assert [node["state"] for node in heir.nodes("a") + heir.nodes("b")] == ["idle"] * 3
    assert heir.engine.pools.get("b")["allocationState"] == "steady"
    await heir.engine.stop()


async def test_ends_that_had_begun_are_carried_out(tmp_path: Path) -> None:
    service = await started(tmp_path)
    await service.pool("keep", nodes=2)
    await service.pool("go", nodes=1)
    await service.pool("shrink", nodes=1)
    for name in ("terminated", "deleted", "disabled", "enabled"):
        service.job(name, "keep")
        service.task("t", "hang", job_id=name)
    await service.pass_time(1)
    service.engine.jobs.disable("enabled", {})
    await service.pass_time(1)
    service.engine.jobs.enable("enabled")
    service.engine.jobs.terminate("terminated")
    service.engine.jobs.delete("deleted")
    service.engine.jobs.disable("disabled", {"disableTasks": "wait"})
    service.engine.pools.delete("go")
    service.engine.pools.resize("shrink", {"targetDedicatedNodes": 0})
    heir = await service.killed()
    states = {doc["id"]: doc["state"] for doc in heir.engine.jobs.page()[0]}
    assert states == {"terminated": "completed", "disabled": "disabled", "enabled": "active"}
    assert [doc["id"] for doc in heir.engine.pools.page()[0]] == ["keep", "shrink"]
    assert heir.nodes("shrink") == []
    await heir.engine.stop()


async def test_preparations_are_remembered(tmp_path: Path) -> None:
    service = await started(tmp_path)
    await service.pool(taskSlotsPerNode=4)
    prep = {"commandLine": "exit 0"}
    service.job("ready", jobPreparationTask=prep, jobReleaseTask={"commandLine": "true"})
    service.job("under-way", jobPreparationTask={"commandLine": "sleep 50"})
    service.job("barred", jobPreparationTask={"commandLine": "exit 1"})
    for name in ("ready", "under-way", "barred"):
        service.task("t", "hang", job_id=name)
    await service.pass_time(1)
    heir = await service.killed()
    await heir.pass_time(60)
    launched = [(launch.job_id, launch.kind) for launch in heir.runtime.launches]
    assert sorted(launched) == [("ready", "task"), ("under-way", "preparation"), ("under-way", "task")]
    assert heir.state("t", "barred") == "active"
    heir.engine.jobs.terminate("ready")
    await heir.pass_time(1)
    assert heir.runtime.launches[-1].kind == "release"
    assert heir.engine.jobs.get("ready")["state"] == "completed"
    await heir.engine.stop()


async def test_clocks_go_on(tmp_path: Path) -> None:
    service = await started(tmp_path)
    await service.pool()
    service.job(constraints={"maxWallClockTime": "PT10M"})
    service.task("t", constraints={"retentionTime": "PT5M"})
    await service.pass_time(60)
    heir = await service.killed()
    folder = heir.engine.tasks.directory("job", "t")
    assert folder.exists()
    await heir.pass_time(300)
    assert not folder.exists()
    assert heir.engine.jobs.get("job")["state"] == "active"
    await heir.pass_time(300)
    reason = heir.engine.jobs.get("job")["executionInfo"]["terminateReason"]
    assert reason == "MaxWallClockTimeExpiry"
    await heir.engine.stop()


async def test_what_was_acknowledged_survives_at_any_moment(tmp_path: Path) -> None:
    service = await started(tmp_path)
    service.job()
    service.engine.tasks.add_collection("job", [{"id": f"t{n}", "commandLine": "x"} for n in range(100)])
    service.engine.tasks.delete("job", "t7")
    service.engine.tasks.terminate("job", "t8")
    service.engine.jobs.patch("job", {"priority": 7})
    service.engine.pools.create({"id": "late", "vmSize": "standard_d2"})
    heir = await service.killed()
    assert heir.counts() == {"active": 98, "running": 0, "succeeded": 0, "failed": 1, "completed": 1}
    assert heir.engine.jobs.get("job")["priority"] == 7
    assert heir.engine.pools.get("late")["state"] == "active"
    await heir.engine.stop()


async def test_data_of_another_version_is_refused(tmp_path: Path) -> None:
    service = await started(tmp_path)
    service.engine.account.store.connection.execute("PRAGMA user_version=99")
    await service.engine.stop()
    with pytest.raises(ValueError, match="version 99"):
        Service(tmp_path)


async def test_nobody_else_may_read_the_database(tmp_path: Path) -> None:
    service = await started(tmp_path)
    modes = _modes(tmp_path)
    assert set(modes.values()) == {0o600}
    assert "batch.sqlite3-wal" in modes
    await service.engine.stop()


def _modes(folder: Path) -> dict[str, int]:
    return {path.name: path.stat().st_mode & 0o777 for path in folder.glob("batch.sqlite3*")}


async def test_data_of_an_earlier_version_are_taken_over(tmp_path: Path) -> None:
    service = await started(tmp_path)
    await service.pool()
    job = service.job()
    connection = service.engine.account.store.connection
    for statement in (
        "DROP TABLE schedules",
        "ALTER TABLE tasks DROP COLUMN container",
        "ALTER TABLE tasks DROP COLUMN stopping",
        "DROP TABLE subtasks",
        "DROP INDEX tasks_ready_gangs",
        "ALTER TABLE tasks DROP COLUMN instances",
    ):
        connection.execute(statement)
    recent = '[{"jobId": "job", "taskId": "t", "taskState": "running", "executionInfo": {}}]'
    connection.execute(
        "UPDATE nodes SET body=CAST(json_set(CAST(body AS TEXT), '$.recent', json(?)) AS BLOB)", (recent,)
    )
    connection.execute("PRAGMA user_version=1")
    heir = await service.killed()
    assert heir.engine.jobs.get("job") == job
    assert "recentTasks" not in heir.nodes()[0]
    assert heir.engine.account.schedules == {}
    await heir.engine.stop()
