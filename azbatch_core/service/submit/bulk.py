"""Adding many tasks to a job: lazily, in few requests, and with an answer for each task.

The service takes at most 100 tasks and less than 1 MB a request (`BatchTaskGroup` docs). A lost reply may
mean that none, some or all of a request's tasks are in; sending the same ids again is safe, and a task that
then "exists" is compared with ours. No azure import: `Channel` is the way to the service.
"""

from __future__ import annotations

import json
import random
import threading
import time
from collections import deque
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

from azbatch_core.errors import AzBatchError, InvalidRequest, SpecError
from azbatch_core.plan.tasks import ENVELOPE, MAX_REQUEST, TOO_LARGE_HINT, is_oversized
from azbatch_core.service.states import TaskAddResult
from azbatch_core.service.watch import task_failures

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

MAX_TASKS = 100
MAX_BYTES = MAX_REQUEST
SEPARATOR = 2
# The service's guidance is to stay well below 100 at once; a handful keeps one connection pool busy.
WORKERS = 4
MAX_ROUNDS = 6
_FIRST_WAIT = 0.25
_LONGEST_WAIT = 8.0
NOT_SENT = "not sent: the submission had stopped"
"""What a task's result says that was never on its way."""
TOO_LARGE = "RequestBodyTooLarge"
NOT_A_SPEC = "SpecError"


class Channel(Protocol):
    """How the tasks of one job travel."""

    def post(self, bodies: list[dict[str, Any]]) -> tuple[Sequence[dict[str, Any]], bool]:
        """Send one collection. Gives the member results, and whether it was sent more than once."""

    def stored_command(self, task_id: str) -> str | None:
        """The command line of the task that is in the job; None when there is none."""


@dataclass(frozen=True)
class Wanted:
    """A task to add: its final body, secrets in place."""

    id: str
    body: dict[str, Any]


@dataclass
class _Item:
    index: int
    wanted: Wanted
    size: int
    rounds: int = 0
    maybe_in: bool = False


@dataclass(frozen=True)
class BulkOutcome:
    """What became of the tasks taken from the source.

    Attributes:
        results: One for each task taken, in the order of the source.
        fatal: The error after which nothing more was sent; the rest of the source was not taken.
    """

    results: list[TaskAddResult]
    fatal: BaseException | None


