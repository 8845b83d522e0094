"""Job files: what they mean, and on which line they are wrong."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from specs_refusals import SECRET, refusal

from azbatch_core.errors import SpecError
from azbatch_core.specs import (
    ExistingPool,
    IdRange,
    JobSpec,
    Resources,
    Shell,
    StageRef,
    TaskSpec,
    load_job,
    parse_job,
)

if TYPE_CHECKING:
    from pathlib import Path

HELLO = JobSpec(name="hello", tasks=[{"command": ["echo", "hi"]}])


def test_the_smallest_job_file():
    assert parse_job("name: hello\ntasks: [{command: [echo, hi]}]\n") == HELLO


def test_the_same_job_as_json(tmp_path: Path):
    text = '{"name": "hello",\n\t"tasks": [{"command": ["echo", "hi"]}]}'
    assert parse_job(text) == HELLO
    (tmp_path / "job.json").write_text(text, "utf-8")
    assert load_job(tmp_path / "job.json") == HELLO
    assert load_job(str(tmp_path / "job.json")) == HELLO


def test_a_byte_order_mark_is_not_part_of_the_job(tmp_path: Path):
    (tmp_path / "job.yaml").write_text("\ufeffname: hello\ntasks: [{command: [echo, hi]}]\n", "utf-8")
    assert load_job(tmp_path / "job.yaml") == HELLO


def test_a_whole_job_file():
    job = parse_job(
        """
name: pi
resources: {cpus: 4, memory: 16GiB}
pool: my-pool
environment: {SEED: 7, FLAG: true, EMPTY: null, TOKEN: {secret: env:TOKEN}}
wall_time: null
tasks:
  - &sample {id: 1, stage: sample, command: {shell: "echo $SEED"}}
  - {<<: *sample, id: 2}
  - id: reduce
    command: [cat, a b]
    depends_on: [{stage: sample}, {range: [1, 2]}, 1]
    on_failure: satisfy
