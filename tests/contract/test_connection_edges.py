"""The connection against a server that misbehaves on command: what is sent, tried again, and raised."""

from __future__ import annotations

import base64
import json
import logging
import threading
from collections import deque
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime, timedelta, timezone
from email.utils import format_datetime
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING, Any, NamedTuple, cast

import pytest
from azure.core import MatchConditions
from azure.core.credentials import AccessToken

from azbatch_core.errors import (
    AuthenticationError,
    AzBatchError,
    Conflict,
    InvalidRequest,
    NotFound,
    QuotaExceeded,
    ServiceUnavailable,
    Throttled,
)
from azbatch_core.service.connect import error_mapping, sdk
from azbatch_core.service.connect.clock import Clock
from azbatch_core.service.connect.connection import Connection
from azbatch_core.service.connect.retry import RetrySettings
from azbatch_core.service.documents import requests
from azbatch_core.specs import AccountSpec

if TYPE_CHECKING:
    from collections.abc import Iterator

KEY = base64.b64encode(b"the shared key of this test only").decode()


class Reply(NamedTuple):
    """What the server answers next."""

    status: int = 200
    body: str = "{}"
    headers: dict[str, str] = {}  # noqa: RUF012 - never changed
    hang_up: bool = False


class Seen(NamedTuple):
    """What a client sent."""

    method: str
    path: str
    headers: dict[str, str]
    body: bytes


