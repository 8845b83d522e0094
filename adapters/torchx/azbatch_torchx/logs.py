"""The lines of a replica, as TorchX prints them: each ends with a line end, none is cut in two."""

from __future__ import annotations

import logging
import re
from typing import TYPE_CHECKING, Final

from azbatch_core import AzBatchError, SpecError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from azbatch_core import JobHandle, LogChunk, LogStream

LOG = logging.getLogger("azbatch")
STREAMS: Final[dict[str | None, LogStream]] = {
    None: "both",
    "combined": "both",
    "stdout": "stdout",
    "stderr": "stderr",
}


def lines(chunks: Iterable[LogChunk]) -> Iterator[str]:
    """Whole lines from pieces of output, those of each stream together; azbatch's own remarks are logged."""
    open_line: dict[str, str] = {}
    for chunk in chunks:
        if chunk.stream == "notice":
            # A half line of a try that was lost is no beginning of the next one's.
            yield from (f"{rest}\n" for rest in open_line.values())
            open_line.clear()
            LOG.warning("%s: %s", chunk.task_id, chunk.text.rstrip("\n"))
            continue
        text = open_line.pop(chunk.stream, "") + chunk.text
        whole, found, rest = text.rpartition("\n")
        if found:
            yield from (f"{line}\n" for line in whole.split("\n"))
        if rest:
            open_line[chunk.stream] = rest
    for rest in open_line.values():
        yield f"{rest}\n"


def of_task(
    job: JobHandle, task_id: str, stream: LogStream, *, follow: bool, member: int | None = None
) -> Iterator[str]:
    """The lines of a task, or of a gang's member; what cannot be read is logged, and ends them."""
    try:
        yield from lines(job.logs(task_id, stream, follow=follow, member=member))
    except AzBatchError as error:
        LOG.warning("the log of %s cannot be read: %s", task_id, error)


def matching(found: Iterable[str], regex: str | None) -> Iterator[str]:
    """The lines in which an expression is found.

    Raises:
        SpecError: It is no regular expression.
    """
    try:
        wanted = re.compile(regex) if regex else None
    except re.error as error:
        raise SpecError(f"{regex!r} is no regular expression: {error}", field="regex") from None
    return (line for line in found if wanted is None or wanted.search(line))
