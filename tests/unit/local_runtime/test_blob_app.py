"""The blob application without a network: requests that no proper client would send."""

from __future__ import annotations

import asyncio
import base64
import gc
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from azbatch_core.local.blobs.app import BlobApp, create_blob_app
from azbatch_core.local.blobs.errors import BlobError
from azbatch_core.local.blobs.operations import TABLE

if TYPE_CHECKING:
    from collections.abc import Iterator

KEY = base64.b64encode(b"k" * 64).decode()


@pytest.fixture(scope="module")
def app(tmp_path_factory: pytest.TempPathFactory) -> Iterator[BlobApp]:
    app = create_blob_app(tmp_path_factory.mktemp("blobs"), "acct", KEY)
    app._store.create_container("box")
    yield app
    app.close()


@pytest.fixture
def open_app(app: BlobApp, monkeypatch: pytest.MonkeyPatch) -> BlobApp:
    """The application that lets everybody in, to get at what lies behind."""
    monkeypatch.setattr(app._authorizer, "check", lambda *_: None)
    with suppress(BlobError):  # the test of anything at all may have deleted it
        app._store.create_container("box")
    return app


def ask(
    app: BlobApp,
    method: str,
    path: bytes,
    query: bytes = b"",
    *,
    headers: dict[str, str] | None = None,
    body: bytes = b"",
) -> tuple[int, dict[str, str], bytes]:
    """Status, headers and body of an answer."""
    sent: list[dict[str, Any]] = []

    async def receive() -> dict[str, Any]:
        return {"type": "http.request", "body": body, "more_body": False}

    async def send(message: Any) -> None:
        sent.append(message)

    scope = {
        "type": "http",
        "method": method,
        "raw_path": path,
        "path": path.decode("latin-1"),
        "query_string": query,
        "headers": [(k.encode("latin-1"), v.encode("latin-1")) for k, v in (headers or {}).items()],
    }
    asyncio.run(app(scope, receive, send))
    return (
        sent[0]["status"],
        {name.decode(): value.decode("latin-1") for name, value in sent[0]["headers"]},
        b"".join(message.get("body", b"") for message in sent[1:]),
    )


def test_every_operation_asks_who_it_is(app: BlobApp) -> None:
    for method, level, restype, comp in TABLE:
        path = {"account": b"/acct", "container": b"/acct/box", "blob": b"/acct/box/x"}[level]
        query = f"restype={restype}&comp={comp}".encode()
        status, headers, _ = ask(app, method, path, query)
        assert (status, headers["x-ms-error-code"]) == (401, "NoAuthenticationInformation")


@pytest.mark.parametrize(("method", "query"), [("POST", b""), ("PATCH", b"comp=x"), ("PUT", b"comp=lease")])
def test_what_is_not_served_is_said_to_those_only_who_may_ask(
    app: BlobApp, method: str, query: bytes
) -> None:
    status, headers, _ = ask(app, method, b"/acct/box/x", query)
    assert (status, headers["x-ms-error-code"]) == (401, "NoAuthenticationInformation")


@pytest.mark.parametrize(
    "authorization",
    [
        "",
        "SharedKey",
        "SharedKey acct",
        "SharedKey acct:",
        "SharedKey other:x",
        "Bearer x",
        "SharedKeyLite acct:x",
    ],
)
def test_half_an_authorization_is_none(app: BlobApp, authorization: str) -> None:
    status, headers, _ = ask(app, "GET", b"/acct/box/x", headers={"authorization": authorization})
    assert (status, headers["x-ms-error-code"]) == (403, "AuthenticationFailed")


@pytest.mark.parametrize(
    "query",
    [
        b"sig=x",
        b"sig=x&sv=2015-04-05&sr=c",
        b"sig=x&sv=2020-12-06",
        b"sig=x&sv=2020-12-06&sr=d",
        b"sig=x&sv=2020-12-06&ss=b",
        b"sig=%FF&sv=2020-12-06&sr=b",
        b"sig=%C3%A9&sv=2020-12-06&sr=b",
    ],
)
def test_half_a_signature_is_none(app: BlobApp, query: bytes) -> None:
    status, _, _ = ask(app, "GET", b"/acct/box/x", query)
    assert status in {400, 403}


