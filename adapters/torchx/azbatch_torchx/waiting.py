"""Why an app waits, for the message of its status. Asked seldom: TorchX describes an app every second."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Final
from weakref import WeakKeyDictionary

from azbatch_core import AzBatchError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from azbatch_core import Explanation, JobHandle

_GOOD: Final = 10.0
"""Seconds for which an answer is good: it takes up to four requests."""
_TOLD: Final = 2


class Waits:
    """Why the apps of one scheduler wait."""

    def __init__(self) -> None:
        self._seen: WeakKeyDictionary[JobHandle, tuple[float, str]] = WeakKeyDictionary()

    def of(self, job: JobHandle) -> str:
        """Why a job waits, on one line; empty where nothing tells, or it cannot be asked."""
        seen = self._seen.get(job)
        if seen is not None and time.monotonic() - seen[0] < _GOOD:
            return seen[1]
        try:
            text = told(job.why())
        except AzBatchError:
            text = ""
        self._seen[job] = (time.monotonic(), text)
        return text


def told(reasons: Sequence[Explanation]) -> str:
    """The first explanations on one line, each with what to do about it."""
    return "; ".join(
        f"{one.subject}: {' '.join(one.text.split())}" + (f" - {one.hint}" if one.hint else "")
        for one in reasons[:_TOLD]
    )
