"""Environment variables: every form of giving them, and what is refused."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from specs_refusals import refusal

from azbatch_core.specs import EnvironmentVariable, JobSpec, Secret, TaskSpec

CONNECTION = "Server=tcp:x,1433;Database=d;Password=a=b=="


def environment(given_value: Any) -> dict[str, str | Secret | None]:
    task = TaskSpec(command=["x"], environment=given_value)
    return {variable.name: variable.secret or variable.value for variable in task.environment}


def test_a_value_may_have_equals_signs():
    assert environment([f"CONN={CONNECTION}"]) == {"CONN": CONNECTION}
    assert environment({"CONN": CONNECTION}) == {"CONN": CONNECTION}
    assert environment(["A="]) == {"A": ""}
    assert environment(["A=="]) == {"A": "="}


def test_all_forms_of_a_mapping():
    given_value = {
        "TEXT": "1",
        "INT": 7,
        "FLOAT": 1.5,
        "TRUE": True,
        "FALSE": False,
        "NULL": None,
        "SECRET": {"secret": "env:TOKEN"},
        "OBJECT": Secret("env:OTHER"),
        "VALUE": {"value": "v"},
    }
    assert environment(given_value) == {
        "TEXT": "1",
        "INT": "7",
        "FLOAT": "1.5",
        "TRUE": "true",
        "FALSE": "false",
        "NULL": "",
        "SECRET": Secret("env:TOKEN"),
        "OBJECT": Secret("env:OTHER"),
        "VALUE": "v",
    }


def test_all_forms_of_a_list():
    variable = EnvironmentVariable(name="A", value="1")
    assert TaskSpec(
        command=["x"], environment=[variable, {"name": "B", "value": "2"}, "C=3"]
    ).environment == (
        variable,
        EnvironmentVariable(name="B", value="2"),
        EnvironmentVariable(name="C", value="3"),
    )


@pytest.mark.parametrize("name", ["AZ_BATCH_POOL_ID", "az_batch_x", "AZ_BATCH_"])
def test_names_that_batch_sets_itself_are_refused(name: str):
    error = refusal(environment, {name: "1"})
    assert error.field == f"environment.{name}"
    assert "Batch itself" in error.message


@pytest.mark.parametrize("name", ["", "A B", "A=B", "A\n", "A\0", " A"])
def test_malformed_names_are_refused(name: str):
    refusal(environment, {name: "1"})
    refusal(EnvironmentVariable, name=name, value="1")


@pytest.mark.parametrize(
    ("given_value", "field"),
    [
        (["A"], "environment[0]"),
        (["A=1", "=2"], "environment[1].name"),
        (["A=1", "A=2"], "environment"),
        ([5], "environment[0]"),
        ([{"name": "A"}], "environment[0]"),
        ([{"value": "1"}], "environment[0].name"),
        ({"A": [1]}, "environment.A"),
        ({"A": {}}, "environment.A"),
        ({"A": {"value": "1", "secret": "x"}}, "environment.A"),
        ({"A": {"sercet": "x"}}, "environment.A.sercet"),
        ({"A": {"secret": "env:1"}}, "environment.A.secret"),
        ({"A": "a\0"}, "environment.A"),
        ({"a.b": [1]}, 'environment["a.b"]'),
        ({5: "x"}, "environment"),
        ("A=1", "environment"),
        (5, "environment"),
    ],
)
def test_what_is_wrong_is_named_by_its_place(given_value: Any, field: str):
    assert refusal(environment, given_value).field == field


def test_exactly_one_of_value_and_secret():
    assert "exactly one" in refusal(EnvironmentVariable, name="A").message
    assert "exactly one" in refusal(EnvironmentVariable, name="A", value="", secret="x").message


@given(
    st.dictionaries(
        st.from_regex(r"[A-Za-z_][A-Za-z0-9_]{0,10}", fullmatch=True).filter(
            lambda name: not name.upper().startswith("AZ_BATCH_")
        ),
        st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"])),
        max_size=5,
    )
)
def test_mapping_list_and_json_mean_the_same(variables: dict[str, str]):
    job = JobSpec(name="x", environment=variables)
    assert JobSpec(name="x", environment=[f"{name}={value}" for name, value in variables.items()]) == job
    assert JobSpec.model_validate_json(job.model_dump_json()) == job
