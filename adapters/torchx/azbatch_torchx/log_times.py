"""Lines of a span of time, as far as lines carry one. Pure.

Known are what Python's logging, ISO 8601 and glog (which PyTorch uses) put at the start of a line, behind
torchrun's ``[0]:`` if need be. A line without a time is as old as the one before it.
"""

from __future__ import annotations

import re
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from datetime import tzinfo

_START: Final = r"^(?:\[\w+\]:)?\s*\[?"
_CLOCK: Final = r"(\d\d):(\d\d):(\d\d)(?:[.,](\d{1,6})\d*)?"
_ISO: Final = re.compile(rf"{_START}(\d{{4}})-(\d\d)-(\d\d)[T ]{_CLOCK}\s?(Z|[+-]\d\d:?\d\d)?")
_GLOG: Final = re.compile(rf"{_START}[VIWEFC](\d\d)(\d\d) {_CLOCK}")
_SKEW: Final = timedelta(days=1)


def between(
    lines: Iterable[str], since: datetime | None, until: datetime | None, zone: tzinfo | None
) -> Iterator[str]:
    """The lines from `since` to `until`; those before the first that carries a time are among them.

    Args:
        lines: Lines of one output.
        since: Older lines are left out. Without a zone it is a time of this machine.
        until: Younger lines are left out.
        zone: What times are meant that name none; None is this machine's.
    """
    if since is None and until is None:
        yield from lines
        return
    begin, end = (one.astimezone() if one is not None else None for one in (since, until))
    now = datetime.now().astimezone()
    wanted = True
    for line in lines:
        at = moment(line, zone, now)
        if at is not None:
            wanted = (begin is None or at >= begin) and (end is None or at <= end)
        if wanted:
            yield line


def moment(line: str, zone: tzinfo | None, now: datetime) -> datetime | None:
    """The time at the start of a line; None if there is none that is known."""
    iso = _ISO.match(line)
    glog = None if iso else _GLOG.match(line)
    try:
        if iso is not None:
            *parts, fraction, named = iso.groups()
            found = _made([int(part) for part in parts], fraction)
            if named is not None:
                return datetime.fromisoformat(f"{found.isoformat()}{_offset(named)}")
            return found.replace(tzinfo=zone) if zone else found.astimezone()
        if glog is not None:
            *parts, fraction = glog.groups()
            return _of_year(now, [int(part) for part in parts], fraction, zone)
    except ValueError:
        return None
    return None


def _of_year(now: datetime, parts: list[int], fraction: str | None, zone: tzinfo | None) -> datetime:
    """A time without a year: the latest one that is not to come."""
    found = _made([now.year, *parts], fraction)
    found = found.replace(tzinfo=zone) if zone else found.astimezone()
    return found if found <= now + _SKEW else found.replace(year=now.year - 1)


def _made(parts: list[int], fraction: str | None) -> datetime:
    year, month, day, hour, minute, second = parts
    micro = int((fraction or "0").ljust(6, "0"))
    return datetime(year, month, day, hour, minute, second, micro)  # noqa: DTZ001  # the zone comes later


def _offset(named: str) -> str:
    if named == "Z":
        return "+00:00"
    return named if ":" in named else f"{named[:3]}:{named[3:]}"
