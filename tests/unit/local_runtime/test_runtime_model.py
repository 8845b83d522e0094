from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from azbatch_core.local.clock import VirtualClock
from azbatch_core.local.runtime.base import Launch, NodePlace, Outcome, RuntimeConfig
from azbatch_core.local.runtime.model import ModelRuntime

pytestmark = pytest.mark.asyncio

PLACE = NodePlace("pool", "node", Path("/nowhere/nodes/pool/n1"), "127.1.0.1")


def _launch(command: str = "true", **more: Any) -> Launch:
    settings = tuple((name, str(value)) for name, value in more.pop("settings", {}).items())
    return Launch(PLACE, "task", "job", "task", command, environment=settings, **more)


def _runtime(clock: VirtualClock) -> ModelRuntime:
    return ModelRuntime(RuntimeConfig(Path("/nowhere"), "here", "http://127.0.0.1:1/"), clock)


async def _ended(launch: Launch) -> tuple[float, Outcome]:
    clock = VirtualClock()
    told: list[Outcome] = []
    _runtime(clock).launch(launch).when_over(told.append)
    assert not told
    took = await clock.advance_until(lambda: bool(told), 10**9)
    await clock.advance(1000)
    (outcome,) = told
    return took, outcome


@pytest.mark.parametrize(
    ("command", "settings", "seconds"),
    [
        ("true", {}, 0),
        ("sleep 90", {}, 90),
        ("/bin/sleep 1.5m", {}, 90),
        ("sleep 2h", {}, 7200),
        ("sleep 1 2", {}, 0),
        ("sh -c 'sleep 5'", {}, 0),
        ("sleep 90", {"AZBATCH_MODEL_SECONDS": "3.5"}, 3.5),
        ("true", {"AZBATCH_MODEL_SECONDS": "1e3"}, 1000),
    ],
)
async def test_a_task_lasts_as_it_says(command: str, settings: dict[str, str], seconds: float) -> None:
    took, outcome = await _ended(_launch(command, settings=settings))
    assert (took, outcome.exit_code, outcome.failure, outcome.stopped) == (seconds, 0, None, None)
    assert (outcome.ended - outcome.started).total_seconds() == seconds


async def test_a_task_ends_as_it_says() -> None:
    _, outcome = await _ended(_launch("sleep 1", settings={"AZBATCH_MODEL_EXIT_CODE": 3}))
    assert outcome.exit_code == 3
    assert outcome.failure is not None
    assert outcome.failure["code"] == "FailureExitCode"


@pytest.mark.parametrize(
    "settings",
    [
        {"AZBATCH_MODEL_SECONDS": "soon"},
        {"AZBATCH_MODEL_SECONDS": "-1"},
        {"AZBATCH_MODEL_SECONDS": "nan"},
        {"AZBATCH_MODEL_EXIT_CODE": "x"},
    ],
)
async def test_what_is_no_number_fails_the_task_and_is_named(settings: dict[str, str]) -> None:
    _, outcome = await _ended(_launch(settings=settings))
    assert outcome.exit_code is None
    assert outcome.failure is not None
    (name, value) = next(iter(settings.items()))
    assert f"{name}={value!r}" in outcome.failure["details"][0]["value"]


async def test_the_wall_time_ends_what_would_last_longer() -> None:
    took, outcome = await _ended(_launch("sleep 60", wall_time=10.0))
    assert (took, outcome.exit_code, outcome.stopped) == (10, -9, "walltime")
    took, outcome = await _ended(_launch("sleep 10", wall_time=10.0))
    assert (took, outcome.exit_code, outcome.stopped) == (10, 0, None)


async def test_a_stopped_task_ends_at_once_for_the_first_cause() -> None:
    clock = VirtualClock()
    running = _runtime(clock).launch(_launch("sleep 60"))
    running.stop("user")
    running.stop("node")
    assert running.outcome is None
    await clock.advance()
    outcome = running.outcome
    assert outcome is not None
    assert (outcome.exit_code, outcome.stopped) == (-9, "user")
    assert outcome.failure is not None
    assert outcome.failure["code"] == "TaskEnded"


async def test_a_node_that_goes_and_a_service_that_closes_end_their_tasks() -> None:
    clock = VirtualClock()
    runtime = _runtime(clock)
    first = runtime.launch(_launch("sleep 60"))
    runtime.remove_node(PLACE)
    await clock.advance()
    assert first.outcome is not None
    assert first.outcome.stopped == "node"
    second = runtime.launch(_launch("sleep 60"))
    await runtime.close()
    assert second.outcome is not None
    assert second.outcome.stopped == "node"


async def test_a_member_of_a_gang_waits_to_be_told_to_proceed() -> None:
    clock = VirtualClock()
    running = _runtime(clock).launch(_launch("sleep 60", coordination_command_line="true"))
    await clock.advance(1000)
    assert running.coordinated is not None
    assert running.coordinated.done()
    assert running.outcome is None
    running.proceed()
    await clock.advance(60)
    assert running.outcome is not None
    assert running.outcome.succeeded