@pytest.mark.parametrize("name", [b"..%2F..%2Fup", b"%2e%2e/up", b"../../up", b"%00", b"/etc/passwd"])
def test_a_wild_name_is_only_a_name(open_app: BlobApp, name: bytes) -> None:
    path = b"/acct/box/" + name
    status, _, _ = ask(open_app, "PUT", path, headers={"x-ms-blob-type": "BlockBlob"}, body=b"x")
    assert status == 201
    assert ask(open_app, "GET", path)[2] == b"x"
    inside = open_app._store.root.resolve()
    blobs = open_app._store.blobs("box")
    assert all(blob.path.resolve().is_relative_to(inside / "box") for blob in blobs)
    assert ask(open_app, "DELETE", path)[0] == 202


def test_another_account_is_not_here(open_app: BlobApp) -> None:
    assert ask(open_app, "GET", b"/other/box/x")[0] == 404


def test_a_client_that_goes_away_leaves_nothing(open_app: BlobApp) -> None:
    async def receive() -> dict[str, Any]:
        return {"type": "http.disconnect"}

    async def send(_: Any) -> None:
        raise AssertionError("nobody is there to be answered")

    scope = {
        "type": "http", "method": "PUT", "raw_path": b"/acct/box/half", "path": "/acct/box/half",
        "query_string": b"", "headers": [(b"x-ms-blob-type", b"BlockBlob")],
    }  # fmt: skip
    asyncio.run(open_app(scope, receive, send))
    assert open_app._store.find("box", "half") is None
    assert list((open_app._store.root / ".service/incoming").iterdir()) == []


SEGMENTS = st.one_of(st.sampled_from(["acct", "box", "x", "..", "%2F", "%FF", "%", "", "$root"]), st.text())
PAIRS = st.tuples(
    st.sampled_from(["restype", "comp", "prefix", "marker", "maxresults", "delimiter", "blockid", "include",
                     "blocklisttype", "sig", "sv"]),
    st.one_of(
        st.sampled_from(["container", "list", "block", "blocklist", "metadata", "0", "-1", "1", "QQ==", "é"]),
        st.text(),
    ),
)  # fmt: skip
HEADERS = st.dictionaries(
    st.sampled_from(["x-ms-blob-type", "range", "x-ms-range", "if-match", "if-none-match", "content-md5",
                     "x-ms-meta-a", "x-ms-meta-<", "x-ms-version", "content-length"]),
    st.one_of(
        st.sampled_from(["BlockBlob", "bytes=0-", "bytes=-5", "bytes=9-1", "*", '"0x1"', "0"]),
        st.text(st.characters(max_codepoint=255, exclude_characters="\r\n\0")),
    ),
)  # fmt: skip


