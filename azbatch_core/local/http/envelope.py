"""The error envelope, line ends and order of members included."""

from __future__ import annotations

import time
from datetime import datetime, timezone
from typing import TYPE_CHECKING

import orjson

if TYPE_CHECKING:
    from azbatch_core.local.errors import BatchError

_METADATA = "/$metadata#Microsoft.Azure.Batch.Protocol.Entities.Container.errors/@Element"


def envelope(error: BatchError, base: str, request_id: str) -> bytes:
    """The body of an error answer.

    Args:
        error: what is wrong.
        base: the service's URL, no slash at the end.
        request_id: as in the header of the same name.
    """
    text = f"{error.message}\nRequestId:{request_id}\nTime:{_now()}"
    members = [
        f'"odata.metadata":{_quoted(base + _METADATA)}',
        f'"code":{_quoted(error.code)}',
        f'"message":{{\r\n    "lang":"en-US","value":{_quoted(text)}\r\n  }}',
    ]
    if error.values:
        pairs = [
            f'{{\r\n      "key":{_quoted(key)},"value":{_quoted(value)}\r\n    }}'
            for key, value in error.values
        ]
        members.append(f'"values":[\r\n    {",".join(pairs)}\r\n  ]')
    return ("{\r\n  " + ",".join(members) + "\r\n}").encode("utf-8", "replace")


def _quoted(text: str) -> str:
    return orjson.dumps(text.encode("utf-8", "replace").decode()).decode()


def _now() -> str:
    """The present with seven digits, trailing zeros kept: so the service writes it here, and only here."""
    seconds, nanoseconds = divmod(time.time_ns(), 1_000_000_000)
    moment = datetime.fromtimestamp(seconds, timezone.utc)
    return f"{moment:%Y-%m-%dT%H:%M:%S}.{nanoseconds // 100:07d}Z"
