"""The steps of a check, and how one fails. Pure."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from azbatch_core.errors import AzBatchError

if TYPE_CHECKING:
    from collections.abc import Callable

PARAMETERS: Final = "parameters"
ACCOUNT: Final = "account"
STORAGE: Final = "storage"
QUEUE: Final = "message queue"
LAUNCH: Final = "launched"
STAGE_IN: Final = "staged in"
TOOL: Final = "tool ran"
RESULTS: Final = "results back"
CLEAN_UP: Final = "cleaned up"
NAMES: Final = (PARAMETERS, ACCOUNT, STORAGE, QUEUE, LAUNCH, STAGE_IN, TOOL, RESULTS, CLEAN_UP)


@dataclass(frozen=True)
class Step:
    """One step that was taken.

    Attributes:
        name: One of `NAMES`.
        ok: Whether it worked; None where there was nothing to do.
        text: What was found, in one line.
        hint: What to do, where it failed.
        seconds: How long it took.
    """

    name: str
    ok: bool | None
    text: str
    hint: str | None
    seconds: float


class StepFailed(Exception):  # noqa: N818 - it is what the check has found
    """A step of the check that did not work: the ones after it are not tried."""

    def __init__(self, name: str, text: str, hint: str | None = None) -> None:
        super().__init__(text)
        self.name = name
        self.text = text
        self.hint = hint


class Steps:
    """Those that were taken, in their order.

    Args:
        on_step: Called with each as it ends.
        clock: Seconds that only grow.
    """

    def __init__(
        self, on_step: Callable[[Step], object], clock: Callable[[], float] = time.monotonic
    ) -> None:
        self.taken: list[Step] = []
        self._on_step = on_step
        self._clock = clock
        self._began = clock()
        self.at = NAMES[0]
        """The step under way."""

    def done(
        self,
        name: str,
        text: str,
        *,
        ok: bool | None = True,
        hint: str | None = None,
        at: float | None = None,
    ) -> None:
        """A step has ended: now, or at that moment of the clock."""
        now = max(self._began, self._clock() if at is None else at)
        step = Step(name, ok, " ".join(text.split()), hint, round(now - self._began, 3))
        self._began = now
        self.taken.append(step)
        self.at = NAMES[min(NAMES.index(name) + 1, len(NAMES) - 1)]
        self._on_step(step)

    def failed(self, error: BaseException) -> None:
        """The step under way has failed."""
        if isinstance(error, StepFailed):
            self.done(error.name, error.text, ok=False, hint=error.hint)
            return
        text, hint = explain(error)
        self.done(self.at, text, ok=False, hint=hint)


def explain(error: BaseException) -> tuple[str, str | None]:
    """One line about any error, and the next step where azbatch knows it."""
    found = error if isinstance(error, AzBatchError) else error.__cause__
    if isinstance(found, AzBatchError):
        code = f" [{found.code}]" if found.code and found.code not in found.message else ""
        return f"{found.message}{code}", found.hint
    first = str(error).strip().partition("\n")[0]
    return f"{type(error).__name__}: {first}" if first else type(error).__name__, None
