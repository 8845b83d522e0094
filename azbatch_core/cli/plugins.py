"""Commands that the adapters bring: entry points of azbatch's own distribution, group `azbatch.commands`.

Each names a click command or group. Its module is imported for the list in `azbatch --help`, too, so it
imports nothing but click; what is heavy is imported where the command runs. The file of entry points is read
here, as it takes importlib.metadata a third of the whole help to do so.
"""

from __future__ import annotations

import functools
import importlib
import sys
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

import click

from azbatch_core.cli.lazy import Entry, debug_option

if TYPE_CHECKING:
    from collections.abc import Mapping

GROUP = "azbatch.commands"


@functools.cache
def entries(section: str) -> Mapping[str, Entry]:
    """The commands that are there, each with the `--debug` that every command has.

    One that cannot be imported is left out: help must come, whatever is broken.

    Args:
        section: Under which heading help lists them.
    """
    found: dict[str, Entry] = {}
    for name, target in sorted(_registered().items()):
        module, _, attribute = target.partition(":")
        try:
            command = getattr(importlib.import_module(module), attribute)
        except (ImportError, AttributeError):
            continue
        _add_debug(command)
        found[name] = Entry(target, command.get_short_help_str(limit=100), section)
    return found


def _registered() -> dict[str, str]:
    """Names and targets, from the `entry_points.txt` of the azbatch that comes first on the path."""
    for folder in sys.path:
        with suppress(OSError):
            for file in Path(folder).glob("azbatch-*.dist-info/entry_points.txt"):
                return _parse(file.read_text(encoding="utf-8"))
    return {}


def _parse(text: str) -> dict[str, str]:
    found: dict[str, str] = {}
    group = ""
    for line in map(str.strip, text.splitlines()):
        name, is_set, target = line.partition("=")
        if line.startswith("["):
            group = line.strip("[]")
        elif is_set and group == GROUP:
            found[name.strip()] = target.strip()
    return found


def _add_debug(command: click.Command) -> None:
    if isinstance(command, click.Group):
        for inner in command.commands.values():
            _add_debug(inner)
    else:
        command.params.append(debug_option())
