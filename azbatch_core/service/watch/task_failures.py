"""Whose fault a task's failure is, and one line that says so. Pure: wire documents in, words out.

The codes are those of the service's task failure information, as its own clients list them; the wording of an
unknown one still gives a category, and a category the service sends along decides between the user and the
service.
"""

from __future__ import annotations

import re
import signal
from typing import TYPE_CHECKING, Any

from azbatch_core.service.documents.wire import duration, moment
from azbatch_core.service.states import FailureCategory

if TYPE_CHECKING:
    from collections.abc import Mapping

_BY_CODE = {
    "failureexitcode": FailureCategory.USER,
    "commandprogramnotfound": FailureCategory.USER,
    "commandlaunchfailed": FailureCategory.USER,
    "taskended": FailureCategory.CANCELLED,
    "diskfull": FailureCategory.NODE,
    "jobpreparationtaskfailed": FailureCategory.NODE,
    "maxinternalretrycountreached": FailureCategory.SERVICE,
    "taskschedulingconstraintfailed": FailureCategory.SERVICE,
    "unknown": FailureCategory.SERVICE,
    "applicationpackageerror": FailureCategory.STAGING,
    "mountconfigurationerror": FailureCategory.STAGING,
}
_BY_PREFIX = (
    ("container", FailureCategory.IMAGE),
    ("blob", FailureCategory.STAGING),
    ("resource", FailureCategory.STAGING),
    ("fileupload", FailureCategory.STAGING),
    ("inputs", FailureCategory.STAGING),
)
_WALL_TIME = re.compile(r"wall.?clock|maxwall|time limit of the task", re.IGNORECASE)
_OUT_OF_MEMORY = re.compile(r"out.?of.?memory|oom.?kill|cannot allocate memory", re.IGNORECASE)
_DISK_FULL = re.compile(r"no space left on device|disk is full|disk full", re.IGNORECASE)
_PREEMPTED = re.compile(r"preempt|evict", re.IGNORECASE)
_QUOTA = re.compile(r"quota", re.IGNORECASE)
_SIGNALLED = 128
_LAST_SIGNAL = 64
UPLOAD_CODES = "fileupload"


def categorise(task: Mapping[str, Any]) -> FailureCategory:
    """Whose fault it is that this completed task did not succeed."""
    execution = task.get("executionInfo") or {}
    failure = execution.get("failureInfo") or {}
    code = str(failure.get("code") or "").lower()
    words = failure_words(failure)
    if _ran_out_of_time(task, words):
        return FailureCategory.WALLTIME
    if _DISK_FULL.search(words):
        # A full disk also shows up as a bad image or a failed download; the cause wins.
        return FailureCategory.NODE
    if _OUT_OF_MEMORY.search(words):
        return FailureCategory.OUT_OF_MEMORY
    return _by_code(code) or _by_words(words, str(failure.get("category") or ""))


def _by_code(code: str) -> FailureCategory | None:
    if code in _BY_CODE:
        return _BY_CODE[code]
    return next((found for prefix, found in _BY_PREFIX if code.startswith(prefix)), None)


def _by_words(words: str, side: str) -> FailureCategory:
    """The category of a code that nobody knows."""
    for pattern, found in ((_PREEMPTED, FailureCategory.PREEMPTED), (_QUOTA, FailureCategory.QUOTA)):
        if pattern.search(words):
            return found
    return FailureCategory.SERVICE if side.lower() == "servererror" else FailureCategory.USER


def explain(task: Mapping[str, Any], category: FailureCategory) -> str:
    """One line on a completed task that did not succeed."""
    execution = task.get("executionInfo") or {}
    failure = execution.get("failureInfo") or {}
    exit_code = execution.get("exitCode")
    if category is FailureCategory.WALLTIME:
        from azbatch_core.specs.units import format_duration

        limit = duration((task.get("constraints") or {}).get("maxWallClockTime"))
        return "its wall time ran out" + (f" ({format_duration(limit)})" if limit is not None else "")
    if category is FailureCategory.OUT_OF_MEMORY:
        return f"{describe(failure) or 'out of memory'} ({exit_words(exit_code) or 'killed'})"
    plain = str(failure.get("code") or "").lower() in {"", "failureexitcode"}
    if plain and was_killed(exit_code):
        # The kernel's out-of-memory killer sends this signal (a container then exits with 137), but so does
        # anybody else who kills: a guess, not a finding.
        return "killed by signal 9 (out of memory?)"
    if plain and exit_code not in {None, 0}:
        return exit_words(exit_code) or ""
    said = describe(failure) or "the service says failure, and not why"
    return said if exit_code is None else f"{said} (exit code {exit_code})"


def describe(failure: Mapping[str, Any] | None) -> str:
    """A wire error (of a task, a job, a resize, a node) on one line: message, details, code."""
    if not failure:
        return ""
    message = _one_line(failure.get("message") or failure.get("code") or "")
    code = str(failure.get("code") or "")
    details = [
        _one_line(pair.get("value"))
        for pair in failure.get("details") or failure.get("errorDetails") or failure.get("values") or ()
        if pair.get("name") not in {"AdditionalErrorCode", "CommandLine"}
    ]
    extra = [detail for detail in details if detail and detail not in message]
    line = ": ".join([message, "; ".join(extra)]) if extra else message
    return f"{line} [{code}]" if code and code not in line else line


def failure_words(failure: Mapping[str, Any]) -> str:
    """Every word of a failure, for pattern search."""
    details = failure.get("details") or ()
    return " ".join(
        [
            str(failure.get("code") or ""),
            str(failure.get("message") or ""),
            *(str(pair.get("value") or "") for pair in details),
        ]
    )


def exit_words(exit_code: int | None) -> str | None:
    """``exit code 3``, or the signal's name where a signal ended the command."""
    if exit_code is None:
        return None
    ended_by = _signal_of(exit_code)
    if ended_by is None:
        return f"exit code {exit_code}"
    return f"exit code {exit_code} ({ended_by.name})"


def was_killed(exit_code: int | None) -> bool:
    """Whether somebody killed it with the signal that no command can catch."""
    return _signal_of(exit_code) == signal.SIGKILL


def _signal_of(exit_code: int | None) -> signal.Signals | None:
    """The signal behind an exit code: Batch reports ``-n``, shells and containers ``128 + n``."""
    if exit_code is None:
        return None
    number = -exit_code if exit_code < 0 else exit_code - _SIGNALLED
    if not 0 < number <= _LAST_SIGNAL:
        return None
    try:
        return signal.Signals(number)
    except ValueError:
        return None


def _ran_out_of_time(task: Mapping[str, Any], words: str) -> bool:
    """Whether the wall time ended it: the service's code for this is newer than the services that run."""
    if _WALL_TIME.search(words):
        return True
    execution = task.get("executionInfo") or {}
    exit_code = execution.get("exitCode")
    if exit_code == 0 or (exit_code is not None and _signal_of(exit_code) is None):
        return False
    limit = duration((task.get("constraints") or {}).get("maxWallClockTime"))
    started, ended = moment(execution.get("startTime")), moment(execution.get("endTime"))
    return bool(limit and started and ended and ended - started >= limit)


def _one_line(value: object) -> str:
    return " ".join(str(value or "").split("\nRequestId:")[0].split())
