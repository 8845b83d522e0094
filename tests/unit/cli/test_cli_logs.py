"""`azbatch logs`: output as it is, named where it comes from several tasks or members."""

from __future__ import annotations

from datetime import datetime, timezone
from typing import TYPE_CHECKING

from azbatch_core.service.states import JobState
from azbatch_core.service.summaries import (
    LogChunk,
)

if TYPE_CHECKING:
    from cli_fakes import Azbatch, Chunk, FakeBatch, MakeTask

T0 = datetime(2026, 3, 1, tzinfo=timezone.utc)


def test_logs_of_one_task_come_as_they_are(batch: FakeBatch, azbatch: Azbatch, chunk: Chunk) -> None:
    batch.fake_job.chunks = [chunk("t1", "stdout", "a\nb")]
    assert azbatch("logs", "j", "t1").out == "a\nb"
    assert ("logs", "t1", "both", False) in batch.fake_job.calls


def test_logs_of_a_job_with_one_task_have_no_names(batch: FakeBatch, azbatch: Azbatch, chunk: Chunk) -> None:
    batch.fake_job.chunks = [chunk("t1", "stdout", "a\n")]
    assert azbatch("logs", "j", "-f", "--stream", "stderr").out == "a\n"
    assert ("logs", None, "stderr", True) in batch.fake_job.calls


def test_logs_of_several_tasks_name_them(
    batch: FakeBatch, azbatch: Azbatch, chunk: Chunk, make_task: MakeTask
) -> None:
    batch.fake_job.listed = [make_task("t1"), make_task("t2")]
    batch.fake_job.chunks = [chunk("t1", "stdout", "a"), chunk("t2", "stderr", "b\n")]
    result = azbatch("logs", "j")
    assert (result.out, result.err) == ("[t1] a\n", "[t2] b\n")


def test_ctrl_c_in_followed_logs_says_how_to_come_back(batch: FakeBatch, azbatch: Azbatch) -> None:
    batch.fake_job.raises["logs"] = KeyboardInterrupt()
    result = azbatch("logs", "-f", "j")
    assert result.code == 130
    assert "azbatch logs -f local:j" in result.err
    assert azbatch("logs", "j").code == 130


def test_lines_of_a_gang_name_the_member(batch: FakeBatch, azbatch: Azbatch) -> None:
    batch.fake_job.chunks = [
        LogChunk("g", "stdout", "half ", member=0),
        LogChunk("g", "stdout", "one\n", member=1),
        LogChunk("g", "stdout", "zero\n", member=0),
        LogChunk("g", "notice", "stdout is gone", member=1),
    ]
    ran = azbatch("logs", "j", "g")
    assert ran.out == "[1] one\n[0] half zero\n"
    assert "g member 1: stdout is gone" in ran.err
    assert azbatch("logs", "j", "g", "--member", "1").out == "one\n"


def test_lines_of_several_tasks_name_task_and_member(
    batch: FakeBatch, azbatch: Azbatch, make_task: MakeTask
) -> None:
    batch.fake_job.listed = [make_task("t"), make_task("g", nodes=2)]
    batch.fake_job.chunks = [LogChunk("g", "stdout", "one\n", member=1), LogChunk("t", "stdout", "plain\n")]
    assert azbatch("logs", "j").out == "[g/1] one\n[t] plain\n"


def test_following_output_by_a_virtual_clock_says_that_it_stands(batch: FakeBatch, azbatch: Azbatch) -> None:
    batch.fake_job.time, batch.fake_job.state = T0, JobState.RUNNING
    said = "azbatch: the local service's clock stands at 2026-03-01 00:00:00 UTC"
    assert azbatch("logs", "-f", "j").err.startswith(said)
    assert azbatch("logs", "j").err == ""
    batch.fake_job.state = JobState.SUCCEEDED
    assert azbatch("logs", "-f", "j").err == ""
