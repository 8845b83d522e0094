"""The commands that look: tables for people, documents with stable keys for programs."""

from __future__ import annotations

import io
import json
from datetime import datetime, timedelta, timezone
from typing import TYPE_CHECKING

import pytest

from azbatch_core.cli import main
from azbatch_core.errors import NotFound, WaitTimeout
from azbatch_core.service.states import FailureCategory, JobState, MemberStatus, TaskState, TaskStatus
from azbatch_core.service.summaries import (
    Explanation,
    FileInfo,
    JobSummary,
    NodeSummary,
    PoolSummary,
)

if TYPE_CHECKING:
    from pathlib import Path

    from cli_fakes import Azbatch, FakeBatch, MakeTask
    from pytest_mock import MockerFixture

T0 = datetime(2026, 3, 1, tzinfo=timezone.utc)
DAY = timedelta(days=1)


@pytest.fixture
def two_jobs(batch: FakeBatch) -> None:
    batch.found_jobs = [
        JobSummary("local:b", "b", JobState.RUNNING, "b", "ann", "pool-1", T0 + DAY, None, 2, 1, 4, 1),
        JobSummary("local:a", "a", JobState.SUCCEEDED, "a", "ann", "pool-1", T0, T0, 0, 0, 3, 0),
    ]


@pytest.mark.usefixtures("two_jobs")
def test_jobs(batch: FakeBatch, azbatch: Azbatch) -> None:
    lines = azbatch("jobs").out.splitlines()
    assert lines[0].split() == ["JOB", "STATE", "DONE", "FAILED", "AGE", "TIME", "USER", "POOL"]
    assert lines[1].split()[:4] == ["b", "running", "5/8", "1"]
    assert lines[2].split()[:4] == ["a", "succeeded", "3/3", "-"]
    assert batch.mine == [True]


@pytest.mark.usefixtures("two_jobs")
def test_jobs_can_be_filtered_and_limited(batch: FakeBatch, azbatch: Azbatch) -> None:
    assert len(azbatch("jobs", "--state", "succeeded").out.splitlines()) == 2
    assert batch.limits[-1] is None, "the state of a job is known only once it was looked at"
    assert azbatch("jobs", "--limit", "1").out.splitlines()[1].startswith("b ")
    assert batch.limits[-1] == 1
    azbatch("jobs", "--all")
    assert batch.mine[-1] is False
    result = azbatch("jobs", "--state", "finished")
    assert result.code == 2
    assert "'succeeded'" in result.err


@pytest.mark.usefixtures("two_jobs")
def test_jobs_as_json(azbatch: Azbatch) -> None:
    first, second = json.loads(azbatch("jobs", "--json").out)
    assert set(first) == {
        "handle",
        "id",
        "state",
        "display_name",
        "user",
        "pool_id",
        "created",
        "ended",
        "active",
        "running",
        "succeeded",
        "failed",
        "reason",
        "metadata",
        "total",
    }
    assert (first["state"], first["total"], first["created"], first["ended"]) == (
        "running",
        8,
        "2026-03-02T00:00:00.000Z",
        None,
    )
    assert second["handle"] == "local:a"


def test_an_empty_list_of_jobs_tells_of_those_that_are_not_mine(batch: FakeBatch, azbatch: Azbatch) -> None:
    assert azbatch("jobs").err == "No jobs. `azbatch run -- echo hello` makes one.\n"
    batch.others_jobs = [JobSummary("local:c", "c", JobState.FAILED, None, None, "p", T0, T0, 0, 0, 0, 1)]
    assert azbatch("jobs").err.startswith("No jobs of yours. `azbatch jobs --all` lists")
    running = azbatch("jobs", "--state", "running")
    assert running.err.startswith("No job of yours is running. `azbatch jobs --all`")
    assert azbatch("jobs", "--all").out.splitlines()[1].startswith("c ")
    assert azbatch("jobs", "--all", "--state", "running").err == "No job is running.\n"


