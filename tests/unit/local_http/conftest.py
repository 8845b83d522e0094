"""A signed request to an application in this process, and a made-up engine to answer it."""

from __future__ import annotations

import asyncio
import base64
import hashlib
import hmac
import json
from dataclasses import dataclass
from email.utils import formatdate
from urllib.parse import parse_qs

import pytest
from made_up_engine import MadeUpEngine

from azbatch_core.local.auth import SharedKey
from azbatch_core.local.http.dispatch import BatchApplication
from azbatch_core.local.routes.table import OPERATIONS

ACCOUNT = "devaccount"
KEY = base64.b64encode(b"a key that is made up for tests").decode()


@dataclass
class Answer:
    """What came back."""

    status: int
    headers: dict[str, str]
    body: bytes

    @property
    def json(self):
        return json.loads(self.body)

    @property
    def code(self):
        return self.json["code"]

    @property
    def values(self):
        return {pair["key"]: pair["value"] for pair in self.json.get("values", [])}


def signature(method, path, query, headers, *, key=KEY, account=ACCOUNT):
    """The SDK's signature, written down a second time."""
    signed = ["content-encoding", "content-language", "content-length", "content-md5", "content-type", "date"]
    signed += ["if-modified-since", "if-match", "if-none-match", "if-unmodified-since", "range"]
    lines = [method] + [headers.get(name, "") for name in signed]
    lines += [f"{name}:{headers[name]}" for name in sorted(headers) if name.startswith("ocp-")]
    text = "\n".join(lines) + f"\n/{account}{path}"
    for name, found in sorted(parse_qs(query).items()):
        text += f"\n{name}:{found[0]}"
    digest = hmac.new(base64.b64decode(key), text.encode(), hashlib.sha256).digest()
    return f"SharedKey {account}:{base64.b64encode(digest).decode()}"


def call(application, method, target, body=None, **headers):
    """Send one request, signed unless it brings an `authorization` of its own."""
    path, _, query = target.partition("?")
    if "api-version" not in query and headers.pop("versioned", True):
        query = f"api-version=2025-06-01&{query}" if query else "api-version=2025-06-01"
    raw = body if isinstance(body, bytes) else b"" if body is None else json.dumps(body).encode()
    sent = {"host": "127.0.0.1:1", "ocp-date": formatdate(usegmt=True)}
    if method not in ("GET", "HEAD"):
        sent["content-length"] = str(len(raw))
    if raw:
        sent["content-type"] = "application/json; odata=minimalmetadata"
    sent.update({name.replace("_", "-"): value for name, value in headers.items()})
    sent = {name: value for name, value in sent.items() if value is not None}
    sent.setdefault("authorization", signature(method, path, query, sent))
    scope = {
        "type": "http",
        "method": method,
        "path": path,
        "raw_path": path.encode("latin-1"),
        "query_string": query.encode("latin-1"),
        "headers": [(name.encode(), value.encode("latin-1")) for name, value in sent.items()],
    }
    messages = []

    async def receive():
        return {"type": "http.request", "body": raw, "more_body": False}

    async def send(message):
        messages.append(message)

    asyncio.run(application(scope, receive, send))
    start, *parts = messages
    return Answer(
        start["status"],
        {name.decode(): value.decode("latin-1") for name, value in start["headers"]},
        b"".join(part["body"] for part in parts),
    )


@pytest.fixture
def account_key():
    return KEY


@pytest.fixture
def request_to():
    return call


@pytest.fixture
def sign():
    return signature


@pytest.fixture
def engine():
    return MadeUpEngine()


@pytest.fixture
def ask(engine, account_key, request_to):
    application = BatchApplication(
        engine, SharedKey("devaccount", account_key), OPERATIONS, "http://127.0.0.1:1"
    )
    return lambda *arguments, **headers: request_to(application, *arguments, **headers)
