"""Waiting for the job of a check, and saying which step went wrong."""

from __future__ import annotations

import sys
import threading
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from azbatch_pulsar.destination import PREFIX

if TYPE_CHECKING:
    from collections.abc import Callable

EXIT_CODE: Final = 4
"""What the tool of Pulsar's check ends with, to show that exit codes come back."""
LOOK_EVERY: Final = 0.5
MESSAGE_WITHIN: Final = 30.0
"""Seconds that the last message may come after Batch says that the job is over."""
QUIET: Final = 60.0
"""Seconds in the queue after which the person hears where to look."""
NO_MESSAGE: Final = "no message came by the queue"
TOO_LONG: Final = "not over after"


class Ended(Exception):  # noqa: N818 - what happened; whose error it is, is found out later
    """The job ended otherwise than Pulsar's check can take.

    Attributes:
        text: What is known, in one line.
        status: Pulsar's status of it.
    """

    def __init__(self, text: str, status: dict[str, Any]) -> None:
        super().__init__(text)
        self.text = text
        self.status = status


class Waiter:
    """Waits as the Galaxy runner does: for the message, where there is a queue, with Batch asked beside it.

    Args:
        client: Our client of the job.
        manager: Its manager.
        job_id: Pulsar's id of it.
        timeout: Seconds for the whole job.
        on_word: Called with Pulsar's word for how it stands, when that changes.
    """

    def __init__(
        self,
        client: Any,
        manager: Any,
        job_id: str,
        *,
        timeout: float,
        on_word: Callable[[str], object],
    ) -> None:
        self._client = client
        self._manager = manager
        self._job_id = job_id
        self._timeout = timeout
        self._on_word = on_word
        self._message: dict[str, Any] | None = None
        self._woken = threading.Event()
        self._by_message = hasattr(manager, "ensure_has_status_update_callback")
        if self._by_message:
            manager.ensure_has_status_update_callback(self._take)

    def _take(self, message: dict[str, Any]) -> None:
        if message.get("job_id") == self._job_id and message.get("complete") == "true":
            self._message = message
            self._woken.set()

    def wait(self) -> dict[str, Any]:
        """The full status.

        Raises:
            Ended: The job failed, took too long, or its message did not come.
        """
        status = self._watch()
        ending = self._client.ending()
        if status["status"] != "complete" or (ending is not None and ending.reason is not None):
            text = (ending and ending.message) or f"the job ended as {status['status']}"
            raise Ended(text, status)
        if status.get("returncode") != EXIT_CODE:
            raise Ended("another exit code than the tool's", status)
        if self._by_message and self._message is None and not self._woken.wait(MESSAGE_WITHIN):
            raise Ended(
                f"{NO_MESSAGE} within {MESSAGE_WITHIN:.0f} s of the job's end, which Batch knew all the same",
                status,
            )
        return status

    def _watch(self) -> dict[str, Any]:
        """Until Batch says that it is over."""
        began = time.monotonic()
        last = ""
        told = False
        while True:
            status: dict[str, Any] = self._client.look()
            if status["complete"] == "true":
                return status
            waited = time.monotonic() - began
            if status["status"] != last:
                last = status["status"]
                self._on_word(last)
            elif last == "queued" and waited > QUIET and not told:
                told = True
                self._on_word("still queued; the pool may be growing, `azbatch why` says what it waits for")
            if waited > self._timeout:
                self._client.kill()
                raise Ended(
                    f"{TOO_LONG} {self._timeout:.0f} s (--timeout), last seen {last}; it was ended",
                    status,
                )
            time.sleep(LOOK_EVERY)

    def shutdown(self) -> None:
        """End the manager's threads."""
        self._manager.shutdown(ensure_cleanup=True)


def hint(text: str, base: str, *, fetched: bool, handle: str | None) -> str:
    """What to do about a job that did not end well.

    Args:
        text: What is known, in one line.
        base: The address that files are fetched from.
        fetched: Whether any was.
        handle: The Batch job.
    """
    logs = f"azbatch logs {handle} and azbatch why {handle} tell more; then azbatch delete {handle}"
    for words, advice in _ADVICE.items():
        if words in text:
            return f"{advice()}; {logs}"
    if not fetched:
        return f"can the nodes reach {base}? {logs}"
    return logs


def _here() -> str:
    folder = Path(sys.executable).parent
    return f", here {folder}" if (folder / "pulsar-submit").exists() else ""


_ADVICE: Final[dict[str, Callable[[], str]]] = {
    "no pulsar-submit on": lambda: f"{PREFIX}path: the folder of pulsar-submit{_here()}",
    "no pulsar-submit in": lambda: "pulsar_container_image: an image with Pulsar in it",
    "has no Docker": lambda: f"Docker on the nodes, or {PREFIX}runtime: host where Pulsar is on them",
    "cannot get the image": lambda: f"{PREFIX}registry where the image is private; --image for another one",
    NO_MESSAGE: lambda: f"{PREFIX}message_queue_url: the broker's address as the nodes reach it",
}
"""By what the node's scripts, or the waiting, have said."""