"""
    )
    assert job.resources == Resources(cpus=4, memory="16GiB")
    assert job.pool == ExistingPool(id="my-pool")
    assert job.wall_time is None
    assert [variable.value for variable in job.environment] == ["7", "true", "", None]
    assert job.tasks[1] == TaskSpec(id="2", stage="sample", command=Shell(script="echo $SEED"))
    assert job.tasks[2].depends_on == (StageRef(stage="sample"), IdRange(start=1, end=2), "1")


@pytest.mark.parametrize(
    "text",
    [
        "no",
        "yes",
        "on",
        "off",
        "True",
        "12:30",
        "1:2:3",
        "010",
        "0x10",
        "1_000",
        "2026-12-01",
        "1.50",
        "1e3",
        ".5",
        "-0.0",
        "true",
        "7",
        "=",
        "NaN",
    ],
)
def test_an_argument_is_what_the_file_says(text: str):
    assert parse_job(f"name: x\ntasks: [{{command: [{text}]}}]\n").tasks[0].command == (text,)
    assert parse_job(f"name: x\nmetadata:\n  a: {text}\n").metadata == {"a": text}


def test_numbers_are_numbers_where_numbers_belong():
    job = parse_job("name: 2026\nresources: {cpus: 1.50, gpus: 2}\npriority: -5\nmetadata: {1: 2}\n")
    assert job.resources
    assert (job.name, job.resources.cpus, job.resources.gpus, job.priority, job.metadata) == (
        "2026",
        1.5,
        2,
        -5,
        {"1": "2"},
    )
    assert json.loads(job.model_dump_json())["resources"]["cpus"] == 1.5


@pytest.mark.parametrize(
    ("text", "line", "reason"),
    [
        ("name: x\ntasks:\n - comand: [echo]\n", 3, "tasks[0].comand: unknown field"),
        ("name: x\ntasks:\n - command: [a]\n - command: [a]\n   id: a b\n", 5, "tasks[1].id: 'a b'"),
        ("name: x\ntasks:\n - command:\n    - a\n    - null\n", 5, "tasks[0].command[1]"),
        ("name: x\ntasks:\n - id: a\n - id: b\n   command: [a]\n", 3, "tasks[0].command: is missing"),
        (
            "name: x\npool:\n  nodes: 2\n  start_task:\n    command: apt-get update\n",
            5,
            "pool.start_task.command",
        ),
        ("name: x\nenvironment:\n  A: 1\n  a.b: [1]\n", 4, 'environment["a.b"]'),
        ("name: x\nenvironment:\n  A: 1\n  T: {secret: env:1}\n", 4, "environment.T.secret"),
        ("tasks: []\n", 1, "name: is missing"),
        ("name: x\n\n\nrelease:\n  command: [a]\n", 4, "release: needs preparation"),
        (
            "name: x\ntasks:\n- id: a\n  command: [a]\n- command: [a]\n  depends_on:\n  - a\n  - c\n",
            8,
            "tasks[1].depends_on[1]",
        ),
        ("name: x\nname: y\n", 2, "'name' is given twice"),
        ("name: x\ntasks:\n- command: [a]\n  id: a\n  id: b\n", 5, "'id' is given twice"),
        ("name: x\nmetadata: {a: 1, a: 2}\n", 2, "'a' is given twice"),
        ("\tname: x\n", 1, "does not allow a tab"),
        ("name: x\ntasks:\n\t- command: [a]\n", 3, "does not allow a tab"),
        ("name: x: y\n", 1, "not valid YAML"),
        ("name: [x\n", 1, "not valid YAML"),
        ("name: 'x\n", 1, "not valid YAML"),
        ("name: @x\n", 1, "not valid YAML"),
        ("name: *x\n", 1, "not valid YAML"),
        ("- 1\n", 1, "is a mapping"),
        ("just text\nmore\n", 1, "is a mapping"),
        ("\n", 1, "empty"),
        ("# nothing\n", 1, "empty"),
        ("---\n...\n", 1, "mapping"),
        ("name: x\n---\nname: y\n", 2, "describes one job"),
        ("name: x\nmetadata: {a: !!python/object/apply:os.getcwd []}\n", 2, "the tag"),
        ("name: x\nmetadata: {a: !!python/name:os.getcwd x}\n", 2, "not allowed"),
        ("name: x\nmetadata: {a: !!binary aGk=}\n", 2, "not allowed"),
        ("name: x\nmetadata: {a: !!int abc}\n", 2, "not allowed"),
        ("name: x\nmetadata: {a: !!bool maybe}\n", 2, "not allowed"),
        ("name: x\nmetadata: {[a]: 1}\n", 2, "key must be text"),
        ("name: x\nmetadata: {<<: 1}\n", 2, "takes a mapping"),
        ("name: x\ntasks: &a [*a]\n", 2, "alias"),
        ("name: x\nmetadata: &a {b: *a}\n", 2, "alias"),
        ("name: a\x07b\n", 1, "character"),
        ("name: x\ntasks: " + "[" * 500 + "]" * 500 + "\n", 2, "nested too deeply"),
        ('{"name": "x",\n "name": "y"}', 2, "'name' is given twice"),
        ('{"name": "x",\n\t"priority":\n\t99999}', 2, "priority: 99999"),
        ('{"name": "\\ud83d\\ude00",\n\t"priority": 99999}', 2, "priority: 99999"),
        ('{"name": "x",\n "priority": NaN}', 2, "not 'NaN'"),
        ('{"name": "x",\n "priority": 1', 2, "not valid YAML"),
    ],
)
def test_a_mistake_in_a_file_is_told_with_its_line(text: str, line: int, reason: str):
    error = refusal(parse_job, text)
    assert reason in error.message
    assert error.message.startswith(f"<text>:{line}: ")
    assert error.line == line


@pytest.mark.parametrize(
    "text",
    [
        '{"a": ' * 100_000,
        "[" * 100_000 + "\n",
        '{"name": "x", "tasks": ' + "[" * 5000 + "]" * 5000 + "}",
        "- " * 5000 + "\n",
    ],
)
def test_a_file_nested_without_end_is_refused(text: str):
    refusal(parse_job, text)


def test_an_alias_bomb_is_refused():
    lines = ["a0: &a0 [x, x, x, x, x, x, x, x, x, x]"]
    lines += [f"a{i}: &a{i} [{', '.join([f'*a{i - 1}'] * 10)}]" for i in range(1, 9)]
    assert "alias" in refusal(parse_job, "\n".join(lines) + "\n").message


def test_the_file_is_named_in_the_error(tmp_path: Path):
    path = tmp_path / "job.yaml"
    path.write_text("name: x\ntaks: []\n", "utf-8")
    error = refusal(load_job, path)
    assert str(error) == f"{path}:2: taks: unknown field - did you mean 'tasks'?"
    assert (error.field, error.line) == ("taks", 2)


def test_json_is_told_by_its_own_reader_when_the_name_says_json(tmp_path: Path):
    path = tmp_path / "job.json"
    path.write_text('{"name": "x",\n}', "utf-8")
    error = refusal(load_job, path)
    assert "not valid JSON" in error.message
    assert error.line in {1, 2}


def test_a_file_that_cannot_be_read_is_an_error_of_one_line(tmp_path: Path):
    (tmp_path / "latin.yaml").write_bytes(b"name: r\xe9seau\n")
    assert "UTF-8" in refusal(load_job, tmp_path / "latin.yaml").message
    assert "No such file" in refusal(load_job, tmp_path / "none.yaml").message
    assert "cannot be read" in refusal(load_job, tmp_path).message
    assert "cannot be read" in refusal(load_job, "a\0b").message


def test_a_secret_in_a_file_with_a_mistake_is_not_shown():
    refusal(parse_job, f"name: x\nenvironment:\n  T: {{secrt: {SECRET}}}\n")
    refusal(parse_job, f"name: x\nacount_key: {SECRET}\n")


def job_or_error(text: str) -> JobSpec | str:
    try:
        return parse_job(text)
    except SpecError as error:
        return str(error)


@given(st.text(max_size=60))
def test_any_text_is_a_job_or_an_error_of_one_line(text: str):
    outcome = job_or_error(text + "\n")
    assert isinstance(outcome, JobSpec) or "\n" not in outcome


VALUES: Any = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from([*TaskSpec.model_fields, "stage", "x"]), inner, max_size=3)
    ),
    max_leaves=8,
)


@given(st.dictionaries(st.sampled_from(list(JobSpec.model_fields)), VALUES, max_size=4))
def test_any_json_is_a_job_or_an_error_of_one_line(content: dict[str, Any]):
    content.setdefault("name", "x")
    outcome = job_or_error(json.dumps(content))
    if isinstance(outcome, JobSpec):
        assert parse_job(outcome.model_dump_json()) == outcome
    else:
        assert "\n" not in outcome


@pytest.mark.parametrize(
    "text", ["name: x\nresources: {cpus: %s}\n", '{"name": "x",\n"resources": {"cpus": %s}}']
)
@pytest.mark.parametrize("digits", [400, 5000])
def test_a_number_with_very_many_digits_is_out_of_range(text: str, digits: int):
    error = refusal(parse_job, text % ("9" * digits), name="stdin")
    assert error.message.startswith("stdin:2: ")
    assert "quotes" not in str(error)
    assert len(str(error)) < 200


def test_an_empty_text_is_called_what_the_caller_calls_it():
    assert refusal(parse_job, "", name="stdin").message == "stdin:1: is empty"


@pytest.mark.parametrize(
    "field", ["resources: {cpus: %s}", "resources: {gpus: %s}", "max_parallel_tasks: %s"]
)
@pytest.mark.parametrize("digits", [40, 400])
def test_a_huge_number_is_out_of_range_wherever_it_stands(field: str, digits: int):
    assert "is out of range" in refusal(parse_job, f"name: x\n{field % ('9' * digits)}\n").message
