"""Write the table of parameters in docs/galaxy.md from `Destination`, so that they cannot disagree.

python tools/render_galaxy_parameters.py            write it
python tools/render_galaxy_parameters.py --check    exit 1 if it is not current
"""

from __future__ import annotations

import argparse
import sys
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

from azbatch_core.specs import format_duration
from azbatch_pulsar.destination import PREFIX, Destination

if TYPE_CHECKING:
    from pydantic.fields import FieldInfo

PAGE = Path(__file__).parent.parent / "docs" / "galaxy.md"
BEGIN = "<!-- Written by tools/render_galaxy_parameters.py: change `Destination`, then run it. -->\n"
END = "<!-- To here. -->\n"
HEAD = ("| parameter | type | unit | default | what |", "|---|---|---|---|---|")
WITH_UNITS = {
    "90s": ("time", "`90s`, `15m`, `2h`, `7d`"),
    "16GiB": ("size", "`512MiB`, `8GiB`; `8GB` is 10⁹ bytes each"),
}
"""By the first example of the core's types."""
TYPES = {
    "string": "text",
    "integer": "whole number",
    "number": "number",
    "boolean": "`true` or `false`",
    "array": "list, or text with commas",
    "$ref": "mapping, or JSON as text",
}
UNITS = {
    "cores": "vCPUs",
    "gpus": "GPUs",
    "max_nodes": "nodes",
    "min_nodes": "nodes",
    "priority": "-1000 to 1000",
}
"""Of what there is a number: a parameter that is one must be here."""


def page(current: str) -> str:
    """The page with a new table between the marks."""
    head, begin, rest = current.partition(BEGIN)
    _, end, tail = rest.partition(END)
    if not begin or not end:
        raise SystemExit(f"{PAGE.name} has lost its marks")
    kinds = Destination.model_json_schema()["properties"]
    rows = [_row(name, field, kinds[name]) for name, field in Destination.model_fields.items()]
    return "\n".join([head + BEGIN, *HEAD, *rows, "", END + tail])


def _row(name: str, field: FieldInfo, schema: dict[str, Any]) -> str:
    text = " ".join((field.description or "").replace("|", "\\|").split())
    kind, unit = _kind(name, schema)
    return f"| `{PREFIX}{name}` | {kind} | {unit} | {_shown(field.default)} | {text} |"


def _kind(name: str, schema: dict[str, Any]) -> tuple[str, str]:
    """Type and unit, from the schema that the spec has."""
    schema = schema.get("anyOf", [schema])[0]
    example = schema.get("examples", [""])[0]
    if example in WITH_UNITS:
        return WITH_UNITS[example]
    if "enum" in schema:
        return " or ".join(f"`{choice}`" for choice in schema["enum"]), ""
    kind = TYPES["$ref" if "$ref" in schema else str(schema["type"])]
    return kind, UNITS[name] if "number" in kind else ""


def _shown(default: Any) -> str:
    if default in (None, "", ()):
        return ""
    if isinstance(default, timedelta):
        return f"`{format_duration(default)}`"
    return f"`{str(default).lower() if isinstance(default, bool) else default}`"


def main() -> None:
    """Write or check."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--check", action="store_true", help="change nothing; exit 1 if not current")
    current = PAGE.read_text("utf-8")
    wanted = page(current)
    if parser.parse_args().check:
        if current != wanted:
            sys.exit(f"{PAGE.name} is not current: run tools/render_galaxy_parameters.py")
        return
    PAGE.write_text(wanted, "utf-8")


if __name__ == "__main__":
    main()
