"""Reading the service's documents: their times, durations and metadata become Python's."""

from __future__ import annotations

import re
from datetime import datetime, timedelta, timezone
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping

_MOMENT = re.compile(r"(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d)(?:\.(\d+))?(Z|[+-]\d\d:\d\d)?$")
_DURATION = re.compile(
    r"P(?:(?P<days>\d+)D)?(?:T(?:(?P<hours>\d+)H)?(?:(?P<minutes>\d+)M)?(?:(?P<seconds>\d+(?:\.\d+)?)S)?)?$"
)
# The service's "no limit" is 10675199 days and a bit; nothing that a person asks for comes near.
UNLIMITED = timedelta(days=3_650_000)


def moment(value: object) -> datetime | None:
    """A wire timestamp (up to seven digits of a second) as an aware UTC datetime; None for none."""
    if value is None or isinstance(value, datetime):
        return value
    match = _MOMENT.match(str(value))
    if match is None:
        return None
    base, fraction, zone = match.groups()
    parsed = datetime.fromisoformat(base + (zone if zone and zone != "Z" else "+00:00"))
    return parsed.astimezone(timezone.utc).replace(microsecond=int(f"{fraction or 0:0<6}"[:6]))


def duration(value: object) -> timedelta | None:
    """A wire duration (ISO 8601) as a timedelta; None for none and for the service's "unlimited"."""
    if isinstance(value, timedelta):
        found = value
    else:
        match = _DURATION.match(str(value or ""))
        if match is None:
            return None
        found = timedelta(**{unit: float(number) for unit, number in match.groupdict(default="0").items()})
    return None if found >= UNLIMITED else found


def metadata_of(document: Mapping[str, Any]) -> dict[str, str]:
    """A job's or a pool's metadata as a dict."""
    return {str(item.get("name")): str(item.get("value")) for item in document.get("metadata") or ()}
