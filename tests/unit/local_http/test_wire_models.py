"""Every property of every body that an operation takes: what it may not hold is refused, and how."""

from __future__ import annotations

from typing import Any

import pytest

from azbatch_core.local.errors import BatchError
from azbatch_core.local.http.query import API_VERSIONS
from azbatch_core.local.routes.table import OPERATIONS
from azbatch_core.local.wire.schema import schema
from azbatch_core.local.wire.secrets import holds_secrets
from azbatch_core.local.wire.validate import validate

MODELS: dict[str, dict[str, tuple[str, str]]] = schema()["models"]
ENUMS: dict[str, list[str]] = schema()["enums"]
RIGHT: dict[str, Any] = {
    "string": "text",
    "bool": True,
    "int": 1,
    "int64": "5",
    "number": 1.5,
    "time": "2025-01-01T00:00:00Z",
    "duration": "PT5M",
    "map": {},
}
WRONG: dict[str, list[Any]] = {
    "string": [5, True, 1.5, [], {}],
    "bool": [5, "yes", "", [], {}],
    "int": ["x", "1.0", "", 1.5, True, 2**31, -(2**31) - 1, [], {}],
    "int64": ["x", "", 1.5, True, 2**63, [], {}],
    "number": ["x", "", "NaN", "Infinity", True, [], {}],
    "time": ["yesterday", "", "2025-13-01T00:00:00Z", 5, True, [], {}],
    "duration": ["5 minutes", "", "P", "PT", "-PT5M", 5, True, [], {}],
    "map": [5, "text", True, []],
    "enum": ["no such member", "", 5, True, [], {}],
    "model": [5, "text", True, []],
    "list": [5, "text", True, {}],
}


def reached(models: set[str]) -> set[str]:
    """The models and all that their properties are made of."""
    found: set[str] = set()
    while models - found:
        found |= models
        kinds = {kind for name in found for kind, flags in MODELS[name].values() if flags != "o"}
        models = {kind.rpartition("model:")[2] for kind in kinds if "model:" in kind}
    return found


BODIES = sorted(reached({operation.body for operation in OPERATIONS if operation.body}))


def properties(model: str, flags: str) -> list[tuple[str, str]]:
    """Names and kinds of a model's properties: `r` required, `o` read-only, `rw` all that may be sent."""
    declared = MODELS[model].items()
    return [(name, kind) for name, (kind, own) in declared if own == flags or (flags == "rw" and own != "o")]


def right(kind: str) -> Any:
    """A value of a kind."""
    if kind.startswith("list:"):
        return [right(kind[5:])]
    if kind.startswith("enum:"):
        return ENUMS[kind[5:]][0]
    return smallest(kind[6:]) if kind.startswith("model:") else RIGHT[kind]


def smallest(model: str) -> dict[str, Any]:
    """A body of a model with what it requires."""
    return {name: right(kind) for name, (kind, flags) in MODELS[model].items() if flags == "r"}


def wrong(kind: str) -> list[Any]:
    """Values that are not of a kind."""
    if kind.startswith("list:"):
        return [*WRONG["list"], *([item] for item in wrong(kind[5:]))]
    return WRONG[kind.partition(":")[0]]


def refusal(model: str, body: Any) -> BatchError:
    with pytest.raises(BatchError) as caught:
        validate(model, body)
    assert caught.value.status == 400
    return caught.value


def test_the_bodies_are_those_of_the_operations() -> None:
    assert len(BODIES) > 60
    assert {"BatchPoolCreateOptions", "EnvironmentSetting", "ExitOptions"} <= set(BODIES)


@pytest.mark.parametrize("model", BODIES)
def test_a_body_with_what_it_requires_is_taken_from_every_client_and_comes_out_alike(model: str) -> None:
    for version in API_VERSIONS:
        assert validate(model, smallest(model), older=version != API_VERSIONS[0]) == smallest(model)


@pytest.mark.parametrize("model", BODIES)
def test_a_value_of_its_kind_is_taken_and_any_other_refused(model: str) -> None:
    for name, kind in properties(model, "rw"):
        assert name in validate(model, {**smallest(model), name: right(kind)})
        refuses_all_but(model, name, kind)


def refuses_all_but(model: str, name: str, kind: str) -> None:
    for value in wrong(kind):
        error = refusal(model, {**smallest(model), name: value})
        assert error.code == "InvalidPropertyValue"
        assert [key for key, _ in error.values] == ["PropertyName", "PropertyValue", "Reason"]
        assert dict(error.values)["PropertyName"] == name


@pytest.mark.parametrize("model", BODIES)
def test_what_no_model_has_is_refused(model: str) -> None:
    error = refusal(model, {**smallest(model), "noSuchProperty": "x"})
    assert error.code == "UnsupportedProperty"
    assert error.values == [
        ("PropertyName", "noSuchProperty"),
        ("PropertyValue", "***" if holds_secrets(model) else "x"),
        ("Reason", f"{model} has no property noSuchProperty."),
    ]


@pytest.mark.parametrize("model", [model for model in BODIES if properties(model, "o")])
def test_what_the_service_alone_writes_is_refused(model: str) -> None:
    for name, _ in properties(model, "o"):
        error = refusal(model, {**smallest(model), name: "x"})
        assert error.code == "UnsupportedProperty"
        reason = f"{name} is read-only."
        assert dict(error.values) == {"PropertyName": name, "PropertyValue": "x", "Reason": reason}


@pytest.mark.parametrize("model", [model for model in BODIES if properties(model, "r")])
def test_what_is_required_is_missed(model: str) -> None:
    for name, _ in properties(model, "r"):
        rest = {key: value for key, value in smallest(model).items() if key != name}
        for given in (rest, {**rest, name: None}):
            error = refusal(model, given)
            assert (error.code, error.values) == ("MissingRequiredProperty", [("PropertyName", name)])


@pytest.mark.parametrize("model", BODIES)
def test_numbers_and_truths_may_be_written_as_text(model: str) -> None:
    spelt = {"int": "1", "int64": "5", "number": "1.5", "bool": "True"}
    for name, kind in properties(model, "rw"):
        if kind in spelt:
            assert validate(model, {**smallest(model), name: spelt[kind]})[name] == right(kind)


@pytest.mark.parametrize("name", ["", "A=B", "=", "A\0"])
@pytest.mark.parametrize("place", ["environmentSettings", "commonEnvironmentSettings"])
def test_a_variable_has_a_name(name: str, place: str) -> None:
    model = "BatchTaskCreateOptions" if place == "environmentSettings" else "BatchJobCreateOptions"
    error = refusal(model, {**smallest(model), place: [{"name": name, "value": "x"}]})
    assert error.code == "InvalidPropertyValue"
    assert error.values[:2] == [("PropertyName", "name"), ("PropertyValue", "***")]


@pytest.mark.parametrize("body", [None, [], 5, "text", True])
def test_a_body_is_an_object(body: Any) -> None:
    assert refusal("BatchJobCreateOptions", body).code == "InvalidRequestBody"
