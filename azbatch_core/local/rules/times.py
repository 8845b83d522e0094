"""Moments and limits on the wire.

A moment is kept as a whole number of ticks of 100 ns since year 1: the service prints seven digits, and its
ETags are those ticks in hexadecimal (`0x8DD365DD6AC9F42` is 2025-01-16T18:44:41.7974082Z).
"""

from __future__ import annotations

from datetime import datetime, timedelta, timezone
from functools import lru_cache

from azbatch_core.local.wire.durations import TICKS_PER_SECOND, parse_duration

__all__ = ["etag", "limit_seconds", "moment", "seconds_of", "ticks_at", "ticks_of", "time_of"]

_EPOCH = datetime(1, 1, 1, tzinfo=timezone.utc)
_SECOND = timedelta(seconds=1)
_UNLIMITED_DAYS = 10675199


def ticks_of(when: datetime) -> int:
    """Ticks of an aware moment."""
    delta = when - _EPOCH
    return (delta.days * 86400 + delta.seconds) * TICKS_PER_SECOND + delta.microseconds * 10


def time_of(ticks: int) -> datetime:
    """The moment of ticks, to the microsecond below: the inverse of `ticks_of`."""
    return _EPOCH + timedelta(microseconds=ticks // 10)


def ticks_at(text: str) -> int:
    """Ticks of a moment as the wire's bodies have it in normal form, the inverse of `moment`."""
    second = datetime.fromisoformat(text[:19]).replace(tzinfo=timezone.utc)
    return ticks_of(second) + int(text[19:].strip(".Z").ljust(7, "0"))


@lru_cache(maxsize=4096)
def _second(whole: int) -> str:
    return (_EPOCH + whole * _SECOND).isoformat()[:19]


def moment(ticks: int) -> str:
    """`yyyy-MM-ddTHH:mm:ss.fffffffZ`, the fraction's trailing zeros trimmed."""
    whole, fraction = divmod(ticks, TICKS_PER_SECOND)
    if not fraction:
        return _second(whole) + "Z"
    return f"{_second(whole)}.{fraction:07d}".rstrip("0") + "Z"


def etag(ticks: int) -> str:
    """The ETag, unquoted, of a resource last written at `ticks`."""
    return f"0x{ticks:X}"


def seconds_of(duration: str) -> float:
    """Seconds of an ISO 8601 duration; raises `ValueError` if it is none."""
    return parse_duration(duration) / TICKS_PER_SECOND


@lru_cache(maxsize=4096)
def limit_seconds(duration: str | None) -> float | None:
    """Seconds of a limit, None for the service's "unlimited" (and for anything as long)."""
    if duration is None:
        return None
    seconds = seconds_of(duration)
    return None if seconds >= _UNLIMITED_DAYS * 86400 else seconds
