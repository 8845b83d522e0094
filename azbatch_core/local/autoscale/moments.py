"""The texts that `time("…")` reads: W3C-DTF and RFC 1123 (documented)."""

from __future__ import annotations

import re
from datetime import datetime, timedelta, timezone

from azbatch_core.local.autoscale.errors import Mistake
from azbatch_core.local.autoscale.values import Timestamp

__all__ = ["read_moment"]

_W3C = re.compile(
    r"""(?P<year>\d{4})(?:-(?P<month>\d\d)(?:-(?P<day>\d\d)
        (?:T(?P<hour>\d\d):(?P<minute>\d\d)(?::(?P<second>\d\d)(?:\.(?P<fraction>\d{1,6}))?)?
           (?:Z|(?P<sign>[+-])(?P<zone_hour>\d\d):(?P<zone_minute>\d\d))?
        )?)?)?""",
    re.VERBOSE | re.ASCII,
)
_RFC1123 = re.compile(
    r"(?P<weekday>[A-Z][a-z]{2}), (?P<day>\d\d) (?P<month>[A-Z][a-z]{2}) (?P<year>\d{4})"
    r" (?P<hour>\d\d):(?P<minute>\d\d):(?P<second>\d\d) GMT",
    re.ASCII,
)
_WEEKDAYS = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")
_MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")


def read_moment(text: str) -> Timestamp:
    """The time that `text` names; without a zone it is UTC.

    Raises:
        Mistake: the text is in neither form, has more than six digits of a second (the service refuses
            those), or names no real time.
    """
    try:
        moment = _w3c(text) or _rfc1123(text)
        if moment is not None:
            return Timestamp.of(moment)
    except (ValueError, OverflowError):
        pass
    raise Mistake(f"Invalid date and time: {text}")


def _w3c(text: str) -> datetime | None:
    match = _W3C.fullmatch(text)
    if match is None:
        return None
    parts = {name: int(match[name] or 0) for name in ("hour", "minute", "second", "zone_hour", "zone_minute")}
    offset = timedelta(hours=parts["zone_hour"], minutes=parts["zone_minute"])
    return datetime(
        int(match["year"]),
        int(match["month"] or 1),
        int(match["day"] or 1),
        parts["hour"],
        parts["minute"],
        parts["second"],
        int((match["fraction"] or "").ljust(6, "0")),
        tzinfo=timezone(-offset if match["sign"] == "-" else offset),
    )


def _rfc1123(text: str) -> datetime | None:
    match = _RFC1123.fullmatch(text)
    if match is None:
        return None
    moment = datetime(
        int(match["year"]),
        _MONTHS.index(match["month"]) + 1,
        int(match["day"]),
        int(match["hour"]),
        int(match["minute"]),
        int(match["second"]),
        tzinfo=timezone.utc,
    )
    if _WEEKDAYS[moment.weekday()] != match["weekday"]:
        raise ValueError("another day of the week")
    return moment
