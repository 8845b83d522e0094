"""Write the field tables of docs/job-fields.md from the specs, so that they cannot disagree.

python tools/render_job_reference.py            write the page
python tools/render_job_reference.py --check    exit 1 if the page is not current
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import Any

from azbatch_core import specs
from azbatch_core.specs.schema import json_schema

PAGE = Path(__file__).parent.parent / "docs" / "job-fields.md"
SECTIONS = {
    "Jobs": ("JobSpec", "TaskSpec", "GangSpec", "JobPreparation", "JobRelease"),
    "What tasks need": ("Resources", "ContainerSpec", "RegistrySpec", "EnvironmentVariable", "RetryPolicy"),
    "Files": ("ResourceFile", "OutputFile"),
    "Dependencies": ("IdRange", "StageRef"),
    "Pools": ("ExistingPool", "ManagedPool", "AutoPool", "ImageSpec", "StartTask"),
    "Accounts": ("AccountSpec", "StorageSpec"),
}
HEAD = """# Fields of a job file

Every field of every spec, written from the code by `tools/render_job_reference.py`.
[Job files](jobs.md) explains them; `azbatch schema` prints the same as JSON Schema for your editor.
Fields in **bold** are required.
"""


def page() -> str:
    """The whole page."""
    parts = [HEAD]
    for title, names in SECTIONS.items():
        parts += [f"## {title}\n", *(_section(name) for name in names)]
    return "\n".join(parts)


def _section(name: str) -> str:
    model = getattr(specs, name)
    schema = json_schema(model)
    required = set(schema.get("required", ()))
    properties = dict(schema["properties"])
    if name == "TaskSpec":
        properties["each"] = json_schema()["$defs"]["TaskSpec"]["properties"]["each"]
    rows = [_row(field, described, field in required) for field, described in properties.items()]
    summary = (model.__doc__ or "").strip().splitlines()[0]
    return "\n".join(
        [f"### {name}", "", summary, "", "| field | default | what |", "|---|---|---|", *rows, ""]
    )


def _row(field: str, described: dict[str, Any], required: bool) -> str:  # noqa: FBT001 - one private caller
    title = f"**`{field}`**" if required else f"`{field}`"
    default = described.get("default")
    shown = "" if required or default in (None, [], {}) else f"`{json.dumps(default)}`"
    text = described.get("description", "")
    examples = described.get("examples") or []
    if examples:
        text += f" Example: `{json.dumps(examples[0], ensure_ascii=False)}`."
    return f"| {title} | {shown} | {text.replace('|', chr(92) + '|')} |"


def main() -> None:
    """Write or check."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--check", action="store_true", help="change nothing; exit 1 if not current")
    if parser.parse_args().check:
        if PAGE.read_text("utf-8") != page():
            sys.exit(f"{PAGE.name} is not current: run tools/render_job_reference.py")
        return
    PAGE.write_text(page(), "utf-8")


if __name__ == "__main__":
    main()
