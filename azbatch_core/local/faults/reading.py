"""From what a person wrote to faults; what is wrong is told with the nearest right name."""

from __future__ import annotations

import difflib
import json
import math
from datetime import datetime, timezone
from typing import TYPE_CHECKING, Any

from azbatch_core.local.errors import ERRORS
from azbatch_core.local.faults.fault import Fault
from azbatch_core.local.faults.kinds import KINDS, REQUEST_KINDS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping
    from pathlib import Path

__all__ = ["FIELDS", "FaultError", "read_fault", "read_faults", "read_file", "read_words"]

_LONGEST = 100 * 366 * 86_400.0
_PLACES = frozenset({"operation", "method", "path", "pool", "node", "job", "schedule", "task"})
_OWN = frozenset({"count", "skip", "probability", "seed", "after", "at"})
_STATUS_LEAST, _STATUS_MOST = 400, 599
_CODES_OF_FILES = {
    "download-failure": (
        "BlobNotFound",
        "BlobAccessDenied",
        "BlobDownloadTimedOut",
        "BlobDownloadMiscError",
        "ResourceContainerNotFound",
        "ResourceContainerAccessDenied",
    ),
    "upload-failure": (
        "FileUploadMiscError",
        "FileUploadContainerNotFound",
        "FileUploadAccessDenied",
        "FileUploadConflict",
        "FileUploadTimedOut",
    ),
    "allocation-failure": (
        "AllocationFailed",
        "AllocationTimedout",
        "AccountCoreQuotaReached",
        "AccountSpotCoreQuotaReached",
        "AccountLowPriorityCoreQuotaReached",
        "Unknown",
    ),
    "unusable": (
        "DiskFull",
        "ContainerInvalidImage",
        "ApplicationPackageError",
        "BatchAgentInstallationFailure",
        "Unknown",
    ),
}
"""Codes that each kind may carry; `error` takes those of requests."""


class FaultError(ValueError):
    """A fault that cannot be: one line that says what is wrong and what would be right."""


