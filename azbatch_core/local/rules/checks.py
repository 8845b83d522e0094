"""Checks that several resources share. Each raises the service's own error."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from azbatch_core.local.errors import HIDDEN, BatchError, invalid_property
from azbatch_core.local.rules.times import seconds_of

if TYPE_CHECKING:
    from azbatch_core.local.store.records import Doc

__all__ = [
    "check_at_least",
    "check_id",
    "check_metadata",
    "check_program",
    "check_resource_file",
    "check_seconds",
]

_SOURCES = ("autoStorageContainerName", "storageContainerUrl", "httpUrl")
# No quotes around it or behind it; spaces inside are taken, as people leave names of blobs plain.
_WEB = re.compile(r"https?://[^\s\"<>](?:[^\"<>\x00-\x1f]*[^\s\"<>])?", re.IGNORECASE)
_ID = re.compile(r"[A-Za-z0-9_-]{1,64}")


def check_id(value: Any, name: str = "id") -> None:
    """Ids are 1 to 64 letters, digits, hyphens and underscores (SDK BatchPoolCreateOptions.id)."""
    if not isinstance(value, str) or not _ID.fullmatch(value):
        raise invalid_property(name, value, "An id is 1 to 64 letters, digits, hyphens and underscores.")


def check_metadata(body: Doc) -> None:
    """Metadata keys are not empty."""
    for item in body.get("metadata") or ():
        if not item.get("name"):
            raise BatchError("EmptyMetadataKey")


def check_program(task: Doc) -> None:
    """What tasks of all kinds have: a user, and resource files that can be."""
    _check_identity(task)
    for file in task.get("resourceFiles") or ():
        check_resource_file(file)


def check_resource_file(file: Doc) -> None:
    """One source, and what belongs to it (SDK ResourceFile); what is refused for its URL is not shown."""
    given = [name for name in _SOURCES if file.get(name)]
    if len(given) != 1:
        reason = f"Exactly one of {', '.join(_SOURCES)} must be specified."
        raise invalid_property(given[-1] if given else "resourceFiles", HIDDEN, reason)
    source = given[0]
    if source != "autoStorageContainerName" and not _is_web_address(file[source]):
        raise invalid_property(source, HIDDEN, "A URL that starts with https:// or http:// is expected.")
    if source == "httpUrl":
        if not file.get("filePath"):
            raise BatchError("MissingRequiredProperty", PropertyName="filePath")
        if file.get("blobPrefix"):
            reason = "It is for containers, not for httpUrl."
            raise invalid_property("blobPrefix", file["blobPrefix"], reason)


def _is_web_address(url: str) -> bool:
    try:
        parts = urlsplit(url)
        return bool(_WEB.fullmatch(url)) and bool(parts.hostname)
    except ValueError:
        return False


def _check_identity(task: Doc) -> None:
    """A user name or an automatic user, not both (SDK UserIdentity)."""
    identity = task.get("userIdentity") or {}
    if identity.get("username") and identity.get("autoUser"):
        raise invalid_property(
            "userIdentity", identity["username"], "Exactly one of userName and autoUser must be specified."
        )


def check_at_least(body: Doc, name: str, least: int) -> None:
    """A number that must not be below `least`."""
    value = body.get(name)
    if value is not None and value < least:
        raise invalid_property(name, value, f"The value cannot be less than {least}.")


def check_seconds(body: Doc, name: str, *, least: float = 0.0, most: float | None = None) -> None:
    """A duration within bounds, given in seconds."""
    value = body.get(name)
    if value is None:
        return
    try:
        seconds = seconds_of(value)
    except ValueError:
        raise invalid_property(name, value, "The value is not an ISO 8601 duration.") from None
    if seconds < least or (most is not None and seconds > most):
        limits = f"at least {least:g} seconds" + ("" if most is None else f" and at most {most:g}")
        raise invalid_property(name, value, f"The duration is outside the permitted range: {limits}.")
