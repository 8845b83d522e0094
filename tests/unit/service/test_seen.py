"""What is kept between two looks must tell the same as judging every task anew."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from hypothesis import given
from hypothesis import strategies as st

from azbatch_core.service.states import TaskState
from azbatch_core.service.watch.seen import SeenTasks
from azbatch_core.service.watch.status import task_statuses

if TYPE_CHECKING:
    from collections.abc import Sequence

JOB = {"id": "j", "state": "active"}
IDS = ("a", "b", "c", "7", "8")
ENDS = (None, ("success", 0), ("failure", 3))


def _task(
    name: str, state: str, end: tuple[str, int] | None, waits_for: Sequence[str], second: int
) -> dict[str, Any]:
    task: dict[str, Any] = {
        "id": name,
        "state": state,
        "stateTransitionTime": f"2026-01-01T00:00:{second:02}.5Z",
    }
    if waits_for:
        task["dependsOn"] = {"taskIds": list(waits_for)}
    if state == "completed" and end is not None:
        task["executionInfo"] = {"result": end[0], "exitCode": end[1]}
    return task


TASKS = st.builds(
    _task,
    st.sampled_from(IDS),
    st.sampled_from(("active", "running", "completed")),
    st.sampled_from(ENDS[1:]),
    st.lists(st.sampled_from((*IDS, "gone")), max_size=2),
    st.integers(0, 59),
)
JOBS = st.sampled_from(
    (
        JOB,
        {"id": "j", "state": "completed", "executionInfo": {"terminateReason": "UserTerminate"}},
        {"id": "j", "state": "completed", "executionInfo": {"terminateReason": "MaxWallClockTimeExpiry"}},
    )
)
LOOKS = st.lists(
    st.tuples(JOBS, st.booleans(), st.lists(TASKS, max_size=6, unique_by=lambda task: task["id"]))
)


@given(LOOKS)
def test_what_is_kept_between_looks_tells_the_same_as_judging_every_task_anew(
    looks: list[tuple[dict[str, Any], bool, list[dict[str, Any]]]],
) -> None:
    seen, known = SeenTasks(), dict[str, dict[str, Any]]()
    for job, everything, listed in looks:
        before = dict(known)
        if everything:
            known.clear()
        known.update({task["id"]: task for task in listed})
        changed = (seen.replace if everything else seen.update)(listed)

        assert seen.statuses(job) == task_statuses(job, known.values())
        assert changed == (before != known)
        assert len(seen) == len(known)
        if everything:
            assert seen.latest == max((task["stateTransitionTime"] for task in listed), default="")


def test_a_task_that_has_gone_from_a_full_list_is_a_change() -> None:
    seen = SeenTasks()
    tasks = [_task(name, "running", None, (), 1) for name in ("a", "b")]
    assert seen.replace(tasks)
    assert not seen.replace([dict(task) for task in tasks])
    assert seen.replace(tasks[:1])
    assert [task.id for task in seen.statuses(JOB)] == ["a"]


def test_one_that_waits_is_judged_again_when_another_ends() -> None:
    seen = SeenTasks()
    seen.replace([_task("a", "running", None, (), 1), _task("b", "active", None, ("a",), 1)])
    assert [task.state for task in seen.statuses(JOB)] == [TaskState.RUNNING, TaskState.WAITING]
    seen.update([_task("a", "completed", ("failure", 1), (), 2)])
    assert [task.state for task in seen.statuses(JOB)] == [TaskState.FAILED, TaskState.BLOCKED]
    seen.update([_task("a", "completed", ("success", 0), (), 3)])  # reactivated meanwhile
    assert [task.state for task in seen.statuses(JOB)] == [TaskState.SUCCEEDED, TaskState.QUEUED]


def test_fractions_of_different_length_are_in_order() -> None:
    seen = SeenTasks()
    seen.update([{"id": "a", "stateTransitionTime": "2026-01-01T00:00:01.25Z"}])
    seen.update([{"id": "b", "stateTransitionTime": "2026-01-01T00:00:01.3Z"}])
    seen.update([{"id": "c", "stateTransitionTime": "2026-01-01T00:00:01.2999999Z"}])
    assert seen.latest == "2026-01-01T00:00:01.3Z"
