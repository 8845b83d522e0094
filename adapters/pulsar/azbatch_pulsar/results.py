"""How a run stands, in Pulsar's words, and how it ended. Pure.

A run is over when its Batch job is. What Pulsar itself had to say then is in the full status that its last
step left; where there is none, Batch tells why.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from pulsar.managers import status

from azbatch_core import FailureCategory, JobState

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from azbatch_core import JobStatus, TaskStatus

WALLTIME: Final = "walltime_reached"
MEMORY: Final = "memory_limit_reached"
UNKNOWN: Final = "unknown_error"

_FOLDERS: Final = ("working", "metadata", "job")
_REASONS: Final = {FailureCategory.WALLTIME: WALLTIME, FailureCategory.OUT_OF_MEMORY: MEMORY}


@dataclass(frozen=True)
class Ending:
    """The end of a run.

    Attributes:
        status: Pulsar's full status dictionary.
        reason: What Galaxy's resubmission goes by (``walltime_reached`` …); None after a run that Pulsar
            finished.
        message: One line that says what went wrong.
    """

    status: Mapping[str, Any] = field(repr=False)
    reason: str | None = None
    message: str | None = None


def going_on(job_id: str, word: str) -> dict[str, Any]:
    """Pulsar's status of a run that is not over."""
    return {"job_id": job_id, "status": word, "complete": "false"}


def conclude(
    job_id: str,
    job: JobStatus | None,
    tasks: Sequence[TaskStatus],
    *,
    full: Mapping[str, Any] | None,
    outcome: str | None,
) -> Ending:
    """The end of a run of which Batch says that it is over.

    Args:
        job_id: Pulsar's own id of it.
        job: The Batch job; None when it is not there any more.
        tasks: Its tasks.
        full: The full status that Pulsar's last step left.
        outcome: What the node's script found to be wrong: a word and, on the next line, a text.
    """
    reason, message = _reason(job, tasks, outcome)
    if full is not None:
        return Ending(dict(full), reason, message)
    if job is None:
        return Ending(_made_up(job_id, status.LOST, message), UNKNOWN, message)
    if job.state is JobState.CANCELLED:
        return Ending(_made_up(job_id, status.CANCELLED, "the job was cancelled"))
    return Ending(_made_up(job_id, status.FAILED, message), reason or UNKNOWN, message)


def _reason(
    job: JobStatus | None, tasks: Sequence[TaskStatus], outcome: str | None
) -> tuple[str | None, str | None]:
    if outcome is not None:
        word, _, text = outcome.partition("\n")
        return word if word in {WALLTIME, MEMORY} else UNKNOWN, text.strip()
    for task in tasks:
        if task.category is not None and task.category is not FailureCategory.DEPENDENCY:
            return _REASONS.get(
                task.category, UNKNOWN
            ), f"on Azure Batch {task.category.words}: {task.message}"
    if job is None:
        return None, "the Batch job is gone, and left nothing"
    return None, job.reason or "the job ended and left no status of Pulsar's"


def _made_up(job_id: str, word: str, message: str | None) -> dict[str, Any]:
    """A full status where Pulsar left none: with every key that a client looks for, and nothing found."""
    texts = ("stdout", "stderr", "job_stdout", *(f"{name}_directory" for name in _FOLDERS))
    contents = (f"{name}_directory_contents" for name in (*_FOLDERS, "outputs"))
    return {
        "job_id": job_id,
        "status": word,
        "complete": "true",
        "returncode": None,
        **dict.fromkeys(texts, ""),
        "job_stderr": message or "",
        **{name: [] for name in contents},
        "system_properties": {"separator": "/"},
        "realized_dynamic_file_sources": [],
    }
