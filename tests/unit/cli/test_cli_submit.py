from __future__ import annotations

import io
import json
from types import SimpleNamespace
from typing import TYPE_CHECKING

import pytest

from azbatch_core.cli.recent import remembered
from azbatch_core.errors import Conflict, SubmissionError
from azbatch_core.service.states import JobStatus, TaskAddResult, TaskState, TaskStatus
from azbatch_core.service.summaries import Explanation

if TYPE_CHECKING:
    from pathlib import Path

    from cli_fakes import Azbatch, Chunk, FakeBatch, MakeTask, Terminal
    from pytest_mock import MockerFixture

HELLO = "name: hello\ntasks: [{command: [echo, hi]}]\n"


@pytest.fixture
def hello(tmp_path: Path) -> str:
    path = tmp_path / "hello.yaml"
    path.write_text(HELLO)
    return str(path)


def test_the_handle_is_the_result(hello: str, batch: FakeBatch, azbatch: Azbatch) -> None:
    batch.fake_plan.warnings = ("keeps 1 node running",)
    result = azbatch("submit", hello)
    assert result.code == 0
    assert result.out == "local:job-1\n"
    assert result.err == (
        "azbatch: warning: keeps 1 node running\n"
        "azbatch: submitted 1 task to pool pool-1; `azbatch logs -f local:job-1` follows\n"
    )
    assert batch.planned[0].name == "hello"
    assert remembered() == ["local:job-1"]


def test_the_plan_that_was_shown_is_the_plan_that_is_submitted(
    hello: str, batch: FakeBatch, azbatch: Azbatch
) -> None:
    azbatch("submit", hello, "--recreate")
    assert batch.submitted == [(batch.fake_plan, True)]


def test_a_job_with_its_own_pool(hello: str, batch: FakeBatch, azbatch: Azbatch) -> None:
    batch.fake_plan.pool = SimpleNamespace(id=None)
    assert "to a pool of its own;" in azbatch("submit", hello).err


def test_json(hello: str, batch: FakeBatch, azbatch: Azbatch) -> None:
    batch.fake_plan.warnings = ("w",)
    assert json.loads(azbatch("submit", "--json", hello).out) == {
        "handle": "local:job-1",
        "job_id": "job-1",
        "pool_id": "pool-1",
        "added": 1,
        "failed": [],
        "warnings": ["w"],
    }


@pytest.mark.parametrize("option", [(), ("--json",)])
def test_dry_run_sends_nothing(
    option: tuple[str, ...], hello: str, batch: FakeBatch, azbatch: Azbatch
) -> None:
    result = azbatch("submit", "--dry-run", *option, hello)
    assert result.code == 0
    assert batch.submitted == []
    if option:
        assert json.loads(result.out) == {"job_id": "job-1", "secret": "***"}
    else:
        assert result.out == "the plan as a table\n"


def test_stdin(batch: FakeBatch, azbatch: Azbatch, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO('{"name": "from-stdin", "tasks": [{"command": ["true"]}]}'))
    assert azbatch("submit", "-").code == 0
    assert batch.planned[0].name == "from-stdin"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("name: hello\ntasks: [{comand: [echo]}]\n", "job.yaml:2: "),
        ("name: hello\ntasks: [}\n", "job.yaml:2: "),
        ("", "job.yaml:1: "),
    ],
)
def test_a_wrong_file_names_file_and_line(
    text: str, expected: str, tmp_path: Path, batch: FakeBatch, azbatch: Azbatch
) -> None:
    path = tmp_path / "job.yaml"
    path.write_text(text)
    result = azbatch("submit", str(path))
    assert result.code == 2
    assert expected in result.err
    assert result.err.count("\n") == 1
    assert batch.planned == []


def test_a_missing_file_is_bad_input(tmp_path: Path, azbatch: Azbatch) -> None:
    result = azbatch("submit", str(tmp_path / "none.yaml"))
    assert result.code == 2
    assert "none.yaml" in result.err


