"""The ids of Batch jobs: made of the Galaxy job's own, so that a launch that comes twice finds its job.

``galaxy-<instance>-<job>`` is the first run of a job, ``galaxy-<instance>-<job>-2`` the next one, when Galaxy
submits it again after a failure.
"""

from __future__ import annotations

import hashlib
import re
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterable

_PLAIN: Final = re.compile(r"[A-Za-z0-9_]{1,36}")
_API: Final = "/api/jobs/"


def prefix(instance: str) -> str:
    """What the ids of all jobs of a Galaxy start with."""
    return f"galaxy-{instance}-"


def first_id(instance: str, job_id: str) -> str:
    """The id of the first run. A job id that has other signs, or is long, is replaced by a hash of it."""
    name = job_id if _PLAIN.fullmatch(job_id) else _short_hash(job_id)
    return prefix(instance) + name


def next_id(first: str, taken: Iterable[str]) -> str:
    """The id of the next run after those that are there."""
    last = _last(first, taken)
    return f"{first}-{last + 1}" if last else first


def latest(first: str, taken: Iterable[str]) -> str:
    """The id of the last run that is there; of the first one, where none is."""
    last = _last(first, taken)
    return f"{first}-{last}" if last > 1 else first


def _last(first: str, taken: Iterable[str]) -> int:
    return max((run_of(first, name) or 0 for name in taken), default=0)


def run_of(first: str, name: str) -> int | None:
    """Which run of the job it is: 1, 2 …; None when it is another job's."""
    if name.lower() == first.lower():
        return 1
    start, _, number = name.rpartition("-")
    return int(number) if start.lower() == first.lower() and number.isdecimal() else None


def is_batch_id(instance: str, job_id: str) -> bool:
    """Whether it is a Batch job's id already: Galaxy gives the one that it got from a launch."""
    return job_id.startswith(prefix(instance))


def instance_of(files_endpoint: str | None) -> str:
    """A name for the Galaxy that the endpoint belongs to: of its address, for two may use one account."""
    if not files_endpoint:
        return "pulsar"
    address = files_endpoint.partition("?")[0].partition(_API)[0]  # the rest tells of one job
    return _short_hash(address)[:8]


def _short_hash(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:16]
