"""Whether a pool and its nodes can ever run what is queued, and how large a managed pool becomes."""

from __future__ import annotations

from datetime import datetime, timezone
from types import SimpleNamespace
from typing import Any

import pytest

from azbatch_core.service.manage import pools
from azbatch_core.service.states import TaskState, TaskStatus
from azbatch_core.service.watch import pool_health
from azbatch_core.service.watch.pool_health import Ground
from azbatch_core.service.watch.watcher import JobWatch

QUEUED = [TaskStatus("t", TaskState.QUEUED)]
QUOTA = {"code": "AccountCoreQuotaReached", "message": "The specified account has reached core quota"}


def pool(**fields: Any) -> dict[str, Any]:
    base = {"id": "p", "state": "active", "allocationState": "steady", "targetDedicatedNodes": 1}
    return {**base, **fields}


def node(state: str, name: str = "n1", **fields: Any) -> dict[str, Any]:
    return {"id": name, "state": state, **fields}


def judged(found: dict[str, Any] | None, *nodes: dict[str, Any], **more: Any) -> str:
    return str(pool_health.judge(Ground("p", found, nodes, **more), QUEUED))


def failed_on(name: str) -> dict[str, Any]:
    info = {"state": "completed", "result": "failure", "exitCode": 4}
    return {"nodeId": name, "jobPreparationTaskExecutionInfo": info}


@pytest.mark.parametrize(
    ("found", "nodes"),
    [
        (pool(), [node("idle")]),
        (pool(), [node("running")]),
        (pool(), [node("starting")]),
        (pool(), [node("preempted")]),
        (pool(), [node("unusable"), node("idle", "n2")]),
        (pool(allocationState="resizing"), []),
        (pool(allocationState="resizing"), [node("starttaskfailed")]),
        (pool(allocationState="stopping", resizeErrors=[QUOTA]), []),
        (pool(resizeErrors=[QUOTA]), [node("idle")]),
        (pool(enableAutoScale=True, targetDedicatedNodes=0), []),
        # An old error of a pool that a formula resizes: the next evaluation tries again.
        (pool(enableAutoScale=True, targetDedicatedNodes=0, resizeErrors=[QUOTA]), []),
        (pool(), []),
    ],
)
def test_there_is_hope(found: dict[str, Any], nodes: list[dict[str, Any]]) -> None:
    assert judged(found, *nodes) == "None"


@pytest.mark.parametrize(
    ("found", "nodes", "words"),
    [
        (None, [], "the pool p does not exist"),
        (pool(state="deleting"), [node("idle")], "is being deleted"),
        (pool(targetDedicatedNodes=0), [], "has no nodes, and none are asked for"),
        (pool(resizeErrors=[QUOTA]), [], "got no nodes: The specified account has reached core quota"),
        (
            pool(),
            [node("unusable", errors=[{"code": "DiskFull", "message": "full"}])],
            "n1 is unusable (full",
        ),
        (
            pool(),
            [node("starttaskfailed", startTaskInfo={"exitCode": 5})],
            "the start task failed on node n1 (exit code 5)",
        ),
        (pool(enableAutoScale=True), [node("unusable")], "every node of the pool p is broken"),
    ],
)
def test_there_is_none(found: dict[str, Any] | None, nodes: list[dict[str, Any]], words: str) -> None:
    assert words in judged(found, *nodes)


def test_a_job_that_the_service_makes_a_pool_for_is_left_to_the_service() -> None:
    assert pool_health.judge(Ground(None, None, own_pool=True), QUEUED) is None


def test_a_job_s_own_pool_that_is_gone_again_was_deleted() -> None:
    words = "the job's own pool was deleted"
    assert pool_health.judge(Ground("auto", None, own_pool=True), QUEUED) == words
    leaving = Ground("auto", pool(state="deleting"), own_pool=True)
    assert pool_health.judge(leaving, QUEUED) == "the job's own pool is being deleted"


def test_tasks_that_no_node_has_slots_for() -> None:
    found = Ground("p", pool(taskSlotsPerNode=4), [node("idle")])
    large, small = (
        TaskStatus(name, TaskState.QUEUED, required_slots=slots) for name, slots in (("l", 8), ("s", 4))
    )
    assert "need 8 task slots, and a node of the pool p has 4" in str(pool_health.judge(found, [large]))
    assert pool_health.judge(found, [large, small]) is None


def test_a_preparation_task_that_failed_on_every_node() -> None:
    both = [node("idle"), node("idle", "n2")]
    assert judged(pool(), *both, preparation=[failed_on("n1")]) == "None"
    verdict = judged(pool(), *both, preparation=[failed_on("n1"), failed_on("n2")])
    assert "preparation task failed on every node: exit code 4 on node n1" in verdict
    coming = [node("idle"), node("starting", "n2")]
    assert judged(pool(), *coming, preparation=[failed_on("n1")]) == "None"


def test_long_node_ids_are_cut_in_sentences() -> None:
    assert len(pool_health.short_id("tvmps_" + "a" * 64 + "_d")) < 24


@pytest.mark.parametrize(
    ("found", "wanted", "expected"),
    [
        (pool(targetDedicatedNodes=1), (1, 0), None),
        (pool(targetDedicatedNodes=5), (1, 0), None),
        (pool(targetDedicatedNodes=1), (3, 0), (3, 0)),
        (pool(targetDedicatedNodes=5, targetLowPriorityNodes=1), (1, 2), (5, 2)),
        (pool(targetDedicatedNodes=1, enableAutoScale=True), (3, 0), None),
        # It came to rest short of its targets, and does not try again by itself.
        (pool(targetDedicatedNodes=2, currentDedicatedNodes=1, resizeErrors=[QUOTA]), (1, 0), (2, 0)),
        (pool(targetDedicatedNodes=2, currentDedicatedNodes=2, resizeErrors=[QUOTA]), (1, 0), None),
        (pool(targetDedicatedNodes=2, allocationState="resizing", resizeErrors=[QUOTA]), (1, 0), None),
    ],
)
def test_a_pool_is_only_grown(
    found: dict[str, Any], wanted: tuple[int, int], expected: tuple[int, int] | None
) -> None:
    assert pools.growth(found, wanted) == expected


def test_the_own_pool_of_a_young_job_may_still_be_on_its_way(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pool_health, "gone", lambda *_: "gone")
    now = datetime(2026, 12, 1, 12, 0, 30, tzinfo=timezone.utc)
    connection: Any = SimpleNamespace(is_local=False, clock=SimpleNamespace(now=lambda: now))
    look = JobWatch(connection, "j")._gone
    own = {"poolInfo": {"autoPoolSpecification": {"pool": {}}}}
    assert look({**own, "creationTime": "2026-12-01T12:00:00Z"}) is None
    assert look({**own, "creationTime": "2026-12-01T11:00:00Z"}) == "gone"
    assert look({"poolInfo": {"poolId": "p"}, "creationTime": "2026-12-01T12:00:00Z"}) == "gone"
