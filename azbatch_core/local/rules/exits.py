"""What follows from the way a task ended (SDK ExitConditions, ExitOptions)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, NamedTuple

if TYPE_CHECKING:
    from azbatch_core.local.store.records import Doc

__all__ = ["Consequence", "consequence", "wants_retry"]

JobAction = Literal["none", "disable", "terminate"]


class Consequence(NamedTuple):
    """What a completed task does to others.

    Attributes:
        job_action: What becomes of its job.
        satisfied: Whether tasks that depend on it may go on.
    """

    job_action: JobAction
    satisfied: bool


def wants_retry(exit_code: int | None, failure: Doc | None, retries: int, allowed: int) -> bool:
    """Whether a task is tried again: only a process that failed is, staging and uploads are not."""
    if exit_code in {None, 0} or failure is None or failure.get("code") != "FailureExitCode":
        return False
    return allowed == -1 or retries < allowed


def _matching(conditions: Doc, exit_code: int | None, failure: Doc | None) -> Doc | None:
    if exit_code is not None:
        for item in conditions.get("exitCodes") or ():
            if item["code"] == exit_code:
                return item.get("exitOptions") or {}
        for item in conditions.get("exitCodeRanges") or ():
            if item["start"] <= exit_code <= item["end"]:
                return item.get("exitOptions") or {}
    if failure is None:
        return None
    special = None
    if str(failure.get("code", "")).startswith("FileUpload"):
        special = conditions.get("fileUploadError")
    elif exit_code is None:
        special = conditions.get("preProcessingError")
    found: Doc | None = special if special is not None else conditions.get("default")
    return found


def consequence(spec: Doc, exit_code: int | None, failure: Doc | None, *, acts: bool) -> Consequence:
    """What a task's end means.

    An exit code that is listed wins over a failed upload. Without a matching condition success does nothing
    and satisfies; a failure blocks, and ends the job if `acts` (its `onTaskFailure` is
    `performexitoptionsjobaction`).
    """
    conditions = spec.get("exitConditions")
    options = (_matching(conditions, exit_code, failure) or {}) if conditions else {}
    fine = failure is None
    job_action: JobAction = options.get("jobAction") or ("none" if fine else "terminate")
    dependency = options.get("dependencyAction") or ("satisfy" if fine else "block")
    return Consequence(job_action if acts else "none", dependency == "satisfy")
