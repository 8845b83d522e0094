"""Names of containers and blobs, and where their contents lie on disk.

A blob lies under its own name, so that people find their files, wherever a file system can hold that name:
not a name that is too long, nor one that would lead elsewhere. Content that replaces another lies beside it,
under a hashed name, since both exist for a moment.
"""

from __future__ import annotations

import hashlib
import re

_CONTAINER = re.compile(r"(?=.{3,63}\Z)[a-z0-9](?:-?[a-z0-9])*\Z|\$(?:root|web|logs)\Z")
_LONGEST_NAME = 1024
_LONGEST_SEGMENT = 200  # bytes; file systems stop at 255
_LONGEST_PATH = 800  # bytes; macOS stops at 1,024 for the whole path
_UNSAFE = re.compile(r"[\x00-\x1f\x7f\\]|\A%")
HASHED = "%"
"""What hashed paths begin with, and no other."""


def is_container_name(name: str) -> bool:
    """Whether a container can have this name ("Naming and referencing containers, blobs")."""
    return _CONTAINER.match(name) is not None


def is_blob_name(name: str) -> bool:
    """Whether a blob can have this name."""
    return 0 < len(name) <= _LONGEST_NAME


def natural_path(name: str) -> str | None:
    """The relative path that equals a blob's name, None if no file can safely lie there."""
    segments = name.split("/")
    if len(name.encode()) > _LONGEST_PATH or _UNSAFE.search(name):
        return None
    if any(not _is_plain(segment) for segment in segments):
        return None
    return name


def hashed_path(name: str, version: str) -> str:
    """A relative path for a version of a blob that cannot lie under its name; no natural path equals it."""
    return f"{HASHED}{hashlib.sha256(name.encode()).hexdigest()}-{version}"


def _is_plain(segment: str) -> bool:
    return 0 < len(segment.encode()) <= _LONGEST_SEGMENT and segment not in {".", ".."}
