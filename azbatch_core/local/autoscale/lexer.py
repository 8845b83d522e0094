"""A formula's text cut into tokens, each with its line and column."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from azbatch_core.local.autoscale.errors import Position, syntax_error

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["Token", "TokenKind", "tokenise"]

TokenKind = Literal["number", "string", "name", "mark", "end"]

_TOKEN = re.compile(
    r"""
        (?P<blank>(?:[ \t\r\n\f\v\ufeff]|//[^\n]*)+)
      | (?P<number>\d+(?:\.\d+)?(?![\w.]))
      | "(?P<string>[^"\r\n]*)"
      | (?P<name>\$?[A-Za-z_]\w*)
      | (?P<mark>&&|\|\||[=!<>]=|[-+*/<>=!?:;,.()])
    """,
    re.VERBOSE | re.ASCII,
)
_KINDS: dict[str, TokenKind] = {"number": "number", "string": "string", "name": "name", "mark": "mark"}


@dataclass(frozen=True)
class Token:
    """One word of a formula.

    Attributes:
        kind: what it is.
        text: as written; of a string the part between the quotes.
        at: where it begins.
    """

    kind: TokenKind
    text: str
    at: Position


def tokenise(formula: str) -> Iterator[Token]:
    """The tokens of `formula`, comments and blanks left out, the last of kind `end`.

    Raises:
        FormulaError: something is no token (a syntax error).
    """
    offset, line, line_start = 0, 1, 0
    while offset < len(formula):
        at = Position(line, offset - line_start + 1)
        match = _TOKEN.match(formula, offset)
        if match is None:
            raise syntax_error(at, _unreadable(formula[offset]))
        offset = match.end()
        group = match.lastgroup or ""
        if group in _KINDS:
            yield Token(_KINDS[group], match[group], at)
        else:
            line += match.group().count("\n")
            line_start = max(line_start, formula.rfind("\n", 0, offset) + 1)
    yield Token("end", "end of formula", Position(line, offset - line_start + 1))


def _unreadable(character: str) -> str:
    if character == '"':
        return "The string is not closed"
    if character.isdigit():
        return "The number cannot be read"
    return f"Unexpected character: {character}"
