"""Times as headers write them."""

from __future__ import annotations

from datetime import datetime, timezone
from email.utils import format_datetime, parsedate_to_datetime
from functools import lru_cache

from azbatch_core.local.errors import BatchError


@lru_cache(maxsize=4096)
def http_date(wire_time: str) -> str:
    """A document's time as an RFC 1123 date, which has whole seconds: `Thu, 16 Jan 2025 18:44:41 GMT`."""
    moment = datetime.strptime(wire_time[:19], "%Y-%m-%dT%H:%M:%S").replace(tzinfo=timezone.utc)
    return format_datetime(moment, usegmt=True)


def http_date_of(timestamp: float) -> str:
    """A file's time as an RFC 1123 date."""
    return format_datetime(datetime.fromtimestamp(int(timestamp), timezone.utc), usegmt=True)


def wire_time_of(timestamp: float) -> str:
    """A file's time as documents write it."""
    moment = datetime.fromtimestamp(timestamp, timezone.utc)
    digits = f"{moment.microsecond:06d}".rstrip("0")
    return moment.strftime("%Y-%m-%dT%H:%M:%S") + (f".{digits}" if digits else "") + "Z"


def parse_http_date(header: str, value: str) -> datetime:
    """The moment of a date header.

    Raises:
        BatchError: `InvalidHeaderValue`.
    """
    try:
        moment = parsedate_to_datetime(value)
    except (ValueError, TypeError, IndexError):
        raise BatchError("InvalidHeaderValue", HeaderName=header, HeaderValue=value) from None
    return moment if moment.tzinfo else moment.replace(tzinfo=timezone.utc)
