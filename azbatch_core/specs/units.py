"""Durations and sizes with their unit: ``90s``, ``7d``, ``PT15M``; ``16GiB``, ``500MB``."""

from __future__ import annotations

import math
import re
from datetime import timedelta
from typing import Annotated, Final

from pydantic import BeforeValidator, PlainSerializer, Strict, WithJsonSchema

from azbatch_core.specs.problems import problem, show

MAX_DURATION: Final = timedelta(days=10_675_199, hours=2, minutes=48, seconds=5)
"""The longest duration that Batch can express (a .NET TimeSpan); it reads such a value as "no limit"."""

MAX_SIZE: Final = 2**63 - 1

_SECONDS: Final = {"s": 1, "m": 60, "h": 3600, "d": 86400, "w": 604800}
_SHORT: Final = re.compile(r"(?:\d+(?:\.\d+)?[wdhms])+", re.ASCII)
_SHORT_PART: Final = re.compile(r"(\d+(?:\.\d+)?)([wdhms])", re.ASCII)
_BARE: Final = re.compile(r"\d+(?:\.\d+)?", re.ASCII)
_NUMBER: Final = r"(\d+(?:[.,]\d+)?)"
_ISO: Final = re.compile(
    rf"P(?=[\dT])(?:{_NUMBER}W)?(?:{_NUMBER}D)?(?:T(?=\d)(?:{_NUMBER}H)?(?:{_NUMBER}M)?(?:{_NUMBER}S)?)?",
    re.ASCII,
)
_ISO_SECONDS: Final = (604800, 86400, 3600, 60, 1)
_DURATION_FORMS: Final = (
    "write '90s', '15m', '2h', '7d', '1h30m', an ISO 8601 duration such as 'PT15M', or seconds"
)

_BYTES: Final = {
    "b": 1,
    **{f"{letter}b": 1000**power for power, letter in enumerate("kmgtp", start=1)},
    **{f"{letter}ib": 1024**power for power, letter in enumerate("kmgtp", start=1)},
    **{f"{letter}i": 1024**power for power, letter in enumerate("kmgtp", start=1)},
}
_SIZE: Final = re.compile(r"(\d+(?:\.\d+)?)\s*([A-Za-z]*)", re.ASCII)
_SIZE_FORMS: Final = "write '16GiB' (2^30 bytes each), '16GB' (10^9 bytes each), or whole bytes"


def parse_duration(value: object) -> timedelta:
    """A duration from a `timedelta`, a number of seconds, ``90s``, ``1h30m``, ``7d`` or ISO 8601 ``PT15M``.

    Years and months of ISO 8601 are refused, since they have no fixed length.

    Raises:
        SpecError: Another form, a negative, endless or missing number, or longer than Batch can express.
    """
    if isinstance(value, timedelta):
        duration = value
    elif isinstance(value, (int, float)) and not isinstance(value, bool):
        duration = _sum([value], value)
    elif isinstance(value, str):
        duration = _from_text(value)
    else:
        raise problem(f"{show(value)} is not a duration", hint=_DURATION_FORMS)
    if duration < timedelta(0):
        raise problem(f"{show(value)} is negative: a duration is zero or more", hint=_DURATION_FORMS)
    if duration > MAX_DURATION:
        raise problem(f"{format_duration(duration)} is longer than Batch can express (10,675,199 days)")
    return duration


def _from_text(text: str) -> timedelta:
    compact = text.strip()
    if _SHORT.fullmatch(compact):
        short = _SHORT_PART.findall(compact)
        return _sum([float(number) * _SECONDS[unit] for number, unit in short], text)
    iso = _ISO.fullmatch(compact)
    if iso and any(iso.groups()):
        parts = zip(iso.groups(), _ISO_SECONDS, strict=True)
        return _sum([float(number.replace(",", ".")) * unit for number, unit in parts if number], text)
    if compact.startswith("-"):
        raise problem(f"{show(text)} is negative: a duration is zero or more", hint=_DURATION_FORMS)
    if _BARE.fullmatch(compact):
        raise problem(f"{show(text)} is text without a unit", hint=f"write '{compact}s' for seconds")
    raise problem(f"{show(text)} is not a duration", hint=_DURATION_FORMS)


def _sum(seconds: list[float], given: object) -> timedelta:
    """The parts together; added as timedeltas, because large floats have no microseconds."""
    try:
        return sum((timedelta(seconds=part) for part in seconds), timedelta(0))
    except (OverflowError, ValueError):
        pass
    if any(isinstance(part, float) and math.isnan(part) for part in seconds):
        raise problem("NaN is not a duration", hint=_DURATION_FORMS)
    raise problem(f"{show(given)} is longer than Batch can express (10,675,199 days)")


