"""Simulation: tasks that only last, on a clock that is moved: many of them, and over weeks."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest
from wire_client import Wire, pool_body

from azbatch_core.local import LocalBatch

if TYPE_CHECKING:
    from collections.abc import Iterator

DAY = 86_400


@pytest.fixture
def model() -> Iterator[tuple[LocalBatch, Wire]]:
    """A service whose tasks only last, on a virtual clock, with room for a thousand nodes."""
    with LocalBatch(clock="virtual", model=True, node_quota=1000) as service:
        wire = Wire(service)
        yield service, wire
        wire.connection.close()


def _make(wire: Wire, path: str, body: dict[str, Any]) -> None:
    response, answer = wire.ask("POST", path, body)
    assert response.status == 201, answer


def _pool(wire: Wire, nodes: int, **more: Any) -> None:
    _make(wire, "/pools", pool_body("pool", None if "enableAutoScale" in more else nodes, **more))


def _job(wire: Wire, **more: Any) -> None:
    _make(wire, "/jobs", {"id": "job", "poolInfo": {"poolId": "pool"}, **more})


def _add(wire: Wire, tasks: list[dict[str, Any]]) -> None:
    for at in range(0, len(tasks), 100):
        wire.json("POST", "/jobs/job/addtaskcollection", {"value": tasks[at : at + 100]})


def _counts(wire: Wire) -> dict[str, int]:
    counts: dict[str, int] = wire.json("GET", "/jobs/job/taskcounts")["taskCounts"]
    return counts


def test_ten_thousand_tasks_on_a_thousand_nodes(model: tuple[LocalBatch, Wire]) -> None:
    service, wire = model
    _pool(wire, 1000)
    _job(wire, onTaskFailure="noaction")
    setting = {"name": "AZBATCH_MODEL_EXIT_CODE", "value": "7"}
    _add(
        wire,
        [
            {
                "id": f"t{number:05}",
                "commandLine": f"sleep {600 + number % 2}",
                "environmentSettings": [setting] * (number % 100 == 0),
            }
            for number in range(10_000)
        ],
    )
    assert 6000 <= service.advance_until_idle() <= 6010
    assert _counts(wire) == {"active": 0, "running": 0, "completed": 10_000, "succeeded": 9900, "failed": 100}
    nodes = wire.json("GET", "/pools/pool/nodes")["value"]
    assert sum(node["totalTasksRun"] for node in nodes) == 10_000
    assert {node["state"] for node in nodes} == {"idle"}


def test_files_of_tasks_that_only_last_are_not_found(model: tuple[LocalBatch, Wire]) -> None:
    service, wire = model
    _pool(wire, 1)
    _job(wire)
    _add(wire, [{"id": "task", "commandLine": "sleep 5", "constraints": {"retentionTime": "PT1H"}}])
    service.advance_until_idle()
    assert wire.json("GET", "/jobs/job/tasks/task/files")["value"] == []
    response, body = wire.ask("GET", "/jobs/job/tasks/task/files/stdout.txt")
    assert (response.status, json.loads(body)["code"]) == (404, "FileNotFound")
    service.advance(3600)
    _, body = wire.ask("GET", "/jobs/job/tasks/task/files/stdout.txt")
    assert json.loads(body)["code"] == "TaskFilesCleanedup"


def test_a_week_of_scaling_and_retention(model: tuple[LocalBatch, Wire]) -> None:
    service, wire = model
    formula = "$TargetDedicatedNodes = min(200, $PendingTasks.GetSample(1));"
    _pool(wire, 0, enableAutoScale=True, autoScaleFormula=formula, autoScaleEvaluationInterval="PT15M")
    _job(wire)
    sizes = []
    for day in range(7):
        _add(wire, [{"id": f"{day}-{number:03}", "commandLine": "sleep 6h"} for number in range(300)])
        for _ in range(2):
            service.advance(DAY / 2)
            sizes.append(
                wire.json("GET", "/pools/pool?$select=currentDedicatedNodes")["currentDedicatedNodes"]
            )
    assert _counts(wire)["succeeded"] == 2100
    assert sizes == [100, 0] * 7
    service.advance(DAY)
    _, body = wire.ask("GET", "/jobs/job/tasks/0-000/files/stdout.txt")
    assert json.loads(body)["code"] in {"TaskFilesCleanedup", "TaskFilesUnavailable"}


def test_jobs_last_over_a_restart(model: tuple[LocalBatch, Wire]) -> None:
    service, wire = model
    _pool(wire, 1)
    _job(wire)
    _add(wire, [{"id": f"t{number}", "commandLine": "sleep 60"} for number in range(3)])
    service.advance(90)
    service.restart()
    wire.connection.close()  # the next request makes a new one
    service.advance_until_idle()
    assert _counts(wire)["succeeded"] == 3
