"""Signed requests without a client library, for what the SDK would not send or would not show."""

from __future__ import annotations

import base64
import hashlib
import hmac
import http.client
import json
from email.utils import formatdate
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qs, urlsplit

if TYPE_CHECKING:
    from azbatch_core.local import LocalBatch

SIGNED = [
    *("content-encoding", "content-language", "content-length", "content-md5", "content-type", "date"),
    *("if-modified-since", "if-match", "if-none-match", "if-unmodified-since", "range"),
]
VERSION = "2025-06-01"
MACHINE = {
    "imageReference": {"publisher": "canonical", "offer": "ubuntu-24_04-lts", "sku": "server"},
    "nodeAgentSKUId": "batch.node.ubuntu 24.04",
}


def pool_body(pool_id: str, nodes: int | None = None, **more: Any) -> dict[str, Any]:
    """What makes a pool; without a number of nodes `more` says how it scales."""
    size = {} if nodes is None else {"targetDedicatedNodes": nodes}
    return {
        "id": pool_id,
        "vmSize": "STANDARD_D2S_V3",
        "virtualMachineConfiguration": MACHINE,
        **size,
        **more,
    }


class Wire:
    """A connection without a client library."""

    def __init__(self, batch: LocalBatch) -> None:
        self.batch = batch
        place = urlsplit(batch.endpoint)
        self.connection = http.client.HTTPConnection(str(place.hostname), place.port, timeout=60)

    def ask(
        self, method: str, target: str, body: Any = None, version: str = VERSION, **headers: str
    ) -> tuple[http.client.HTTPResponse, bytes]:
        """One signed request."""
        path, _, query = target.partition("?")
        query = f"api-version={version}" + (f"&{query}" if query else "")
        raw = b"" if body is None else json.dumps(body).encode()
        sent = {"ocp-date": formatdate(usegmt=True), **headers}
        if method not in {"GET", "HEAD"}:
            sent["content-length"] = str(len(raw))
        if raw:
            sent["content-type"] = "application/json; odata=minimalmetadata"
        lines = [method, *(sent.get(name, "") for name in SIGNED)]
        lines += [f"{name}:{sent[name]}" for name in sorted(sent) if name.startswith("ocp-")]
        text = "\n".join(lines) + f"\n/{self.batch.account_name}{path}"
        text += "".join(f"\n{name}:{found[0]}" for name, found in sorted(parse_qs(query).items()))
        digest = hmac.new(base64.b64decode(self.batch.account_key), text.encode(), hashlib.sha256).digest()
        signature = base64.b64encode(digest).decode()
        sent["authorization"] = f"SharedKey {self.batch.account_name}:{signature}"
        self.connection.request(method, f"{path}?{query}", raw or None, sent)
        response = self.connection.getresponse()
        return response, response.read()

    def json(self, method: str, target: str, body: Any = None) -> dict[str, Any]:
        """The answer's body."""
        found: dict[str, Any] = json.loads(self.ask(method, target, body)[1])
        return found
