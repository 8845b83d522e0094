"""File patterns of output files: which files one matches, and the names they get ("OutputFile" in the SDK).

`*`, `?`, sets and `**` for any folders; names that start with a dot only where the pattern writes the dot.
"""

from __future__ import annotations

import fnmatch
import os
import re
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

_WILDCARD = re.compile(r"[*?\[]")
_VARIABLE = re.compile(r"\$(?:(\w+)|\{(\w+)\})", re.ASCII)


@dataclass(frozen=True)
class Match:
    """A file to upload.

    Attributes:
        file: Its path.
        blob: The name of its blob.
    """

    file: Path
    blob: str


def expand_variables(text: str, environment: Mapping[str, str]) -> str:
    """Replace `$NAME` and `${NAME}`; names that are not set stay as they are."""
    return _VARIABLE.sub(lambda match: environment.get(match[1] or match[2], match[0]), text)


def matches(pattern: str, wd: Path, environment: Mapping[str, str], path: str | None) -> list[Match]:
    """The files that a pattern means, in order of their names.

    Args:
        pattern: `filePattern`; relative to `wd` unless absolute.
        wd: The task's working directory.
        environment: The task's variables.
        path: `path` of the destination: a folder if the pattern has wildcards, else the blob's name.
    """
    expanded = expand_variables(pattern, environment)
    segments = (expanded if expanded.startswith("/") else f"{wd}/{expanded}").split("/")
    fixed = next((i for i, part in enumerate(segments) if _WILDCARD.search(part)), len(segments))
    if fixed == len(segments):
        file = Path(os.path.normpath("/".join(segments)))
        return [Match(file, path or file.name)] if file.is_file() else []
    base = os.path.normpath("/".join(segments[:fixed]) or "/")
    prefix = f"{path.strip('/')}/" if path and path.strip("/") else ""
    wanted = [part for part in segments[fixed:] if part not in {"", "."}]
    names = sorted(set(_walk(base, wanted)))
    return [Match(Path(base, name), prefix + name) for name in names]


def _walk(folder: str, segments: Sequence[str], so_far: str = "") -> Iterator[str]:
    """Names, relative to the base, of the files below `folder` that the segments match."""
    first, rest = segments[0], segments[1:]
    if first == "**":
        yield from _walk_any(folder, rest, so_far)
        return
    if first == "..":
        if rest:
            yield from _walk(f"{folder}/..", rest, f"{so_far}../")
        return
    for entry in _entries(folder):
        if not _fits(entry.name, first):
            continue
        if rest and entry.is_dir():
            yield from _walk(entry.path, rest, f"{so_far}{entry.name}/")
        elif not rest and entry.is_file():
            yield so_far + entry.name


def _walk_any(folder: str, rest: Sequence[str], so_far: str) -> Iterator[str]:
    yield from _walk(folder, rest or ["*"], so_far)
    for entry in _entries(folder):
        # A link to a folder may lead back up.
        if not entry.name.startswith(".") and entry.is_dir(follow_symlinks=False):
            yield from _walk_any(entry.path, rest, f"{so_far}{entry.name}/")


def _fits(name: str, pattern: str) -> bool:
    if name.startswith(".") and not pattern.startswith("."):
        return False
    return fnmatch.fnmatchcase(name, pattern)


def _entries(folder: str) -> list[os.DirEntry[str]]:
    try:
        with os.scandir(folder) as entries:
            return list(entries)
    except OSError:  # not there, not a folder, or closed by the task
        return []
