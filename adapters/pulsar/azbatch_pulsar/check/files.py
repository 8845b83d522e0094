"""What Galaxy's job files API does for nodes, for one folder: inputs are fetched, outputs are brought."""

from __future__ import annotations

import hmac
import secrets
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

from azbatch_core.errors import ConfigurationError
from azbatch_pulsar.destination import PREFIX

_LOOPBACK = "127.0.0.1"


class FilesEndpoint:
    """Serves the files of one folder, to who knows the key, until it is closed.

    Args:
        folder: Nothing outside of it is read or written.
        url: ``http://HOST:PORT`` as nodes reach this machine: all of its addresses are listened to. None:
            loopback only, on a free port.

    Raises:
        ConfigurationError: The URL is none, or its port is taken.

    Attributes:
        fetched: The names of files that were fetched.
        brought: The names of files that were brought.
        moments: When the last one was ``fetched`` and the first one ``brought``, by `time.monotonic`.
    """

    def __init__(self, folder: Path, url: str | None = None) -> None:
        self.folder = folder.resolve()
        self.fetched: list[str] = []
        self.brought: list[str] = []
        self.moments: dict[str, float] = {}
        self.key = secrets.token_urlsafe(16)
        port, address = (0, _LOOPBACK) if url is None else (_port(url), "")
        try:
            self._server = ThreadingHTTPServer((address, port), _Handler)
        except OSError as error:
            raise ConfigurationError(
                f"port {port} cannot be listened to: {error.strerror}", hint="--url with a port that is free"
            ) from None
        self._server.endpoint = self  # type: ignore[attr-defined]
        base = (url or f"http://{_LOOPBACK}:{self._server.server_port}").rstrip("/")
        self.base = base
        self.url = f"{base}/api/jobs/check/files?job_key={self.key}"
        threading.Thread(target=self._server.serve_forever, daemon=True, name="azbatch-files").start()

    def close(self) -> None:
        """Stop serving."""
        self._server.shutdown()
        self._server.server_close()


def _port(url: str) -> int:
    parts = urlsplit(url)
    try:
        port = parts.port
    except ValueError:
        port = None
    if parts.scheme != "http" or not parts.hostname or not port or parts.path.strip("/"):
        raise ConfigurationError(
            f"--url: {url!r} is not http://HOST:PORT",
            hint=f"HOST is this machine as the nodes of {PREFIX}pool reach it",
        )
    return port


class _Handler(BaseHTTPRequestHandler):
    """GET and POST with ``path=`` and ``job_key=``, as Pulsar's ``remote_transfer`` sends them."""

    timeout = 60

    @property
    def endpoint(self) -> FilesEndpoint:
        return self.server.endpoint  # type: ignore[attr-defined,no-any-return]

    def do_GET(self) -> None:
        path = self._allowed()
        if path is None:
            return
        try:
            content = path.read_bytes()
        except OSError:
            self.send_error(404)
            return
        self._answer(content)
        self.endpoint.fetched.append(path.name)
        self.endpoint.moments["fetched"] = time.monotonic()

    def do_POST(self) -> None:
        path = self._allowed()
        content = _file_of(self.headers.get("Content-Type", ""), self._body())
        if path is None:
            return
        if content is None:
            self.send_error(400)
            return
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
        self._answer(b"")
        self.endpoint.brought.append(path.name)
        self.endpoint.moments.setdefault("brought", time.monotonic())

    def _body(self) -> bytes:
        return self.rfile.read(int(self.headers.get("Content-Length") or 0))

    def _answer(self, content: bytes) -> None:
        self.send_response(200)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def _allowed(self) -> Path | None:
        """The file that is asked for; None after a refusal."""
        query = parse_qs(urlsplit(self.path).query)
        given = query.get("job_key", [""])[0]
        if not hmac.compare_digest(given.encode(), self.endpoint.key.encode()):
            self.send_error(403)
            return None
        path = Path(query.get("path", [""])[0]).resolve()
        if not path.is_relative_to(self.endpoint.folder):
            self.send_error(403)
            return None
        return path

    def log_message(self, *_: Any) -> None:
        """Nothing: the key is in every line."""


def _file_of(content_type: str, body: bytes) -> bytes | None:
    """The part named ``file`` of a form, as Pulsar sends one; None where there is none."""
    _, found, boundary = content_type.partition("boundary=")
    if not found:
        return None
    mark = b"--" + boundary.strip().strip('"').encode()
    for part in (b"\r\n" + body).split(b"\r\n" + mark)[1:]:
        head, _, content = part.partition(b"\r\n\r\n")
        if b'name="file"' in head:
            return content
    return None
