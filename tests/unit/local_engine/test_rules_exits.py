from __future__ import annotations

import pytest

from azbatch_core.local.rules.exits import Consequence, consequence, wants_retry

FAILED = {"code": "FailureExitCode"}
UPLOAD = {"code": "FileUploadContainerNotFound"}
MISSING = {"code": "CommandProgramNotFound"}
CONDITIONS = {
    "exitConditions": {
        "exitCodes": [{"code": 3, "exitOptions": {"jobAction": "none", "dependencyAction": "satisfy"}}],
        "exitCodeRanges": [{"start": 10, "end": 20, "exitOptions": {"jobAction": "disable"}}],
        "preProcessingError": {"dependencyAction": "satisfy"},
        "fileUploadError": {"jobAction": "none", "dependencyAction": "satisfy"},
        "default": {"jobAction": "none"},
    }
}


@pytest.mark.parametrize(
    ("exit_code", "failure", "expected"),
    [
        (0, None, Consequence("none", True)),
        (3, FAILED, Consequence("none", True)),
        (10, FAILED, Consequence("disable", False)),
        (20, FAILED, Consequence("disable", False)),
        (21, FAILED, Consequence("none", False)),
        (None, MISSING, Consequence("terminate", True)),
        (0, UPLOAD, Consequence("none", True)),
        (10, UPLOAD, Consequence("disable", False)),
    ],
)
def test_the_condition_that_fits_decides(
    exit_code: int | None, failure: dict | None, expected: Consequence
) -> None:
    assert consequence(CONDITIONS, exit_code, failure, acts=True) == expected


@pytest.mark.parametrize(
    ("exit_code", "failure", "expected"),
    [
        (0, None, Consequence("none", True)),
        (1, FAILED, Consequence("terminate", False)),
        (None, MISSING, Consequence("terminate", False)),
        (0, UPLOAD, Consequence("terminate", False)),
    ],
)
def test_without_conditions_failures_end_the_job_and_block(
    exit_code: int | None, failure: dict | None, expected: Consequence
) -> None:
    assert consequence({}, exit_code, failure, acts=True) == expected


def test_special_errors_without_a_condition_take_the_default() -> None:
    spec = {"exitConditions": {"default": {"dependencyAction": "satisfy"}}}
    assert consequence(spec, None, MISSING, acts=True) == Consequence("terminate", True)
    assert consequence(spec, 0, UPLOAD, acts=True) == Consequence("terminate", True)
    assert consequence(spec, 0, None, acts=True) == Consequence("none", True)


def test_nothing_happens_to_a_job_that_did_not_ask() -> None:
    assert consequence({}, 1, FAILED, acts=False) == Consequence("none", False)


@pytest.mark.parametrize(
    ("exit_code", "failure", "retries", "allowed", "again"),
    [
        (1, FAILED, 0, 0, False),
        (1, FAILED, 0, 1, True),
        (1, FAILED, 1, 1, False),
        (-9, FAILED, 99, -1, True),
        (-9, {"code": "TaskEnded"}, 0, 5, False),
        (0, None, 0, 5, False),
        (0, UPLOAD, 0, 5, False),
        (None, MISSING, 0, 5, False),
    ],
)
def test_only_processes_that_failed_are_tried_again(
    exit_code: int | None, failure: dict | None, retries: int, allowed: int, *, again: bool
) -> None:
    assert wants_retry(exit_code, failure, retries, allowed) is again
