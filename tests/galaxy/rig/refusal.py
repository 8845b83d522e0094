"""A server that lets nobody in, as a proxy in front of Galaxy may that is set up wrongly."""

from __future__ import annotations

import threading
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator


@contextmanager
def refusal() -> Iterator[str]:
    """The address of one, while the context lasts."""
    with ThreadingHTTPServer(("127.0.0.1", 0), _Refuses) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        try:
            yield f"http://127.0.0.1:{server.server_port}"
        finally:
            server.shutdown()


class _Refuses(BaseHTTPRequestHandler):
    def _refuse(self) -> None:
        self.send_error(403)

    do_GET = do_POST = do_PUT = do_HEAD = _refuse  # noqa: N815  # names that http.server looks for

    def log_message(self, *_: object) -> None:
        """Keep the job's key, which is in the address, out of what the tests say."""
