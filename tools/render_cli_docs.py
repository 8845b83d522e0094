"""Write the reference half of docs/cli.md from the commands themselves.

python tools/render_cli_docs.py            rewrite it
python tools/render_cli_docs.py --check    exit with 1 when it is not current
"""

from __future__ import annotations

import re
import sys
from importlib.metadata import EntryPoint
from pathlib import Path
from typing import TYPE_CHECKING

import click
import tomli

from azbatch_core.cli import plugins
from azbatch_core.cli.app import app
from azbatch_core.cli.lazy import LazyGroup

if TYPE_CHECKING:
    from collections.abc import Iterator

PAGE = Path(__file__).parents[1] / "docs" / "cli.md"
MARK = "<!-- From here on written by tools/render_cli_docs.py: change the commands, then run it. -->\n"
_EVERYWHERE = {"account", "debug", "help", "as_json"}


def adapters() -> Iterator[tuple[str, click.Command]]:
    """The commands that adapters bring, by pyproject.toml: an installed azbatch may be an older one."""
    project = tomli.loads((PAGE.parents[1] / "pyproject.toml").read_text("utf-8"))["project"]
    for name, target in project["entry-points"][plugins.GROUP].items():
        yield from _tree(EntryPoint(name, target, plugins.GROUP).load(), name)


def _tree(command: click.Command, name: str) -> Iterator[tuple[str, click.Command]]:
    yield name, command
    if isinstance(command, click.Group):
        for inner, found in command.commands.items():
            yield from _tree(found, f"{name} {inner}")


def page(current: str) -> str:
    """The page with a new reference below the mark; what stands above is left alone."""
    head, mark, _ = current.partition(MARK)
    if not mark:
        raise SystemExit(f"{PAGE} has lost its mark: {MARK}")
    every = [*_walk(), *adapters()]
    return head + mark + "".join(_section(command, name) for name, command in every)


def _walk(group: LazyGroup = app, prefix: str = "") -> Iterator[tuple[str, click.Command]]:
    """Every command with its whole name, groups before their commands."""
    context = click.Context(group)
    for name in group.entries:
        command = group.get_command(context, name)
        if command is not None:
            yield prefix + name, command
        if isinstance(command, LazyGroup):
            yield from _walk(command, f"{prefix}{name} ")


def _section(command: click.Command, name: str) -> str:
    context = click.Context(command, info_name=f"azbatch {name}")
    usage = " ".join(command.collect_usage_pieces(context))
    lines = [f"\n### azbatch {name}\n", f"```text\nazbatch {name} {usage}\n```\n", _prose(command.help or "")]
    options = [_option(param, context) for param in command.params if isinstance(param, click.Option)]
    own = [row for row in options if row]
    if own:
        lines.append("| Option | |\n| --- | --- |\n" + "".join(own))
    return "\n".join(lines)


def _prose(text: str) -> str:
    """Help text as Markdown: click's marked blocks become code."""
    blocks = []
    for block in re.split(r"\n\s*\n", text.strip()):
        if block.lstrip().startswith("\b"):
            body = [line.strip() for line in block.split("\n")[1:]]
            blocks.append("```text\n" + "\n".join(body) + "\n```")
        else:
            blocks.append(" ".join(block.split()))
    return "\n\n".join(blocks) + "\n"


def _option(option: click.Option, context: click.Context) -> str:
    if option.name in _EVERYWHERE:
        return ""
    record = option.get_help_record(context)
    if record is None:
        return ""
    name, explanation = (part.replace("|", "\\|") for part in record)
    return f"| `{name}` | {' '.join(explanation.split())} |\n"


def main() -> int:
    """Write or check the page."""
    current = PAGE.read_text(encoding="utf-8")
    wanted = page(current)
    if "--check" in sys.argv[1:]:
        return int(current != wanted)
    PAGE.write_text(wanted, encoding="utf-8")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
