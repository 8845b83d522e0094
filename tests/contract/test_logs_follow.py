"""Output and files of tasks: live, to the last byte, and after the node has gone."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from azure.core.exceptions import HttpResponseError
from azure.storage.blob import BlobClient, ContainerClient
from waiting import WITHIN

from azbatch_core import (
    AzureBatch,
    Conflict,
    JobHandle,
    JobSpec,
    JobState,
    LogChunk,
    NotFound,
    Throttled,
    shell,
)
from azbatch_core.errors import SpecError
from azbatch_core.service.connect.retry import RetrySettings
from azbatch_core.service.documents import requests
from azbatch_core.service.output import uploaded_logs

Make = Callable[..., JobSpec]


def text(chunks: list[LogChunk], stream: str = "stdout") -> str:
    return "".join(chunk.text for chunk in chunks if chunk.stream == stream)


def lose_nodes(client: AzureBatch, pool_id: str) -> None:
    client.resize_pool(pool_id, nodes=0, spot_nodes=0)
    deadline = time.monotonic() + WITHIN
    while list(client.nodes(pool_id)):
        assert time.monotonic() < deadline


def own_pool(name: str) -> dict[str, Any]:
    return {"pool": {"kind": "managed", "name": name, "nodes": 1}}


def test_the_whole_output_is_there_after_the_end(client: AzureBatch, make_job: Make) -> None:
    job = client.submit(make_job(a=shell("echo out; echo err >&2; printf 'no end'"))).job
    job.wait(WITHIN)
    assert text(list(job.logs("a"))) == "out\nno end"
    assert text(list(job.logs("A", "stderr")), "stderr") == "err\n"
    both = list(job.logs("a", "both"))
    assert (text(both), text(both, "stderr")) == ("out\nno end", "err\n")


def test_following_sees_output_while_the_task_runs(client: AzureBatch, make_job: Make) -> None:
    script = "pwd; while [ ! -e go ]; do sleep 0.05; done; echo last; printf tail"
    job = client.submit(make_job(a=shell(script))).job
    chunks = []
    for chunk in job.logs("a", follow=True):
        if not chunks:
            # The task waits for this file: had its first line not come live, it would wait for ever.
            assert job.status().state is JobState.RUNNING
            (Path(chunk.text.strip()) / "go").touch()
        chunks.append(chunk)
    assert text(chunks[1:]) == "last\ntail"


def test_following_a_job_gives_every_task_and_ends(client: AzureBatch, make_job: Make) -> None:
    spec = make_job(
        a=shell("echo from a"),
        b={"command": shell("echo from b; exit 2"), "depends_on": ["a"]},
        c=shell("echo c"),
    )
    chunks = list(client.submit(spec).job.logs(follow=True))
    assert {(chunk.task_id, chunk.text) for chunk in chunks} == {
        ("a", "from a\n"),
        ("b", "from b\n"),
        ("c", "c\n"),
    }


def test_what_was_waited_for_comes_before_what_waited(client: AzureBatch, make_job: Make) -> None:
    spec = make_job(
        a={"command": shell("echo mean"), "depends_on": ["y", "z"]},
        y={"command": shell("echo y"), "depends_on": ["z"]},
        z=shell("echo z"),
    )
    job = client.submit(spec).job
    job.wait(WITHIN)
    assert [chunk.task_id for chunk in job.logs()] == ["z", "y", "a"]


def test_following_ends_when_the_rest_is_blocked(client: AzureBatch, make_job: Make) -> None:
    job = client.submit(make_job(a=shell("exit 1"), b={"command": ["true"], "depends_on": ["a"]})).job
    chunks = list(job.logs("b", follow=True))
    assert [chunk.stream for chunk in chunks] == ["notice"]
    assert "depends on a" in chunks[0].text
    job.cancel()


def test_a_task_that_is_tried_again_starts_its_output_again(
    client: AzureBatch, make_job: Make, tmp_path: Path
) -> None:
    flag = tmp_path / "tried"
    script = f"if [ -e {flag} ]; then echo second; else touch {flag}; echo the first try; sleep 1; exit 9; fi"
    job = client.submit(make_job(a={"command": shell(script), "retry": {"max_retries": 1}})).job
    chunks = list(job.logs("a", follow=True))
    assert chunks[-1].text == "second\n"
    kinds = [chunk.stream for chunk in chunks]
    assert kinds == ["stdout", "notice", "stdout"]


def test_bytes_that_are_no_text_do_not_end_the_log(client: AzureBatch, make_job: Make) -> None:
    job = client.submit(make_job(a=shell(r"printf 'a\320b\342\202\254'"))).job
    assert text(list(job.logs("a", follow=True))) == "a\ufffdb€"


def test_a_task_that_has_not_started_says_so(client: AzureBatch, make_job: Make) -> None:
    job = client.submit(make_job(a=["sleep", "60"], b={"command": ["true"], "depends_on": ["a"]})).job
    (chunk,) = job.logs("b")
    assert (chunk.stream, chunk.text) == ("notice", "no output yet: the task is waiting")
    job.cancel()


def test_a_task_that_is_not_there(client: AzureBatch, make_job: Make) -> None:
    job = client.submit(make_job(a=["true"])).job
    with pytest.raises(NotFound, match="nobody"):
        list(job.logs("nobody", follow=True))


def test_output_outlives_its_node_in_storage(client: AzureBatch, make_job: Make) -> None:
    outputs = [{"file_pattern": "../std*.txt", "container": "kept-logs"}]
    task = {"command": shell("echo kept"), "output_files": outputs}
    job = client.submit(make_job(a=task, job=own_pool("kept"))).job
    ended = job.wait(WITHIN)
    assert ended.state is JobState.SUCCEEDED, ended
    lose_nodes(client, str(ended.pool_id))
    chunks = list(job.logs("a"))
    assert (text(chunks), [chunk.stream for chunk in chunks]) == ("kept\n", ["stdout"])


def test_output_that_went_with_its_node_is_explained(client: AzureBatch, make_job: Make) -> None:
    job = client.submit(make_job(a=shell("echo lost"), job=own_pool("lost-logs"))).job
    lose_nodes(client, str(job.wait(WITHIN).pool_id))
    (chunk,) = job.logs("a")
    assert (chunk.stream, chunk.text) == (
        "notice",
        "stdout is gone, because its node is gone; no copy of it was kept",
    )


@pytest.fixture
def kept(client: AzureBatch, make_job: Make) -> JobHandle:
    """A job whose nodes are gone, and whose output is in storage."""
    outputs = [{"file_pattern": "../std*.txt", "container": "kept-too"}]
    task = {"command": shell("echo kept"), "output_files": outputs}
    job = client.submit(make_job(a=task, job=own_pool("kept-too"))).job
    lose_nodes(client, str(job.wait(WITHIN).pool_id))
    return job


def notices(job: JobHandle) -> list[str]:
    return [chunk.text for chunk in job.logs("a") if chunk.stream == "notice"]


def refuse(*_: Any, **__: Any) -> Any:
    raise HttpResponseError("the storage refuses")


@pytest.mark.parametrize("name", ["get_blob_properties", "download_blob"])
def test_a_copy_that_cannot_be_read_is_not_taken_for_an_empty_one(
    kept: JobHandle, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    monkeypatch.setattr(uploaded_logs, "_BOUNDS", RetrySettings(attempts=1))
    monkeypatch.setattr(BlobClient, name, refuse)
    (notice,) = notices(kept)
    assert "kept-too" in notice
    assert "HttpResponseError" in notice
    assert ("ends 5 bytes early" in notice) is (name == "download_blob")


def test_a_copy_that_was_not_looked_for_is_not_said_to_be_missing(
    kept: JobHandle, monkeypatch: pytest.MonkeyPatch
) -> None:
    def busy(*_: Any) -> None:
        raise Throttled("too many requests")

    monkeypatch.setattr(requests, "get_task", busy)
    (notice,) = notices(kept)
    assert "no copy" not in notice
    assert "cannot be found out: too many requests" in notice


def test_the_storage_is_opened_once_and_closed(kept: JobHandle, monkeypatch: pytest.MonkeyPatch) -> None:
    opened, closed = [], []
    real_open, real_exit = ContainerClient.from_container_url, ContainerClient.__exit__

    def opening(*args: Any, **options: Any) -> ContainerClient:
        opened.append(real_open(*args, **options))
        return opened[-1]

    def closing(client: ContainerClient, *args: Any) -> None:
        closed.append(client)
        real_exit(client, *args)

    monkeypatch.setattr(ContainerClient, "from_container_url", opening)
    monkeypatch.setattr(ContainerClient, "__exit__", closing)
    chunks = list(kept.logs("a", "both"))
    assert text(chunks) == "kept\n"
    assert opened == closed
    assert len(opened) == 1


def test_files_are_listed_and_downloaded(client: AzureBatch, make_job: Make, tmp_path: Path) -> None:
    script = "mkdir -p 'a b'; printf 12345 > 'a b/é.txt'; head -c 9000000 /dev/zero > big"
    job = client.submit(make_job(a=shell(script))).job
    job.wait(WITHIN)
    found = {info.name: info for info in job.files("a")}
    assert {"stdout.txt", "stderr.txt", "wd", "wd/a b/é.txt", "wd/big"} <= set(found)
    assert (found["wd/a b/é.txt"].size, found["wd/a b/é.txt"].is_directory) == (5, False)
    assert found["wd"].is_directory
    small = job.download("a", "wd/a b/é.txt", tmp_path)
    assert small == tmp_path / "é.txt"
    assert small.read_text() == "12345"
    assert job.download("a", "wd/a b/é.txt", str(tmp_path / "é.txt")) == small
    with pytest.raises(SpecError, match="there is no folder"):
        job.download("a", "wd/big", tmp_path / "new" / "copy")
    assert not (tmp_path / "new").exists()
    big = job.download("a", "wd/big", tmp_path / "copy")
    assert big.stat().st_size == 9_000_000
    assert sorted(path.name for path in tmp_path.iterdir()) == ["copy", "é.txt"]


def test_a_file_that_is_not_there_leaves_nothing_behind(
    client: AzureBatch, make_job: Make, tmp_path: Path
) -> None:
    job = client.submit(make_job(a=["true"])).job
    job.wait(WITHIN)
    with pytest.raises(NotFound):
        job.download("a", "wd/nothing", tmp_path)
    assert not list(tmp_path.iterdir())


def test_files_of_a_task_that_has_not_run_are_a_conflict(client: AzureBatch, make_job: Make) -> None:
    job = client.submit(make_job(a=["sleep", "60"], b={"command": ["true"], "depends_on": ["a"]})).job
    with pytest.raises(Conflict):
        list(job.files("b"))
    job.cancel()
