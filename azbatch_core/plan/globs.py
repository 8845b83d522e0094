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

    def __and__(self, other: _Characters) -> _Characters:
        if self.negated and other.negated:
            return _Characters(self.listed | other.listed, negated=True)
        if self.negated:
            return _Characters(other.listed - self.listed)
        return _Characters(self.listed - other.listed if other.negated else self.listed & other.listed)

    def __bool__(self) -> bool:
        return self.negated or bool(self.listed)


_ANY_CHARACTER = _Characters(frozenset(), negated=True)
_NO_DOT = _Characters(frozenset("."), negated=True)
_STAR = None  # any number of characters
_END = _Characters(frozenset())  # nothing can come any more


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
    pending, seen = [(0, 0, one.startswith("."))], set()
    while pending:
        state = pending.pop()
        if state in seen:
            continue
        seen.add(state)
        left, right, _ = state
        if left == len(left_tokens) and right == len(right_tokens):
            return True
        pending.extend(_next_characters(left_tokens, right_tokens, state))
    return False


def _next_characters(
    one: tuple[_Characters | None, ...], two: tuple[_Characters | None, ...], state: tuple[int, int, bool]
) -> list[tuple[int, int, bool]]:
    """The states that can follow. The third part: whether a dot may come, which it may not at first."""
    left, right, dot = state
    allowed = _ANY_CHARACTER if dot else _NO_DOT
    mine = one[left] if left < len(one) else _END
    theirs = two[right] if right < len(two) else _END
    steps = []
    if mine is _STAR:
        steps.append((left + 1, right, dot))
    if theirs is _STAR:
        steps.append((left, right + 1, dot))
    if _END in {mine, theirs}:
        return steps
    if (mine or _ANY_CHARACTER) & (theirs or _ANY_CHARACTER) & allowed:
        steps.append((left + (mine is not _STAR), right + (theirs is not _STAR), True))
    return steps
