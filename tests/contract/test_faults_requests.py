"""Requests that are refused, held up or cut off on demand, as the SDK and azbatch's own client meet them."""

from __future__ import annotations

import http.client
import json
import os
import subprocess
import sys
import time
from typing import TYPE_CHECKING, Any

import pytest
from azure.core.exceptions import HttpResponseError, ServiceRequestError, ServiceResponseError
from sdk_client import connect
from wire_client import Wire

from azbatch_core import AccountSpec, AzureBatch, JobSpec, TaskSpec
from azbatch_core.local import LocalBatch
from azbatch_core.service.connect.retry import RetrySettings

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from azure.batch import BatchClient


@pytest.fixture(scope="module")
def service() -> Iterator[LocalBatch]:
    with LocalBatch() as made:
        yield made


@pytest.fixture
def wire(service: LocalBatch) -> Iterator[Wire]:
    made = Wire(service)
    yield made
    made.connection.close()
    made = Wire(service)
    made.json("DELETE", "/_local/faults")
    made.connection.close()


@pytest.fixture
def fault(wire: Wire) -> Callable[..., dict[str, Any]]:
    """Set a fault."""

    def add(kind: str, **fields: Any) -> dict[str, Any]:
        response, body = wire.ask("POST", "/_local/faults", {"kind": kind, **fields})
        found: dict[str, Any] = json.loads(body)
        assert response.status == 200, found
        return found

    return add


@pytest.fixture
def sdk(service: LocalBatch) -> Iterator[BatchClient]:
    """The SDK without its own retries."""
    with connect(service) as client:
        yield client


@pytest.fixture
def batch(service: LocalBatch) -> Iterator[AzureBatch]:
    """Azbatch's own client; it does not wait long before it tries again."""
    account = AccountSpec(
        name="here",
        endpoint=service.endpoint,
        account_name=service.account_name,
        credential="shared_key",
        account_key=service.account_key,
    )
    with AzureBatch(account) as client:
        client._connection._retry = RetrySettings(first_wait=0.01, max_wait=0.05)
        yield client


def hits(wire: Wire) -> list[int]:
    return [fault["hits"] for fault in wire.json("GET", "/_local/faults")["faults"]]


@pytest.mark.parametrize("wait", [None, 7])
def test_throttling_has_the_real_shape(fault: Any, sdk: BatchClient, wire: Wire, wait: int | None) -> None:
    fault("throttle", operation="list_jobs", count=1, **({} if wait is None else {"retry_after": wait}))
    list(sdk.list_pools())
    with pytest.raises(HttpResponseError) as caught:
        list(sdk.list_jobs())
    error = caught.value
    assert (error.status_code, error.error.code) == (429, "TooManyRequests")
    assert error.response is not None
    assert error.response.headers.get("Retry-After") == (None if wait is None else "7")
    list(sdk.list_jobs())
    assert hits(wire) == [1]


def test_unavailable_and_errors_by_name(fault: Any, sdk: BatchClient) -> None:
    fault("unavailable", path="/pools/*", method="GET", count=1)
    fault("error", operation="get_job", code="AccountIsDisabled")
    fault("error", operation="get_task", code="InternalError", status=502)
    seen = []
    for call in (
        lambda: sdk.get_pool("p"),
        lambda: sdk.get_pool("p"),
        lambda: sdk.get_job("j"),
        lambda: sdk.get_task("j", "t"),
    ):
        with pytest.raises(HttpResponseError) as caught:
            call()
        seen.append((caught.value.status_code, caught.value.error.code))
    assert seen == [
        (503, "ServerBusy"),
        (404, "PoolNotFound"),
        (403, "AccountIsDisabled"),
        (502, "InternalError"),
    ]


def test_slow_requests_wait_and_others_do_not(fault: Any, sdk: BatchClient) -> None:
    fault("slow", operation="list_jobs", seconds=0.4, count=1)
    began = time.monotonic()
    list(sdk.list_pools())
    between = time.monotonic()
    list(sdk.list_jobs())
    assert between - began < 0.4 <= time.monotonic() - between


def test_a_lost_reply_is_work_done_without_an_answer(fault: Any, wire: Wire, sdk: BatchClient) -> None:
    fault("lost-reply", operation="create_job", count=1)
    with pytest.raises(http.client.RemoteDisconnected):
        wire.ask("POST", "/jobs", {"id": "lost", "poolInfo": {"poolId": "p"}})
    assert sdk.get_job("lost").id == "lost"


def test_a_reset_comes_before_the_work(fault: Any, service: LocalBatch, sdk: BatchClient) -> None:
    fault("reset", operation="create_job", count=1)
    other = Wire(service)
    with pytest.raises(ConnectionResetError) as caught:
        other.ask("POST", "/jobs", {"id": "reset", "poolInfo": {"poolId": "p"}})
    other.connection.close()
    assert type(caught.value) is ConnectionResetError
    with pytest.raises(HttpResponseError, match="JobNotFound"):
        sdk.get_job("reset")


