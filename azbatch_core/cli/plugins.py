"""Commands that the adapters bring: entry points of azbatch's own distribution, group `azbatch.commands`.

Each names a click command or group. Its module is imported for the list in `azbatch --help`, too, so it
imports nothing but click; what is heavy is imported where the command runs. Looking them up takes as long as
a third of the whole help, so the built-in commands never do it.
"""

from __future__ import annotations

import functools
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
    from importlib.metadata import PackageNotFoundError, distribution

    try:
        registered = distribution("azbatch").entry_points.select(group=GROUP)
    except PackageNotFoundError:
        return {}
    found: dict[str, Entry] = {}
    for point in sorted(registered, key=lambda point: point.name):
        try:
            command = point.load()
        except (ImportError, AttributeError):
            continue
        _add_debug(command)
        found[point.name] = Entry(point.value, command.get_short_help_str(limit=100), section)
    return found


def _add_debug(command: click.Command) -> None:
    if isinstance(command, click.Group):
        for inner in command.commands.values():
            _add_debug(inner)
    else:
        command.params.append(debug_option())
