"""The JSON Schema of the specs, for editors and for people who learn the format from it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from azbatch_core.specs.each import SCHEMA as EACH
from azbatch_core.specs.job import JobSpec

if TYPE_CHECKING:
    from azbatch_core.specs.base import Spec


def json_schema(model: type[Spec] = JobSpec) -> dict[str, Any]:
    """The JSON Schema (draft 2020-12) of what a spec accepts in a file.

    Secrets, durations and sizes are strings; every field has a description.
    """
    schema = model.model_json_schema(mode="validation")
    task = schema.get("$defs", {}).get("TaskSpec")
    if model is JobSpec and task is not None:
        task["properties"]["each"] = EACH
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", **schema}
