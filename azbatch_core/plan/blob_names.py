"""Which blob is the copy of a file of a task. Pure, and imports next to nothing: logs are read with it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from azbatch_core.plan.globs import has_wildcard, overlap

if TYPE_CHECKING:
    from collections.abc import Mapping


def blob_of(output: Mapping[str, Any], name: str) -> str | None:
    """The blob that an output file makes of a file in the task's folder; None when it does not match it.

    The pattern counts from the task's working directory, one below its folder. A pattern with a wildcard
    makes the path a folder; one without makes it the blob's name (`OutputFileBlobContainerDestination` docs).
    """
    pattern = str(output.get("filePattern") or "").replace("\\", "/")
    path = str(((output.get("destination") or {}).get("container") or {}).get("path") or "").strip("/")
    if not overlap(pattern, f"../{name}"):
        return None
    if not has_wildcard(pattern):
        return path or name
    return f"{path}/{name}" if path else name


def member_folder(blob: str, rank: int) -> str:
    """Where the copies of a member's file are, one for each node, when the main node's copy is `blob`."""
    folder, slash, _ = blob.rpartition("/")
    return f"{folder}{slash}member-{rank}/"
