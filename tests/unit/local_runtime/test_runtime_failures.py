"""Failure records."""

from __future__ import annotations

import pytest

from azbatch_core.local.runtime.failures import CODES, TaskFailure, exit_failure, failure, stop_failure


def test_an_exit_code_gives_the_recorded_record() -> None:
    assert exit_failure() == {
        "category": "UserError",
        "code": "FailureExitCode",
        "message": "The task exited with an exit code representing a failure",
        "details": [
            {"name": "Message", "value": "The task process exited with an unexpected exit code"},
            {"name": "AdditionalErrorCode", "value": "FailureExitCode"},
        ],
    }


@pytest.mark.parametrize("cause", ["user", "job", "node"])
def test_a_stopped_task_was_ended(cause: str) -> None:
    assert stop_failure(cause) == {
        "category": "UserError",
        "code": "TaskEnded",
        "message": "Task Was Ended by User Request",
    }


def test_a_wall_clock_stop_says_so() -> None:
    record = stop_failure("walltime")
    assert record["code"] == "TaskEnded"
    assert "wall clock" in record["message"]


def test_details_keep_their_order() -> None:
    error = TaskFailure("BlobNotFound", BlobSource="https://x/y", FilePath="y")
    assert error.info["details"] == [
        {"name": "BlobSource", "value": "https://x/y"},
        {"name": "FilePath", "value": "y"},
    ]
    assert "details" not in failure("DiskFull")


def test_every_code_has_a_category_and_a_message() -> None:
    for category, message in CODES.values():
        assert category in {"UserError", "ServerError"}
        assert message[0].isupper()
        assert not message.endswith(".")
