"""Ids and names: the service's rules, and a safe id from any name.

An id is 1 to 64 ASCII letters, digits, hyphens and underscores; it keeps its case but is compared without
it (Batch REST API, pool/job/task id). `check_id` refuses what breaks the rule; `slug` makes a valid id out
of anything.
"""

from __future__ import annotations

import hashlib
import re
import unicodedata
from typing import Final

from azbatch_core.specs.problems import problem, show

MAX_ID: Final = 64
"""Characters of a pool, job or task id."""

MAX_DISPLAY_NAME: Final = 1024
"""Characters of a display name."""

JOB_PREPARATION_ID: Final = "jobpreparation"
JOB_RELEASE_ID: Final = "jobrelease"
RESERVED_IDS: Final = frozenset({JOB_PREPARATION_ID, JOB_RELEASE_ID})
"""The ids that Batch gives to a job's preparation and release task; no ordinary task may have them."""

_ID: Final = re.compile(r"[A-Za-z0-9_-]{1,64}")
_FOREIGN: Final = re.compile(r"[^A-Za-z0-9_-]+")
_HASH_DIGITS: Final = 8


def check_id(kind: str, value: str, *, max_length: int = MAX_ID) -> str:
    """The value itself, when it is a valid id.

    Args:
        kind: What the id names (``task``, ``job``, ``pool`` …); the reserved ids are refused for a ``task``.
        value: The id.
        max_length: The longest that is allowed; shorter than 64 for prefixes.

    Raises:
        SpecError: The value breaks the rule; the hint is a valid id made by `slug`.
    """
    if _ID.fullmatch(value) and len(value) <= max_length:
        if kind == "task" and value.lower() in RESERVED_IDS:
            raise problem(
                f"{value!r} is reserved for the job's own preparation or release task",
                hint=f"use another id, such as {slug(value)!r}",
            )
        return value
    rule = f"a {kind} id is 1 to {max_length} ASCII letters, digits, '-' and '_'"
    if not value:
        raise problem(f"must not be empty: {rule}")
    foreign = _FOREIGN.search(value)
    reason = f"has {foreign.group()[0]!r}" if foreign else f"has {len(value)} characters"
    raise problem(
        f"{show(value)} {reason}: {rule}", hint=f"a valid one is {slug(value, max_length=max_length)!r}"
    )


def fold_id(value: str) -> str:
    """The form in which ids are compared: ``Run1`` and ``run1`` are one id to Batch."""
    return value.lower()


def slug(name: str, max_length: int = MAX_ID, suffix_room: int = 0) -> str:
    """A valid id made from any name; the same name gives the same id, always and everywhere.

    A name that is a valid id already (and is not reserved, and fits) is returned unchanged, case included.
    Any other becomes its readable part, a hyphen and the first 8 hexadecimal digits of the SHA-256 of the
    name (in Unicode normal form C), so that names which differ, such as ``a.b`` and ``a/b``, get ids which
    differ. The readable part is the name without accents, with each run of other characters replaced by one
    hyphen, cut to fit. A name with nothing readable in it becomes ``unnamed-…``.

    Args:
        name: Any text, empty included.
        max_length: The longest id that is allowed.
        suffix_room: Characters to leave free at the end, for what the caller appends.

    Raises:
        ValueError: Less than 16 characters are left for the id.
    """
    room = max_length - suffix_room
    if room < 2 * _HASH_DIGITS:
        msg = f"an id needs room for {2 * _HASH_DIGITS} characters, {room} are left"
        raise ValueError(msg)
    if len(name) <= room and _ID.fullmatch(name) and name.lower() not in RESERVED_IDS:
        return name
    normal = unicodedata.normalize("NFC", name)
    digest = hashlib.sha256(normal.encode("utf-8", "backslashreplace")).hexdigest()[:_HASH_DIGITS]
    bare = "".join(char for char in unicodedata.normalize("NFKD", normal) if not unicodedata.combining(char))
    readable = _FOREIGN.sub("-", bare).strip("-_") or "unnamed"
    return f"{readable[: room - _HASH_DIGITS - 1].rstrip('-_')}-{digest}"


def check_display_name(value: str) -> str:
    """The value itself, when it is a valid display name: any Unicode, at most 1,024 characters.

    Raises:
        SpecError: It is longer, or has characters that cannot be sent.
    """
    if len(value) > MAX_DISPLAY_NAME:
        raise problem(f"has {len(value)} characters: a display name has at most {MAX_DISPLAY_NAME}")
    return check_text(value)


def check_text(value: str) -> str:
    """The value itself, when it can be sent and passed to a process: no NUL, no lone surrogate.

    Raises:
        SpecError: It has one.
    """
    if "\0" in value:
        raise problem("has a NUL character, which no command line or environment can carry")
    if not value.isascii() and any("\ud800" <= char <= "\udfff" for char in value):
        raise problem("has characters that are not valid Unicode text")
    return value


def text_of(value: object) -> object:
    """A whole number as text: ``id: 7`` in a file means the id ``7``. Anything else unchanged."""
    if isinstance(value, int) and not isinstance(value, bool):
        return str(value)
    return value
