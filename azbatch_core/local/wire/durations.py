"""ISO 8601 durations and times, read as liberally and written as exactly as the service does.

The unit is the tick, 100 ns: the service's "unlimited" is the largest 64-bit number of ticks.
"""

from __future__ import annotations

import re
from datetime import datetime, timedelta, timezone
from functools import lru_cache

TICKS_PER_SECOND = 10_000_000
_MINUTE = 60 * TICKS_PER_SECOND
_HOUR = 60 * _MINUTE
_DAY = 24 * _HOUR
MAX_TICKS = 2**63 - 1
UNLIMITED = "P10675199DT2H48M5.4775807S"

# A year counts 365 days and a month 30: a real answer turned P3Y6M4DT12H30M5S into P1279DT12H30M5S.
_DURATION = re.compile(
    r"P(?:(?P<years>\d{1,6})Y)?(?:(?P<months>\d{1,6})M)?(?:(?P<weeks>\d{1,7})W)?(?:(?P<days>\d{1,8})D)?"
    r"(?:T(?=\d)(?:(?P<hours>\d{1,9})H)?(?:(?P<minutes>\d{1,10})M)?"
    r"(?:(?P<seconds>\d{1,12})(?:\.(?P<fraction>\d{1,9}))?S)?)?",
    re.ASCII,
)
_UNITS = {
    "years": 365 * _DAY,
    "months": 30 * _DAY,
    "weeks": 7 * _DAY,
    "days": _DAY,
    "hours": _HOUR,
    "minutes": _MINUTE,
    "seconds": TICKS_PER_SECOND,
}
_TIME = re.compile(
    r"(\d{4}-\d{2}-\d{2})[T ](\d{2}:\d{2}(?::\d{2})?)(?:\.(\d{1,9}))?(Z|z|[+-]\d{2}:?\d{2})?", re.ASCII
)


@lru_cache(maxsize=4096)
def parse_duration(text: str) -> int:
    """The duration in ticks.

    Raises:
        ValueError: `text` is no ISO 8601 duration, or is longer than the service can hold.
    """
    match = _DURATION.fullmatch(text)
    if match is None or len(text) < len("P1D"):
        raise ValueError(f"{text!r} is not a duration that the service knows")
    ticks = sum(int(match[unit] or 0) * size for unit, size in _UNITS.items())
    ticks += int((match["fraction"] or "").ljust(7, "0")[:7])
    if ticks > MAX_TICKS:
        raise ValueError(f"{text!r} is not a duration that the service knows")
    return ticks


@lru_cache(maxsize=4096)
def format_duration(ticks: int) -> str:
    """The canonical form: `PT15M`, `P7D`, `PT0S`; only whole units, no leading zeros."""
    days, rest = divmod(ticks, _DAY)
    hours, rest = divmod(rest, _HOUR)
    minutes, rest = divmod(rest, _MINUTE)
    seconds, fraction = divmod(rest, TICKS_PER_SECOND)
    date = f"{days}D" if days else ""
    second = f"{seconds}.{fraction:07d}".rstrip("0").rstrip(".") if fraction else str(seconds)
    time = (
        (f"{hours}H" if hours else "")
        + (f"{minutes}M" if minutes else "")
        + (f"{second}S" if seconds or fraction else "")
    )
    if not date and not time:
        return "PT0S"
    return f"P{date}" + (f"T{time}" if time else "")


@lru_cache(maxsize=4096)
def normalise_duration(text: str) -> str:
    """`text` in canonical form; `PT01H00M00S` becomes `PT1H`.

    Raises:
        ValueError: as `parse_duration`.
    """
    return format_duration(parse_duration(text))


@lru_cache(maxsize=4096)
def normalise_time(text: str) -> str:
    """`text` in UTC as `yyyy-MM-ddTHH:mm:ss.fffffffZ`, at most seven digits, trailing zeros trimmed.

    A time without an offset counts as UTC.

    Raises:
        ValueError: `text` is no time.
    """
    match = _TIME.fullmatch(text)
    if match is None:
        raise ValueError(text)
    date, clock, fraction, offset = match.groups()
    moment = datetime.fromisoformat(f"{date}T{clock}").replace(tzinfo=timezone.utc)
    if offset and offset not in "Zz":
        sign = -1 if offset[0] == "-" else 1
        shift = timedelta(hours=int(offset[1:3]), minutes=int(offset[-2:]))
        try:
            moment -= sign * shift
        except OverflowError:
            raise ValueError(text) from None
    digits = (fraction or "")[:7].rstrip("0")
    return moment.strftime("%Y-%m-%dT%H:%M:%S").rjust(19, "0") + (f".{digits}" if digits else "") + "Z"


def sortable_time(text: str) -> str:
    """A normal time with all seven digits, so that times compare as strings."""
    head, _, fraction = text.rstrip("Z").partition(".")
    return f"{head}.{fraction.ljust(7, '0')}"
