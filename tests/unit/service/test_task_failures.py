"""Whose fault a failure is."""

from __future__ import annotations

from typing import Any

import pytest

from azbatch_core.service.states import FailureCategory
from azbatch_core.service.watch import task_failures


def document(
    code: Any = None,
    exit_code: Any = None,
    *,
    message: Any = "m",
    category: Any = "UserError",
    wall: Any = None,
    seconds: Any = 1,
    **details: Any,
):
    failure = {"category": category, "code": code, "message": message}
    failure["details"] = [{"name": name, "value": value} for name, value in details.items()]
    execution = {
        "exitCode": exit_code,
        "result": "failure",
        "failureInfo": failure if code else None,
        "startTime": "2026-01-01T00:00:00Z",
        "endTime": f"2026-01-01T00:00:{seconds:02}Z",
    }
    return {
        "id": "t",
        "state": "completed",
        "executionInfo": execution,
        "constraints": {"maxWallClockTime": wall},
    }


@pytest.mark.parametrize(
    ("task", "expected"),
    [
        (document("FailureExitCode", 3), FailureCategory.USER),
        (document("CommandProgramNotFound"), FailureCategory.USER),
        (document("ContainerInvalidImage"), FailureCategory.IMAGE),
        (document("ContainerInvalidImage", Message="write: no space left on device"), FailureCategory.NODE),
        (document("BlobNotFound"), FailureCategory.STAGING),
        (document("ResourceContainerNotFound"), FailureCategory.STAGING),
        (document("FileUploadMiscError", 0), FailureCategory.STAGING),
        (document("ApplicationPackageError"), FailureCategory.STAGING),
        (document("DiskFull"), FailureCategory.NODE),
        (document("JobPreparationTaskFailed"), FailureCategory.NODE),
        (document("TaskEnded"), FailureCategory.CANCELLED),
        (document("TaskEnded", -9, wall="PT5S", seconds=5), FailureCategory.WALLTIME),
        (document("FailureExitCode", -9, wall="PT5S", seconds=6), FailureCategory.WALLTIME),
        (document("FailureExitCode", 1, wall="PT5S", seconds=6), FailureCategory.USER),
        (document("SomethingWallClockTimeExpired"), FailureCategory.WALLTIME),
        # Whoever killed it does not say why: no evidence that memory ran out.
        (document("FailureExitCode", -9), FailureCategory.USER),
        (document("FailureExitCode", 137), FailureCategory.USER),
        (document("FailureExitCode", 137, Message="OOMKilled: true"), FailureCategory.OUT_OF_MEMORY),
        (document("TaskOutOfMemory", -9), FailureCategory.OUT_OF_MEMORY),
        (document("TaskEnded", -9), FailureCategory.CANCELLED),
        (document("FailureExitCode", 1, Message="Cannot allocate memory"), FailureCategory.OUT_OF_MEMORY),
        (document("NodePreempted"), FailureCategory.PREEMPTED),
        (document("CoreQuotaReached"), FailureCategory.QUOTA),
        (document("Novelty", category="ServerError"), FailureCategory.SERVICE),
        (document("Novelty"), FailureCategory.USER),
        (document(None, 5), FailureCategory.USER),
    ],
)
def test_category(task: Any, expected: Any):
    assert task_failures.categorise(task) is expected


@pytest.mark.parametrize(
    ("task", "expected"),
    [
        (document("FailureExitCode", 3), "exit code 3"),
        (document("FailureExitCode", -9), "killed by signal 9 (out of memory?)"),
        (document("FailureExitCode", 137), "killed by signal 9 (out of memory?)"),
        (
            document("FailureExitCode", 137, Message="OOMKilled"),
            "m: OOMKilled [FailureExitCode] (exit code 137 (SIGKILL))",
        ),
        (document("FailureExitCode", -11), "exit code -11 (SIGSEGV)"),
        (document("FailureExitCode", 143), "exit code 143 (SIGTERM)"),
        (document("TaskEnded", -9, wall="PT1M", seconds=59), "m [TaskEnded] (exit code -9)"),
        (document("FailureExitCode", -9, wall="PT5S", seconds=5), "its wall time ran out (5s)"),
        (document("BlobNotFound", Message="a/b"), "m: a/b [BlobNotFound]"),
    ],
)
def test_words(task: Any, expected: Any):
    assert task_failures.explain(task, task_failures.categorise(task)) == expected


def test_a_message_is_one_line_without_the_service_s_tail():
    error = {
        "code": "C",
        "message": "Too\nbad.\nRequestId:abc\nTime:now",
        "values": [{"name": "Reason", "value": "r"}],
    }
    assert task_failures.describe(error) == "Too bad.: r [C]"
