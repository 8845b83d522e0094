"""A web server with a few tempers, for downloads and uploads that go wrong."""

from __future__ import annotations

import http.server
import threading
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator


class Handler(http.server.BaseHTTPRequestHandler):
    """A web server with a few tempers."""

    failures: dict[str, int]

    def do_GET(self) -> None:
        if self.path.startswith("/moved"):
            self.send_response(302)
            self.send_header("Location", "/plain%20file?token=secret")
            self.end_headers()
        elif self.path.startswith("/loop"):
            self.send_response(302)
            self.send_header("Location", "/loop")
            self.end_headers()
        elif self.path.startswith("/file"):
            self.send_response(302)
            self.send_header("Location", "file:///etc/passwd")
            self.end_headers()
        elif self.path.startswith("/status/"):
            self.send_error(int(self.path.split("/")[2].split("?")[0]))
        elif self.path.startswith("/flaky") and self.server.failures:  # type: ignore[attr-defined]
            self.server.failures.pop()  # type: ignore[attr-defined]
            self.send_error(503)
        elif self.path.startswith("/cut"):
            self.send_response(200)
            self.send_header("Content-Length", "100")
            self.end_headers()
            self.wfile.write(b"too short")
        elif self.path.startswith("/hang"):
            self.server.asked.set()  # type: ignore[attr-defined]
            self.server.released.wait(10)  # type: ignore[attr-defined]
        else:
            body = f"got {self.path}".encode()
            self.send_response(200)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

    def do_PUT(self) -> None:
        self.server.asked.set()  # type: ignore[attr-defined]
        self.server.released.wait(10)  # type: ignore[attr-defined]

    def log_message(self, *_: object) -> None:
        """Say nothing."""


def address(web: http.server.ThreadingHTTPServer, path: str) -> str:
    return f"http://127.0.0.1:{web.server_port}{path}"


@contextmanager
def web_server() -> Iterator[http.server.ThreadingHTTPServer]:
    """The server, running."""
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        server.failures = []  # type: ignore[attr-defined]
        server.asked = threading.Event()  # type: ignore[attr-defined]
        server.released = threading.Event()  # type: ignore[attr-defined]
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        yield server
        server.released.set()  # type: ignore[attr-defined]
        server.shutdown()
        thread.join()
