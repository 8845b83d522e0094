"""The local blob service on a port of its own, for tests that need no Batch service."""

from __future__ import annotations

import base64
import threading
from contextlib import contextmanager
from typing import TYPE_CHECKING

import uvicorn

from azbatch_core.local.blobs.app import create_blob_app
from azbatch_core.local.runtime.base import BlobPlace

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from datetime import datetime
    from pathlib import Path

ACCOUNT = "devaccount"
KEY = base64.b64encode(b"k" * 64).decode()


@contextmanager
def blob_server(root: Path, now: Callable[[], datetime] | None = None) -> Iterator[BlobPlace]:
    """Serve the blobs below `root` while the context lasts."""
    app = create_blob_app(root, ACCOUNT, KEY, now=now)
    server = uvicorn.Server(uvicorn.Config(app, port=0, log_level="warning", lifespan="off"))
    socket = server.config.bind_socket()
    socket.listen(128)  # from here on clients wait instead of being refused
    thread = threading.Thread(target=server.run, kwargs={"sockets": [socket]})
    thread.start()
    try:
        yield BlobPlace(f"http://127.0.0.1:{socket.getsockname()[1]}/{ACCOUNT}", ACCOUNT, KEY, root)
    finally:
        server.should_exit = True
        thread.join()
        socket.close()
        app.close()
