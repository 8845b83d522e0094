"""Commands that messages, help texts and pages name exist, with the options that are named with them."""

from __future__ import annotations

import ast
import re
from pathlib import Path
from typing import TYPE_CHECKING

import click
import pytest

import azbatch_core
from azbatch_core.cli.app import COMMANDS, app

if TYPE_CHECKING:
    from collections.abc import Iterator

PACKAGE = Path(azbatch_core.__file__).parent
PAGES = [*(PACKAGE.parent / "docs").glob("*.md"), PACKAGE.parent / "README.md"]
_NAMED = re.compile(r"(?P<before>^|`|.)azbatch (?P<words>[a-z]+(?: [^`\n;,:|]*)?)", re.DOTALL)


def texts(path: Path) -> Iterator[str]:
    """The string constants of a module, those with gaps joined by ``X``; a page as a whole."""
    if path.suffix == ".md":
        yield path.read_text("utf-8")
        return
    tree = ast.parse(path.read_text("utf-8"))
    parts = {id(part) for node in ast.walk(tree) if isinstance(node, ast.JoinedStr) for part in node.values}
    for node in ast.walk(tree):
        if isinstance(node, ast.JoinedStr):
            yield "".join(str(part.value) if isinstance(part, ast.Constant) else "X" for part in node.values)
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in parts:
            yield node.value


def named(path: Path) -> Iterator[list[str]]:
    """The words of each command that a file names; "azbatch makes one" is no command but a sentence."""
    for text in texts(path):
        for match in _NAMED.finditer(text):
            words = match["words"].split()
            if words[0] in COMMANDS or match["before"] == "`":
                yield words


def check(words: list[str]) -> None:
    """Follow the words from the root as far as they are commands; then every option must be one of it."""
    command: click.Command = app
    context = click.Context(app)
    rest = list(words)
    while isinstance(command, click.Group) and rest and re.fullmatch(r"[a-z]+", rest[0]):
        found = command.get_command(context, rest.pop(0))
        assert found is not None, " ".join(words)
        command = found
    known = {name for param in command.params for name in (*param.opts, *param.secondary_opts)}
    for option in (word for word in rest if re.fullmatch(r"--?[a-z][a-z-]*", word)):
        assert option in known | {"--help", "-h"}, " ".join(words)


FILES = [
    *(path for path in PACKAGE.rglob("*.py") if "local" not in path.relative_to(PACKAGE).parts),
    *PAGES,
]


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(PACKAGE.parent)))
def test_every_command_that_a_file_names_exists(path: Path):
    for words in named(path):
        if words[0] != "run":  # what follows is the user's own command
            check(words)


def test_a_command_that_does_not_exist_would_be_found(tmp_path: Path):
    module = tmp_path / "module.py"
    module.write_text('hint = f"azbatch pools inflate {1}, or submit again"\nother = "see `azbatch frob`"\n')
    for words in named(module):
        with pytest.raises(AssertionError):
            check(words)
    assert len(list(named(module))) == 2
