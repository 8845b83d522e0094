"""The files of Galaxy's jobs over HTTP, as Pulsar's transports ask for them; refuses where a test says so."""

from __future__ import annotations

import threading
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from email import message_from_bytes
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qs, urlsplit

if TYPE_CHECKING:
    from collections.abc import Iterator

JOB_KEY = "key-of-the-job-0815"
"""What only Galaxy and the job's own Pulsar may know."""


@dataclass
class FilesEndpoint:
    """What was asked, and what is to be refused.

    Attributes:
        address: The Galaxy's.
        asked: Method, path of the file and status of every request.
        held: Set when a request came that `hold` keeps waiting.
    """

    address: str
    asked: list[tuple[str, str, int]] = field(default_factory=list)
    held: threading.Event = field(default_factory=threading.Event)
    _hold: str = ""
    _released: threading.Event = field(default_factory=threading.Event)
    _refusals: list[list[Any]] = field(default_factory=list)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def url(self, job_id: str) -> str:
        """What Galaxy gives as `files_endpoint`; the job's key is in it."""
        return f"{self.address}/api/jobs/{job_id}/files?job_key={JOB_KEY}"

    def refuse(self, method: str, status: int, *, path: str, times: int = 1_000_000) -> None:
        """Answer requests for files whose path has this in it with that status, so many times."""
        self._refusals.append([method, path, status, times])

    @contextmanager
    def hold(self, path: str) -> Iterator[threading.Event]:
        """Let requests for such files wait; the event says that one does."""
        self.held.clear()
        self._released.clear()
        self._hold = path
        try:
            yield self.held
        finally:
            self._hold = ""
            self._released.set()

    def wait_if_held(self, path: str) -> None:
        """Return when the request may go on."""
        if self._hold and self._hold in path:
            self.held.set()
            self._released.wait()

    def count(self, method: str, path: str, status: int = 200) -> int:
        """How many requests for such files got that answer."""
        return sum(1 for how, what, said in self.asked if (how, said) == (method, status) and path in what)

    def judge(self, method: str, path: str, key: str) -> int:
        """The status of a request, which is noted."""
        with self._lock:
            status = 200 if key == JOB_KEY else 403
            for refusal in self._refusals:
                how, part, instead, times = refusal
                if how == method and part in path and times > 0:
                    refusal[3] -= 1
                    status = instead
                    break
            if status == 200 and method == "GET" and not Path(path).is_file():
                status = 404
            self.asked.append((method, path, status))
            return status


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    place: FilesEndpoint

    def do_GET(self) -> None:
        self._serve()

    def do_POST(self) -> None:
        self._serve()

    def do_PUT(self) -> None:
        self._serve()

    def _serve(self) -> None:
        asked = parse_qs(urlsplit(self.path).query)
        path, key = asked["path"][0], asked.get("job_key", [""])[0]
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        self.place.wait_if_held(path)
        status = self.place.judge(self.command, path, key)
        content = b""
        if status == 200 and self.command == "GET":
            content = Path(path).read_bytes()
        elif status == 200:
            Path(path).parent.mkdir(parents=True, exist_ok=True)
            Path(path).write_bytes(self._sent(body))
        self.send_response(status)
        self.send_header("Content-Length", str(len(content)))
        with suppress(OSError):  # whoever asked was killed
            self.end_headers()
            self.wfile.write(content)

    def _sent(self, body: bytes) -> bytes:
        """The file in a request: its body, or the part of a form."""
        kind = self.headers.get("Content-Type", "")
        if not kind.startswith("multipart/"):
            return body
        form = message_from_bytes(f"Content-Type: {kind}\r\n\r\n".encode() + body)
        parts: list[Any] = form.get_payload()  # type: ignore[assignment]
        (content,) = (
            part.get_payload(decode=True)
            for part in parts
            if part.get_param("name", header="content-disposition") == "file"
        )
        return bytes(content)

    def log_message(self, *_: Any) -> None:
        """Say nothing."""


@contextmanager
def files_endpoint() -> Iterator[FilesEndpoint]:
    """The server, on loopback."""
    handler = type("Handler", (_Handler,), {})
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        handler.place = place = FilesEndpoint(f"http://127.0.0.1:{server.server_port}")  # type: ignore[attr-defined]
        thread = threading.Thread(target=server.serve_forever, args=(0.05,))
        thread.start()
        try:
            yield place
        finally:
            server.shutdown()
            thread.join()
