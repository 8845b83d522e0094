"""Task ids and dependencies: numbers, ranges, stages and the service's limits."""

from __future__ import annotations

from typing import Any

import pytest

from azbatch_core.errors import SpecError
from azbatch_core.plan import AccountFacts, Plan, plan
from azbatch_core.plan.ids import MAX_DEPENDENCY_CHARACTERS, TaskIds, as_number
from azbatch_core.specs import IdRange, JobSpec, StageRef, TaskSpec


def task(**fields: Any) -> TaskSpec:
    """A task with a command that does not matter."""
    return TaskSpec(**{"command": ("true",), **fields})


def body_of(planned: Plan, task_id: str) -> dict[str, Any]:
    """The body of one task."""
    return next(one.body for one in planned.tasks if one.id == task_id)


def test_tasks_without_an_id_are_numbered_in_order(local: AccountFacts):
    planned = plan(JobSpec(name="j", tasks=[task(), task(), task()]), local)
    assert [one.id for one in planned.tasks] == ["1", "2", "3"]
    assert [one.body["id"] for one in planned.tasks] == ["1", "2", "3"]


def test_numbers_keep_clear_of_the_ids_that_are_given(local: AccountFacts):
    planned = plan(JobSpec(name="j", tasks=[task(), task(id="1"), task(id="3"), task()]), local)
    assert [one.id for one in planned.tasks] == ["2", "1", "3", "4"]


def test_numbers_keep_clear_of_the_preparation_task(local: AccountFacts):
    job = JobSpec(name="j", tasks=[task()], preparation={"id": "1", "command": ["true"]})
    assert plan(job, local).tasks[0].id == "2"


def test_a_stage_of_ten_thousand_tasks_is_one_range(local: AccountFacts):
    tasks = [task(stage="sample") for _ in range(10_000)]
    planned = plan(
        JobSpec(name="j", tasks=[*tasks, task(id="reduce", depends_on=[{"stage": "sample"}])]), local
    )
    assert body_of(planned, "reduce")["dependsOn"] == {"taskIdRanges": [{"start": 1, "end": 10_000}]}
    assert planned.job_body["usesTaskDependencies"] is True


def test_a_scattered_stage_is_still_one_range(local: AccountFacts):
    tasks = [task(stage=("even", "odd")[index % 2]) for index in range(100)]
    planned = plan(JobSpec(name="j", tasks=[*tasks, task(id="end", depends_on=[{"stage": "odd"}])]), local)
    assert body_of(planned, "end")["dependsOn"] == {"taskIdRanges": [{"start": 51, "end": 100}]}
    odd = {one.id for one, spec in zip(planned.tasks, tasks, strict=False) if spec.stage == "odd"}
    assert odd == {str(number) for number in range(51, 101)}


def test_stages_that_depend_on_stages_cost_one_range_for_each_task(local: AccountFacts):
    first = [task(stage="a") for _ in range(500)]
    second = [task(stage="b", depends_on=[{"stage": "a"}]) for _ in range(500)]
    planned = plan(JobSpec(name="j", tasks=[*first, *second]), local)
    for one in planned.tasks[500:]:
        assert one.body["dependsOn"] == {"taskIdRanges": [{"start": 1, "end": 500}]}


def test_a_stage_with_names_is_listed_by_name(local: AccountFacts):
    tasks = [task(id="left", stage="s"), task(id="right", stage="s"), task(depends_on=[{"stage": "s"}])]
    planned = plan(JobSpec(name="j", tasks=tasks), local)
    assert planned.tasks[2].body["dependsOn"] == {"taskIds": ["left", "right"]}


def test_a_dependency_is_written_as_the_task_that_it_names(local: AccountFacts):
    planned = plan(JobSpec(name="j", tasks=[task(id="Run1"), task(id="b", depends_on=["run1"])]), local)
    assert body_of(planned, "b")["dependsOn"] == {"taskIds": ["Run1"]}


def test_ids_and_ranges_stay_as_they_were_written(local: AccountFacts):
    tasks = [task(id=str(number)) for number in range(1, 6)]
    last = task(id="end", depends_on=["1", "2", {"range": [3, 5]}])
    planned = plan(JobSpec(name="j", tasks=[*tasks, last]), local)
    assert body_of(planned, "end")["dependsOn"] == {
        "taskIds": ["1", "2"],
        "taskIdRanges": [{"start": 3, "end": 5}],
    }


def test_numbers_that_do_not_fit_in_the_list_become_ranges():
    ids = TaskIds(())
    wanted = list(range(1, 40_001, 2))
    for number in wanted:
        ids.add(str(number), "s")
    body = ids.dependencies([StageRef(stage="s")])
    assert body is not None
    assert sum(map(len, body.get("taskIds", []))) <= MAX_DEPENDENCY_CHARACTERS
    covered = [n for run in body["taskIdRanges"] for n in range(run["start"], run["end"] + 1)]
    assert sorted(covered) == wanted


def test_too_many_names_are_refused_with_the_way_out():
    ids = TaskIds(())
    for number in range(1100):
        ids.add(f"{'x' * 55}-{number}", "s")
    with pytest.raises(SpecError, match=r"Batch allows 64,000.*leave out the ids"):
        ids.dependencies([StageRef(stage="s")])


@pytest.mark.parametrize(
    ("dependency", "text"),
    [
        ("smaple", "depends on the task 'smaple', which is not in the job.*did you mean 'sample'"),
        (StageRef(stage="stge"), "the stage 'stge', which has no tasks.*did you mean 'stage'"),
        (IdRange(start=1, end=4), "the range 1 to 4, but the job has no task '3'"),
        (IdRange(start=7, end=9), "the range 7 to 9, but the job has no task '7'"),
        (IdRange(start=1, end=3), "the range 1 to 3, but the job has no task '3'"),
    ],
)
def test_a_dependency_on_nothing_is_refused(dependency: Any, text: str):
    ids = TaskIds(())
    ids.add("sample", "stage")
    for number in ("1", "2", "4"):
        ids.add(number, None)
    with pytest.raises(SpecError, match=text):
        ids.dependencies([dependency])


def test_ids_that_differ_only_in_case_are_one_id():
    ids = TaskIds(["prep"])
    ids.add("Run1", None)
    with pytest.raises(SpecError, match="upper and lower case are the same to Batch"):
        ids.add("run1", None)
    with pytest.raises(SpecError, match="preparation or release task has that id"):
        ids.add("PREP", None)


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("0", 0),
        ("7", 7),
        ("007", None),
        ("-1", None),
        ("a", None),
        ("٣", None),
        ("2147483647", 2147483647),
        ("2147483648", None),
    ],
)
def test_only_numbers_as_the_service_writes_them_can_be_in_a_range(text: str, number: int | None):
    assert as_number(text) == number


def test_a_job_without_dependencies_does_not_say_that_it_has_some(local: AccountFacts):
    assert "usesTaskDependencies" not in plan(JobSpec(name="j", tasks=[task()]), local).job_body
