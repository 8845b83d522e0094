"""Tasks that come after the plan, one by one."""

from __future__ import annotations

from typing import Any

import pytest

from azbatch_core.errors import SpecError
from azbatch_core.plan import AccountFacts, plan
from azbatch_core.specs import JobSpec, TaskSpec


def task(**fields: Any) -> TaskSpec:
    """A task with a command that does not matter."""
    return TaskSpec(**{"command": ("true",), **fields})


def test_numbers_go_on_where_the_plan_left_off(local: AccountFacts):
    planned = plan(JobSpec(name="j", tasks=[task(), task(id="4"), task()]), local)
    assert [planned.plan_task(task()).id for _ in range(3)] == ["3", "5", "6"]
    assert len(planned.tasks) == 3


def test_a_later_task_is_planned_as_the_others(local: AccountFacts):
    job = JobSpec(name="j", container="ubuntu:24.04", retry=2)
    later = plan(job, local).plan_task(task(environment={"A": "1"}))
    assert later.body == {
        "id": "1",
        "commandLine": "true",
        "containerSettings": {"imageName": "ubuntu:24.04", "containerRunOptions": "--rm"},
        "environmentSettings": [{"name": "A", "value": "1"}],
        "constraints": {"maxTaskRetryCount": 2},
    }
    assert later.size > 0


def test_a_later_task_may_depend_on_what_came_before(local: AccountFacts):
    planned = plan(JobSpec(name="j"), local)
    for _ in range(10_000):
        planned.plan_task(task(stage="sample"))
    last = planned.plan_task(task(id="reduce", depends_on=[{"stage": "sample"}]))
    assert last.body["dependsOn"] == {"taskIdRanges": [{"start": 1, "end": 10_000}]}
    with pytest.raises(SpecError, match="depends on the task 'later', which is not in the job"):
        planned.plan_task(task(depends_on=["later"]))


def test_a_job_planned_without_dependencies_takes_none_later(local: AccountFacts):
    job = JobSpec(name="j", tasks=[task(id="a")])
    with pytest.raises(SpecError, match=r"planned without dependencies.*streaming=True"):
        plan(job, local).plan_task(task(depends_on=["a"]))
    assert plan(job, local, streaming=True).plan_task(task(depends_on=["a"])).body["dependsOn"]


def test_an_id_is_given_once(local: AccountFacts):
    planned = plan(JobSpec(name="j", tasks=[task(id="a")]), local)
    with pytest.raises(SpecError, match="task 'A': two tasks have the id 'A'"):
        planned.plan_task(task(id="A"))


def test_a_later_task_must_fit_the_pool(local: AccountFacts):
    planned = plan(JobSpec(name="j", resources={"cpus": 2}), local)
    with pytest.raises(SpecError, match="needs 64 vCPUs"):
        planned.plan_task(task(resources={"cpus": 64}))
    with pytest.raises(SpecError, match="has no container configuration"):
        planned.plan_task(task(container="ubuntu:24.04"))


def test_a_later_task_without_a_command_needs_a_container(local: AccountFacts):
    with pytest.raises(SpecError, match="task '1': command: is empty"):
        plan(JobSpec(name="j"), local).plan_task(task(command=[]))
    inside = plan(JobSpec(name="j", container="ubuntu:24.04"), local).plan_task(task(command=[]))
    assert inside.body["commandLine"] == ""


def test_later_tasks_are_all_in_containers_or_none_is(local: AccountFacts):
    planned = plan(JobSpec(name="j", pool="not-looked-up"), local)
    with pytest.raises(SpecError, match="command: is empty"):
        planned.plan_task(task(command=[]))
    planned.plan_task(task(container="ubuntu:24.04"))
    planned.plan_task(task(container="debian:13"))
    with pytest.raises(SpecError, match="task 'odd': runs without a container"):
        planned.plan_task(task(id="odd"))
    planned.rewind()
    planned.plan_task(task())
    with pytest.raises(SpecError, match="all of its tasks in containers, or none"):
        planned.plan_task(task(container="ubuntu:24.04"))
    first = plan(JobSpec(name="j", pool="not-looked-up", tasks=[task()]), local)
    with pytest.raises(SpecError, match="runs in a container"):
        first.plan_task(task(container="ubuntu:24.04"))


def test_nothing_can_depend_on_a_task_that_was_refused(local: AccountFacts):
    planned = plan(JobSpec(name="j"), local)
    with pytest.raises(SpecError, match="needs 64 vCPUs"):
        planned.plan_task(task(id="a", stage="s", resources={"cpus": 64}))
    with pytest.raises(SpecError, match="which is not in the job"):
        planned.plan_task(task(depends_on=["a"]))
    with pytest.raises(SpecError, match="which has no tasks"):
        planned.plan_task(task(depends_on=[{"stage": "s"}]))
    assert planned.plan_task(task(id="a")).id == "a"


def test_a_task_cannot_depend_on_itself_or_its_own_stage(local: AccountFacts):
    planned = plan(JobSpec(name="j"), local)
    with pytest.raises(SpecError, match="which is not in the job"):
        planned.plan_task(task(id="a", depends_on=["a"]))
    with pytest.raises(SpecError, match="which has no tasks"):
        planned.plan_task(task(stage="s", depends_on=[{"stage": "s"}]))


def test_warnings_about_later_tasks_are_kept(local: AccountFacts):
    planned = plan(JobSpec(name="j", tasks=[task(retry=-1)]), local)
    assert planned.later_warnings == ()
    planned.plan_task(task(command=["echo", "$X"]))
    (text,) = planned.later_warnings
    assert text.startswith("task 2: ")
    assert len(planned.warnings) == 1


def test_the_same_stream_gets_the_same_ids_after_a_rewind(local: AccountFacts):
    planned = plan(JobSpec(name="j", tasks=[task(id="first", stage="s")]), local, streaming=True)
    fixed = {"output_files": [{"file_pattern": "a", "path": "a", "container": "out"}]}
    stream = [task(stage="s"), task(id="named", **fixed), task(depends_on=[{"stage": "s"}], retry=-1)]
    once = [planned.plan_task(spec) for spec in stream]
    planned.rewind()
    assert planned.later_warnings == ()
    assert [planned.plan_task(spec) for spec in stream] == once
    planned.rewind()
    assert [planned.plan_task(spec) for spec in stream] == once
