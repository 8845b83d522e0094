"""Tasks: their fields, resources, retries and dependencies, one task at a time."""

from __future__ import annotations

import copy
import pickle
from datetime import timedelta
from typing import Any

import pytest
from specs_refusals import refusal

from azbatch_core.specs import IdRange, Resources, RetryPolicy, StageRef, TaskSpec


def task(**fields: Any) -> TaskSpec:
    return TaskSpec(command=["x"], **fields)


def test_a_task_needs_only_a_command():
    made = task()
    assert (made.id, made.retry, made.wall_time, made.on_failure, made.elevated) == (
        None,
        None,
        None,
        "block",
        False,
    )
    error = refusal(TaskSpec)
    assert error.message == "command: is missing"


@pytest.mark.parametrize(
    ("given_value", "expected"),
    [
        (["a", 7], ("a", "7")),
        ("a", ("a",)),
        ({"stage": "s"}, (StageRef(stage="s"),)),
        ([{"range": [1, 40]}], (IdRange(start=1, end=40),)),
        ([{"start": 1, "end": 40}], (IdRange(start=1, end=40),)),
        ([IdRange(start=1, end=1), StageRef(stage="s")], (IdRange(start=1, end=1), StageRef(stage="s"))),
        ([], ()),
    ],
)
def test_forms_of_dependencies(given_value: Any, expected: Any):
    made = task(depends_on=given_value)
    assert made.depends_on == expected
    assert TaskSpec.model_validate_json(made.model_dump_json()) == made


@pytest.mark.parametrize(
    ("given_value", "field"),
    [
        (["a", "a b"], "depends_on[1]"),
        ([""], "depends_on[0]"),
        ([None], "depends_on[0]"),
        ([True], "depends_on[0]"),
        ([1.5], "depends_on[0]"),
        ([{}], "depends_on[0]"),
        ([{"stge": "x"}], "depends_on[0]"),
        ([{"range": [1]}], "depends_on[0].range"),
        ([{"range": "1-40"}], "depends_on[0].range"),
        ([{"range": [1, "40"]}], "depends_on[0].end"),
        ([{"range": [40, 1]}], "depends_on[0]"),
        ([{"range": [-1, 1]}], "depends_on[0].start"),
        ([{"range": [1, 2**31]}], "depends_on[0].end"),
        ([{"stage": ""}], "depends_on[0].stage"),
        ([{"stage": 5}], "depends_on[0].stage"),
    ],
)
def test_wrong_dependencies_are_named_by_their_place(given_value: Any, field: str):
    assert refusal(task, depends_on=given_value).field == field


def test_ids_of_dependencies_have_at_most_64000_characters_together():
    assert len(task(depends_on=["x" * 64] * 1000).depends_on) == 1000
    error = refusal(task, depends_on=["x" * 64] * 1000 + ["y"])
    assert "64001 characters" in error.message
    assert error.hint
    assert "range" in error.hint


@pytest.mark.parametrize("value", [3, {"max_retries": 3}, RetryPolicy(max_retries=3)])
def test_forms_of_retries(value: Any):
    assert task(retry=value).retry == RetryPolicy(max_retries=3)


@pytest.mark.parametrize("value", [-2, 2**31, 1.0, "3", True])
def test_wrong_retries_are_refused(value: Any):
    refusal(RetryPolicy, max_retries=value)


def test_retries_without_end_can_be_asked_for():
    assert RetryPolicy(max_retries=-1).max_retries == -1
    assert refusal(task, retry={"max": 1}).hint == "the fields here are max_retries"


@pytest.mark.parametrize(
    ("fields", "field"),
    [
        ({"cpus": 0}, "cpus"),
        ({"cpus": -1}, "cpus"),
        ({"cpus": float("nan")}, "cpus"),
        ({"cpus": float("inf")}, "cpus"),
        ({"cpus": "4"}, "cpus"),
        ({"cpus": True}, "cpus"),
        ({"memory": "16G"}, "memory"),
        ({"memory": 0}, "memory"),
        ({"disk": True}, "disk"),
        ({"gpus": -1}, "gpus"),
        ({"gpus": 1.0}, "gpus"),
        ({"gpus": True}, "gpus"),
        ({"gpu_model": "A100"}, "gpu_model"),
        ({"gpus": 1, "gpu_model": ""}, "gpu_model"),
        ({"memroy": "1GiB"}, "memroy"),
    ],
)
def test_wrong_resources(fields: dict[str, Any], field: str):
    assert refusal(Resources, **fields).field == field


def test_right_resources():
    resources = Resources(cpus=0.5, memory="16GiB", gpus=2, gpu_model="A100", disk="100GB")
    assert (resources.memory, resources.disk) == (16 * 2**30, 100 * 10**9)
    assert Resources(cpus=4).cpus == 4
    assert Resources.model_validate_json(resources.model_dump_json()) == resources


@pytest.mark.parametrize(
    ("fields", "field"),
    [
        ({"required_slots": 0}, "required_slots"),
        ({"required_slots": 257}, "required_slots"),
        ({"display_name": "x" * 1025}, "display_name"),
        ({"stage": "a b"}, "stage"),
        ({"on_failure": "blok"}, "on_failure"),
        ({"elevated": "maybe"}, "elevated"),
        ({"wall_time": "5"}, "wall_time"),
        ({"resource_files": {}}, "resource_files"),
        ({"resource_files": [{"http_url": "https://a.example/x"}]}, "resource_files[0].file_path"),
        ({"output_files": ["*"]}, "output_files[0]"),
        ({"resources": {"cpus": 0}}, "resources.cpus"),
        ({"container": {"image": "a", "registry": {"password": "x"}}}, "container.registry.username"),
    ],
)
def test_wrong_fields_are_named_by_their_path(fields: dict[str, Any], field: str):
    assert refusal(task, **fields).field == field


@pytest.mark.parametrize(
    ("name", "hint"),
    [
        ("comand", "did you mean 'command'?"),
        ("dependsOn", "did you mean 'depends_on'?"),
        ("wall-time", "did you mean 'wall_time'?"),
        ("env", "did you mean 'environment'?"),
        ("max_retries", "write retry: {max_retries: …}"),
        ("gpus", "write resources: {gpus: …}"),
        ("image", "write container: {image: …}"),
    ],
)
def test_an_unknown_field_comes_with_the_right_one(name: str, hint: str):
    assert refusal(task, **{name: 1}).hint == hint


def test_a_misspelled_field_is_told_rather_than_the_missing_one():
    assert refusal(TaskSpec, comand=["x"]).field == "comand"


def test_a_changed_copy_is_checked_and_the_original_stays():
    original = task(id="a", retention="1h")
    changed = original.replace(id="b", wall_time="5m")
    assert (original.id, changed.id, changed.wall_time, changed.retention) == (
        "a",
        "b",
        timedelta(minutes=5),
        timedelta(hours=1),
    )
    assert refusal(original.replace, id="a b").field == "id"
    assert refusal(setattr, original, "id", "b").field == "id"
    assert original == task(id="a", retention=3600)
    assert len({original, task(id="a", retention=3600)}) == 1


def test_specs_survive_copies_and_pickles():
    original = task(id="a", depends_on=["b", {"stage": "s"}], environment={"A": 1})
    assert copy.deepcopy(original) == original
    assert pickle.loads(pickle.dumps(original)) == original  # noqa: S301  # what it reads was written just here