@settings(max_examples=300, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(
    method=st.sampled_from(["GET", "HEAD", "PUT", "DELETE", "POST", "PATCH", "OPTIONS"]),
    segments=st.lists(SEGMENTS, max_size=4),
    pairs=st.lists(PAIRS, max_size=4),
    headers=HEADERS,
    body=st.one_of(st.binary(max_size=50), st.just(b"<BlockList><Latest>QQ==</Latest></BlockList>")),
)
def test_nothing_gives_a_server_error(
    open_app: BlobApp,
    *,
    method: str,
    segments: list[str],
    pairs: list[tuple[str, str]],
    headers: dict[str, str],
    body: bytes,
) -> None:
    path = ("/acct/" + "/".join(segments)).encode("utf-8", "surrogatepass")
    query = "&".join(f"{name}={value}" for name, value in pairs).encode("utf-8", "surrogatepass")
    status, answered, _ = ask(open_app, method, path, query, headers=headers, body=body)
    assert status < 500 or answered["x-ms-error-code"] == "NotImplemented"


def test_a_range_of_thousands_of_digits_is_refused(open_app: BlobApp) -> None:
    put = ask(open_app, "PUT", b"/acct/box/digits", headers={"x-ms-blob-type": "BlockBlob"}, body=b"x")
    assert put[0] == 201
    for text in (f"bytes={'9' * 5000}-", f"bytes=0-{'9' * 5000}"):
        status, headers, _ = ask(open_app, "GET", b"/acct/box/digits", headers={"range": text})
        assert (status, headers["x-ms-error-code"]) == (400, "InvalidHeaderValue")


BLOCK_LIST = b'<?xml version="1.0"?><BlockList><Latest>YQ==</Latest></BlockList>'
BLOCK_BLOB = {"x-ms-blob-type": "BlockBlob"}


def test_whatever_takes_long_leaves_the_loop_to_others(
    open_app: BlobApp, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Commits copy gigabytes, and deletions may find a million files."""
    loop_thread = threading.get_ident()
    inside: list[str] = []

    def watched(name: str) -> Any:
        real = getattr(open_app._store, name)

        def call(*arguments: Any, **options: Any) -> Any:
            inside.append(name)
            assert threading.get_ident() != loop_thread, name
            return real(*arguments, **options)

        return call

    slow = ["put", "put_block", "commit", "delete", "delete_container"]
    for name in slow:
        monkeypatch.setattr(open_app._store, name, watched(name))
    answers = [
        ask(open_app, "PUT", b"/acct/slow", b"restype=container"),
        ask(open_app, "PUT", b"/acct/slow/x", headers=BLOCK_BLOB, body=b"1"),
        ask(open_app, "PUT", b"/acct/slow/y", b"comp=block&blockid=YQ%3D%3D", body=b"2"),
        ask(open_app, "PUT", b"/acct/slow/y", b"comp=blocklist", body=BLOCK_LIST),
        ask(open_app, "DELETE", b"/acct/slow/x"),
        ask(open_app, "DELETE", b"/acct/slow", b"restype=container"),
    ]
    assert [answer[0] for answer in answers] == [201, 201, 201, 201, 202, 202]
    assert set(inside) >= set(slow)


def test_of_two_that_want_to_make_the_same_blob_one_does(open_app: BlobApp) -> None:
    """Conditions hold for the blob that is replaced, not for the one that was there when copying began."""
    assert ask(open_app, "PUT", b"/acct/box/race", b"comp=block&blockid=YQ%3D%3D", body=b"2")[0] == 201
    store = open_app._store
    copied = threading.Barrier(2, timeout=30)
    real = store.put

    def put(*arguments: Any, **options: Any) -> Any:
        copied.wait()
        return real(*arguments, **options)

    def commit() -> int:
        headers = {"if-none-match": "*"}
        return ask(open_app, "PUT", b"/acct/box/race", b"comp=blocklist", headers=headers, body=BLOCK_LIST)[0]

    store.put = put  # type: ignore[method-assign]
    try:
        with ThreadPoolExecutor(2) as pool:
            statuses = [future.result() for future in [pool.submit(commit), pool.submit(commit)]]
    finally:
        del store.put
    assert sorted(statuses) == [201, 409]


def test_a_blob_whose_file_somebody_took_away_is_not_found(open_app: BlobApp) -> None:
    ask(open_app, "PUT", b"/acct/box/gone", headers=BLOCK_BLOB, body=b"1")
    open_app._store.blob("box", "gone").path.unlink()
    for method in ("GET", "HEAD"):
        status, headers, _ = ask(open_app, method, b"/acct/box/gone")
        assert (status, headers["x-ms-error-code"]) == (404, "BlobNotFound")


def test_no_answer_leaves_a_file_open(open_app: BlobApp) -> None:
    ask(open_app, "PUT", b"/acct/box/open", headers=BLOCK_BLOB, body=b"12345")
    tag = ask(open_app, "HEAD", b"/acct/box/open")[1]["etag"]
    asked: list[tuple[dict[str, str], int, bytes]] = [
        ({}, 200, b"12345"),
        ({"range": "bytes=1-2"}, 206, b"23"),
        ({"range": "bytes=9-"}, 416, b""),
        ({"range": "nonsense"}, 400, b""),
        ({"if-none-match": tag}, 304, b""),
        ({"if-match": "other"}, 412, b""),
    ]
    for headers, expected, content in asked:
        status, _, body = ask(open_app, "GET", b"/acct/box/open", headers=headers)
        assert status == expected
        assert body == content or status >= 300
    gc.collect()  # an open file would be a warning, and so a failure


def test_a_long_body_arrives_whole(open_app: BlobApp) -> None:
    body = bytes(range(256)) * 10_000
    ask(open_app, "PUT", b"/acct/box/long", headers=BLOCK_BLOB, body=body)
    assert ask(open_app, "GET", b"/acct/box/long")[2] == body
