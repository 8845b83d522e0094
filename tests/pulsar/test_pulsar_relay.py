"""A relay that is wrongly given, that goes away, or that takes no more: Batch tells what it does not."""

from __future__ import annotations

import json
import threading
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING, Any

import pytest
from pulsar_relay_client import RelayAuthError, RelayAuthManager
from pulsar_rig import HOST, Rig, manager_of, status_topic, until

from azbatch_core.errors import SpecError
from azbatch_pulsar import AzureBatchRelayClientManager, build_client_manager

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from files_endpoint import FilesEndpoint
    from rig.relay import Relay

LOGIN = {"relay_url": "http://127.0.0.1:9", "relay_username": "galaxy", "relay_password": "relay-4711"}


class Heard:
    """The jobs of which a manager hears the end."""

    def __init__(self, manager: Any) -> None:
        self.final: list[str] = []
        manager.ensure_has_status_update_callback(self._hear)

    def _hear(self, message: dict[str, Any]) -> None:
        if message["complete"] == "true":
            self.final.append(message["job_id"])

    def follows(self, manager: Any) -> bool:
        """Whether it has heard anything: then it knows where it is in the topic, and misses nothing more."""
        manager.relay_transport.post_message(
            status_topic(manager), {"job_id": "hello", "status": "complete", "complete": "true"}
        )
        return bool(self.final)

    def wait(self, job_id: str) -> None:
        """Until that job's is here."""
        until(lambda: job_id in self.final)


@dataclass
class StuckRelay:
    """One that lets everybody in, and can take no message."""

    url: str
    asked: list[str] = field(default_factory=list)

    @property
    def login(self) -> dict[str, str]:
        """As of `Relay`."""
        return {**LOGIN, "relay_url": self.url}


@contextmanager
def stuck_relay() -> Iterator[StuckRelay]:
    """The server, on loopback."""

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            relay.asked.append(self.path)
            self.rfile.read(int(self.headers["Content-Length"]))
            body = json.dumps({"access_token": "token", "expires_in": 600}).encode()
            self.send_response(200 if self.path == "/auth/login" else 503)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: Any) -> None:
            """Say nothing."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        relay = StuckRelay(f"http://127.0.0.1:{server.server_port}")
        thread = threading.Thread(target=server.serve_forever, args=(0.05,))
        thread.start()
        try:
            yield relay
        finally:
            server.shutdown()
            thread.join()


@pytest.fixture
def away(start_relay: Callable[..., Relay]) -> Iterator[Relay]:
    """A relay of the test's own, to be stopped and started."""
    relay = start_relay()
    yield relay
    relay.kill()


@pytest.fixture
def rig_of(
    files: FilesEndpoint, service: Any, tmp_path: Path, request: pytest.FixtureRequest
) -> Iterator[Callable[[Any], Rig]]:
    """Jobs whose messages go by that relay."""
    del service
    made = []

    def make(relay: Any) -> Rig:
        made.append(manager_of(manager=request.node.originalname, **relay.login))
        return Rig(files, tmp_path, HOST, made[-1])

    yield make
    for manager in made:
        manager.shutdown()


def test_a_relay_s_url_gives_the_manager_for_relays() -> None:
    manager = build_client_manager(azure_batch_account="here", amqp_url="amqp://h//", **LOGIN)
    assert isinstance(manager, AzureBatchRelayClientManager)
    assert manager.node_config()["message_queue_url"] == LOGIN["relay_url"]
    manager.shutdown()


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"relay_password": None}, "relay_url needs relay_username and relay_password"),
        ({"relay_username": ""}, "relay_url needs relay_username and relay_password"),
        ({"relay_topic_prefix": "one/two"}, "relay_topic_prefix: 'one/two'"),
        ({"manager": "our galaxy"}, "manager: 'our galaxy'"),
    ],
)
def test_what_cannot_work_is_refused_before_a_job_is(given: dict[str, Any], said: str) -> None:
    with pytest.raises(SpecError, match=said) as caught:
        manager_of(**{**LOGIN, **given})
    assert LOGIN["relay_password"] not in str(caught.value)


def test_a_relay_is_away_when_a_job_ends_and_is_back_for_the_next(away: Relay, rig_of: Any) -> None:
    rig = rig_of(away)
    heard = Heard(rig.manager)
    until(lambda: heard.follows(rig.manager))
    job = rig.job("echo x >$1")
    with rig.files.hold("dataset_1.dat") as held:
        job.launch()
        assert held.wait(90)
        away.kill()
    assert job.wait()["returncode"] == 0
    assert job.new_client().get_status() == "complete"
    assert job.output.read_text() == "x\n"
    away.start()
    then = rig.job("exit 2").launch()
    heard.wait(then.job_id)
    assert rig.manager.status_cache[then.job_id]["returncode"] == 2
    assert job.job_id not in heard.final


def test_a_relay_that_takes_no_more_logins_is_done_without(
    start_relay: Callable[..., Relay], rig_of: Any
) -> None:
    relay = start_relay(limited=True)
    rig = rig_of(relay)
    refused = RelayAuthManager(relay.url, "somebody", "else")
    for _ in range(5):
        with pytest.raises(RelayAuthError, match="401"):
            refused.get_token()
    with pytest.raises(RelayAuthError, match="429"):
        rig.manager.relay_transport.auth_manager.get_token()
    job = rig.job("echo x >$1; exit 2").launch()
    assert job.wait()["returncode"] == 2
    assert job.output.read_text() == "x\n"


def test_a_relay_that_has_pulsar_try_for_ever_does_not_hold_the_job(rig_of: Any) -> None:
    with stuck_relay() as relay:
        job = rig_of(relay).job("echo x >$1").launch()
        assert job.wait()["returncode"] == 0
        assert relay.asked.count("/api/v1/messages") > 0