def read_file(path: Path) -> list[Fault]:
    """The faults of a YAML or JSON file: a list, or an object with the list as `faults`.

    Raises:
        FaultError: the file cannot be read, or one of its faults cannot be.
    """
    import yaml

    try:
        found = yaml.safe_load(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise FaultError(f"{path}: {error.strerror}") from None
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        raise FaultError(f"{path}: not YAML or JSON: {' '.join(str(error).split())}") from None
    if isinstance(found, dict) and set(found) == {"faults"}:
        found = found["faults"]
    if not isinstance(found, list):
        raise FaultError(f"{path}: a list of faults is expected, or `faults:` with such a list")
    try:
        return read_faults(found)
    except FaultError as error:
        raise FaultError(f"{path}: {error}") from None


def read_faults(documents: Iterable[Any]) -> list[Fault]:
    """Faults from a list of documents.

    Raises:
        FaultError: one of them cannot be; its place in the list is told.
    """
    faults: list[Fault] = []
    for number, document in enumerate(documents, 1):
        try:
            fault = read_fault(document)
        except FaultError as error:
            raise FaultError(f"fault {number}: {error}") from None
        if fault.id and any(fault.id == other.id for other in faults):
            raise FaultError(f"fault {number}: the id {fault.id!r} is taken")
        faults.append(fault)
    return faults


def read_fault(document: Any) -> Fault:
    """A fault from a document; it has no id unless one is given. `_` and `-` in names are the same.

    Raises:
        FaultError: it cannot be.
    """
    if not isinstance(document, dict):
        raise FaultError("a fault is an object like {kind: throttle, operation: create_task}")
    given = {str(name).replace("_", "-"): value for name, value in document.items() if value is not None}
    kind = given.get("kind")
    if kind is None:
        raise FaultError(f"kind is missing; it is one of {', '.join(KINDS)}")
    if not isinstance(kind, str) or kind not in KINDS:
        raise FaultError(f"there is no kind {kind!r}{_nearest(kind, KINDS)}")
    allowed = ("kind", "id", *KINDS[kind].fields)
    for name in given:
        if name not in allowed:
            near = _nearest(name, allowed) or f"; it takes {', '.join(allowed[2:])}"
            raise FaultError(f"{kind} has no {name}{near}")
    for name in KINDS[kind].needs:
        if name not in given:
            raise FaultError(f"{kind} needs {name}")
    read = {name: FIELDS[name](name, value) for name, value in given.items() if name != "kind"}
    _check_together(kind, read)
    return Fault(
        kind=kind,
        id=read.pop("id", ""),
        given=given,
        places={name: value for name, value in read.items() if name in _PLACES},
        values={name: value for name, value in read.items() if name not in _PLACES | _OWN},
        **{name: value for name, value in read.items() if name in _OWN},
    )


def _check_together(kind: str, read: Mapping[str, Any]) -> None:
    if "at" in read and "after" in read:
        raise FaultError("give at or after, not both")
    ends = [name for name in ("pool", "job", "schedule") if name in read]
    if kind == "slow-delete" and len(ends) > 1:
        raise FaultError(f"nothing is {' and '.join(ends)} at once: give one of them")
    if kind == "quota" and not read.keys() - {"id"}:
        raise FaultError(f"quota needs one of {', '.join(KINDS['quota'].fields)}")
    if "code" in read:
        codes = ERRORS if kind in REQUEST_KINDS else _CODES_OF_FILES[kind]
        if read["code"] not in codes:
            near = _nearest(read["code"], codes)
            if not near and kind not in REQUEST_KINDS:
                near = f"; it is one of {', '.join(codes)}"
            raise FaultError(f"{kind} has no code {read['code']!r}{near}")
    if kind == "unusable" and "message" in read and "code" not in read:
        raise FaultError("a message needs a code: an unusable node without a code has no error at all")


def _nearest(name: Any, right: Iterable[str]) -> str:
    lower = {word.lower(): word for word in right}
    near = difflib.get_close_matches(str(name).lower(), lower, 1)
    return f"; did you mean {lower[near[0]]}?" if near else ""


def _text(name: str, value: Any) -> str:
    if not isinstance(value, str) or not value or not value.isprintable():
        raise FaultError(f"{name} is a text, not {_shown(value)}")
    return value


def _glob(name: str, value: Any) -> str:
    return _text(name, str(value) if isinstance(value, int) else value).lower()


def _number(least: float, most: float, what: str) -> Callable[[str, Any], float]:
    def read(name: str, value: Any) -> float:
        fine = isinstance(value, (int, float)) and not isinstance(value, bool) and math.isfinite(value)
        if not fine or not least <= value <= most:
            raise FaultError(f"{name} is {what}, not {_shown(value)}")
        return float(value)

    return read


def _whole(least: int, most: int, what: str) -> Callable[[str, Any], int]:
    def read(name: str, value: Any) -> int:
        if not isinstance(value, int) or isinstance(value, bool) or not least <= value <= most:
            raise FaultError(f"{name} is {what}, not {_shown(value)}")
        return value

    return read


def _moment(name: str, value: Any) -> datetime:
    try:
        found = value if isinstance(value, datetime) else datetime.fromisoformat(value.replace("Z", "+00:00"))
    except (AttributeError, ValueError):
        raise FaultError(f"{name} is a moment like 2026-01-01T12:00:00Z, not {_shown(value)}") from None
    return found if found.tzinfo else found.replace(tzinfo=timezone.utc)


def _shown(value: Any) -> str:
    return json.dumps(value, default=str)[:80]


_LARGEST = 2**31 - 1
_seconds = _number(0.0, _LONGEST, "a number of seconds, 0 or more")
_some = _whole(0, _LARGEST, "a whole number, 0 or more")

FIELDS: dict[str, Callable[[str, Any], Any]] = {
    "id": _text,
    **dict.fromkeys(_PLACES, _glob),
    "count": _whole(1, _LARGEST, "a whole number, 1 or more"),
    "skip": _some,
    "probability": _number(0.0, 1.0, "a number from 0 to 1"),
    "seed": _some,
    "after": _seconds,
    "at": _moment,
    "retry-after": _some,
    "seconds": _seconds,
    "lasts": _seconds,
    "status": _whole(_STATUS_LEAST, _STATUS_MOST, f"a status from {_STATUS_LEAST} to {_STATUS_MOST}"),
    "exit-code": _whole(1, 255, "a whole number from 1 to 255"),
    "code": _text,
    "message": _text,
    "short": _whole(1, _LARGEST, "a whole number, 1 or more"),
    **dict.fromkeys(("pools", "jobs", "nodes", "cores", "spot-cores"), _some),
}
"""How the value of each field is read."""
_TEXTS = frozenset({"id", "code", "message", "at", *_PLACES})


def read_words(kind: str, words: Iterable[str]) -> dict[str, Any]:
    """The document of a fault from words like `count=3`, as typed on a command line.

    Raises:
        FaultError: a word is not of that form, or the fault cannot be.
    """
    document: dict[str, Any] = {"kind": kind}
    for word in words:
        name, equals, text = word.partition("=")
        if not equals or not name:
            raise FaultError(f"{word!r} is not of the form name=value, like count=3")
        document[name.replace("_", "-")] = text if name in _TEXTS else _plain(text)
    read_fault(document)
    return document


def _plain(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        return text
