"""The service inside a program."""

from __future__ import annotations

import asyncio
import gc
import threading
from typing import TYPE_CHECKING

import psutil
import pytest
import sdk_bodies as bodies
from azure.batch import models
from azure.core.exceptions import HttpResponseError
from azure.storage.blob import BlobServiceClient
from sdk_client import connect

from azbatch_core.local import LocalBatch

if TYPE_CHECKING:
    from pathlib import Path

    from azbatch_core.local.store.database import Database


def test_pool_job_tasks_and_output_end_to_end() -> None:
    with LocalBatch() as batch, connect(batch) as batch_client:
        batch_client.create_pool(bodies.pool("pool", 2))
        batch_client.create_job(
            models.BatchJobCreateOptions(
                id="job",
                pool_info=models.BatchPoolInfo(pool_id="pool"),
            )
        )
        batch_client.create_tasks(
            "job",
            [
                models.BatchTaskCreateOptions(id=f"t{number}", command_line=f"/bin/echo {number}")
                for number in range(3)
            ],
        )
        batch_client.update_job("job", models.BatchJobUpdateOptions(all_tasks_complete_mode="terminatejob"))
        while batch_client.get_job("job").state != "completed":
            pass
        outputs = [
            b"".join(batch_client.download_task_file("job", f"t{number}", "stdout.txt"))
            for number in range(3)
        ]
    assert outputs == [b"0\n", b"1\n", b"2\n"]


def test_nothing_is_left_behind() -> None:
    threads = set(threading.enumerate())
    this = psutil.Process()
    sockets = len(this.net_connections())
    files = this.num_fds()
    children = this.children()  # other tests' services, a Docker daemon
    with LocalBatch() as batch:
        directory = batch.state_dir
        with connect(batch) as batch_client:
            batch_client.create_pool(bodies.pool("pool", 1))
    gc.collect()
    assert set(threading.enumerate()) <= threads
    assert len(this.net_connections()) <= sockets
    assert this.num_fds() <= files
    assert set(this.children()) <= set(children)
    assert not directory.exists()


def test_a_state_directory_is_gone_on_with(tmp_path: Path) -> None:
    with LocalBatch(tmp_path) as batch, connect(batch) as batch_client:
        batch_client.create_pool(bodies.pool("pool", 0))
        key = batch.account_key
    with LocalBatch(tmp_path) as batch, connect(batch) as batch_client:
        assert batch_client.get_pool("pool").id == "pool"
        assert batch.account_key == key


def test_a_restart_keeps_address_keys_and_resources() -> None:
    with LocalBatch() as batch:
        endpoint = batch.endpoint
        with connect(batch) as batch_client:
            batch_client.create_pool(bodies.pool("pool", 0))
            batch.restart()
            assert batch.endpoint == endpoint
            assert batch_client.get_pool("pool").id == "pool"


def test_two_services_do_not_share_a_directory(tmp_path: Path) -> None:
    with LocalBatch(tmp_path), pytest.raises(BlockingIOError), LocalBatch(tmp_path):
        pass


def test_it_is_used_inside_with_only() -> None:
    batch = LocalBatch()
    assert repr(batch) == "LocalBatch(not running)"
    for name in ("endpoint", "account_key", "state_dir"):
        with pytest.raises(RuntimeError, match="not running"):
            getattr(batch, name)


def test_a_virtual_clock_moves_when_it_is_told_to() -> None:
    with LocalBatch(clock="virtual", boot_time=600) as batch, connect(batch) as batch_client:
        batch_client.create_pool(bodies.pool("pool", 1))
        batch.advance(1)
        assert [node.state for node in batch_client.list_nodes("pool")] != ["idle"]
        batch.advance(600)
        assert [node.state for node in batch_client.list_nodes("pool")] == ["idle"]
    with LocalBatch() as batch, pytest.raises(RuntimeError, match="virtual"):
        batch.advance(1)


def test_blobs_are_served_beside_the_account() -> None:
    with LocalBatch() as batch:
        credential = {"account_name": batch.blob_account, "account_key": batch.blob_key}
        with BlobServiceClient(batch.blob_endpoint, credential=credential) as blobs:
            container = blobs.create_container("container")
            container.upload_blob("a/b.txt", b"hello")
            assert container.download_blob("a/b.txt").readall() == b"hello"


def test_a_full_disk_is_a_503_then_a_stop_and_the_next_start_has_what_was_acknowledged(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    with LocalBatch(tmp_path) as batch, connect(batch) as batch_client:
        batch_client.create_pool(bodies.pool("pool", 0))
        service, thread, loop = batch._service, batch._thread, batch._loop
        assert service is not None
        assert service.engine is not None
        assert thread is not None
        assert loop is not None
        asyncio.run_coroutine_threadsafe(_grow_no_more(service.engine.account.store), loop).result()
        big = [models.EnvironmentSetting(name="X", value="x" * 100_000)]
        job = models.BatchJobCreateOptions(
            id="job", pool_info=models.BatchPoolInfo(pool_id="pool"), common_environment_settings=big
        )
        with pytest.raises(HttpResponseError) as caught:
            batch_client.create_job(job)
        thread.join(30)
        assert not thread.is_alive()
    assert caught.value.status_code == 503
    assert "disk is full" in caplog.text
    with LocalBatch(tmp_path) as batch, connect(batch) as batch_client:
        assert [found.id for found in batch_client.list_pools()] == ["pool"]
        assert list(batch_client.list_jobs()) == []
        batch_client.create_job(job)


async def _grow_no_more(store: Database) -> None:
    pages = store.connection.execute("PRAGMA page_count").fetchone()[0]
    store.connection.execute(f"PRAGMA max_page_count={pages}")


@pytest.mark.parametrize("model", [True, False])
def test_a_virtual_clock_goes_on_where_it_stood(tmp_path: Path, *, model: bool) -> None:
    with LocalBatch(tmp_path, model=model, clock="virtual") as batch:
        batch.advance(36_000)
        stood = batch.now
        batch.restart()
        assert batch.now == stood
    with LocalBatch(tmp_path, model=model, clock="virtual") as batch:
        assert batch.now == stood
        with connect(batch) as batch_client:
            made = batch_client.create_pool(bodies.pool("pool", 0)) or batch_client.get_pool("pool")
        assert made.creation_time >= stood