class Server(ThreadingHTTPServer):
    """Answers with the replies it was given, in order, then with the last one for ever."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.replies: deque[Reply] = deque([Reply()])
        self.seen: list[Seen] = []
        self.ports: set[int] = set()
        self.lock = threading.Lock()

    @property
    def endpoint(self) -> str:
        """Where it listens."""
        return f"http://127.0.0.1:{self.server_address[1]}"

    def say(self, *replies: Reply) -> None:
        """Answer with these."""
        self.replies = deque(replies)


class Handler(BaseHTTPRequestHandler):
    """One connection."""

    server: Server
    protocol_version = "HTTP/1.1"

    def handle_one(self) -> None:
        """Answer a request."""
        length = int(self.headers.get("content-length") or 0)
        seen = Seen(self.command, self.path, dict(self.headers), self.rfile.read(length))
        with self.server.lock:
            self.server.seen.append(seen)
            self.server.ports.add(self.client_address[1])
            replies = self.server.replies
            reply = replies.popleft() if len(replies) > 1 else replies[0]
        if reply.hang_up:
            self.close_connection = True
            return
        body = b"" if self.command == "HEAD" else reply.body.encode()
        self.send_response(reply.status)
        for name, value in {"Content-Type": "application/json", **reply.headers}.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    do_GET = do_POST = do_PUT = do_PATCH = do_DELETE = do_HEAD = handle_one  # noqa: N815 - http.server's names

    def log_message(self, *_: Any) -> None:
        """Say nothing."""


class FakeClock(Clock):
    """Does not wait."""

    def __init__(self) -> None:
        self.elapsed = 0.0
        self.slept: list[float] = []

    def monotonic(self) -> float:
        """Seconds."""
        return self.elapsed

    def sleep(self, seconds: float) -> None:
        """Note it."""
        self.slept.append(seconds)
        self.elapsed += seconds


@pytest.fixture
def server() -> Iterator[Server]:
    """A running server."""
    running = Server()
    thread = threading.Thread(target=running.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    yield running
    running.shutdown()
    thread.join()
    running.server_close()


@pytest.fixture
def clock() -> FakeClock:
    """A clock that tells how long it was asked to wait."""
    return FakeClock()


@pytest.fixture
def connection(server: Server, clock: FakeClock) -> Iterator[Connection]:
    """A connection to the server, signing with a key."""
    account = AccountSpec(name="edge", endpoint=server.endpoint, account_key=KEY)
    with Connection(account, clock=clock) as made:
        yield made


def error(code: str, message: str = "It is so.", **values: str) -> str:
    tail = "\nRequestId:1f2e-3d\nTime:2026-03-01T12:00:00.1234567Z"
    pairs = [{"key": key, "value": value} for key, value in values.items()]
    document = {"code": code, "message": {"lang": "en-US", "value": message + tail}, "values": pairs}
    return json.dumps(document)


BUSY = Reply(429, error("TooManyRequests"), {"Retry-After": "3"})
JOB = Reply(200, json.dumps({"id": "j", "state": "active"}))


def test_throttling_is_waited_out_as_the_service_asks(
    server: Server, connection: Connection, clock: FakeClock, caplog: pytest.LogCaptureFixture
) -> None:
    late = format_datetime(datetime.now(timezone.utc) + timedelta(seconds=40), usegmt=True)
    server.say(BUSY, Reply(503, error("ServerBusy"), {"Retry-After": late}), Reply(500, "oops"), JOB)
    with caplog.at_level(logging.INFO, "azbatch"):
        job = connection.call(connection.client.get_job, "j")
    assert job.state == "active"
    assert [3 <= clock.slept[0] <= 3.3, 38 <= clock.slept[1] <= 44, clock.slept[2] <= 2] == [True] * 3
    assert [record.getMessage().split(";")[0] for record in caplog.records] == [
        "It is so. [TooManyRequests]",
        "It is so. [ServerBusy]",
        "the service answered HTTP 500 to GET /jobs/j",
    ]


@pytest.mark.parametrize("method", ["terminate_job", "delete_job"])
def test_every_verb_is_retried(method: str, server: Server, connection: Connection) -> None:
    server.say(BUSY, BUSY, Reply(202, ""))
    connection.call(getattr(sdk, method), connection.client, "j")
    assert len(server.seen) == 3


@pytest.mark.parametrize("status", [408, 429, 500, 502, 503, 504])
def test_the_end_of_patience_is_an_error_of_ours(status: int, server: Server, connection: Connection) -> None:
    server.say(Reply(status, "<html>a proxy</html>"))
    with pytest.raises((Throttled, ServiceUnavailable)) as caught:
        connection.call(connection.client.get_job, "j")
    assert len(server.seen) == RetrySettings().attempts
    assert error_mapping.reply_of(caught.value) is not None


def test_a_lost_reply_is_asked_for_again(server: Server, connection: Connection) -> None:
    server.say(JOB, Reply(hang_up=True), JOB)
    connection.call(connection.client.get_job, "j")
    connection.call(connection.client.get_job, "j")
    assert len(server.seen) == 3


def test_each_attempt_is_signed_anew(server: Server, connection: Connection) -> None:
    server.say(BUSY, JOB)
    connection.call(connection.client.get_job, "j")
    ids = {seen.headers["client-request-id"] for seen in server.seen}
    assert len(ids) == 2
    assert all("azbatch/" in seen.headers["User-Agent"] for seen in server.seen)
    assert all(seen.headers["Authorization"].startswith("SharedKey edge:") for seen in server.seen)


def test_a_host_that_is_not_there_is_given_up_after_three_attempts(server: Server, clock: FakeClock) -> None:
    endpoint = server.endpoint
    server.server_close()
    with Connection(AccountSpec(name="a", endpoint=endpoint, account_key=KEY), clock=clock) as connection:
        with pytest.raises(ServiceUnavailable) as caught:
            connection.call(connection.client.get_job, "j")
        assert (
            caught.value.message == f"no answer from {endpoint.removeprefix('http://')}: connection refused"
        )
        assert len(clock.slept) == 2


@pytest.mark.parametrize(
    ("reply", "kind", "code"),
    [
        (Reply(409, error("JobExists")), Conflict, "JobExists"),
        (Reply(409, error("ActiveJobAndScheduleQuotaReached")), QuotaExceeded, None),
        (Reply(403, error("AuthenticationFailed")), AuthenticationError, "AuthenticationFailed"),
        (Reply(413, error("RequestBodyTooLarge", MaxLimit="1048576")), InvalidRequest, "RequestBodyTooLarge"),
        (Reply(401, ""), AuthenticationError, None),
    ],
)
def test_the_code_decides_and_nothing_is_retried(
    reply: Reply, kind: type[AzBatchError], code: str | None, server: Server, connection: Connection
) -> None:
    server.say(reply)
    with pytest.raises(kind) as caught:
        requests.send(connection, "POST", "jobs", body={"id": "j"})
    assert len(server.seen) == 1
    assert code is None or caught.value.code == code


def test_detail_pairs_request_id_and_time_come_through(server: Server, connection: Connection) -> None:
    body = error(
        "InvalidPropertyValue", "One is wrong.", PropertyName="vmSize", PropertyValue="x", Reason="no"
    )
    server.say(Reply(400, body, {"request-id": "abc"}))
    with pytest.raises(InvalidRequest) as caught:
        requests.send(connection, "POST", "pools", body={"id": "p"})
    raised = caught.value
    assert raised.message == "One is wrong."
    assert raised.details == {"PropertyName": "vmSize", "PropertyValue": "x", "Reason": "no"}
    assert raised.request_id == "abc"
    reply = error_mapping.reply_of(raised)
    assert reply is not None
    assert reply.time == "2026-03-01T12:00:00.1234567Z"


def test_an_error_on_a_conditional_request_is_not_always_a_changed_resource(
    server: Server, connection: Connection
) -> None:
    condition: dict[str, Any] = {"etag": "0x1", "match_condition": MatchConditions.IfNotModified}
    server.say(Reply(412, error("ConditionNotMet")))
    with pytest.raises(Conflict):
        connection.call(connection.client.update_job, "j", cast("Any", {}), **condition)
    server.say(Reply(404, error("JobNotFound")))
    with pytest.raises(NotFound):
        connection.call(connection.client.update_job, "j", cast("Any", {}), **condition)
    assert server.seen[0].headers["If-Match"] == '"0x1"'


def test_a_missing_file_is_not_found_without_a_word_on_the_log(
    server: Server, connection: Connection, caplog: pytest.LogCaptureFixture
) -> None:
    server.say(Reply(404, "", {"request-id": "r"}))
    with pytest.raises(NotFound) as caught:
        connection.call(connection.client.get_task_file_properties, "j", "t", "wd/out.txt")
    assert caught.value.message == "the service answered HTTP 404 to HEAD /jobs/j/tasks/t/files/wd%2Fout.txt"
    assert [record for record in caplog.records if record.levelno >= logging.WARNING] == []


def test_the_code_of_a_failed_download_is_read_although_it_streams(
    server: Server, connection: Connection
) -> None:
    server.say(Reply(409, error("TaskFilesCleanedup")))
    with pytest.raises(Conflict) as caught:
        connection.call(connection.client.download_task_file, "j", "t", "stdout.txt")
    assert caught.value.code == "TaskFilesCleanedup"


def test_pages_are_retried_each_by_itself(server: Server, connection: Connection) -> None:
    following = f"{server.endpoint}/jobs?api-version=2025-06-01&$skiptoken=a%20b"
    first = Reply(200, json.dumps({"value": [{"id": "1"}, {"id": "2"}], "odata.nextLink": following}))
    last = Reply(200, json.dumps({"value": [{"id": "3"}]}))
    server.say(BUSY, first, BUSY, last)
    found = connection.documents("/jobs", odata_filter="state eq 'active'", select=["id"], page_size=2)
    assert [job["id"] for job in found] == ["1", "2", "3"]
    assert server.seen[1].path == (
        "/jobs?api-version=2025-06-01&$filter=state%20eq%20%27active%27&$select=id&maxresults=2"
    )
    assert "skiptoken=a%20b" in server.seen[3].path


def test_many_threads_share_one_connection(server: Server, connection: Connection) -> None:
    server.say(JOB)
    with ThreadPoolExecutor(24) as threads:
        jobs = list(threads.map(lambda _: connection.call(connection.client.get_job, "j").id, range(240)))
    assert jobs == ["j"] * 240
    # Kept connections, not a new one for each request beyond the tenth.
    assert len(server.ports) <= 24


def test_a_fault_of_the_program_passes_through(connection: Connection) -> None:
    with pytest.raises(TypeError):
        connection.call(connection.client.get_job)  # type: ignore[call-arg]


def test_a_token_is_asked_for_with_the_scope_of_the_cloud_and_never_sent_over_http(server: Server) -> None:
    asked: list[str] = []

    class Credential:
        def get_token(self, *scopes: str, **_: Any) -> AccessToken:
            asked.extend(scopes)
            return AccessToken("the-token", 2**31)

    endpoint = server.endpoint.replace("http://", "https://")
    account = AccountSpec(name="gov", endpoint=endpoint, cloud="usgov")
    settings = RetrySettings(attempts=1)
    with Connection(account, credential=Credential(), retry=settings) as connection:
        with pytest.raises(ServiceUnavailable) as caught:
            connection.call(connection.client.get_job, "j")
        assert "the-token" not in str(caught.value)
        # The server speaks no TLS.
        assert "TLS failed" in caught.value.message
    assert asked == ["https://batch.core.usgovcloudapi.net//.default"]


def test_an_endpoint_on_this_machine_is_reached_without_the_proxy(
    server: Server, clock: FakeClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:1")
    monkeypatch.setenv("http_proxy", "http://127.0.0.1:1")
    server.say(JOB)
    account = AccountSpec(name="edge", endpoint=server.endpoint, account_key=KEY)
    with Connection(account, clock=clock) as connection:
        assert connection.call(connection.client.get_job, "j").id == "j"


def test_a_plain_document_is_sent_to_the_letter(server: Server, connection: Connection) -> None:
    body = {"id": "j", "constraints": {"maxWallClockTime": "P10675199DT2H48M5.4775807S"}, "new": [None, 1]}
    server.say(Reply(201, ""))
    requests.send(connection, "POST", "jobs", body=body)
    assert json.loads(server.seen[0].body) == body


def test_a_bulk_add_is_one_request_with_the_result_of_each_task(
    server: Server, connection: Connection
) -> None:
    results = [{"taskId": "a", "status": "Success"}, {"taskId": "b", "status": "clienterror"}]
    server.say(Reply(200, json.dumps({"value": results})))
    tasks = [{"id": "a", "commandLine": "true"}, {"id": "b", "commandLine": "true"}]
    assert connection.call(sdk.add_tasks, connection.client, "j", tasks) == results
    assert (server.seen[0].method, server.seen[0].path) == (
        "POST",
        "/jobs/j/addtaskcollection?api-version=2025-06-01",
    )
    assert json.loads(server.seen[0].body) == {"value": tasks}


@pytest.mark.parametrize(
    ("ours", "theirs", "options"),
    [
        (lambda c: sdk.delete_job(c, "j k"), "begin_delete_job", ("j k",)),
        (lambda c: sdk.delete_pool(c, "p"), "begin_delete_pool", ("p",)),
        (
            lambda c: sdk.terminate_job(c, "j", "enough"),
            "begin_terminate_job",
            ("j", {"terminateReason": "enough"}),
        ),
        (
            lambda c: sdk.request(c, "POST", "/pools/p/resize", body={"targetDedicatedNodes": 2}),
            "begin_resize_pool",
            ("p", {"targetDedicatedNodes": 2}),
        ),
    ],
)
def test_our_single_requests_are_what_the_sdks_pollers_begin_with(
    ours: Any, theirs: str, options: tuple[Any, ...], server: Server, connection: Connection
) -> None:
    # The poller's thread then finds nothing, and ends.
    server.say(Reply(202, ""), Reply(202, ""), Reply(404, error("JobNotFound")))
    connection.call(ours, connection.client)
    getattr(connection.client, theirs)(*options).wait()
    mine, sdks = server.seen[0], server.seen[1]
    assert mine[:2] == sdks[:2]
    assert (json.loads(mine.body or b"{}")) == json.loads(sdks.body or b"{}")
    theirs_too = {name.lower() for name in sdks.headers} - {"content-type"}
    assert theirs_too <= {name.lower() for name in mine.headers}
