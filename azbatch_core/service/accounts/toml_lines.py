"""The line of a TOML file that a value came from, which Python's reader does not tell."""

from __future__ import annotations

import re
from itertools import takewhile

_PART = re.compile(r"\"([^\"]*)\"|'([^']*)'|([\w-]+)")
_HEADING = re.compile(r"\s*\[+([^\]]+)\]")
_KEY = re.compile(r"\s*((?:[\w.-]|\"[^\"]*\"|'[^']*')+)\s*=")


def line_of(text: str, *path: str) -> int | None:
    """The first line that stands for most of a path such as ``accounts``, ``prod``, ``endpoint``.

    Good for files as people write them: the key's own line,
    else the heading of its table; None where there is neither.
    """
    table: list[str] = []
    best, found = 0, None
    for number, line in enumerate(text.splitlines(), start=1):
        heading = _HEADING.match(line)
        key = _KEY.match(line)
        if heading:
            table = parts_of(heading[1])
        elif not key:
            continue
        here = table if heading or not key else table + parts_of(key[1])
        shared = sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(here, path, strict=False)))
        if shared > best:
            best, found = shared, number
    return found


def parts_of(dotted: str) -> list[str]:
    """The parts of a dotted key, without quotes: ``accounts."my.name"`` is ``accounts`` and ``my.name``."""
    return ["".join(match) for match in _PART.findall(dotted)]