class BulkAdd:
    """One run of adding tasks to a job.

    Args:
        channel: The way to the service; used from several threads.
        resuming: The job was there before with our stamp: equal tasks in it are a success.
        workers: Requests in flight at once.
        on_progress: Called in the caller's thread with the number of tasks settled so far.
        sleep: Waits that many seconds.
    """

    def __init__(
        self,
        channel: Channel,
        *,
        resuming: bool = False,
        workers: int = WORKERS,
        on_progress: Callable[[int], None] | None = None,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self._channel = channel
        self._resuming = resuming
        self._workers = workers
        self._on_progress = on_progress
        self._sleep = sleep
        self._ids: list[str] = []
        self._results: list[TaskAddResult | None] = []
        self._seen: set[str] = set()
        self._stopped = threading.Event()
        self._fatal: BaseException | None = None
        self._settled = 0
        self._reported = 0
        self._counting = threading.Lock()

    def run(self, source: Iterable[Wanted | TaskAddResult]) -> BulkOutcome:
        """Add every task of the source; at most `workers` chunks are taken ahead of the answers.

        A `TaskAddResult` in the source is a task that failed before it could be sent. An exception that the
        source raises, or a `KeyboardInterrupt`, ends the run: it is the outcome's `fatal`, after the answers
        to what is on its way have come.
        """
        pending: set[Future[None]] = set()
        with ThreadPoolExecutor(self._workers, thread_name_prefix="azbatch-add") as pool:
            try:
                for chunk in self._chunks(source):
                    pending.add(pool.submit(self._settle, chunk))
                    if len(pending) >= self._workers:
                        pending = self._collect(pending)
                    if self._stopped.is_set():
                        break
                while pending:
                    pending = self._collect(pending)
            except (Exception, KeyboardInterrupt) as error:  # noqa: BLE001 - the outcome carries it
                self._stop(error)
        # Workers settle whatever they were given; the rest never left.
        results = [
            result or TaskAddResult(name, "failed", NOT_SENT)
            for name, result in zip(self._ids, self._results, strict=True)
        ]
        return BulkOutcome(results, self._fatal)

    def _collect(self, pending: set[Future[None]]) -> set[Future[None]]:
        done, left = wait(pending, return_when=FIRST_COMPLETED)
        for future in done:
            future.result()
        # Counted as results come: looking at all of them after each answer would take ever longer.
        if self._on_progress and self._settled != self._reported:
            self._reported = self._settled
            self._on_progress(self._reported)
        return left

    def _chunks(self, source: Iterable[Wanted | TaskAddResult]) -> Iterator[list[_Item]]:
        chunk: list[_Item] = []
        size = ENVELOPE
        for item in self._items(source):
            if chunk and (len(chunk) == MAX_TASKS or size + item.size > MAX_BYTES):
                yield chunk
                chunk, size = [], ENVELOPE
            chunk.append(item)
            size += item.size
        if chunk:
            yield chunk

    def _items(self, source: Iterable[Wanted | TaskAddResult]) -> Iterator[_Item]:
        """The tasks that can be sent at all; the others get their result here."""
        for index, wanted in enumerate(source):
            self._ids.append(wanted.id)
            self._results.append(None)
            if isinstance(wanted, TaskAddResult):
                self._answer(index, wanted)
                continue
            name = wanted.id.lower()
            size = len(json.dumps(wanted.body)) + SEPARATOR
            if name in self._seen:
                text = "the id stands twice in this submission (ids compare without case)"
                self._answer(index, TaskAddResult(wanted.id, "failed", text, "TaskExists"))
            elif is_oversized(size):
                text = (
                    f"the task is {size:,} bytes as sent, and the service takes less than {MAX_BYTES:,}: "
                    f"{TOO_LARGE_HINT}"
                )
                self._answer(index, TaskAddResult(wanted.id, "failed", text, TOO_LARGE))
            else:
                self._seen.add(name)
                yield _Item(index, wanted, size)

    def _answer(self, index: int, result: TaskAddResult) -> None:
        """Keep the first result of a task, and count it."""
        with self._counting:
            self._settled += self._results[index] is None
            self._results[index] = result

    def _settle(self, chunk: list[_Item]) -> None:
        """Send one chunk until each of its tasks has a result. Runs in a worker thread."""
        groups = deque([chunk])
        try:
            while groups:
                group = groups.popleft()
                if self._stopped.is_set():
                    self._fail(group, NOT_SENT)
                    continue
                try:
                    members, resent = self._channel.post([item.wanted.body for item in group])
                except InvalidRequest as error:
                    groups.extendleft(self._halves(group, error))
                    continue
                again = self._read(group, members, resent=resent)
                if again:
                    self._pause(again)
                    groups.append(again)
        except Exception as error:  # noqa: BLE001 - whatever it is, each task gets its result
            self._stop(error)
            # Where no answer came, the service may have taken some of them.
            certain = isinstance(error, AzBatchError) and not error.retryable
            unsure = "" if certain else "it may or may not be in the job: "
            self._fail(group, f"{unsure}{getattr(error, 'message', error)}", getattr(error, "code", None))
            for rest in groups:
                self._fail(rest, NOT_SENT)

    def _halves(self, group: list[_Item], error: InvalidRequest) -> list[list[_Item]]:
        """Split a refused request, so that one bad or fat task does not take the others with it."""
        if len(group) == 1:
            self._fail(group, str(error), error.code)
            return []
        middle = len(group) // 2
        return [group[middle:], group[:middle]]

    def _read(self, group: list[_Item], members: Sequence[dict[str, Any]], *, resent: bool) -> list[_Item]:
        """Take the member results in; give the tasks that must be sent again."""
        answers = {str(member.get("taskId")).lower(): member for member in members}
        again = []
        for item in group:
            item.maybe_in = item.maybe_in or resent
            member = answers.get(item.wanted.id.lower()) or {"status": "servererror"}
            # The service writes "Success" where its description says "success".
            state = str(member.get("status")).lower()
            if state == "success":
                self._answer(item.index, TaskAddResult(item.wanted.id, "added"))
            elif state == "clienterror":
                self._answer(item.index, self._refused(item, member.get("error") or {}))
            elif item.rounds < MAX_ROUNDS:
                item.rounds += 1
                item.maybe_in = True
                again.append(item)
            else:
                error = member.get("error") or {}
                text = task_failures.describe(_plain(error)) or "the service fails to add it, again and again"
                self._fail([item], text, error.get("code"))
        return again

    def _refused(self, item: _Item, error: dict[str, Any]) -> TaskAddResult:
        code = str(error.get("code") or "")
        task_id = item.wanted.id
        if code != "TaskExists":
            return TaskAddResult(
                task_id, "failed", task_failures.describe(_plain(error)) or "refused", code or None
            )
        if (item.maybe_in or self._resuming) and self._is_ours(item):
            return TaskAddResult(task_id, "added" if item.maybe_in else "exists")
        text = "a task of this id is in the job already, and it is not this submission's"
        return TaskAddResult(task_id, "failed", text, code)

    def _is_ours(self, item: _Item) -> bool:
        """Whether the task in the job is the one we sent: the command line tells."""
        return self._channel.stored_command(item.wanted.id) == item.wanted.body.get("commandLine")

    def _fail(self, items: Iterable[_Item], text: str, code: str | None = None) -> None:
        for item in items:
            if self._results[item.index] is None:
                self._answer(item.index, TaskAddResult(item.wanted.id, "failed", text, code))

    def _stop(self, error: BaseException) -> None:
        if self._fatal is None:
            self._fatal = error
        self._stopped.set()

    def _pause(self, items: list[_Item]) -> None:
        longest = min(_LONGEST_WAIT, _FIRST_WAIT * 2 ** (max(item.rounds for item in items) - 1))
        self._sleep(longest * (0.5 + random.random() / 2))  # noqa: S311 - spreads retries, hides nothing


def refused_spec(task_id: str, error: SpecError) -> TaskAddResult:
    """The result of a task whose spec turned out wrong when it was planned."""
    return TaskAddResult(task_id, "failed", str(error), NOT_A_SPEC)


def _plain(error: dict[str, Any] | None) -> dict[str, Any]:
    """A member's error with its message as text: the service wraps it with a language."""
    if not error:
        return {}
    message = error.get("message")
    return {**error, "message": message.get("value") if isinstance(message, dict) else message}
