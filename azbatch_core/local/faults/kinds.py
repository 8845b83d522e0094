"""The kinds of trouble, and the fields that each takes: what is read, refused, documented comes from here."""

from __future__ import annotations

from typing import NamedTuple

__all__ = ["KINDS", "LAUNCH_STEPS", "NODE_KINDS", "REQUEST_KINDS", "Kind"]

_COUNTED = ("count", "skip", "probability", "seed")
_REQUEST = ("operation", "method", "path", *_COUNTED)
_TASK = ("pool", "node", "job", "task", *_COUNTED)
_NODE = (*_TASK, "after", "at")


class Kind(NamedTuple):
    """A kind of trouble.

    Attributes:
        summary: What happens, for people.
        fields: What it takes besides `kind` and `id`.
        needs: Those of the fields that it cannot do without.
    """

    summary: str
    fields: tuple[str, ...]
    needs: tuple[str, ...] = ()


REQUEST_KINDS: dict[str, Kind] = {
    "throttle": Kind(
        "the request is refused with 429 TooManyRequests; `retry-after` seconds are named if given",
        (*_REQUEST, "retry-after"),
    ),
    "unavailable": Kind(
        "the request is refused with 503 ServerBusy; `retry-after` seconds are named if given",
        (*_REQUEST, "retry-after"),
    ),
    "error": Kind(
        "the request is refused with the error code `code`, by its own status unless `status` is given",
        (*_REQUEST, "code", "status", "retry-after"),
        ("code",),
    ),
    "slow": Kind(
        "the request waits `seconds` (of the real clock) first", (*_REQUEST, "seconds"), ("seconds",)
    ),
    "lost-reply": Kind("the request is carried out, then the connection ends without an answer", _REQUEST),
    "reset": Kind("the connection is reset before anything is done", _REQUEST),
}
"""Trouble of requests: consulted where a request is dispatched."""

NODE_KINDS: dict[str, Kind] = {
    "preempt": Kind(
        "spot nodes are preempted, and come back after `lasts` seconds (10 if not given); with `job` or"
        " `task`, those that run such a task",
        (*_NODE, "lasts"),
    ),
    "unusable": Kind(
        "nodes become unusable, with an error of `code` and `message` if given; with `job` or `task`, those"
        " that run such a task",
        (*_NODE, "code", "message"),
    ),
}
"""Trouble that comes over nodes: at once or at its time, then over nodes as they come up."""

LAUNCH_STEPS: dict[str, str] = {
    "start-task-failure": "command",
    "disk-full": "folder",
    "download-failure": "download",
    "image-pull": "image",
    "upload-failure": "upload",
}
"""Trouble of single tries, and the step of a try that it breaks."""

KINDS: dict[str, Kind] = {
    **REQUEST_KINDS,
    "quota": Kind(
        "the account may hold no more than so many",
        ("pools", "jobs", "nodes", "cores", "spot-cores"),
    ),
    "allocation-failure": Kind(
        "a resize gets `short` nodes fewer than it wants (none if not given), with an error of `code`",
        ("pool", *_COUNTED, "short", "code", "message"),
    ),
    "slow-boot": Kind(
        "nodes take `seconds` longer to start", ("pool", "node", *_COUNTED, "seconds"), ("seconds",)
    ),
    "slow-delete": Kind(
        "pools, jobs and job schedules stay `deleting` or `terminating` for `seconds` at least",
        ("pool", "job", "schedule", *_COUNTED, "seconds"),
        ("seconds",),
    ),
    **NODE_KINDS,
    "start-task-failure": Kind(
        "a try of the start task ends with `exit-code` (1) without its command being run",
        ("pool", "node", *_COUNTED, "exit-code"),
    ),
    "disk-full": Kind("a try of a task fails before its command, with DiskFull", (*_TASK, "message")),
    "image-pull": Kind(
        "a try of a task in a container fails before its command, with ContainerInvalidImage",
        (*_TASK, "message"),
    ),
    "download-failure": Kind(
        "a try of a task that has resource files fails before its command, with `code` (BlobNotFound)",
        (*_TASK, "code", "message"),
    ),
    "upload-failure": Kind(
        "a try of a task that has output files ends with `code` (FileUploadMiscError)",
        (*_TASK, "code", "message"),
    ),
}
