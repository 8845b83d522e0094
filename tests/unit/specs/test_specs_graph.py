"""All tasks of a job together: ids, dependencies, circles; at sizes where a careless check would not end."""

from __future__ import annotations

from typing import Any

import pytest
from specs_refusals import refusal

from azbatch_core.specs import IdRange, JobSpec, StageRef, TaskSpec

COUNT = 10_000


def job(*tasks: dict[str, Any]) -> JobSpec:
    return JobSpec(name="x", tasks=[{"command": ["x"], **fields} for fields in tasks])


def test_ids_that_differ_only_in_case_are_refused():
    error = refusal(job, {"id": "Run1"}, {}, {"id": "run1"})
    assert error.field == "tasks[2].id"
    assert "'Run1'" in error.message
    assert "ignores case" in error.message
    assert refusal(job, {"id": "a"}, {"id": "a"}).field == "tasks[1].id"


def test_dependencies_are_found_whatever_the_case():
    job({"id": "A"}, {"depends_on": ["a"]})


def test_dependencies_may_come_before_what_they_name():
    job({"id": "b", "depends_on": ["a"]}, {"id": "a"})


@pytest.mark.parametrize(
    ("dependency", "reason", "hint"),
    [
        ("smaple-1", "no task has the id 'smaple-1'", "did you mean 'sample-1'?"),
        ("1-3", "no task has the id '1-3'", "for a range write {range: [1, 3]}"),
        ("reduce", "no task has the id 'reduce'", "for the stage write {stage: reduce}"),
        ("zzz", "no task has the id 'zzz'", None),
        ({"stage": "redcue"}, "no task has the stage 'redcue'", "did you mean 'reduce'?"),
        ({"stage": "zz"}, "no task has the stage 'zz'", "the stages are 'reduce'"),
        ({"stage": "REDUCE"}, "no task has the stage 'REDUCE'", "did you mean 'reduce'?"),
        ({"range": [1, 4]}, "no task has the id '3'", None),
        ({"range": [0, 2]}, "no task has the id '0'", None),
        ({"range": [4, 6]}, "no task has the id '5'", None),
        ({"range": [7, 9]}, "no task has the id '7'", None),
        ({"range": [1, 2**31 - 1]}, "no task has the id '3'", None),
    ],
)
def test_a_dependency_that_does_not_exist_is_told_with_the_nearest_right_one(
    dependency: Any, reason: str, hint: str | None
):
    tasks = [{"id": "sample-1", "stage": "reduce"}, {"id": "1"}, {"id": "2"}, {"id": "4"}, {"id": "007"}]
    error = refusal(job, *tasks, {"depends_on": ["1", dependency]})
    assert error.field == "tasks[5].depends_on[1]"
    assert reason in error.message
    assert error.hint == hint


def test_a_task_is_not_told_to_wait_for_itself():
    assert refusal(job, {"id": "train", "depends_on": ["tran"]}).hint is None
    other = refusal(job, {"id": "train-1"}, {"id": "train", "depends_on": ["tran"]})
    assert other.hint == "did you mean 'train-1'?"
    stage = refusal(job, {"stage": "train", "depends_on": [{"stage": "tran"}]})
    assert stage.hint == "write stage: tran on the tasks to wait for"


@pytest.mark.parametrize(
    ("tasks", "names"),
    [
        ([{"id": "a", "depends_on": ["a"]}], "a waits for itself"),
        ([{"id": "a", "depends_on": ["A"]}], "a waits for itself"),
        ([{"id": "a", "depends_on": ["b"]}, {"id": "b", "depends_on": ["a"]}], "a -> b -> a"),
        ([{"stage": "s", "depends_on": [{"stage": "s"}]}], "tasks[0] waits for itself"),
        ([{"id": "5", "depends_on": [{"range": [4, 6]}]}, {"id": "4"}, {"id": "6"}], "5 waits for itself"),
        (
            [
                {"id": "1", "depends_on": [{"stage": "s"}]},
                {"id": "2"},
                {"id": "3", "stage": "s", "depends_on": [{"range": [1, 2]}]},
            ],
            "1 -> 3 -> 1",
        ),
    ],
)
def test_tasks_that_wait_for_each_other_are_refused_by_name(tasks: list[dict[str, Any]], names: str):
    assert names in refusal(
        job, {"id": "other"}, {"id": "more", "depends_on": ["other"]}, *tasks
    ).message.replace(f"tasks[{2}]", "tasks[0]")


def test_a_range_beside_its_own_task_is_no_circle():
    job(
        *(
            {"id": str(number), "depends_on": [{"range": [0, number - 1]}] if number else []}
            for number in range(100)
        )
    )


def test_a_long_chain_needs_no_recursion():
    tasks = [TaskSpec(id=f"t{i}", command=["x"], depends_on=[f"t{i - 1}"] if i else ()) for i in range(COUNT)]
    assert len(JobSpec(name="x", tasks=tasks).tasks) == COUNT
    tasks[0] = tasks[0].replace(depends_on=[f"t{COUNT - 1}"])
    assert "…" in refusal(JobSpec, name="x", tasks=tasks).message


def test_everybody_waiting_for_everybody_before_is_not_quadratic():
    ranges = [
        TaskSpec(id=i, command=["x"], depends_on=[IdRange(start=0, end=i - 1)] if i else ())
        for i in range(COUNT)
    ]
    assert len(JobSpec(name="x", tasks=ranges).tasks) == COUNT
    stages = [
        TaskSpec(command=["x"], stage=f"s{i % 2}", depends_on=[StageRef(stage="s0")] if i % 2 else ())
        for i in range(COUNT)
    ]
    assert len(JobSpec(name="x", tasks=stages).tasks) == COUNT
