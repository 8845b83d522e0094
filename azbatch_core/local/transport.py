"""The server's side of a connection, which can also be ended without an answer."""

from __future__ import annotations

import socket
import struct
from typing import Any, cast

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

__all__ = ["HANG_UP", "Protocol"]

HANG_UP = "azbatch.hang_up"
"""Name in an ASGI scope of `hang_up(reset: bool)`: ends the connection at once."""

_NO_LINGER = struct.pack("ii", 1, 0)


class Protocol(HttpToolsProtocol):
    """Uvicorn's protocol; its scopes have `HANG_UP`."""

    def on_message_begin(self) -> None:
        """A request begins: its scope has been made."""
        super().on_message_begin()
        cast("dict[str, Any]", self.scope)[HANG_UP] = self._hang_up

    def _hang_up(self, *, reset: bool) -> None:
        if reset:
            # With nothing to linger for, closing sends RST in place of FIN.
            self.transport.get_extra_info("socket").setsockopt(
                socket.SOL_SOCKET, socket.SO_LINGER, _NO_LINGER
            )
        self.transport.abort()