@pytest.mark.parametrize("kind", ["lost-reply", "reset"])
def test_the_sdk_meets_a_broken_connection(fault: Any, sdk: BatchClient, kind: str) -> None:
    fault(kind, operation="list_pools", count=1)
    with pytest.raises((ServiceRequestError, ServiceResponseError)):
        list(sdk.list_pools())
    list(sdk.list_pools())


def test_nothing_befalls_who_has_no_right_to_ask(fault: Any, wire: Wire) -> None:
    fault("throttle")
    wire.connection.request("GET", "/jobs?api-version=2025-06-01")
    response = wire.connection.getresponse()
    response.read()
    assert response.status == 403
    assert hits(wire) == [0]


@pytest.mark.parametrize(
    ("kind", "fields"),
    [
        ("throttle", {}),
        ("throttle", {"retry_after": 0}),
        ("unavailable", {}),
        ("lost-reply", {}),
        ("reset", {}),
    ],
)
def test_submitting_loses_and_doubles_nothing(
    fault: Any, wire: Wire, batch: AzureBatch, kind: str, fields: dict[str, Any]
) -> None:
    name = f"through-{kind}-{len(fields)}"
    for operation in ("create_job", "create_task_collection", "update_job"):
        fault(kind, operation=operation, count=2, **fields)
    tasks = tuple(TaskSpec(id=f"t{number}", command=["true"]) for number in range(250))
    job = batch.submit(JobSpec(name=name, tasks=tasks)).job
    assert hits(wire) == [2, 2, 2]
    wire.json("DELETE", "/_local/faults")
    listed = wire.json("GET", f"/jobs/{job.id}/tasks?maxresults=1000")["value"]
    assert sorted(task["id"] for task in listed) == sorted(task.id for task in tasks)
    jobs = [found["id"] for found in wire.json("GET", "/jobs")["value"] if found["id"].startswith(name)]
    assert jobs == [job.id]
    wire.ask("DELETE", f"/jobs/{job.id}")


def test_faults_are_listed_and_taken_back(fault: Any, wire: Wire) -> None:
    first = fault("throttle", count=2)
    fault("reset", id="my/own", operation="get_application")
    listed = wire.json("GET", "/_local/faults")["faults"]
    assert listed == [
        {"id": first["id"], "kind": "throttle", "count": 2, "hits": 0},
        {"id": "my/own", "kind": "reset", "operation": "get_application", "hits": 0},
    ]
    assert wire.json("DELETE", "/_local/faults/my%2Fown") == {"removed": 1}
    assert wire.ask("DELETE", "/_local/faults/my%2Fown")[0].status == 404
    assert wire.ask("PUT", "/_local/faults")[0].status == 405
    assert wire.json("DELETE", "/_local/faults") == {"removed": 1}


def test_a_fault_that_cannot_be_is_refused_with_the_right_name(wire: Wire) -> None:
    response, body = wire.ask("POST", "/_local/faults", {"kind": "throttle", "cuont": 1})
    assert response.status == 400
    assert b"did you mean count?" in body
    assert wire.json("GET", "/_local/faults") == {"faults": []}


def test_the_command_line(tmp_path: Path) -> None:
    environment = {**os.environ, "AZBATCH_LOCAL_DIR": str(tmp_path / "state")}
    (tmp_path / "faults.yaml").write_text("- {kind: throttle, operation: create_job, count: 1}\n")
    (tmp_path / "wrong.yaml").write_text("- {kind: throttl}\n")

    def azbatch(*words: str) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-m", "azbatch_core.cli", "local", *words]
        return subprocess.run(
            command, env=environment, cwd=tmp_path, capture_output=True, text=True, timeout=60, check=False
        )

    assert "did you mean throttle?" in azbatch("start", "--faults", "wrong.yaml").stderr
    assert azbatch("start", "--faults", "faults.yaml").returncode == 0
    try:
        assert "operation=create_job" in azbatch("fault", "list").stdout
        added = json.loads(azbatch("fault", "add", "slow", "seconds=1", "id=s", "--json").stdout)
        assert added == {"id": "s", "kind": "slow", "seconds": 1, "hits": 0}
        assert "did you mean seconds?" in azbatch("fault", "add", "slow", "second=1").stderr
        assert "1 fault cleared" in azbatch("fault", "clear", "s").stderr
        found = json.loads(azbatch("fault", "list", "--json").stdout)["faults"]
        assert [item["kind"] for item in found] == ["throttle"]
    finally:
        azbatch("stop")


def test_a_program_gives_faults_that_a_restart_sets_anew(tmp_path: Path) -> None:
    with LocalBatch(tmp_path, faults=[{"kind": "throttle", "count": 1}]) as made:
        for _ in range(2):
            wire = Wire(made)
            assert [wire.ask("GET", "/jobs")[0].status for _ in range(2)] == [429, 200]
            wire.connection.close()
            made.restart()
