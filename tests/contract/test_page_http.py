"""The page's server side, as a browser and as others would ask it."""

from __future__ import annotations

import http.client
import json
import os
import subprocess
import sys
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import pytest
from waiting import WITHIN
from wire_client import VERSION, Wire, pool_body

from azbatch_core.local import LocalBatch

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

NEEDED = f"api-version={VERSION}"


class Visitor:
    """What asks without a key."""

    def __init__(self, batch: LocalBatch) -> None:
        self.place = urlsplit(batch.endpoint)
        self.origin = batch.endpoint
        self.cookie = ""

    def ask(
        self, method: str, target: str, body: Any = None, **headers: str
    ) -> tuple[http.client.HTTPResponse, bytes]:
        """One request, with the cookie if there is one."""
        sent = {name.replace("_", "-"): value for name, value in headers.items()}
        if self.cookie:
            sent.setdefault("cookie", self.cookie)
        raw = None if body is None else json.dumps(body)
        connection = http.client.HTTPConnection(str(self.place.hostname), self.place.port, timeout=WITHIN)
        try:
            connection.request(method, target, raw, sent)
            response = connection.getresponse()
            return response, response.read()
        finally:
            connection.close()

    def enter(self, code: str, **headers: str) -> http.client.HTTPResponse:
        """Hand in a code as the page does."""
        usual = {"content_type": "application/json", "origin": self.origin, "sec_fetch_site": "same-origin"}
        response, _ = self.ask("POST", "/_page/session", {"code": code}, **{**usual, **headers})
        self.cookie = (response.getheader("set-cookie") or "").partition(";")[0]
        return response


@pytest.fixture(scope="module")
def wire(local: LocalBatch) -> Iterator[Wire]:
    made = Wire(local)
    yield made
    made.connection.close()


@pytest.fixture
def stranger(local: LocalBatch) -> Visitor:
    return Visitor(local)


@pytest.fixture
def guest(local: LocalBatch, wire: Wire) -> Visitor:
    """A visitor with a session."""
    visitor = Visitor(local)
    assert visitor.enter(new_code(wire)).status == 204
    return visitor


def new_code(wire: Wire) -> str:
    url: str = wire.json("POST", "/_local/sessions")["url"]
    address, _, code = url.partition("#code=")
    assert address == f"{wire.batch.endpoint}/_page/"
    return code


@pytest.fixture
def task(wire: Wire, job_name: str) -> Iterator[str]:
    """Path of a task that wrote a page with a script."""
    wire.ask("POST", "/pools", pool_body(job_name, 1))
    wire.ask("POST", "/jobs", {"id": job_name, "poolInfo": {"poolId": job_name}})
    command = "/bin/sh -c 'echo \"<script>1</script>\" > evil.html'"
    wire.ask("POST", f"/jobs/{job_name}/tasks", {"id": "t", "commandLine": command})
    path = f"/jobs/{job_name}/tasks/t"
    while wire.json("GET", path)["state"] != "completed":
        pass
    yield path
    wire.ask("DELETE", f"/jobs/{job_name}")
    wire.ask("DELETE", f"/pools/{job_name}")


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("", "text/html"),
        ("page.css", "text/css"),
        ("main.js", "text/javascript"),
        ("icon.svg", "image/svg+xml"),
    ],
)
def test_the_pages_files_are_for_everybody_and_load_nothing_from_elsewhere(
    stranger: Visitor, name: str, kind: str
) -> None:
    response, body = stranger.ask("GET", f"/_page/{name}")
    assert (response.status, str(response.getheader("content-type")).split(";")[0]) == (200, kind)
    policy = str(response.getheader("content-security-policy"))
    assert policy.startswith("default-src 'none'; script-src 'self'; style-src 'self';")
    assert "unsafe" not in policy
    assert response.getheader("x-content-type-options") == "nosniff"
    assert len(body) == int(str(response.getheader("content-length")))
    assert stranger.ask("HEAD", f"/_page/{name}")[1] == b""


@pytest.mark.parametrize(
    "name", ["none.js", "../app.py", "%2e%2e/app.py", "static/page.css", "sessions.py", "__init__.py"]
)
def test_there_are_no_other_files(stranger: Visitor, name: str) -> None:
    assert stranger.ask("GET", f"/_page/{name}")[0].status == 404


def test_without_a_session_nothing_is_told(stranger: Visitor) -> None:
    assert json.loads(stranger.ask("GET", "/_page/session")[1]) == {"open": False}
    for path in (f"/_page/api/jobs?{NEEDED}", "/_page/history", "/_page/blocked?job=j"):
        response, body = stranger.ask("GET", path)
        assert (response.status, json.loads(body)["code"]) == (403, "AuthenticationFailed")
        assert b"azbatch local open" in body


def test_a_session_reads_what_a_signature_reads(wire: Wire, guest: Visitor, task: str) -> None:
    assert json.loads(guest.ask("GET", "/_page/session")[1]) == {"open": True}
    response, body = guest.ask("GET", f"/_page/api{task}?{NEEDED}", sec_fetch_site="same-origin")
    assert (response.status, json.loads(body)) == (200, wire.json("GET", task))
    assert response.getheader("cache-control") == "no-store"


