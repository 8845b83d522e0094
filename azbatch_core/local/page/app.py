"""The ASGI application of `/_page`: the page's files, its session, its history, and a door to read the API.

The files are for everybody: without a session they only tell how to get one.
"""

from __future__ import annotations

import logging
import uuid
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qs

import orjson

from azbatch_core.local.errors import BatchError
from azbatch_core.local.http.body import DisconnectedError, read_body
from azbatch_core.local.http.dispatch import BatchApplication, read_headers
from azbatch_core.local.http.envelope import envelope
from azbatch_core.local.http.response import Response
from azbatch_core.local.page.history import history
from azbatch_core.local.page.sessions import Sessions

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from azbatch_core.local.asgi import Message, Receive, Scope, Send
    from azbatch_core.local.control.app import Request, Routes
    from azbatch_core.local.engine.engine import Engine
    from azbatch_core.local.http.operation import Operation

__all__ = ["PREFIX", "Page", "page_url"]

PREFIX = "/_page"
_LOG = logging.getLogger(__name__)
_DOOR = f"{PREFIX}/api/"
_BLOCKED_MOST = 2000
_TYPES = {
    ".html": "text/html; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".svg": "image/svg+xml",
}
_CONTENT_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self';"
    " base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
_STANDING = {
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
}
# What a task wrote may be a page with a script. It comes from the page's own origin, so it must never run.
_OF_TASKS = {
    **_STANDING,
    "Content-Security-Policy": "default-src 'none'; sandbox",
    "Cache-Control": "no-store",
}


def page_url(endpoint: str, code: str = "") -> str:
    """The page's address; with a code in the fragment, which a browser keeps to itself."""
    return f"{endpoint}{PREFIX}/" + (f"#code={code}" if code else "")


class Page:
    """Answers what lies below `/_page`.

    Args:
        engine: what is looked at.
        operations: the REST API's; a session may ask those that read.
        endpoint: URL of the service, no slash at the end.
        port: the service's.
    """

    def __init__(self, engine: Engine, operations: Iterable[Operation], endpoint: str, port: int) -> None:
        self._sessions = Sessions(port)
        self._api = BatchApplication(engine, self._sessions, operations, endpoint)
        self._engine = engine
        self._endpoint = endpoint
        self._files = _read_files(Path(__file__).parent / "static")

    def routes(self) -> Routes:
        """`POST /_local/sessions`: the page's address with a code that opens one session."""

        async def invite(_: Request) -> dict[str, Any]:
            return {"url": page_url(self._endpoint, self._sessions.new_code())}

        return {("POST", "/sessions"): invite}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        path: str = scope["raw_path"].decode("latin-1")
        if path.startswith(_DOOR):
            inner = {**scope, "raw_path": scope["raw_path"][len(_DOOR) - 1 :], "path": path[len(_DOOR) - 1 :]}
            await self._api(inner, receive, _with_headers(send, _OF_TASKS))
            return
        try:
            response = await self._answer(scope["method"], path, scope, receive)
        except DisconnectedError:
            return
        except BatchError as error:
            response = self._refusal(error)
        except Exception:  # noqa: BLE001 - whatever it is, the browser gets an answer and the log the trace
            _LOG.exception("%s %s failed", scope["method"], path)
            response = self._refusal(BatchError("InternalError"))
        await _send(response, send, head=scope["method"] == "HEAD")

    def _refusal(self, error: BatchError) -> Response:
        body = envelope(error, self._endpoint, str(uuid.uuid4()))
        return Response(error.status, {"Content-Type": "application/json"}, body)

    async def _answer(self, method: str, path: str, scope: Scope, receive: Receive) -> Response:
        headers = read_headers(scope["headers"])
        name = path.removeprefix(PREFIX)
        if name == "/session" and method == "POST":
            return self._open(headers, await read_body(receive))
        if method not in {"GET", "HEAD"}:
            raise BatchError("UnsupportedHttpVerb")
        if name == "/session":
            return _json({"open": self._sessions.knows(headers)})
        if name == "/history":
            self._sessions.check(headers)
            return self._history(scope["query_string"].decode("latin-1"))
        if name == "/blocked":
            self._sessions.check(headers)
            return self._blocked(scope["query_string"].decode("latin-1"))
        if name == "":
            return Response(308, {"Location": f"{PREFIX}/"})
        file = self._files.get(name.removeprefix("/") or "page.html")
        if file is None:
            raise BatchError("ResourceNotFound")
        kind, content = file
        return Response(
            200,
            {
                "Content-Type": kind,
                "Content-Security-Policy": _CONTENT_POLICY,
                "Cache-Control": "no-cache",
            },
            content,
        )

    def _open(self, headers: Mapping[str, str], raw: bytes) -> Response:
        """A session for a code, asked for by the page's own script only."""
        ours = f"http://{headers.get('host', '')}".lower()
        if headers.get("sec-fetch-site", "same-origin") != "same-origin" or headers.get("origin") != ours:
            raise BatchError(
                "AuthenticationFailed", AuthenticationErrorDetail="The request does not come from the page."
            )
        try:
            code = orjson.loads(raw)["code"]
        except (orjson.JSONDecodeError, TypeError, KeyError):
            code = None
        if not isinstance(code, str) or headers.get("content-type") != "application/json":
            raise BatchError("InvalidRequestBody", Reason='{"code": "…"} is expected, as application/json.')
        return Response(204, {"Set-Cookie": self._sessions.open(code), "Cache-Control": "no-store"})

    def _history(self, query: str) -> Response:
        values = {name: found[0] for name, found in parse_qs(query).items()}
        with self._engine.guard():
            return _json(history(self._engine, values.get("pool", ""), values.get("since", "0")))

    def _blocked(self, query: str) -> Response:
        job_id = parse_qs(query).get("job", [""])[0]
        with self._engine.guard():
            return _json({"blocked": self._engine.tasks.never_run(job_id, _BLOCKED_MOST)})


def _json(document: dict[str, Any]) -> Response:
    headers = {"Content-Type": "application/json", "Cache-Control": "no-store"}
    return Response(200, headers, orjson.dumps(document))


def _read_files(folder: Path) -> dict[str, tuple[str, bytes]]:
    return {
        path.name: (_TYPES[path.suffix], path.read_bytes())
        for path in folder.iterdir()
        if path.suffix in _TYPES
    }


def _with_headers(send: Send, extra: Mapping[str, str]) -> Send:
    more = [(name.lower().encode(), value.encode()) for name, value in extra.items()]
    taken = {name for name, _ in more}

    async def sending(message: Message) -> None:
        if message["type"] == "http.response.start":
            kept = [(name, value) for name, value in message["headers"] if name.lower() not in taken]
            message = {**message, "headers": [*kept, *more]}
        await send(message)

    return sending


async def _send(response: Response, send: Send, *, head: bool) -> None:
    body = response.body
    if not isinstance(body, bytes):
        raise TypeError("the page's answers are bytes")
    headers = {**_STANDING, **response.headers, "Content-Length": str(len(body))}
    raw = [(name.lower().encode(), value.encode("latin-1")) for name, value in headers.items()]
    await send({"type": "http.response.start", "status": response.status, "headers": raw})
    await send({"type": "http.response.body", "body": b"" if head else body})
