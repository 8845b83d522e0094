"""A `$filter` text cut into tokens."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal, TypeAlias

Value: TypeAlias = "str | int | float | bool | None"
TokenKind = Literal["name", "literal", "time", "(", ")", ",", "end"]

_TOKEN = re.compile(
    r"""\s*(?:
        (?P<time>(?:datetime|datetimeoffset)'(?P<moment>[^']*)')
      | (?P<string>'(?:[^']|'')*')
      | (?P<number>-?\d+(?:\.\d+)?)(?![\w.])
      | (?P<name>[A-Za-z_][\w]*(?:/[A-Za-z_][\w]*)*)
      | (?P<mark>[(),])
    )""",
    re.VERBOSE | re.ASCII | re.IGNORECASE,
)
_DIGITS_MOST = 40
_MARKS: dict[str, TokenKind] = {"(": "(", ")": ")", ",": ","}
_CONSTANTS: dict[str, Value] = {"true": True, "false": False, "null": None}


class FilterError(ValueError):
    """A filter that the service refuses; the message is the reason."""


@dataclass(frozen=True)
class Token:
    """One word of a filter.

    Attributes:
        kind: `name` for properties, operators and functions, `literal` for values, or the mark itself.
        text: the word as written, for messages.
        value: what a literal stands for; for `time` the text between the quotes.
    """

    kind: TokenKind
    text: str
    value: Value = None


def tokenise(text: str) -> list[Token]:
    """The tokens of `text`, the last of kind `end`.

    Raises:
        FilterError: something is no token.
    """
    tokens = []
    position = 0
    end = len(text.rstrip())
    while position < end:
        match = _TOKEN.match(text, position)
        if match is None:
            raise FilterError(f"The filter cannot be read at position {position}.")
        tokens.append(_token(match))
        position = match.end()
    tokens.append(Token("end", "the end"))
    return tokens


def _token(match: re.Match[str]) -> Token:
    word = match.group().strip()
    kind = match.lastgroup
    if match["time"] is not None:
        return Token("time", word, match["moment"])
    if kind == "string":
        return Token("literal", word, word[1:-1].replace("''", "'"))
    if kind == "number":
        if len(word) > _DIGITS_MOST:
            raise FilterError(f"{word[:_DIGITS_MOST]}… is too long for a number.")
        return Token("literal", word, float(word) if "." in word else int(word))
    if kind == "mark":
        return Token(_MARKS[word], word)
    if word in _CONSTANTS:
        return Token("literal", word, _CONSTANTS[word])
    return Token("name", word)
