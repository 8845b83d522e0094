"""Moments and durations on the wire.

A moment is kept as a whole number of ticks of 100 ns since year 1: the service prints seven digits, and its
ETags are those ticks in hexadecimal (`0x8DD365DD6AC9F42` is 2025-01-16T18:44:41.7974082Z).
"""

from __future__ import annotations

import re
from datetime import datetime, timedelta, timezone
from functools import lru_cache

__all__ = ["UNLIMITED", "etag", "limit_seconds", "moment", "seconds_of", "ticks_of"]

UNLIMITED = "P10675199DT2H48M5.4775807S"
"""How the service spells "no limit"."""

TICKS_PER_SECOND = 10_000_000
_EPOCH = datetime(1, 1, 1, tzinfo=timezone.utc)
_UNLIMITED_SECONDS = 10675199 * 86400.0
_SECOND = timedelta(seconds=1)

_DURATION = re.compile(
    r"P(?:(?P<years>\d+)Y)?(?:(?P<months>\d+)M)?(?:(?P<weeks>\d+)W)?(?:(?P<days>\d+)D)?"
    r"(?:T(?:(?P<hours>\d+)H)?(?:(?P<minutes>\d+)M)?(?:(?P<seconds>\d+(?:\.\d+)?)S)?)?$"
)
# A year is 365 and a month 30 days: P3Y6M4D came back as P1279D.
_UNITS = {
    "years": 365 * 86400,
    "months": 30 * 86400,
    "weeks": 7 * 86400,
    "days": 86400,
    "hours": 3600,
    "minutes": 60,
    "seconds": 1,
}


def ticks_of(when: datetime) -> int:
    """Ticks of an aware moment."""
    delta = when - _EPOCH
    return (delta.days * 86400 + delta.seconds) * TICKS_PER_SECOND + delta.microseconds * 10


@lru_cache(maxsize=4096)
def _second(whole: int) -> str:
    return (_EPOCH + whole * _SECOND).strftime("%Y-%m-%dT%H:%M:%S")


def moment(ticks: int) -> str:
    """`yyyy-MM-ddTHH:mm:ss.fffffffZ`, the fraction's trailing zeros trimmed."""
    whole, fraction = divmod(ticks, TICKS_PER_SECOND)
    if not fraction:
        return _second(whole) + "Z"
    return f"{_second(whole)}.{fraction:07d}".rstrip("0") + "Z"


def etag(ticks: int) -> str:
    """The ETag, unquoted, of a resource last written at `ticks`."""
    return f"0x{ticks:X}"


@lru_cache(maxsize=1024)
def seconds_of(duration: str) -> float:
    """Seconds of an ISO 8601 duration.

    Raises:
        ValueError: it is none.
    """
    found = _DURATION.match(duration)
    if not found or duration in {"P", "PT"}:
        raise ValueError(f"{duration!r} is not a duration")
    return sum(float(value) * _UNITS[unit] for unit, value in found.groupdict().items() if value)


def limit_seconds(duration: str | None) -> float | None:
    """Seconds of a limit, None for the service's "unlimited" (and for anything as long)."""
    if duration is None or duration == UNLIMITED:
        return None
    seconds = seconds_of(duration)
    return None if seconds >= _UNLIMITED_SECONDS else seconds