def test_tasks_that_were_not_added_are_named(hello: str, batch: FakeBatch, azbatch: Azbatch) -> None:
    failed = tuple(TaskAddResult(f"t{n}", "failed", "too large", "RequestBodyTooLarge") for n in range(12))
    batch.raises["submit"] = SubmissionError(
        "12 of 40 tasks were not added", submission=SimpleNamespace(failed=failed)
    )
    result = azbatch("submit", hello)
    assert result.code == 3
    assert "azbatch: task t0 was not added: too large\n" in result.err
    assert "… and 2 more" in result.err
    assert result.err.endswith("azbatch: error: 12 of 40 tasks were not added\n")
    assert remembered() == ["local:job-1"], "the job is there, and can be completed, shown, cancelled"


def test_ctrl_c_while_submitting_names_what_may_be_there(
    hello: str, batch: FakeBatch, azbatch: Azbatch
) -> None:
    batch.raises["submit"] = KeyboardInterrupt("interrupted: the job local:job-1 is there with 3 tasks")
    result = azbatch("submit", hello)
    assert result.code == 130
    assert result.err.endswith("azbatch: interrupted: the job local:job-1 is there with 3 tasks\n")
    batch.raises["submit"] = KeyboardInterrupt()
    assert azbatch("submit", hello).err.endswith("azbatch: interrupted: nothing was submitted\n")


def test_a_conflict_is_the_services_answer(hello: str, batch: FakeBatch, azbatch: Azbatch) -> None:
    batch.raises["submit"] = Conflict("the job is there already", code="JobExists", hint="--recreate")
    result = azbatch("submit", hello)
    assert (result.code, result.out) == (3, "")
    assert result.err.endswith("azbatch: error: the job is there already [JobExists] - --recreate\n")


@pytest.fixture
def forty(batch: FakeBatch, make_task: MakeTask) -> list[TaskStatus]:
    """Forty-one tasks of which seed-07 failed, so that the mean never ran."""
    listed = [make_task(f"seed-{n:02d}", 3 if n == 7 else 0) for n in range(1, 41)]
    listed.append(TaskStatus("mean", TaskState.BLOCKED, message="depends on seed-07, which failed"))
    batch.fake_plan.tasks = (SimpleNamespace(body={}),) * 41
    batch.fake_job.listed = listed
    batch.fake_job.reason = "1 task failed, 1 never ran"
    batch.fake_job.reasons = [Explanation("seed-07", "the command ended with exit code 3")]
    return listed


@pytest.mark.usefixtures("forty")
def test_follow_shows_each_line_with_its_task_then_each_task(
    hello: str, batch: FakeBatch, azbatch: Azbatch, chunk: Chunk
) -> None:
    batch.fake_job.chunks = [
        chunk("seed-01", "stdout", "3.1"),
        chunk("seed-02", "stdout", "3.2\n"),
        chunk("seed-01", "stdout", "4\nend"),
        chunk("seed-02", "notice", "was requeued\n"),
    ]
    result = azbatch("submit", "--follow", hello)
    assert result.code == 1
    lines = result.out.splitlines()
    assert lines[:3] == ["[seed-02] 3.2", "[seed-01] 3.14", "[seed-01] end"]
    assert lines[3].split() == ["TASK", "STATE", "EXIT", "NODE", "TIME", "TRIES", "NOTE"]
    assert lines[4].split() == ["seed-01", "succeeded", "0", "node-1", "2s", "1", "-"]
    assert lines[10].split() == ["seed-07", "failed", "3", "node-1", "2s", "1", "-"]
    assert lines[44].split()[:5] == ["mean", "blocked", "-", "-", "-"]
    assert "azbatch: seed-02: was requeued\n" in result.err
    assert "azbatch: local:job-1 failed: 1 task failed, 1 never ran\n" in result.err
    assert "  seed-07: the command ended with exit code 3\n" in result.err


def test_a_large_job_ends_with_a_summary_and_the_failures(
    hello: str, batch: FakeBatch, azbatch: Azbatch, make_task: MakeTask
) -> None:
    batch.fake_plan.tasks = (SimpleNamespace(body={}),) * 60
    batch.fake_job.listed = [make_task(f"t{n}", 9 if n == 30 else 0) for n in range(60)]
    result = azbatch("submit", "--follow", hello)
    lines = result.out.splitlines()
    assert lines[0] == "60 tasks: 59 succeeded, 1 failed"
    assert len(lines) == 3
    assert lines[2].startswith("t30")