@pytest.mark.parametrize("method", ["POST", "PUT", "PATCH", "DELETE"])
def test_a_session_writes_nothing(guest: Visitor, wire: Wire, task: str, method: str) -> None:
    before = wire.json("GET", task)
    assert guest.ask(method, f"/_page/api{task}?{NEEDED}", {})[0].status == 405
    assert guest.ask(method, f"{task}?{NEEDED}", {})[0].status == 403
    assert wire.json("GET", task) == before


def test_what_a_task_wrote_cannot_act_as_the_page(guest: Visitor, task: str) -> None:
    response, body = guest.ask("GET", f"/_page/api{task}/files/wd%2Fevil.html?{NEEDED}")
    assert (response.status, body) == (200, b"<script>1</script>\n")
    assert response.getheader("content-security-policy") == "default-src 'none'; sandbox"
    assert response.getheader("x-content-type-options") == "nosniff"


def test_a_code_is_good_once(stranger: Visitor, wire: Wire) -> None:
    code = new_code(wire)
    assert stranger.enter(code).status == 204
    assert stranger.enter(code).status == 403


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({"origin": "http://evil.example"}, 403),
        ({"origin": "null"}, 403),
        ({"origin": ""}, 403),
        ({"sec_fetch_site": "cross-site"}, 403),
        ({"sec_fetch_site": "same-site"}, 403),
        ({"content_type": "text/plain"}, 400),
        ({"host": "evil.example"}, 400),
    ],
)
def test_only_the_page_itself_opens_a_session(
    stranger: Visitor, wire: Wire, headers: dict[str, str], status: int
) -> None:
    code = new_code(wire)
    assert stranger.enter(code, **headers).status == status
    assert stranger.cookie == ""
    assert stranger.enter(code).status == 204


@pytest.mark.parametrize("body", [None, [], {}, {"code": 1}, "x", {"code": "\ud800"}])
def test_a_malformed_request_for_a_session(stranger: Visitor, body: Any) -> None:
    headers = {"content_type": "application/json", "origin": stranger.origin}
    assert stranger.ask("POST", "/_page/session", body, **headers)[0].status in {400, 403}


def test_an_address_needs_a_signature(stranger: Visitor) -> None:
    assert stranger.ask("POST", "/_local/sessions")[0].status == 403


def test_the_history_of_a_pool(guest: Visitor, task: str, job_name: str) -> None:
    found = json.loads(guest.ask("GET", f"/_page/history?pool={job_name}&since=0")[1])
    assert [span[1:4] + span[6:] for span in found["spans"]] == [["task", job_name, "t", "success"]]
    assert found["samples"][-1][0] == found["now"]
    assert found["samples"][-1][1:] == [0, 0, 1, {"idle": 1}]
    assert guest.ask("GET", "/_page/history?pool=none")[0].status == 404
    assert guest.ask("GET", "/_page/blocked?job=none")[0].status == 404
    assert json.loads(guest.ask("GET", f"/_page/blocked?job={job_name}")[1]) == {"blocked": {}}
    for since in ("x", "-1", "1" * 30, "%d9%a1"):
        assert guest.ask("GET", f"/_page/history?pool={job_name}&since={since}")[0].status == 400
    assert task


def test_a_restart_ends_sessions(tmp_path: Path) -> None:
    with LocalBatch(tmp_path / "state") as batch:
        visitor = Visitor(batch)
        wire = Wire(batch)
        assert visitor.enter(new_code(wire)).status == 204
        wire.connection.close()
        batch.restart()
        assert json.loads(visitor.ask("GET", "/_page/session")[1]) == {"open": False}


def test_the_command_line_gives_the_address_and_keeps_codes_out_of_the_log(tmp_path: Path) -> None:
    state = tmp_path / "state"
    browser, opened = tmp_path / "browser", tmp_path / "opened"
    environment = {**os.environ, "AZBATCH_LOCAL_DIR": str(state), "BROWSER": str(browser)}

    def azbatch(*words: str) -> str:
        command = [sys.executable, "-m", "azbatch_core.cli", "local", *words]
        done = subprocess.run(
            command, env=environment, capture_output=True, text=True, timeout=WITHIN, check=True
        )
        return done.stdout

    try:
        url, _, code = azbatch("open", "--print-url").strip().partition("#code=")
        assert len(code) > 40
        endpoint = json.loads((state / "endpoint.json").read_text())
        assert url == endpoint["page"] == f"{endpoint['endpoint']}/_page/"
        assert json.loads(azbatch("status", "--json"))["page"] == url
        assert f"page: {url}" in " ".join(azbatch("start").split())
        assert f"{url}#code=" in azbatch("open")  # there is no such browser
        browser.write_text(f'#!/bin/sh\nprintf %s "$1" > {opened}\n')
        browser.chmod(0o700)
        assert azbatch("open") == ""
        assert opened.read_text().startswith(f"{url}#code=")
        assert code not in (state / "service.log").read_text()
    finally:
        azbatch("stop")