@pytest.mark.parametrize(
    "words", [("jobs",), ("pools",), ("pools", "list"), ("nodes", "p"), ("tasks", "j"), ("why", "j")]
)
def test_an_empty_list_is_an_empty_document(
    words: tuple[str, ...], batch: FakeBatch, azbatch: Azbatch
) -> None:
    batch.fake_job.listed = []
    result = azbatch(*words, "--json")
    assert (result.code, result.out, result.err) == (0, "[]\n", "")


def test_show(batch: FakeBatch, azbatch: Azbatch, make_task: MakeTask) -> None:
    batch.fake_job.listed = [
        make_task("good"),
        make_task("bad", 4, category=FailureCategory.USER, message="exit code 4"),
    ]
    out = azbatch("show", "local:job-9").out
    assert "Job:     local:job-9\n" in out
    assert "State:   failed\n" in out
    assert "Tasks:   2 (1 succeeded, 1 failed)\n" in out
    assert "bad   failed     4  node-1    2s      1  user: exit code 4\n" in out


def test_the_account_of_a_handle_is_used(batch: FakeBatch, azbatch: Azbatch) -> None:
    azbatch("show", "prod:job-9")
    azbatch("show", "job-9")
    azbatch("--account", "other", "show", "job-9")
    azbatch("show", "--account", "other", "job-9")
    assert batch.opened == ["prod", None, "other", "other"]


def test_an_account_that_contradicts_the_handle_is_refused(azbatch: Azbatch) -> None:
    result = azbatch("show", "--account", "other", "prod:job-9")
    assert result.code == 2
    assert "prod" in result.err
    assert "other" in result.err


