"""The ASGI application of the REST API: every request gets an answer in the service's own terms.

It is bare ASGI: paths are matched and verified while still encoded, successes go out chunked, and a
collection of tasks should not pay for more machinery than it needs.
"""

from __future__ import annotations

import logging
import uuid
from contextlib import closing, suppress
from datetime import datetime, timezone
from http import HTTPStatus
from typing import TYPE_CHECKING, Any

from azbatch_core.local.errors import BatchError
from azbatch_core.local.faults import Faults
from azbatch_core.local.http.aside import Aside
from azbatch_core.local.http.body import DisconnectedError, parse_body, read_body
from azbatch_core.local.http.call import Call
from azbatch_core.local.http.conditions import NotModifiedError, check_conditions, has_conditions
from azbatch_core.local.http.envelope import envelope
from azbatch_core.local.http.query import API_VERSIONS, Query
from azbatch_core.local.http.response import JSON_TYPE, Response
from azbatch_core.local.http.router import Router
from azbatch_core.local.http.trouble import HungUpError, Refusal, before, hang_up
from azbatch_core.local.streaming import stream

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from azbatch_core.local.asgi import Receive, Scope, Send
    from azbatch_core.local.auth import Verifier
    from azbatch_core.local.engine.engine import Engine
    from azbatch_core.local.http.operation import Operation

_LOG = logging.getLogger(__name__)
_LOOPBACK = frozenset({"127.0.0.1", "localhost", "[::1]"})
_STANDING = {
    "Server": "Microsoft-HTTPAPI/2.0",
    "X-Content-Type-Options": "nosniff",
    "Strict-Transport-Security": "max-age=31536000; includeSubDomains",
    "DataServiceVersion": "3.0",
}


class BatchApplication:
    """The REST API over one engine.

    Args:
        engine: what does the work.
        keys: who may ask.
        operations: the table of operations.
        endpoint: URL of the service, no slash at the end: what refusals name, since they may go out before
            anything that the request says is to be trusted.
        faults: what befalls requests on demand, once they are known to be sound.
    """

    def __init__(
        self,
        engine: Engine,
        keys: Verifier,
        operations: Iterable[Operation],
        endpoint: str,
        faults: Faults | None = None,
    ) -> None:
        self._engine = engine
        self._keys = keys
        self._router = Router(operations)
        self._endpoint = endpoint
        self._faults = faults or Faults()
        self._aside = Aside()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        headers = read_headers(scope["headers"])
        request_id = str(uuid.uuid4())
        try:
            response = await self._answer(scope, headers, receive)
        except DisconnectedError:
            return
        except HungUpError as error:
            await hang_up(scope, receive, reset=error.reset)
            return
        except NotModifiedError:
            response = Response(HTTPStatus.NOT_MODIFIED)
        except BatchError as error:
            response = _refusal(error, self._endpoint, request_id)
        except Exception:  # noqa: BLE001 - whatever it is, the client gets an answer and the log the trace
            _LOG.exception("%s %s failed", scope["method"], scope["path"])
            response = _refusal(BatchError("InternalError"), self._endpoint, request_id)
        response.headers["request-id"] = request_id
        if headers.get("return-client-request-id", "").lower() == "true" and "client-request-id" in headers:
            response.headers["client-request-id"] = headers["client-request-id"]
        await _send(response, receive, send, head=scope["method"] == "HEAD")

    async def _answer(self, scope: Scope, headers: Mapping[str, str], receive: Receive) -> Response:
        method: str = scope["method"]
        path: str = scope["raw_path"].decode("latin-1")
        query = Query(scope["query_string"].decode("latin-1"))
        check_host(headers)
        self._keys.verify(method, path, query.raw, headers, datetime.now(timezone.utc))
        version = query.api_version()
        operation, ids = self._router.match(method, path)
        query.check(operation.parameters)
        raw = await read_body(receive)
        body = parse_body(operation, raw, headers, older=version != API_VERSIONS[0])
        base = f"http://{headers['host']}"
        call = Call(operation, self._engine, ids, path, base, query, headers, body)
        if self._faults.of_requests:
            where = {"operation": operation.name, "method": method, "path": path}
            if await before(self._faults.of_requests, where):
                with suppress(BatchError, NotModifiedError):
                    (await self._carry_out(call)).close()
                raise HungUpError(reset=False)
        return await self._carry_out(call)

    async def _carry_out(self, call: Call) -> Response:
        operation, headers = call.operation, call.headers
        with self._engine.guard():
            # Nothing awaits here: the condition holds for the very state that the handler acts on.
            if operation.subject is not None and has_conditions(headers):
                check_conditions(headers, _subject(call), reading=operation.method in ("GET", "HEAD"))
            answer = operation.handler(call)
        return answer if isinstance(answer, Response) else await self._aside.do(answer)


def check_host(headers: Mapping[str, str]) -> None:
    """Return if the request was sent to a name of this machine.

    A page in a browser can point a name of its own at 127.0.0.1; that name would be in the header.

    Raises:
        BatchError: `HostInformationNotPresent` or `InvalidHeaderValue`.
    """
    host = headers.get("host", "")
    if not host:
        raise BatchError("HostInformationNotPresent")
    name = host.lower()
    if not name.endswith("]"):
        name = name.rpartition(":")[0] or name
    if name not in _LOOPBACK:
        raise BatchError(
            "InvalidHeaderValue",
            HeaderName="Host",
            HeaderValue=host,
            Reason="The local service answers to loopback names only.",
        )


def _subject(call: Call) -> Mapping[str, Any]:
    if call.operation.subject == "pool":
        return call.engine.pools.get(call.ids["poolId"])
    if call.operation.subject == "job":
        return call.engine.jobs.get(call.ids["jobId"])
    if call.operation.subject == "schedule":
        return call.engine.schedules.get(call.ids["jobScheduleId"])
    return call.engine.tasks.get(call.ids["jobId"], call.ids["taskId"])


def read_headers(raw: Iterable[tuple[bytes, bytes]]) -> dict[str, str]:
    """The headers by name; the server has put the names in lower case."""
    return {name.decode("latin-1"): value.decode("latin-1") for name, value in raw}


def _refusal(error: BatchError, base: str, request_id: str) -> Response:
    body = envelope(error, base, request_id)
    headers = {"Content-Type": JSON_TYPE, "Content-Length": str(len(body))}
    return Response(error.status, headers | (error.headers if isinstance(error, Refusal) else {}), body)


async def _send(response: Response, receive: Receive, send: Send, *, head: bool) -> None:
    if head and response.status >= HTTPStatus.MULTIPLE_CHOICES:
        response.headers = {"Content-Length": "0", "request-id": response.headers["request-id"]}
        response.body = b""
    elif response.status == HTTPStatus.NO_CONTENT:
        response.headers["Content-Length"] = "0"
    headers = [
        (name.encode("latin-1"), value.encode("latin-1", "replace"))
        for name, value in (_STANDING | response.headers).items()
    ]
    start = {"type": "http.response.start", "status": response.status, "headers": headers}
    if isinstance(response.body, bytes):
        await send(start)
        await send({"type": "http.response.body", "body": response.body})
        return
    with closing(response.body):
        await send(start)
        await stream(response.body, receive, send)
