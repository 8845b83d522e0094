"""Which files of a workspace are sent: the rules of its ignore file, and where its links lead."""

from __future__ import annotations

import fnmatch
import os
import posixpath
import re
from pathlib import Path
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

IGNORE_FILES: Final = (".torchxignore", ".dockerignore")
OUT, NOWHERE, LOOP, NO_FILE, CLOSED = (
    "leads out of it",
    "leads nowhere",
    "leads back to where it is",
    "is no file",
    "cannot be read",
)
"""Why something is left out that no rule names."""
_NEVER: Final = frozenset(
    {".git", ".hg", ".svn", "__pycache__", ".mypy_cache", ".pytest_cache", ".ruff_cache"}
)


class Rules:
    """What an ignore file leaves out: of the patterns that fit a path or a folder above it, the last decides.

    So does Docker have it (the syntax of .dockerignore). That ``*`` fits ``/``, too, is TorchX's way.
    """

    def __init__(self, lines: Sequence[str]) -> None:
        texts = [line.partition("#")[0].strip() for line in lines]
        rules = [(text.startswith("!"), _cleaned(text.removeprefix("!"))) for text in texts]
        rules = [(kept, text) for kept, text in rules if text]
        self._kept = [kept for kept, _ in rules]
        self._patterns = [re.compile(_expression(text)) for _, text in rules]
        self._exceptions = [text.split("/") for kept, text in rules if kept]

    def matches(self, path: str, above: Sequence[bool]) -> tuple[bool, ...]:
        """Which patterns fit a path, or the folder above it as `above` tells."""
        given = above or [False] * len(self._patterns)
        return tuple(
            known or bool(pattern.match(path)) for known, pattern in zip(given, self._patterns, strict=True)
        )

    def leave_out(self, matches: Sequence[bool]) -> bool:
        """Whether what they fit is left out."""
        decisive = [kept for kept, match in zip(self._kept, matches, strict=True) if match]
        return bool(decisive) and not decisive[-1]

    def keep_some_of(self, folder: str) -> bool:
        """Whether an exception may name something inside a folder that is left out."""
        parts = folder.split("/")
        return any(
            "**" in words[: len(parts)]
            or (len(words) > len(parts) and all(map(fnmatch.fnmatchcase, parts, words)))
            for words in self._exceptions
        )


def _cleaned(text: str) -> str:
    """A pattern as paths are written; empty where it names nothing."""
    clean = posixpath.normpath(text.strip()).lstrip("/")
    return "" if clean == "." else clean


def _expression(pattern: str) -> str:
    """The pattern as a regular expression; ``**/`` stands for no folder, too."""
    anywhere = pattern.removeprefix("**/")
    found = fnmatch.translate(anywhere)
    return found if anywhere == pattern else rf"(?:.*/)?{found}"


class Walk:
    """One walk through a workspace.

    Attributes:
        ignore_file: The name of the ignore file that holds; None without one.
        left: What is left out although no rule names it: for each reason the names.
    """

    def __init__(self, folder: Path) -> None:
        self._home = folder.resolve()
        self.ignore_file = next((name for name in IGNORE_FILES if (folder / name).is_file()), None)
        text = (folder / self.ignore_file).read_text("utf-8", "replace") if self.ignore_file else ""
        self._rules = Rules(text.splitlines())
        self.left: dict[str, list[str]] = {}

    def files(self) -> Iterator[tuple[str, Path]]:
        """The files and empty folders by their names; links that stay in the workspace are followed.

        A link that leaves it may lead to anything that its user can read.
        """
        yield from self._below(self._home, "", (), (self._home,))

    def _below(
        self, folder: Path, name: str, above: tuple[bool, ...], chain: tuple[Path, ...]
    ) -> Iterator[tuple[str, Path]]:
        try:
            entries = sorted(os.scandir(folder), key=lambda entry: entry.name)
        except OSError:
            self._leave(CLOSED, name)
            return
        if name and any(entry.name == "pyvenv.cfg" for entry in entries):
            return
        if name and not entries and not self._rules.leave_out(above):
            yield name, folder
        for entry in entries:
            path = f"{name}/{entry.name}" if name else entry.name
            matches = self._rules.matches(path, above)
            out = self._rules.leave_out(matches)
            if out and not (entry.is_dir() and self._rules.keep_some_of(path)):
                continue
            place = Path(os.path.realpath(entry.path)) if entry.is_symlink() else Path(entry.path)
            if trouble := self._trouble(place, chain):
                self._leave(trouble, path)
            elif not _NEVER.isdisjoint((entry.name, *place.relative_to(self._home).parts)):
                continue
            elif place.is_dir():
                yield from self._below(place, path, matches, (*chain, place))
            else:
                yield path, place

    def _trouble(self, place: Path, chain: tuple[Path, ...]) -> str | None:
        """Why a place cannot be sent; None if it can."""
        if not place.exists():
            return NOWHERE
        if not place.is_relative_to(self._home):
            return OUT
        if place in chain:
            return LOOP
        return None if place.is_dir() or place.is_file() else NO_FILE

    def _leave(self, reason: str, path: str) -> None:
        self.left.setdefault(reason, []).append(path or ".")
