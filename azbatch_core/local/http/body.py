"""Request bodies: read up to the service's limit, parsed, checked."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import orjson

from azbatch_core.local.errors import BatchError
from azbatch_core.local.wire.validate import validate

if TYPE_CHECKING:
    from collections.abc import Mapping

    from azbatch_core.local.asgi import Receive
    from azbatch_core.local.http.operation import Operation

MAX_BODY = 1_048_576
"""Bytes; the real service names this number when it refuses a body."""


class DisconnectedError(Exception):
    """The client went away before its request was whole."""


async def read_body(receive: Receive) -> bytes:
    """The body, to its end.

    What exceeds the limit is read and thrown away, so that a client which sends everything before it
    listens gets its answer.

    Raises:
        BatchError: `RequestBodyTooLarge`.
        DisconnectedError: the client went away.
    """
    parts: list[bytes] = []
    size = 0
    while True:
        message = await receive()
        if message["type"] != "http.request":
            raise DisconnectedError
        part = message.get("body", b"")
        size += len(part)
        if size <= MAX_BODY:
            parts.append(part)
        if not message.get("more_body", False):
            break
    if size > MAX_BODY:
        raise BatchError("RequestBodyTooLarge", MaxLimit=MAX_BODY)
    return b"".join(parts)


def parse_body(
    operation: Operation, raw: bytes, headers: Mapping[str, str], *, older: bool
) -> dict[str, Any]:
    """The body of a request in normal form; empty for operations without one.

    Raises:
        BatchError: the body, or its type, is not what the operation takes.
    """
    if not operation.body or (not raw and operation.body_optional):
        return {}
    if not raw:
        raise BatchError("InvalidRequestBody", Reason="The request must have a body.")
    _check_type(headers.get("content-type"))
    try:
        content = orjson.loads(raw)
    except orjson.JSONDecodeError as error:
        raise BatchError("InvalidRequestBody", Reason=f"The body is not JSON: {error}") from None
    return validate(operation.body, content, older=older)


def _check_type(value: str | None) -> None:
    if value is None:
        raise BatchError("MissingRequiredHeader", HeaderName="Content-Type")
    if value.partition(";")[0].strip().lower() != "application/json":
        raise BatchError("InvalidHeaderValue", HeaderName="Content-Type", HeaderValue=value)
