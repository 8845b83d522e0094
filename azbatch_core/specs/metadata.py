"""Free names and values that a job or a pool carries for its owner."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import BeforeValidator

from azbatch_core.catalog.metadata_names import PREFIX
from azbatch_core.specs.command import written
from azbatch_core.specs.names import check_text
from azbatch_core.specs.problems import path_of, problem


def parse_metadata(given: Any) -> dict[str, str]:
    """Metadata from a mapping; numbers, true and false become text as a file writes them.

    Raises:
        SpecError: An empty name (Batch refuses it), a name that starts with ``azbatch:``, or a value that
            is no scalar.
    """
    if not isinstance(given, dict):
        raise problem("must be a mapping of names to values")
    metadata = {}
    for name, value in given.items():
        if not isinstance(name, str) or not name:
            raise problem("a metadata name must be text, and not empty")
        if name.lower().startswith(PREFIX):
            raise problem(f"names that start with {PREFIX!r} are for azbatch itself", field=path_of((name,)))
        text = written(value)
        if text is None:
            raise problem("a metadata value must be text", field=path_of((name,)))
        metadata[check_text(name)] = check_text(text)
    return metadata


Metadata = Annotated[
    dict[str, str], BeforeValidator(parse_metadata, json_schema_input_type=dict[str, str | float | bool])
]
