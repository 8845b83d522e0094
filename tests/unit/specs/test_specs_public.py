"""The package as a whole: its public names, its schema, its weight."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import Any, get_args

import pytest
from pydantic import BaseModel

import azbatch_core.specs
from azbatch_core.specs import AccountSpec, JobSpec, Spec, json_schema

MODELS = [
    value
    for name in azbatch_core.specs.__all__
    if isinstance(value := getattr(azbatch_core.specs, name), type) and issubclass(value, Spec)
]


def test_all_public_names_exist():
    assert len(set(azbatch_core.specs.__all__)) == len(azbatch_core.specs.__all__)
    assert all(hasattr(azbatch_core.specs, name) for name in azbatch_core.specs.__all__)
    assert len(MODELS) > 20


@pytest.mark.parametrize("model", MODELS)
def test_every_field_of_every_model_says_what_it_is_for(model: type[Spec]):
    assert model.__doc__
    for name, field in model.model_fields.items():
        assert field.description, f"{model.__name__}.{name}"
        assert field.description.endswith("."), f"{model.__name__}.{name}"


@pytest.mark.parametrize("model", MODELS)
def test_every_model_is_frozen_and_takes_no_unknown_field(model: type[Spec]):
    assert model.model_config["frozen"] is True
    assert model.model_config["extra"] == "forbid"


def test_importing_the_specs_imports_nothing_heavy():
    code = "import sys, azbatch_core.specs; print(*{name.partition('.')[0] for name in sys.modules})"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert not {"azure", "yaml", "rich", "click", "tenacity", "starlette"} & set(done.stdout.split())


def test_the_schema_is_json_and_names_every_field():
    schema = json.loads(json.dumps(json_schema()))
    assert schema["$schema"] == "https://json-schema.org/draft/2020-12/schema"
    assert set(schema["properties"]) == set(JobSpec.model_fields)
    assert schema["required"] == ["name"]
    assert schema["additionalProperties"] is False


@pytest.mark.parametrize("model", [JobSpec, AccountSpec])
def test_every_property_of_the_schema_has_a_description(model: type[Spec]):
    schema = json_schema(model)
    for part in [schema, *schema["$defs"].values()]:
        assert part["description"]
        for name, content in part["properties"].items():
            assert content.get("description"), f"{part['title']}.{name}"


def strings_of(content: dict[str, Any]) -> list[dict[str, Any]]:
    """The alternatives of a property, without null."""
    return [part for part in content.get("anyOf", [content]) if part.get("type") != "null"]


@pytest.mark.parametrize(
    ("model", "name"),
    [
        ("JobSpec", "wall_time"),
        ("TaskSpec", "retention"),
        ("Resources", "memory"),
        ("Resources", "disk"),
        ("RegistrySpec", "password"),
        ("EnvironmentVariable", "secret"),
    ],
)
def test_secrets_durations_and_sizes_are_strings_with_examples(model: str, name: str):
    schema = json_schema()
    part = schema if model == "JobSpec" else schema["$defs"][model]
    content = part["properties"][name]
    (text,) = strings_of(content)
    assert text["type"] == "string"
    assert text["examples"]


def test_the_schema_shows_the_short_forms():
    properties = json_schema()["properties"]
    assert {"type": "string"} in properties["pool"]["anyOf"]
    assert {"type": "string"} in properties["container"]["anyOf"]
    assert {"type": "integer"} in properties["retry"]["anyOf"]
    command = json_schema()["$defs"]["TaskSpec"]["properties"]["command"]
    assert {"type": "string"} not in command["anyOf"]


@pytest.mark.parametrize("model", MODELS)
def test_every_model_has_a_schema(model: type[Spec]):
    assert json_schema(model)["title"] == model.__name__


def test_defaults_in_the_schema_hold_no_python():
    assert json_schema()["properties"]["wall_time"]["default"] == "7d"
    assert json_schema()["properties"]["retry"]["default"] == {"max_retries": 0}


def test_specs_nest_only_specs():
    """A plain pydantic model inside would raise pydantic's own errors, input included."""

    def models(annotation: Any) -> list[type[BaseModel]]:
        found = [annotation] if isinstance(annotation, type) and issubclass(annotation, BaseModel) else []
        return found + [model for inner in get_args(annotation) for model in models(inner)]

    for model in MODELS:
        for field in model.model_fields.values():
            assert all(issubclass(inner, Spec) for inner in models(field.annotation))
