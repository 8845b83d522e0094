"""What lies below `/_local`: signed like everything else, refused in Batch's own form."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from datetime import datetime, timedelta, timezone
from typing import TYPE_CHECKING

import pytest
from azure.core.exceptions import ClientAuthenticationError
from azure.storage.blob import ContainerClient, generate_container_sas
from waiting import until
from wire_client import Wire, pool_body

from azbatch_core.local import LocalBatch

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


@pytest.fixture(scope="module")
def virtual() -> Iterator[Wire]:
    """A service on a virtual clock."""
    with LocalBatch(clock="virtual") as service:
        wire = Wire(service)
        yield wire
        wire.connection.close()


def test_the_clock_is_told_and_moved(virtual: Wire) -> None:
    before = virtual.json("GET", "/_local/clock")
    assert before["virtual"] is True
    after = virtual.json("POST", "/_local/clock", {"advance": 86_400})
    assert (before["now"][:10], after["now"][:10]) == ("2026-01-01", "2026-01-02")


@pytest.mark.parametrize("seconds", [-1, "60", None, True, 1e300])
def test_what_is_no_time_is_refused_and_moves_nothing(virtual: Wire, seconds: object) -> None:
    before = virtual.json("GET", "/_local/clock")
    response, body = virtual.ask("POST", "/_local/clock", {"advance": seconds})
    assert (response.status, json.loads(body)["code"]) == (400, "InvalidRequestBody")
    assert virtual.json("GET", "/_local/clock") == before


def test_a_real_clock_is_not_moved(local: LocalBatch) -> None:
    wire = Wire(local)
    response, body = wire.ask("POST", "/_local/clock", {"advance": 1})
    wire.connection.close()
    assert response.status == 409
    assert b"--clock virtual" in body


def test_a_schedule_between_its_turns_is_idle_and_a_move_ends_when_its_client_goes() -> None:
    schedule = {
        "id": "hourly",
        "schedule": {"recurrenceInterval": "PT1H"},
        "jobSpecification": {"poolInfo": {"poolId": "none"}},
    }
    with LocalBatch(clock="virtual", model=True) as service:
        wire, impatient = Wire(service), Wire(service)
        assert wire.ask("POST", "/jobschedules", schedule)[0].status == 201
        assert wire.json("POST", "/_local/clock", {"advance": 3e9, "untilIdle": True})["moved"] == 0
        impatient.connection.timeout = 0.5  # by then it is decades from its end
        with pytest.raises(TimeoutError):
            impatient.ask("POST", "/_local/clock", {"advance": 3e9})
        impatient.connection.close()
        stands = until(lambda: _standing(wire))
        assert "2026-01-01T01" < stands < "2100"
        assert wire.json("POST", "/_local/clock", {"advance": 0})["now"] == stands
        wire.connection.close()


def test_a_signature_expires_by_the_services_clock() -> None:
    with LocalBatch(clock="virtual") as service:
        with ContainerClient.from_container_url(
            f"{service.blob_endpoint}/box", credential=service.blob_key
        ) as owner:
            owner.create_container()
        signature = generate_container_sas(
            service.blob_account,
            "box",
            account_key=service.blob_key,
            permission="w",
            start=datetime.now(timezone.utc),
            expiry=service.now + timedelta(hours=1),
        )
        with ContainerClient.from_container_url(f"{service.blob_endpoint}/box?{signature}") as box:
            service.advance(3500)
            box.upload_blob("in-time", b"x")
            service.advance(200)
            with pytest.raises(ClientAuthenticationError):
                box.upload_blob("late", b"x")


def test_an_identity_is_good_whatever_the_clock_says(tmp_path: Path) -> None:
    identity = {"resourceId": "/subscriptions/s/resourceGroups/g/providers/x/userAssignedIdentities/i"}
    with LocalBatch(tmp_path, clock="virtual") as service:
        service.advance(100 * 365 * 86_400)
        container = ContainerClient.from_container_url(
            f"{service.blob_endpoint}/box", credential=service.blob_key
        )
        with container:
            container.create_container()
            destination = {"containerUrl": f"{service.blob_endpoint}/box", "identityReference": identity}
            wire = Wire(service)
            pool = pool_body("p", 1)
            task = {
                "id": "t",
                "commandLine": "echo hello",
                "outputFiles": [
                    {
                        "filePattern": "../stdout.txt",
                        "destination": {"container": {"path": "said", **destination}},
                        "uploadOptions": {"uploadCondition": "taskcompletion"},
                    }
                ],
            }
            assert wire.ask("POST", "/pools", pool)[0].status == 201
            assert wire.ask("POST", "/jobs", {"id": "j", "poolInfo": {"poolId": "p"}})[0].status == 201
            assert wire.ask("POST", "/jobs/j/tasks", task)[0].status == 201
            done = until(lambda: _completed(wire))
            assert done["result"] == "success", done
            assert container.download_blob("said").readall() == b"hello\n"
            wire.connection.close()


def _completed(wire: Wire) -> dict[str, str]:
    task = wire.json("GET", "/jobs/j/tasks/t")
    return dict(task["executionInfo"]) if task["state"] == "completed" else {}


def _standing(wire: Wire) -> str | None:
    """The time, if it does not change any more."""
    first, second = (wire.json("GET", "/_local/clock")["now"] for _ in range(2))
    return str(first) if first == second else None


def test_nothing_is_told_without_a_signature(virtual: Wire) -> None:
    virtual.connection.request("GET", "/_local/clock")
    response = virtual.connection.getresponse()
    assert (response.status, json.loads(response.read())["code"]) == (403, "AuthenticationFailed")


@pytest.mark.parametrize(
    ("method", "path", "status"), [("GET", "/_local/nothing", 404), ("DELETE", "/_local/clock", 405)]
)
def test_unknown_paths_and_verbs(virtual: Wire, method: str, path: str, status: int) -> None:
    assert virtual.ask(method, path)[0].status == status


def test_another_host_name_is_not_answered(virtual: Wire) -> None:
    assert virtual.ask("GET", "/_local/clock", host="evil.example")[0].status == 400


def test_the_command_line_starts_a_virtual_clock_and_moves_it(tmp_path: Path) -> None:
    environment = {**os.environ, "AZBATCH_LOCAL_DIR": str(tmp_path / "state")}

    def azbatch(*words: str) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-m", "azbatch_core.cli", "local", *words]
        return subprocess.run(
            command, env=environment, capture_output=True, text=True, timeout=60, check=False
        )

    assert "start it first" in azbatch("advance", "60").stderr
    assert azbatch("start", "--clock", "virtual", "--boot-time", "60").returncode == 0
    try:
        moved = json.loads(azbatch("advance", "3600", "--json").stdout)
        assert moved["now"].startswith("2026-01-01T01:00:00")
        idle = json.loads(azbatch("advance", "--until-idle", "--json").stdout)
        assert idle["moved"] == 0, "nothing is under way"
        assert azbatch("advance").returncode == 2
        refused = azbatch("advance", "--", "-5")
        assert (refused.returncode, "0 seconds to 100 years" in refused.stderr) == (2, True)
    finally:
        azbatch("stop")
