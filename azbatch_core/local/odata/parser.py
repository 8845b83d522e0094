"""A `$filter` compiled into a function over wire documents.

Grammar: conditions `property op literal` and `startswith(property, 'text')`, joined by `and` and `or` (`and`
binds tighter), with parentheses. A property that a document does not have is null: it differs from every
value and is neither greater nor less.
"""

from __future__ import annotations

import operator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeAlias

from azbatch_core.local.odata.lexer import FilterError, Token, TokenKind, Value, tokenise
from azbatch_core.local.wire.durations import normalise_time, sortable_time

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from azbatch_core.local.odata.filters import Property, PropertyKind

Match: TypeAlias = "Callable[[Mapping[str, Any]], bool]"
Condition: TypeAlias = "tuple[Any, ...] | None"
"""`(property, operator, value)`, with `startswith` among the operators, and the value as compared;
`("and", [Condition, …])`, `("or", […])`; None where there is no filter."""

_MAX_DEPTH = 50
_COMPARE: dict[str, Callable[[Any, Any], bool]] = {
    "eq": operator.eq,
    "ne": operator.ne,
    "gt": operator.gt,
    "ge": operator.ge,
    "lt": operator.lt,
    "le": operator.le,
}
_NORMAL: dict[PropertyKind, Callable[[Any], Any]] = {
    "text": str.lower,
    "name": str,
    "time": sortable_time,
    "int": int,
    "bool": bool,
}


@dataclass(frozen=True)
class Filter:
    """A compiled filter.

    Attributes:
        match: whether a document passes.
        hints: equalities that every passing document fulfils, by the property's name in the filter; a store
            may use them to look at fewer documents, never instead of `match`.
        condition: the filter as data, for stores that can make more of it.
    """

    match: Match
    hints: dict[str, str] = field(default_factory=dict)
    condition: Condition = None


def parse_filter(text: str, allowed: Mapping[str, Property]) -> Filter:
    """Compile `text` for a list that may be filtered by `allowed`.

    Raises:
        FilterError: the text is no filter, or uses a property, an operator or a value that the list refuses.
    """
    parser = _Parser(tokenise(text), allowed)
    result = parser.alternatives(0)
    parser.expect("end")
    return result


class _Parser:
    def __init__(self, tokens: list[Token], allowed: Mapping[str, Property]) -> None:
        self._tokens = iter(tokens)
        self._next = next(self._tokens)
        self._allowed = allowed

    def alternatives(self, depth: int) -> Filter:
        """Conditions joined by `or`."""
        parts = [self._conjunction(depth)]
        while self._word("or"):
            parts.append(self._conjunction(depth))
        if len(parts) == 1:
            return parts[0]
        matches = [part.match for part in parts]
        condition = ("or", [part.condition for part in parts])
        return Filter(lambda document: any(match(document) for match in matches), condition=condition)

    def expect(self, kind: TokenKind) -> Token:
        """Take the next token, which must be of this kind."""
        token = self._next
        if token.kind != kind:
            raise FilterError(f"{token.text} was not expected in the filter.")
        if kind != "end":
            self._next = next(self._tokens)
        return token

    def _conjunction(self, depth: int) -> Filter:
        parts = [self._condition(depth)]
        while self._word("and"):
            parts.append(self._condition(depth))
        if len(parts) == 1:
            return parts[0]
        matches = [part.match for part in parts]
        hints = {name: value for part in parts for name, value in part.hints.items()}
        condition = ("and", [part.condition for part in parts])
        return Filter(lambda document: all(match(document) for match in matches), hints, condition)

    def _condition(self, depth: int) -> Filter:
        if depth > _MAX_DEPTH:
            raise FilterError("The filter is nested too deeply.")
        if self._next.kind == "(":
            self.expect("(")
            inner = self.alternatives(depth + 1)
            self.expect(")")
            return inner
        if self._word("startswith"):
            return self._startswith()
        name = self.expect("name").text
        verb = self.expect("name").text
        found = self._property(name, verb)
        if verb not in _COMPARE:
            raise FilterError(f"{verb} is not an operator.")
        return _comparison(name, found, verb, self._literal(found, name))

    def _startswith(self) -> Filter:
        self.expect("(")
        name = self.expect("name").text
        found = self._property(name, "startswith")
        self.expect(",")
        prefix = self._literal(found, name)
        self.expect(")")
        if not isinstance(prefix, str):
            raise FilterError(f"startswith compares {name} with a string.")
        read = _reader(found)
        return Filter(
            lambda document: (read(document) or "").startswith(prefix), condition=(name, "startswith", prefix)
        )

    def _property(self, name: str, verb: str) -> Property:
        found = self._allowed.get(name)
        if found is None:
            raise FilterError(f"{name} is not a property that this list can be filtered by.")
        if verb not in found.operators:
            raise FilterError(f"{name} cannot be filtered by {verb}.")
        return found

    def _literal(self, found: Property, name: str) -> Value:
        token = self._next
        if token.kind == "time" or (token.kind == "literal" and token.value is None):
            self.expect(token.kind)
        else:
            token = self.expect("literal")
        return None if token.text == "null" else _converted(token, found.kind, name)

    def _word(self, word: str) -> bool:
        if self._next.kind == "name" and self._next.text == word:
            self._next = next(self._tokens)
            return True
        return False


def _converted(token: Token, kind: PropertyKind, name: str) -> Value:
    """The literal as a value of the property's kind."""
    value = token.value
    if kind == "time" and token.kind == "time":
        try:
            return sortable_time(normalise_time(str(value)))
        except ValueError:
            raise FilterError(f"{token.text} is not a time.") from None
    if token.kind == "literal":
        if kind in ("text", "name") and isinstance(value, str):
            return value.lower() if kind == "text" else value
        if kind == "bool" and isinstance(value, bool):
            return value
        if kind == "int" and isinstance(value, int) and not isinstance(value, bool):
            return value
    raise FilterError(f"{token.text} cannot be compared with {name}.")


def _reader(found: Property) -> Callable[[Mapping[str, Any]], Any]:
    """A function from a document to the property's value, made comparable; None when it has none."""
    normal = _NORMAL[found.kind]
    *outer, last = found.path

    def read(document: Mapping[str, Any]) -> Any:
        place: Any = document
        for step in outer:
            place = place.get(step)
            if place is None:
                return None
        value = place.get(last)
        return None if value is None else normal(value)

    return read


def _comparison(name: str, found: Property, verb: str, value: Value) -> Filter:
    read = _reader(found)
    compare = _COMPARE[verb]
    if verb in ("eq", "ne"):
        hints = {name: value} if verb == "eq" and isinstance(value, str) and found.kind == "text" else {}
        return Filter(lambda document: compare(read(document), value), hints, (name, verb, value))
    if value is None:
        raise FilterError(f"null has no order; {verb} cannot use it.")

    def ordered(document: Mapping[str, Any]) -> bool:
        current = read(document)
        return current is not None and compare(current, value)

    return Filter(ordered, condition=(name, verb, value))