def test_the_account_comes_from_the_environment(
    batch: FakeBatch, azbatch: Azbatch, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AZBATCH_ACCOUNT", "from-env")
    azbatch("jobs")
    azbatch("jobs", "--account", "typed")
    azbatch("show", "prod:x")
    monkeypatch.setenv("AZBATCH_ACCOUNT", "")
    azbatch("jobs")
    assert batch.opened == ["from-env", "typed", "prod", None]


def test_tasks(batch: FakeBatch, azbatch: Azbatch, make_task: MakeTask) -> None:
    batch.fake_job.listed = [
        make_task("ran", retries=1, requeues=1),
        TaskStatus("held", TaskState.WAITING, depends_on=("ran",)),
    ]
    lines = azbatch("tasks", "j").out.splitlines()
    assert lines[1].split() == ["ran", "succeeded", "0", "node-1", "2s", "3", "-"]
    assert lines[2].split() == ["held", "waiting", "-", "-", "-", "-", "-"]
    assert len(azbatch("tasks", "j", "--state", "waiting").out.splitlines()) == 2
    document = json.loads(azbatch("tasks", "j", "--json").out)
    assert set(document[0]) == {
        "again",
        "id",
        "state",
        "exit_code",
        "node_id",
        "pool_id",
        "started",
        "ended",
        "category",
        "message",
        "code",
        "retries",
        "requeues",
        "depends_on",
        "required_slots",
        "display_name",
        "nodes",
        "member",
        "duration_seconds",
    }
    assert document[0]["exit_code"] == 0
    assert document[1]["exit_code"] is None
    assert document[1]["depends_on"] == ["ran"]


def test_wait_exits_as_the_job_did(batch: FakeBatch, azbatch: Azbatch, make_task: MakeTask) -> None:
    assert azbatch("wait", "j").code == 0
    batch.fake_job.listed = [make_task("a"), make_task("b", 7)]
    assert azbatch("wait", "j").code == 1
    batch.fake_job.listed = [make_task("b", 7)]
    assert azbatch("wait", "j").code == 1


def test_wait_for_a_job_that_cannot_go_on_says_why(batch: FakeBatch, azbatch: Azbatch) -> None:
    batch.fake_job.listed = [TaskStatus("a", TaskState.QUEUED)]
    batch.fake_job.state = JobState.STUCK
    batch.fake_job.reason = "no usable node"
    batch.fake_job.reasons = [
        Explanation("node-1", "its start task failed with exit code 1", "azbatch nodes pool-1")
    ]
    result = azbatch("wait", "j")
    assert result.code == 1
    assert "local:j stuck: no usable node" in result.err
    assert "node-1: its start task failed" in result.err
    assert "it stays active until `azbatch cancel local:j`" in result.err


@pytest.mark.parametrize(
    ("text", "seconds"),
    [("90", 90.0), ("1.5m", 90.0), ("1h30m", 5400.0), ("PT2M", 120.0), ("2h", 7200.0), ("0", 0.0)],
)
def test_wait_timeout_is_124(text: str, seconds: float, batch: FakeBatch, azbatch: Azbatch) -> None:
    batch.fake_job.raises["wait"] = WaitTimeout("still running after that time")
    result = azbatch("wait", "j", "--timeout", text)
    assert result.code == 124
    assert ("wait", seconds) in batch.fake_job.calls
    assert result.err == "azbatch: error: still running after that time\n"


@pytest.mark.parametrize("text", ["soon", "-1", "5x", "", "inf", "nan"])
def test_a_timeout_that_is_no_time_is_refused(text: str, azbatch: Azbatch) -> None:
    assert azbatch("wait", "j", "--timeout", text).code == 2


def test_why(batch: FakeBatch, azbatch: Azbatch) -> None:
    batch.fake_job.state = JobState.RUNNING
    result = azbatch("why", "j")
    assert (result.code, result.out) == (0, "")
    assert "nothing to explain: local:j running" in result.err
    batch.fake_job.reasons = [Explanation(f"t{n}", "waits", "have patience") for n in range(12)]
    out = azbatch("why", "j").out
    assert out.count("waits") == 12
    assert out.count("try: have patience") == 12
    assert json.loads(azbatch("why", "j", "--json").out)[0] == {
        "subject": "t0",
        "text": "waits",
        "hint": "have patience",
    }


def test_files(batch: FakeBatch, azbatch: Azbatch) -> None:
    batch.fake_job.found_files = [
        FileInfo("stdout.txt", 2048, is_directory=False, last_modified=T0),
        FileInfo("wd", 0, is_directory=True, last_modified=None),
    ]
    lines = azbatch("files", "ls", "j", "t").out.splitlines()
    assert len(lines) == 2
    assert lines[1].startswith("2.0K")
    assert lines[1].endswith("stdout.txt")
    assert azbatch("files", "ls", "j", "t", "--folders").out.splitlines()[2].endswith("wd/")
    assert json.loads(azbatch("files", "ls", "j", "t", "--json").out) == [
        {
            "name": "stdout.txt",
            "size": 2048,
            "is_directory": False,
            "last_modified": "2026-03-01T00:00:00.000Z",
        }
    ]


def test_files_get_to_a_folder(azbatch: Azbatch, tmp_path: Path) -> None:
    result = azbatch("files", "get", "j", "t", "wd/out.bin", str(tmp_path))
    assert (result.code, result.out) == (0, "")
    assert str(tmp_path / "out.bin") in result.err
    assert (tmp_path / "out.bin").read_bytes() == b"\x00content\xff"


@pytest.mark.parametrize(
    ("words", "asked"),
    [
        (("show", "nope"), "status"),
        (("logs", "nope"), "status"),
        (("wait", "nope"), "wait"),
        (("why", "nope"), "status"),
        (("tasks", "nope"), "tasks"),
        (("files", "ls", "nope", "1"), "files"),
        (("files", "get", "nope", "1", "x"), "download"),
    ],
)
def test_a_job_that_is_not_there_is_named(
    words: tuple[str, ...], asked: str, batch: FakeBatch, azbatch: Azbatch
) -> None:
    batch.fake_job.raises[asked] = NotFound("The specified job does not exist.", code="JobNotFound")
    result = azbatch(*words)
    assert result.code == 3
    assert result.err == "azbatch: error: there is no job local:nope - `azbatch jobs` lists yours\n"


@pytest.mark.parametrize(
    ("words", "asked"),
    [
        (("files", "ls", "j", "9"), "files"),
        (("files", "get", "j", "9", "x"), "download"),
        (("logs", "j", "9"), "logs"),
    ],
)
def test_a_task_that_is_not_there_is_named(
    words: tuple[str, ...], asked: str, batch: FakeBatch, azbatch: Azbatch
) -> None:
    batch.fake_job.raises[asked] = NotFound("The specified task does not exist.", code="TaskNotFound")
    result = azbatch(*words)
    assert result.code == 3
    assert (
        result.err == "azbatch: error: there is no task 9 in local:j - `azbatch tasks local:j` lists them\n"
    )


@pytest.mark.parametrize(
    "words",
    [
        ("show", "x/y"),
        ("wait", "local:x y"),
        ("logs", "j", "x/y"),
        ("files", "ls", "j", "x.y"),
        ("nodes", "x/y"),
        ("pools", "show", "x/y"),
        ("pools", "delete", "x/y"),
    ],
)
def test_what_can_be_no_id_is_refused_before_anything_is_asked(
    words: tuple[str, ...], batch: FakeBatch, azbatch: Azbatch
) -> None:
    result = azbatch(*words)
    assert (result.code, batch.opened) == (2, [])
    assert "letters, digits" in result.err
    assert result.err.count("\n") == 1


@pytest.mark.usefixtures("batch")
def test_files_get_to_stdout_is_exact(mocker: MockerFixture) -> None:
    written = io.BytesIO()
    mocker.patch("sys.stdout", io.TextIOWrapper(written))
    assert main(["files", "get", "j", "t", "wd/out.bin", "-"]) == 0
    assert written.getvalue() == b"\x00content\xff"


def test_schema_and_version(azbatch: Azbatch) -> None:
    schema = json.loads(azbatch("schema").out)
    assert "tasks" in schema["properties"]
    version = json.loads(azbatch("version", "--json").out)
    assert version["packages"]["azure-batch"].startswith("15.")
    assert azbatch("--version").out == f"azbatch {version['azbatch']}\n"
    assert f"azbatch {version['azbatch']}\n" in azbatch("version").out


def test_a_table_has_the_ends_of_a_nodes_id_and_json_all_of_it(
    batch: FakeBatch, azbatch: Azbatch, make_task: MakeTask
) -> None:
    node = f"tvmps_{'0123456789abcdef' * 4}_d"
    batch.fake_job.listed = [make_task(node_id=node)]
    batch.found_nodes = [NodeSummary(node, "p1", "idle", 0, is_dedicated=True, ip=None)]
    assert azbatch("tasks", "j").out.splitlines()[1].split()[3] == "tvmps_012345…_d"
    assert azbatch("nodes", "p1").out.splitlines()[1].split()[0] == "tvmps_012345…_d"
    assert node in azbatch("tasks", "j", "--json").out
    assert node in azbatch("nodes", "p1", "--json").out


def test_show_lists_the_members_of_gangs(batch: FakeBatch, azbatch: Azbatch, make_task: MakeTask) -> None:
    batch.fake_job.listed = [make_task("plain"), make_task("g", 3, nodes=2, member=1, message="member 1: x")]
    batch.fake_job.gang_members = {
        "g": (
            MemberStatus(
                0, 0, TaskState.CANCELLED, node_id="node-1", message="ended because member 1 failed"
            ),
            MemberStatus(1, 1, TaskState.FAILED, exit_code=3, node_id="node-2", message="exit code 3"),
        )
    }
    lines = azbatch("show", "j").out.splitlines()
    assert lines[-3].split()[:6] == ["GANG", "MEMBER", "STATE", "EXIT", "NODE", "TIME"]
    assert lines[-1].split()[:5] == ["g", "1", "failed", "3", "node-2"]
    (gang,) = json.loads(azbatch("show", "j", "--json").out)["gangs"]
    assert [member["rank"] for member in gang["members"]] == [0, 1]
    assert gang["members"][1]["message"] == "exit code 3"


@pytest.mark.usefixtures("two_jobs")
def test_ages_are_counted_by_a_virtual_clock(batch: FakeBatch, azbatch: Azbatch) -> None:
    batch.found_pools = [PoolSummary("p", "active", "steady", "d2", created=T0)]
    batch.fake_job.time = T0 + 3 * DAY
    assert [line.split()[4] for line in azbatch("jobs").out.splitlines()[1:]] == ["2d", "3d"]
    assert " 3d" in azbatch("pools").out
