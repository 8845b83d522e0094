"""The service as a background process."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import sqlite3
import stat
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from typing import TYPE_CHECKING

import pytest
from azure.batch import models
from daemon_shell import SECONDS, client, has_ended, run, start

from azbatch_core.local.state import StateDirectory

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


@pytest.fixture
def path(tmp_path: Path) -> Iterator[Path]:
    path = tmp_path / "state"
    yield path
    if path.exists():
        assert run("stop", path).returncode == 0


def test_start_returns_when_it_answers_and_leaves_a_process_of_its_own(path: Path) -> None:
    endpoint = start(path)
    with client(endpoint) as batch:
        assert list(batch.list_jobs()) == []
    assert os.getsid(endpoint["pid"]) == endpoint["pid"]
    assert json.loads((path / "endpoint.json").read_text()) == endpoint
    for name, mode in (
        (".", 0o700),
        ("endpoint.json", 0o600),
        ("identity.json", 0o600),
        ("service.log", 0o600),
    ):
        assert stat.S_IMODE((path / name).stat().st_mode) == mode
    assert endpoint["account_key"] not in (path / "service.log").read_text()


def test_starting_twice_is_starting_once(path: Path) -> None:
    with ThreadPoolExecutor(4) as pool:
        found = list(pool.map(start, [path] * 4))
    assert len({endpoint["pid"] for endpoint in found}) == 1
    assert start(path) == found[0]


def test_starting_a_newer_version_replaces_the_old_one_and_keeps_its_jobs(path: Path) -> None:
    first = start(path)
    with client(first) as batch:
        batch.create_job(models.BatchJobCreateOptions(id="kept", pool_info=models.BatchPoolInfo(pool_id="p")))
    (path / "endpoint.json").write_text(json.dumps({**first, "version": "0.0.1", "extra": 1}))
    done = run("start", path)
    second = json.loads(done.stdout)
    assert (second["pid"] == first["pid"], second["version"]) == (False, first["version"])
    assert "0.0.1" in done.stderr
    assert has_ended(first["pid"])
    with client(second) as batch:
        assert batch.get_job("kept").id == "kept"


def test_a_damaged_identity_is_said_in_one_line(path: Path) -> None:
    path.mkdir()
    (path / "identity.json").write_text("{")
    refused = run("start", path)
    assert refused.returncode == 1
    assert "identity.json" in refused.stderr
    assert "Traceback" not in refused.stderr
    assert (path / "identity.json").read_text() == "{"


def test_a_wrong_storage_connection_string_is_said_in_one_line_without_its_key(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AZBATCH_LOCAL_STORAGE", "AccountName=a;AccountKey=c2VjcmV0*")
    refused = run("start", path)
    assert refused.returncode == 2
    assert "AZBATCH_LOCAL_STORAGE" in refused.stderr
    assert "Traceback" not in refused.stderr
    assert "c2VjcmV0" not in refused.stderr
    assert not (path / "service.log").exists()


def test_data_of_another_version_are_said_in_one_line(path: Path) -> None:
    start(path)
    run("stop", path)
    with contextlib.closing(sqlite3.connect(path / "batch.sqlite3")) as database:
        database.execute("PRAGMA user_version=99")
    refused = run("start", path)
    assert refused.returncode == 1
    assert "version 99" in refused.stderr
    assert "Traceback" not in refused.stderr


def test_status_tells_where_but_no_key(path: Path) -> None:
    assert run("status", path).returncode == 1
    endpoint = start(path)
    said = run("status", path)
    assert said.returncode == 0
    facts = json.loads(said.stdout)
    assert (facts["running"], facts["endpoint"], facts["pid"]) == (
        True,
        endpoint["endpoint"],
        endpoint["pid"],
    )
    assert endpoint["account_key"] not in said.stdout
    assert endpoint["blob_key"] not in said.stdout


def test_stop_waits_and_a_new_start_finds_everything_again(path: Path) -> None:
    first = start(path)
    with client(first) as batch:
        batch.create_job(models.BatchJobCreateOptions(id="kept", pool_info=models.BatchPoolInfo(pool_id="p")))
        tag = batch.get_job("kept").etag
    assert json.loads(run("stop", path).stdout) == {"stopped": True}
    assert has_ended(first["pid"])
    assert not (path / "endpoint.json").exists()
    assert json.loads(run("stop", path).stdout) == {"stopped": False}
    second = start(path)
    assert second["pid"] != first["pid"]
    assert {**second, "pid": 0} == {**first, "pid": 0}
    with client(second) as batch:
        assert batch.get_job("kept").etag == tag


def test_a_killed_service_is_started_anew_with_what_it_had_acknowledged(path: Path) -> None:
    first = start(path)
    with client(first) as batch:
        batch.create_job(models.BatchJobCreateOptions(id="kept", pool_info=models.BatchPoolInfo(pool_id="p")))
        os.kill(first["pid"], signal.SIGKILL)
    state = StateDirectory(path)
    assert state.wait_until_free(SECONDS)
    assert run("status", path).returncode == 1
    second = start(path)
    assert second["account_key"] == first["account_key"]
    with client(second) as batch:
        assert batch.get_job("kept").id == "kept"


def test_a_schedule_goes_on_in_the_service_that_follows_a_killed_one(path: Path) -> None:
    first = start(path)
    spec = models.BatchJobSpecification(pool_info=models.BatchPoolInfo(pool_id="later"))
    with client(first) as batch:
        batch.create_job_schedule(
            models.BatchJobScheduleCreateOptions(
                id="hourly",
                schedule=models.BatchJobScheduleConfiguration(recurrence_interval=timedelta(hours=1)),
                job_specification=spec,
            )
        )
        made = batch.get_job_schedule("hourly").as_dict()
        os.kill(first["pid"], signal.SIGKILL)
    assert StateDirectory(path).wait_until_free(SECONDS)
    with client(start(path)) as batch:
        assert batch.get_job_schedule("hourly").as_dict() == made
        assert [job.id for job in batch.list_jobs_from_schedule("hourly")] == ["hourly:job-1"]
        batch.begin_terminate_job_schedule("hourly").wait()
        assert batch.get_job("hourly:job-1").state == "completed"


def test_what_ran_when_it_was_killed_runs_again_and_each_task_ends_once(path: Path, tmp_path: Path) -> None:
    gate = tmp_path / "gate"
    image = models.BatchVmImageReference(publisher="canonical", offer="ubuntu-24_04-lts", sku="server")
    machine = models.VirtualMachineConfiguration(
        image_reference=image, node_agent_sku_id="batch.node.ubuntu 24.04"
    )
    wait = f"/bin/sh -c 'echo $$ >>{tmp_path}/started; while [ ! -e {gate} ]; do sleep 0.02; done; echo done'"
    first = start(path)
    with client(first) as batch:
        batch.create_pool(
            models.BatchPoolCreateOptions(
                id="p",
                vm_size="standard_d2s_v3",
                target_dedicated_nodes=2,
                virtual_machine_configuration=machine,
            )
        )
        batch.create_job(models.BatchJobCreateOptions(id="j", pool_info=models.BatchPoolInfo(pool_id="p")))
        batch.create_tasks(
            "j", [models.BatchTaskCreateOptions(id=str(n), command_line=wait) for n in range(3)]
        )
        while not (tmp_path / "started").exists() or len((tmp_path / "started").read_text().split()) < 2:
            assert batch.get_job("j").state == "active"
        os.kill(first["pid"], signal.SIGKILL)
    assert StateDirectory(path).wait_until_free(SECONDS)
    with client(start(path)) as batch:
        gate.touch()
        while batch.get_job_task_counts("j").task_counts.completed < 3:
            assert batch.get_job("j").state == "active"
        assert batch.get_job_task_counts("j").task_counts.succeeded == 3
        for number in range(3):
            assert b"".join(batch.download_task_file("j", str(number), "stdout.txt")) == b"done\n"
    interrupted = (tmp_path / "started").read_text().split()[:2]
    assert all(has_ended(int(pid)) for pid in interrupted)


def test_it_stops_by_itself_when_nobody_needs_it(path: Path) -> None:
    start(path, "--idle-timeout", "0.1")
    assert StateDirectory(path).wait_until_free(SECONDS)
    assert not (path / "endpoint.json").exists()
    assert "idle" in (path / "service.log").read_text()


def test_reset_leaves_nothing_and_the_next_account_has_other_keys(path: Path) -> None:
    first = start(path)
    assert run("reset", path).returncode == 0
    assert not path.exists()
    assert start(path)["account_key"] != first["account_key"]


def test_a_port_that_is_taken_is_named(path: Path, tmp_path: Path) -> None:
    taken = start(path)["endpoint"].rpartition(":")[2]
    refused = run("start", tmp_path / "other", "--port", taken)
    assert refused.returncode == 1
    assert f"port {taken} cannot be had" in refused.stderr
    assert "Traceback" not in refused.stderr


def test_serving_a_directory_that_is_served_is_refused(path: Path) -> None:
    start(path)
    refused = run("serve", path)
    assert refused.returncode == 1
    assert "another service is running" in refused.stderr
