"""Schedules under users, overruns and kills in any order: what always holds."""

from __future__ import annotations

import random
from contextlib import suppress
from typing import TYPE_CHECKING

import pytest
from engine_fakes import Service

from azbatch_core.local.errors import BatchError

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.asyncio

STEPS = 150
OPEN = {"active", "disabling", "disabled", "enabling", "terminating"}
PLANS = [
    {"recurrenceInterval": "PT1H"},
    {"recurrenceInterval": "PT2H", "startWindow": "PT10M"},
    {"recurrenceInterval": "PT30M", "doNotRunAfter": "2026-01-01T20:00:00Z"},
    {"doNotRunUntil": "2026-01-01T10:00:00Z", "startWindow": "PT1H"},
    {},
]


def create(service: Service, choice: random.Random) -> None:
    spec = {"poolInfo": {"poolId": "pool"}}
    command = f"sleep {choice.choice([5, 600, 5000, 20000])}"
    spec["jobManagerTask"] = {"id": "manager", "commandLine": command}  # type: ignore[assignment]
    name = f"s{choice.randrange(3)}"
    service.engine.schedules.create({"id": name, "schedule": choice.choice(PLANS), "jobSpecification": spec})


def act(service: Service, choice: random.Random) -> None:
    """Something that a user does; the service may refuse it."""
    name = f"s{choice.randrange(3)}"
    schedules = service.engine.schedules
    move = choice.choice(
        ["create", "create", "create", "disable", "enable", "patch", "terminate", "delete", "end", "drop"]
    )
    if move == "create":
        create(service, choice)
    elif move == "patch":
        schedules.patch(name, {"schedule": choice.choice(PLANS)})
    elif move in {"end", "drop"}:
        job_id = schedules.get(name)["executionInfo"].get("recentJob", {}).get("id", "none")
        (service.engine.jobs.terminate if move == "end" else service.engine.jobs.delete)(job_id)
    else:
        getattr(schedules, move)(name)


def check(service: Service) -> None:
    docs = service.engine.schedules.page()[0]
    assert {doc["id"].partition(":")[0] for doc in service.engine.jobs.page()[0]} <= {
        doc["id"] for doc in docs
    }
    for doc in docs:
        jobs = service.engine.schedules.jobs(doc["id"])[0]
        open_jobs = [job["id"] for job in jobs if job["state"] in OPEN]
        assert len(open_jobs) <= 1
        info = doc["executionInfo"]
        assert ("endTime" in info) == (doc["state"] == "completed")
        if doc["state"] == "completed":
            assert not open_jobs
            assert "nextRunTime" not in info
        if open_jobs:
            assert open_jobs == [info["recentJob"]["id"]]


@pytest.mark.parametrize("seed", range(6))
async def test_schedules_keep_their_promises(tmp_path: Path, seed: int) -> None:
    choice = random.Random(seed)  # noqa: S311 - a test's dice
    service = await Service(tmp_path).start()
    await service.pool(nodes=2)
    for _ in range(STEPS):
        if choice.random() < 0.05:
            service = await service.killed()
        elif choice.random() < 0.5:
            with suppress(BatchError):
                act(service, choice)
        await service.pass_time(choice.choice([0, 1, 600, 3600]))
        check(service)
    for doc in service.engine.schedules.page()[0]:
        if doc["state"] != "deleting":
            service.engine.schedules.delete(doc["id"])
    await service.pass_time(1)
    assert (service.engine.schedules.page(), service.engine.jobs.page()) == (([], None), ([], None))
    assert not service.engine.busy()
    await service.engine.stop()
