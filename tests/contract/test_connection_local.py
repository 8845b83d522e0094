"""The connection and the account `local` against the local service: the genuine SDK over HTTP."""

from __future__ import annotations

import base64
import json
import os
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from azbatch_core.errors import AuthenticationError, Conflict, InvalidRequest, NotFound
from azbatch_core.local import LocalBatch
from azbatch_core.service.accounts.profiles import list_accounts, load_account
from azbatch_core.service.connect import sdk
from azbatch_core.service.connect.connection import Connection
from azbatch_core.service.documents import requests
from azbatch_core.specs import AccountSpec, Secret

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


@pytest.fixture(scope="module")
def service() -> Iterator[LocalBatch]:
    """A local service."""
    with LocalBatch() as running:
        yield running


@pytest.fixture
def account(service: LocalBatch) -> AccountSpec:
    """Its account."""
    return AccountSpec(
        name="mine",
        endpoint=service.endpoint,
        account_name=service.account_name,
        account_key=Secret(service.account_key),
    )


@pytest.fixture
def connection(account: AccountSpec) -> Iterator[Connection]:
    """A connection to it."""
    with Connection(account) as made:
        yield made


def test_jobs_come_back_page_by_page(connection: Connection) -> None:
    for number in range(5):
        body = {"id": f"listed-{number}", "poolInfo": {"poolId": "none"}}
        requests.send(connection, "POST", "jobs", body=body)
    wanted = [f"listed-{number}" for number in range(5)]
    documents = connection.documents(
        "/jobs", odata_filter="startswith(id,'listed-')", select=["id"], page_size=2
    )
    assert sorted(job["id"] for job in documents) == wanted


def test_errors_keep_what_the_service_said(connection: Connection) -> None:
    with pytest.raises(NotFound) as missing:
        connection.call(connection.client.get_job, "nobody")
    assert missing.value.code == "JobNotFound"
    assert missing.value.request_id
    body = {"id": "twice", "poolInfo": {"poolId": "none"}}
    requests.send(connection, "POST", "jobs", body=body)
    with pytest.raises(Conflict) as taken:
        requests.send(connection, "POST", "jobs", body=body)
    assert taken.value.code == "JobExists"
    with pytest.raises(InvalidRequest) as wrong:
        requests.send(connection, "POST", "jobs", body={"id": "a b!", "poolInfo": {"poolId": "n"}})
    assert wrong.value.details
    assert "\n" not in str(wrong.value)


def test_single_requests_for_jobs_are_accepted(connection: Connection) -> None:
    body = {"id": "ends", "poolInfo": {"poolId": "none"}}
    requests.send(connection, "POST", "jobs", body=body)
    results = connection.call(
        sdk.add_tasks,
        connection.client,
        "ends",
        [{"id": "t", "commandLine": "true"}, {"id": "u", "commandLine": "true"}],
    )
    assert sorted((item["taskId"], item["status"].lower()) for item in results) == [
        ("t", "success"),
        ("u", "success"),
    ]
    connection.call(sdk.terminate_job, connection.client, "ends", "enough")
    ended = connection.call(connection.client.get_job, "ends")
    assert ended.execution_info is not None
    assert ended.execution_info.termination_reason == "enough"
    connection.call(sdk.delete_job, connection.client, "ends")


def test_a_wrong_key_is_told_as_such(account: AccountSpec) -> None:
    other = account.replace(account_key=base64.b64encode(b"another key").decode())
    with Connection(other) as connection, pytest.raises(AuthenticationError) as caught:
        connection.call(connection.client.get_job, "j")
    assert caught.value.code == "AuthenticationFailed"
    assert "the key" in (caught.value.hint or "")
    assert service_key_is_not_in(str(caught.value), other)


def service_key_is_not_in(text: str, account: AccountSpec) -> bool:
    assert account.account_key is not None
    return account.account_key.reveal() not in text


def test_naming_local_starts_the_service_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in list(os.environ):
        if name.startswith("AZURE_"):
            monkeypatch.delenv(name)
    monkeypatch.delenv("AZBATCH_CONFIG", raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("AZBATCH_LOCAL_DIR", str(tmp_path / "state"))
    assert list_accounts()[0].endpoint is None
    try:
        account = load_account()
        assert account.name == "local"
        with Connection(account) as connection:
            assert list(connection.documents("/jobs")) == []
        written = json.loads((tmp_path / "state" / "endpoint.json").read_text())
        assert load_account("local").endpoint == account.endpoint
        assert json.loads((tmp_path / "state" / "endpoint.json").read_text())["pid"] == written["pid"]
        assert list_accounts()[0].endpoint == account.endpoint
    finally:
        command = [sys.executable, "-m", "azbatch_core.local", "stop", "--state-dir", str(tmp_path / "state")]
        subprocess.run(command, check=True, capture_output=True)
