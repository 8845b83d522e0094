"""What lies below `/_local`: signed like everything else, refused in Batch's own form."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest
from waiting import until
from wire_client import Wire

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
    assert response.status == 400
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
        assert (refused.returncode, "0 seconds to 100 years" in refused.stderr) == (3, True)
    finally:
        azbatch("stop")
