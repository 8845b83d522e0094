"""Job schedules for tests of the engine."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING, Any

from azbatch_core.local.rules.times import moment, ticks_of

if TYPE_CHECKING:
    from engine_fakes import Service

MINUTE, HOUR, DAY = 60, 3600, 86400
SPEC = {"poolInfo": {"poolId": "pool"}}
SHORT = {**SPEC, "jobManagerTask": {"id": "manager", "commandLine": "sleep 10"}}


def auto(**fields: Any) -> dict[str, Any]:
    pool = {"vmSize": "STANDARD_D2", "targetDedicatedNodes": 1}
    auto = {"poolLifetimeOption": "jobschedule", "autoPoolIdPrefix": "mine", "pool": pool, **fields}
    return {**SHORT, "poolInfo": {"autoPoolSpecification": auto}}


def make(service: Service, spec: dict[str, Any] | None = None, **plan: Any) -> dict[str, Any]:
    return service.engine.schedules.create({"id": "s", "schedule": plan, "jobSpecification": spec or SPEC})


def at(service: Service, seconds: float) -> str:
    return moment(ticks_of(service.clock.now() + timedelta(seconds=seconds)))


def state(service: Service) -> str:
    return str(service.engine.schedules.get("s")["state"])


def info(service: Service) -> dict[str, Any]:
    found: dict[str, Any] = service.engine.schedules.get("s")["executionInfo"]
    return found


def jobs(service: Service) -> dict[str, str]:
    return {doc["id"]: doc["state"] for doc in service.engine.schedules.jobs("s")[0]}


def starts(service: Service) -> list[str]:
    """To the second: moments of writes are told apart by a tick."""
    return [doc["executionInfo"]["startTime"][:19] for doc in service.engine.schedules.jobs("s")[0]]


def end(service: Service, number: int) -> None:
    service.engine.jobs.terminate(f"s:job-{number}")