@pytest.mark.parametrize(("option", "read"), [((), False), (("--logs",), True)])
def test_output_of_very_many_tasks_is_read_when_asked(
    option: tuple[str, ...], hello: str, batch: FakeBatch, azbatch: Azbatch, chunk: Chunk, *, read: bool
) -> None:
    batch.fake_plan.tasks = (SimpleNamespace(body={}),) * 201
    batch.fake_job.chunks = [chunk("t1", "stdout", "x\n")]
    result = azbatch("submit", "--follow", *option, hello)
    assert ("[t1] x" in result.out) == read
    assert ("output is not followed" in result.err) != read


@pytest.mark.usefixtures("forty")
def test_follow_as_json_prints_one_document_and_no_output(
    hello: str, batch: FakeBatch, azbatch: Azbatch, chunk: Chunk
) -> None:
    batch.fake_job.chunks = [chunk("seed-01", "stdout", "x\n")]
    result = azbatch("submit", "--follow", "--json", hello)
    document = json.loads(result.out)
    assert result.code == document["exit_code"] == 1
    assert document["state"] == "failed"
    assert document["counts"]["succeeded"] == 39
    assert document["counts"]["queued"] == 0
    assert [task["id"] for task in document["failures"]] == ["seed-07"]
    assert document["failures"][0]["duration_seconds"] == 2.0
    assert document["created"] == "2026-03-01T12:00:00.000Z"


def test_ctrl_c_cancels_nothing_and_says_how_to_come_back(
    hello: str, batch: FakeBatch, azbatch: Azbatch
) -> None:
    batch.fake_job.raises["wait"] = KeyboardInterrupt()
    result = azbatch("submit", "--follow", hello)
    assert result.code == 130
    assert "the job goes on" in result.err
    assert "azbatch logs -f local:job-1" in result.err
    assert "azbatch cancel local:job-1" in result.err
    assert ("cancel",) not in batch.fake_job.calls


def test_trouble_with_the_output_does_not_fail_the_job(
    hello: str, batch: FakeBatch, azbatch: Azbatch
) -> None:
    batch.fake_job.raises["logs"] = Conflict("the node is gone")
    result = azbatch("submit", "--follow", hello)
    assert result.code == 0
    assert "azbatch: output could not be followed: the node is gone\n" in result.err


def test_progress_of_the_job_is_shown_on_a_terminal(
    hello: str, batch: FakeBatch, azbatch: Azbatch, terminal: Terminal, mocker: MockerFixture
) -> None:
    terminal(80)
    mocker.patch("azbatch_core.cli.progress._REDRAW_SECONDS", 0.001)
    batch.fake_plan.tasks = (SimpleNamespace(body={}),) * 2
    running = {TaskState.RUNNING: 1, TaskState.SUCCEEDED: 1}
    batch.fake_job.updates = [JobStatus("local:job-1", "job-1", batch.fake_job.status().state, running, 2)]
    drawn = mocker.patch("azbatch_core.cli.progress.Progress.show")
    azbatch("submit", "--follow", hello)
    assert any("1/2 done, 1 running" in call.args[0](10_000) for call in drawn.call_args_list)


def test_why_a_single_task_failed_is_said_once(
    hello: str, batch: FakeBatch, azbatch: Azbatch, make_task: MakeTask
) -> None:
    batch.fake_job.listed = [make_task("1", 3, message="exit code 3")]
    batch.fake_job.reason = "1 task failed: 1 (exit code 3)"
    batch.fake_job.reasons = [Explanation("task 1", "the command failed: exit code 3")]
    result = azbatch("submit", "--follow", hello)
    assert (result.out + result.err).count("exit code 3") == 1


def test_a_bar_leaves_no_empty_line(hello: str, batch: FakeBatch, azbatch: Azbatch, chunk: Chunk) -> None:
    batch.fake_plan.tasks = (SimpleNamespace(body={}),) * 2
    batch.fake_job.chunks = [
        chunk("a", "stdout", "\r10%"),
        chunk("a", "stdout", "\r20%\r"),
        chunk("a", "stdout", "\nx\u2028y\n\r"),
    ]
    out = azbatch("submit", "--follow", hello).out
    assert out.startswith("[a] 10%\r[a] 20%\r\n[a] x\u2028y\nTASK")
