"""How the members of a gang stand, who failed first, and on which pools none ever starts."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime, timedelta, timezone
from itertools import permutations
from typing import Any

import pytest

from azbatch_core.plan.scaling import Scaling, formula
from azbatch_core.service.states import FailureCategory, MemberStatus, TaskState, TaskStatus
from azbatch_core.service.watch import pool_health, why
from azbatch_core.service.watch.members import blame, culprit, members_of, node_file
from azbatch_core.service.watch.pool_health import Ground

START = datetime(2026, 1, 1, tzinfo=timezone.utc)
FAILURE = {"category": "UserError", "code": "FailureExitCode", "message": "m"}
ENDED = {"category": "UserError", "code": "TaskEnded", "message": "m"}
GANG = TaskStatus("g", TaskState.RUNNING, nodes=3, started=START, node_id="n0", pool_id="p")
LOST = replace(
    GANG,
    state=TaskState.FAILED,
    exit_code=3,
    ended=START + timedelta(seconds=9),
    category=FailureCategory.USER,
    message="exit code 3",
    code="FailureExitCode",
)
ADDRESSES = {"n0": "10.0.0.1", "n1": "10.0.0.20", "n2": "10.0.0.3"}


def subtask(number: int, state: str = "running", *, second: int = 5, **more: Any) -> dict[str, Any]:
    document = {
        "id": number,
        "state": state,
        "startTime": "2026-01-01T00:00:00Z",
        "nodeInfo": {
            "nodeId": f"n{number}",
            "poolId": "p",
            "taskRootDirectory": "workitems/j/job-1/g/1",
        },
    }
    if state == "completed":
        document["endTime"] = f"2026-01-01T00:00:0{second}Z"
    return {**document, **more}


def done(number: int, code: int = 0, failure: Any = None, **more: Any) -> dict[str, Any]:
    extra = {"failureInfo": failure} if failure else {}
    result = "failure" if failure else "success"
    return subtask(number, "completed", exitCode=code, result=result, **extra, **more)


def test_ranks_follow_addresses_after_the_main_node():
    for order in permutations([subtask(1), subtask(2)]):
        members = members_of(GANG, order, ADDRESSES)
        assert [(member.rank, member.subtask, member.node_id) for member in members] == [
            (0, 0, "n0"),
            (1, 2, "n2"),
            (2, 1, "n1"),
        ]


def test_without_addresses_batchs_numbers_give_the_order():
    members = members_of(GANG, [subtask(2), subtask(1)], {"n1": "10.0.0.20"})
    assert [member.subtask for member in members] == [0, 1, 2]


@pytest.mark.parametrize("state", list(TaskState))
def test_there_are_as_many_members_as_nodes_whatever_is_listed(state: TaskState):
    task = TaskStatus("g", state, nodes=3)
    members = members_of(task, [], {})
    assert [member.rank for member in members] == [0, 1, 2]
    assert members[0].state is state
    told = {
        TaskState.RUNNING: TaskState.QUEUED,
        TaskState.PREPARING: TaskState.QUEUED,
        TaskState.FAILED: TaskState.CANCELLED,
    }
    assert members[2].state is told.get(state, state)


@pytest.mark.parametrize(
    ("document", "state"),
    [
        (subtask(1, "preparing"), TaskState.PREPARING),
        (subtask(1, "running"), TaskState.RUNNING),
        (subtask(1, "something new"), TaskState.RUNNING),
        (done(1), TaskState.SUCCEEDED),
        (subtask(1, "completed", exitCode=0), TaskState.SUCCEEDED),
        (done(1, 3, FAILURE), TaskState.FAILED),
        (done(1, -9, ENDED), TaskState.CANCELLED),
    ],
)
def test_every_state_of_a_subtask_has_its_word(document: dict[str, Any], state: TaskState):
    assert members_of(GANG, [document], {})[1].state is state


def test_the_member_that_failed_first_is_to_blame():
    listed = [done(1, 7, FAILURE, second=6), done(2, 3, FAILURE, second=4)]
    members = members_of(LOST, listed, {})
    blamed = blame(LOST, members)
    assert (blamed.member, blamed.exit_code, blamed.message) == (2, 3, "member 2: exit code 3")
    # The task's record repeats the failure of another: the primary itself was ended.
    assert (members[0].state, members[0].exit_code) == (TaskState.CANCELLED, None)
    assert members[0].message == "ended because member 2 failed"


def test_the_primary_that_failed_is_to_blame():
    members = members_of(LOST, [done(1, -9, ENDED), done(2, -9, ENDED)], {})
    blamed = blame(LOST, members)
    assert (blamed.member, blamed.message) == (0, "member 0: exit code 3")
    assert [member.state for member in members] == [
        TaskState.FAILED,
        TaskState.CANCELLED,
        TaskState.CANCELLED,
    ]


def test_a_primary_with_an_exit_code_of_its_own_failed_itself():
    members = members_of(replace(LOST, exit_code=5), [done(1, 7, FAILURE)], {})
    assert members[0].state is TaskState.FAILED


def test_wall_time_is_nobodys_fault():
    timed_out = replace(LOST, category=FailureCategory.WALLTIME, message="its wall time ran out")
    members = members_of(timed_out, [done(1, -9, ENDED), done(2, -9, ENDED)], {})
    assert blame(timed_out, members) == timed_out


def test_a_failure_that_no_member_tells_of_stays_the_tasks():
    listed = [subtask(1), subtask(2)]
    quiet = replace(GANG, state=TaskState.SUCCEEDED)
    assert culprit(members_of(quiet, listed, {})) is None
    assert blame(quiet, members_of(quiet, listed, {})) == quiet


def test_files_of_a_subtask_are_where_its_record_says():
    member = MemberStatus(
        1, 1, TaskState.RUNNING, node_id="n1", pool_id="p", folder=r"\workitems\j\job-1\g\1"
    )
    path = ("pools", "p", "nodes", "n1", "files", "workitems/j/job-1/g/1/stdout.txt")
    assert node_file(member, "stdout.txt") == path
    assert node_file(MemberStatus(0, 0, TaskState.RUNNING, node_id="n", pool_id="p"), "stdout.txt") is None


# Waiting


def ground(nodes: int = 3, states: tuple[str, ...] = ("idle",) * 3, **fields: Any) -> Ground:
    pool = {
        "id": "p",
        "state": "active",
        "allocationState": "steady",
        "targetDedicatedNodes": nodes,
        "enableInterNodeCommunication": True,
        "taskSlotsPerNode": 1,
    }
    listed = [{"id": f"n{place}", "state": state} for place, state in enumerate(states)]
    return Ground("p", {**pool, **fields}, listed)


QUEUED = [TaskStatus("g", TaskState.QUEUED, nodes=3)]


@pytest.mark.parametrize(
    ("found", "words"),
    [
        (ground(enableInterNodeCommunication=False), "has no inter-node communication"),
        (ground(taskSlotsPerNode=4), "has 4 task slots on a node"),
        (ground(2, ("idle", "idle")), "has 2 nodes, and a gang needs 3 at once"),
    ],
)
def test_a_pool_on_which_a_gang_never_starts(found: Ground, words: str):
    assert words in str(pool_health.judge(found, QUEUED))
    # A plain task beside it may still start.
    assert pool_health.judge(found, [*QUEUED, TaskStatus("t", TaskState.QUEUED)]) is None


@pytest.mark.parametrize(
    "found",
    [
        ground(),
        ground(3, ("idle",)),
        ground(2, ("idle", "idle"), allocationState="resizing"),
        ground(0, ("idle",), enableAutoScale=True),
        ground(0, ("idle",), enableAutoScale=True, autoScaleFormula=formula(Scaling(max_nodes=3))),
    ],
)
def test_a_pool_on_which_a_gang_may_start(found: Ground):
    assert pool_health.judge(found, QUEUED) is None


def explained(found: Ground) -> list[tuple[str, str, str | None]]:
    job = {"id": "j", "state": "active"}
    return [(one.subject, one.text, one.hint) for one in why.explain(job, QUEUED, found)]


def test_why_says_how_many_nodes_are_free():
    assert explained(ground(3, ("idle", "running", "running"))) == [
        ("task g", "waits until 3 nodes are free at once: 1 of the 3 there is", None)
    ]


def test_why_says_what_to_do_about_too_few_nodes():
    ((subject, text, hint),) = explained(ground(2, ("idle", "idle")))
    assert (subject, text) == ("pool p", "it has 2 nodes, and a gang needs 3 at once")
    assert hint == "azbatch pools resize p --nodes 3"


def test_why_of_a_formula_that_stops_too_early():
    grows = ground(2, ("idle", "idle"), enableAutoScale=True, autoScaleFormula=formula(Scaling(max_nodes=2)))
    ((subject, text, hint),) = explained(grows)
    assert (subject, text) == ("pool p", "it grows to at most 2 nodes, and a gang needs 3 at once")
    assert hint == "submit it without a pool: azbatch makes one that fits"


def test_why_of_a_pool_that_is_not_for_gangs():
    ((_, text, hint),) = explained(ground(enableInterNodeCommunication=False))
    assert text == "it has no inter-node communication, which gangs need"
    assert hint == "submit it without a pool: azbatch makes one that fits"
