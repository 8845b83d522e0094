"""Whom tasks run as, and how long they may live."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from azbatch_core.local.errors import BatchError

if TYPE_CHECKING:
    from collections.abc import Callable

    from engine_fakes import Service

pytestmark = pytest.mark.asyncio

ADA = {"name": "ada", "password": "p", "elevationLevel": "admin"}
BOTH = {"username": "ada", "autoUser": {"scope": "pool"}}


async def test_a_named_user_has_the_elevation_of_its_account(service: Service) -> None:
    await service.pool(userAccounts=[ADA, {"name": "bob", "password": "p"}])
    service.job()
    for name in ("ada", "bob"):
        service.task(name, userIdentity={"username": name})
    service.task("auto", userIdentity={"autoUser": {"scope": "task", "elevationLevel": "admin"}})
    await service.pass_time()
    seen = {launch.task_id: launch.user_identity for launch in service.runtime.launches}
    assert seen == {
        "ada": {"username": "ada", "autoUser": {"scope": "pool", "elevationLevel": "admin"}},
        "bob": {"username": "bob", "autoUser": {"scope": "pool", "elevationLevel": "nonadmin"}},
        "auto": {"autoUser": {"scope": "task", "elevationLevel": "admin"}},
    }
    assert service.engine.tasks.get("job", "ada")["userIdentity"] == {"username": "ada"}


async def test_a_user_that_the_pool_does_not_have_runs_nothing(service: Service) -> None:
    await service.pool(userAccounts=[ADA])
    service.job()
    service.task("t", userIdentity={"username": "eve"}, constraints={"maxTaskRetryCount": 3})
    await service.pass_time()
    info = service.info("t")
    assert (info["failureInfo"]["code"], info["retryCount"], "exitCode" in info) == (
        "CommandLaunchFailed",
        0,
        False,
    )


async def test_a_start_task_of_no_user_fails_its_node(service: Service) -> None:
    await service.pool(startTask={"commandLine": "exit 0", "userIdentity": {"username": "eve"}})
    node = service.nodes()[0]
    assert node["state"] == "starttaskfailed"
    assert node["startTaskInfo"]["failureInfo"]["code"] == "CommandLaunchFailed"


@pytest.mark.parametrize(
    "where", ["task", "startTask", "jobPreparationTask", "jobReleaseTask", "jobManagerTask"]
)
async def test_a_user_is_named_or_automatic(service: Service, where: str) -> None:
    await service.pool()
    service.job()
    task: dict[str, Any] = {"id": "x", "commandLine": "exit 0", "userIdentity": BOTH}
    body = {"jobPreparationTask": {"commandLine": "exit 0"}} | {where: task}
    calls: dict[str, Callable[[], object]] = {
        "startTask": lambda: service.engine.pools.create(
            {"id": "o", "vmSize": "standard_d2", "startTask": task}
        ),
        "task": lambda: service.task("t", userIdentity=BOTH),
    }
    with pytest.raises(BatchError, match="InvalidPropertyValue") as caught:
        calls.get(where, lambda: service.job("other", **body))()
    assert ("PropertyName", "userIdentity") in caught.value.values


async def test_no_task_lives_longer_than_180_days(service: Service) -> None:
    await service.pool()
    service.job()
    service.task("old", "hang")
    await service.pass_time()
    service.task("waits")
    await service.pass_time(10 * 86_400)
    service.task("young")
    await service.pass_time(170 * 86_400 - 60)
    assert [service.state(name) for name in ("old", "waits", "young")] == ["running", "active", "active"]
    await service.pass_time(120)
    assert [service.state(name) for name in ("old", "waits", "young")] == ["completed"] * 3
    codes = [service.info(name).get("failureInfo", {}).get("code") for name in ("old", "waits", "young")]
    assert codes == ["TaskEnded", "TaskEnded", None]
    counts = service.counts()
    assert (counts["active"], counts["running"], counts["succeeded"], counts["failed"]) == (0, 0, 1, 2)


async def test_the_180_days_go_on_over_a_restart(service: Service) -> None:
    service.job()
    service.task("t")
    await service.pass_time(100 * 86_400)
    heir = await service.killed()
    try:
        await heir.pass_time(79 * 86_400)
        assert heir.state("t") == "active"
        await heir.pass_time(86_400 + 60)
        assert heir.info("t")["failureInfo"]["code"] == "TaskEnded"
    finally:
        await heir.engine.stop()
