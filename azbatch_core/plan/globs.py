"""Output file patterns: can two of them match the same file?

The pattern language is Batch's own (OutputFile.file_pattern): ``*`` and ``?`` stay within one name, ``**``
is any number of folders, ``[abc]``, ``[a-c]`` and ``[!a]`` are one character, and a name that starts with a
dot is matched only by a pattern that writes the dot.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache

_WILD = re.compile(r"[*?\[]")
_ANY_FOLDERS = "**"
_TASK_DIRECTORY = "AZ_BATCH_TASK_DIR"
_WORKING_DIRECTORY = "AZ_BATCH_TASK_WORKING_DIR"
_VARIABLE = re.compile(r"\$\{?(\w+)\}?$")


def has_wildcard(pattern: str) -> bool:
    """Whether a pattern can match several files."""
    return _WILD.search(pattern) is not None


@lru_cache(maxsize=4096)
def components(pattern: str) -> tuple[str, ...]:
    """A pattern as the parts of a path below the task's directory; two spellings of one place are equal.

    ``out.txt`` and ``$AZ_BATCH_TASK_WORKING_DIR/out.txt`` are both ``("wd", "out.txt")``, ``../stdout.txt``
    is ``("stdout.txt",)``. Absolute paths start with an empty part; another variable stands for itself.
    """
    parts = pattern.split("/")
    variable = _VARIABLE.match(parts[0])
    path: list[str] = ["wd"]
    if variable and variable.group(1) == _TASK_DIRECTORY:
        path, parts = [], parts[1:]
    elif variable and variable.group(1) == _WORKING_DIRECTORY:
        parts = parts[1:]
    elif variable or pattern.startswith("/"):
        path, parts = [parts[0]], parts[1:]
    for part in parts:
        if part in {"", "."}:
            continue
        if part == ".." and path and path[-1] != "..":
            path.pop()
        else:
            path.append(part)
    if path and path[-1] == _ANY_FOLDERS:
        path.append("*")  # "every folder" alone means the files in them
    return tuple(path)


@lru_cache(maxsize=4096)
def overlap(one: str, two: str) -> bool:
    """Whether some file could match both patterns."""
    return _paths_meet(components(one), components(two))


def _paths_meet(one: tuple[str, ...], two: tuple[str, ...]) -> bool:
    """Whether two lists of path parts have a path in common. A state is a pair of positions."""
    pending, seen = [(0, 0)], set()
    while pending:
        state = pending.pop()
        if state in seen:
            continue
        seen.add(state)
        left, right = state
        if left == len(one) and right == len(two):
            return True
        pending.extend(_steps(one, two, left, right))
    return False


def _steps(one: tuple[str, ...], two: tuple[str, ...], left: int, right: int) -> list[tuple[int, int]]:
    """The positions that can follow: a ``**`` ends or takes a part of the other side, or two names meet."""
    steps = []
    left_folders = left < len(one) and one[left] == _ANY_FOLDERS
    right_folders = right < len(two) and two[right] == _ANY_FOLDERS
    if left_folders:
        steps.append((left + 1, right))
        if right < len(two):
            steps.append((left, right + 1))
    if right_folders:
        steps.append((left, right + 1))
        if left < len(one):
            steps.append((left + 1, right))
    both = left < len(one) and right < len(two)
    if both and not (left_folders or right_folders) and _names_meet(one[left], two[right]):
        steps.append((left + 1, right + 1))
    return steps


@dataclass(frozen=True)
class _Characters:
    """The characters that one place of a name may have: those listed, or all but those listed."""

    listed: frozenset[str]
    negated: bool = False

    def meets(self, other: _Characters) -> bool:
        if self.negated and other.negated:
            return True
        if self.negated:
            return bool(other.listed - self.listed)
        if other.negated:
            return bool(self.listed - other.listed)
        return bool(self.listed & other.listed)


_ANY_CHARACTER = _Characters(frozenset(), negated=True)
_STAR = None  # any number of characters


@lru_cache(maxsize=4096)
def _tokens(name: str) -> tuple[_Characters | None, ...]:
    tokens: list[_Characters | None] = []
    position = 0
    while position < len(name):
        char = name[position]
        end = name.find("]", position + 2) if char == "[" else -1
        if char == "*":
            tokens.append(_STAR)
        elif char == "?":
            tokens.append(_ANY_CHARACTER)
        elif end > 0:
            tokens.append(_bracket(name[position + 1 : end]))
            position = end
        else:
            tokens.append(_Characters(frozenset(char)))
        position += 1
    return tuple(tokens)


def _bracket(inner: str) -> _Characters:
    negated = inner.startswith("!")
    body = inner[1:] if negated else inner
    listed: set[str] = set()
    position = 0
    while position < len(body):
        if position + 2 < len(body) and body[position + 1] == "-":
            listed.update(chr(code) for code in range(ord(body[position]), ord(body[position + 2]) + 1))
            position += 3
        else:
            listed.add(body[position])
            position += 1
    return _Characters(frozenset(listed), negated=negated)


@lru_cache(maxsize=4096)
def _names_meet(one: str, two: str) -> bool:
    """Whether two patterns of a single name have a name in common."""
    if one.startswith(".") != two.startswith("."):
        return False  # a wildcard does not match a leading dot
    left_tokens, right_tokens = _tokens(one), _tokens(two)
    pending, seen = [(0, 0)], set()
    while pending:
        state = pending.pop()
        if state in seen:
            continue
        seen.add(state)
        left, right = state
        if left == len(left_tokens) and right == len(right_tokens):
            return True
        pending.extend(_next_characters(left_tokens, right_tokens, left, right))
    return False


def _next_characters(
    one: tuple[_Characters | None, ...], two: tuple[_Characters | None, ...], left: int, right: int
) -> list[tuple[int, int]]:
    steps = []
    left_star = left < len(one) and one[left] is _STAR
    right_star = right < len(two) and two[right] is _STAR
    if left_star:
        steps.append((left + 1, right))
        if right < len(two):
            steps.append((left, right + 1))
    if right_star:
        steps.append((left, right + 1))
        if left < len(one):
            steps.append((left + 1, right))
    if left < len(one) and right < len(two):
        first, second = one[left], two[right]
        if first is not None and second is not None and first.meets(second):
            steps.append((left + 1, right + 1))
    return steps
