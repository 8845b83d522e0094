"""What every document shares: defaults that the service fills in, secrets that it never returns.

Enumerations keep their declared case here; the HTTP layer spells them as real answers do.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from azbatch_core.local.rules.times import etag, moment
from azbatch_core.local.wire.durations import UNLIMITED

if TYPE_CHECKING:
    from azbatch_core.local.store.records import Doc

__all__ = [
    "default_identity",
    "fill_constraints",
    "job_folder",
    "put_transitions",
    "put_written",
    "without_secrets",
]

_SECRETS = frozenset({"password", "accountKey", "sasKey", "protectedSettings"})


def default_identity() -> Doc:
    """The user that tasks without `userIdentity` are echoed with."""
    return {"autoUser": {"scope": "pool", "elevationLevel": "nonadmin"}}


def fill_constraints(given: Doc | None, retries: int = 0) -> Doc:
    """Task constraints as echoed."""
    given = given or {}
    count = given.get("maxTaskRetryCount")
    return {
        "maxWallClockTime": given.get("maxWallClockTime") or UNLIMITED,
        "retentionTime": given.get("retentionTime") or "P7D",
        "maxTaskRetryCount": retries if count is None else count,
    }


def job_folder(job_id: str) -> str:
    """A job's folder below a node's root ("Files and directories in Azure Batch").

    `workitems/<job>/job-1`, and `workitems/<schedule>/job-N` for a schedule's job `<schedule>:job-N`.
    """
    name, _, run = job_id.partition(":")
    return f"workitems/{name}/{run or 'job-1'}"


def put_written(doc: Doc, created: int, modified: int) -> None:
    """Add when a resource was made and last written by a user."""
    doc["eTag"] = etag(modified)
    doc["lastModified"] = moment(modified)
    doc["creationTime"] = moment(created)


def put_transitions(
    doc: Doc, state: str, since: int, previous: str | None, previous_since: int | None
) -> None:
    """Add a state with its predecessor."""
    doc["state"] = state
    doc["stateTransitionTime"] = moment(since)
    if previous is not None and previous_since is not None:
        doc["previousState"] = previous
        doc["previousStateTransitionTime"] = moment(previous_since)


def without_secrets(value: Any) -> Any:
    """A copy without the values that the service takes and never returns."""
    if isinstance(value, dict):
        return {key: without_secrets(item) for key, item in value.items() if key not in _SECRETS}
    if isinstance(value, list):
        return [without_secrets(item) for item in value]
    return value