def iso_duration(value: timedelta) -> str:
    """A duration in ISO 8601, exact, with days as its largest unit: ``P7D``, ``PT15M``, ``PT0.5S``."""
    whole = value.seconds
    hours, minutes, seconds = whole // 3600, whole % 3600 // 60, whole % 60
    fraction = f".{value.microseconds:06}".rstrip("0") if value.microseconds else ""
    date = f"{value.days}D" if value.days else ""
    time = (f"{hours}H" if hours else "") + (f"{minutes}M" if minutes else "")
    time += f"{seconds}{fraction}S" if seconds or fraction or not (date or time) else ""
    return f"P{date}T{time}" if time else f"P{date}"


def format_duration(value: timedelta) -> str:
    """A duration as people write it: ``7d``, ``1h30m``, ``0.5s``."""
    seconds = value.total_seconds()
    whole, text = int(seconds), ""
    for unit, size in (("d", 86400), ("h", 3600), ("m", 60)):
        count, whole = divmod(whole, size)
        text += f"{count}{unit}" if count else ""
    rest = whole + (seconds - int(seconds))
    return text + (f"{rest:g}s" if rest or not text else "")


def parse_size(value: object) -> int:
    """Bytes from a whole number of bytes, ``16GiB`` (binary), ``16Gi`` (the same) or ``16GB`` (decimal).

    A unit of one letter, such as ``16G``, is refused: half of the tools read it as binary, the other half
    as decimal.

    Raises:
        SpecError: Another form, a negative or broken number, or 2^63 bytes and more.
    """
    if isinstance(value, int) and not isinstance(value, bool):
        size = value
    elif isinstance(value, str):
        size = _size(value)
    else:
        raise problem(f"{show(value)} is not a size", hint=_SIZE_FORMS)
    if size < 0:
        raise problem(f"{show(value)} is negative: a size is zero or more", hint=_SIZE_FORMS)
    if size > MAX_SIZE:
        raise problem(f"{show(value)} is too large: a size is less than 2^63 bytes")
    return size


def _size(text: str) -> int:
    if text.strip().startswith("-"):
        raise problem(f"{show(text)} is negative: a size is zero or more", hint=_SIZE_FORMS)
    parts = _SIZE.fullmatch(text.strip())
    if parts is None:
        raise problem(f"{show(text)} is not a size", hint=_SIZE_FORMS)
    number, unit = parts.groups()
    if unit.lower() in {"k", "m", "g", "t", "p"}:
        letter = unit.upper()
        raise problem(f"{show(text)} is ambiguous", hint=f"write '{number}{letter}iB' or '{number}{letter}B'")
    if not unit or unit.lower() not in _BYTES:
        raise problem(f"{show(text)} has no unit that is known", hint=_SIZE_FORMS)
    factor: int = _BYTES[unit.lower()]
    if "." not in number:
        return int(number[:40]) * factor
    return min(math.ceil(float(number) * factor), MAX_SIZE + 1) if float(number) < MAX_SIZE else MAX_SIZE + 1


def format_size(value: int) -> str:
    """Bytes as people read them: ``16GiB``, ``1.5GiB``, ``512B``."""
    for letter, power in (("P", 5), ("T", 4), ("G", 3), ("M", 2), ("K", 1)):
        if value >= 1024**power:
            return f"{value / 1024**power:.4g}{letter}iB"
    return f"{value}B"


def exact_size(value: int) -> str:
    """Bytes as text that `parse_size` reads back as the same number: ``1536MiB``, ``1000B``."""
    for letter, power in (("P", 5), ("T", 4), ("G", 3), ("M", 2), ("K", 1)):
        if value and value % 1024**power == 0:
            return f"{value // 1024**power}{letter}iB"
    return f"{value}B"


Duration = Annotated[
    timedelta,
    BeforeValidator(parse_duration),
    PlainSerializer(iso_duration, when_used="json"),
    WithJsonSchema(
        {
            "type": "string",
            "description": "A duration: '90s', '15m', '2h', '7d', '1h30m', ISO 8601 'PT15M', or seconds.",
            "examples": ["90s", "15m", "2h", "7d", "PT15M"],
        }
    ),
]
Size = Annotated[
    int,
    BeforeValidator(parse_size),
    PlainSerializer(exact_size, when_used="json"),
    WithJsonSchema(
        {
            "type": "string",
            "description": "A size: '16GiB' (2^30 bytes each), '16GB' (10^9 bytes each), or whole bytes.",
            "examples": ["16GiB", "512MiB", "1TB"],
        }
    ),
]
Whole = Annotated[int, Strict()]
Number = Annotated[float, Strict()]
