"""`azbatch schema`."""

from __future__ import annotations

from azbatch_core.cli.lazy import command
from azbatch_core.cli.output import print_json


@command("schema", account=False)
def schema() -> None:
    """Print the JSON Schema of a job file, for an editor that completes and checks as you type.

    \b
      azbatch schema > job.schema.json

    and at the top of a job file:

    \b
      # yaml-language-server: $schema=job.schema.json
    """  # noqa: D301 - \b is click's mark for lines that stay as they are
    from azbatch_core.specs import json_schema

    print_json(json_schema())
