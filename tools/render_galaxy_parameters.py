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


def page(current: str) -> str:
    """The page with a new table between the marks."""
    head, begin, rest = current.partition(BEGIN)
    _, end, tail = rest.partition(END)
    if not begin or not end:
        raise SystemExit(f"{PAGE.name} has lost its marks")
    rows = [_row(name, field) for name, field in Destination.model_fields.items()]
    return "\n".join([head + BEGIN, "| parameter | default | what |", "|---|---|---|", *rows, "", END + tail])


def _row(name: str, field: FieldInfo) -> str:
    text = (field.description or "").replace("|", "\\|")
    return f"| `{PREFIX}{name}` | {_shown(field.default)} | {text} |"


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
