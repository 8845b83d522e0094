"""Tokens to a syntax tree: recursive descent with C's precedence, depth and length bounded."""

from __future__ import annotations

import math
from contextlib import contextmanager
from typing import TYPE_CHECKING

from azbatch_core.local.autoscale import limits
from azbatch_core.local.autoscale.errors import syntax_error, too_long
from azbatch_core.local.autoscale.lexer import tokenise
from azbatch_core.local.autoscale.tree import (
    Assignment,
    Call,
    Chain,
    Conditional,
    Expression,
    Formula,
    Link,
    Member,
    MethodCall,
    Name,
    Number,
    Statement,
    Text,
    Unary,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    from azbatch_core.local.autoscale.lexer import Token

__all__ = ["parse"]

# From the loosest to the tightest; the conditional operator is looser, unary operators are tighter.
_LEVELS: tuple[frozenset[str], ...] = (
    frozenset({"||"}),
    frozenset({"&&"}),
    frozenset({"==", "!="}),
    frozenset({"<", "<=", ">", ">="}),
    frozenset({"+", "-"}),
    frozenset({"*", "/"}),
)
_UNARY = frozenset({"-", "!"})


def parse(formula: str) -> Formula:
    """The tree of `formula`. What this returns the service accepts in a request.

    Raises:
        FormulaError: `AutoScaleFormulaTooLong` or `AutoScalingFormulaSyntaxError`; the service answers 400.
    """
    if len(formula) > limits.FORMULA_CHARACTERS:
        raise too_long()
    return _Parser(tuple(tokenise(formula))).formula()


class _Parser:
    def __init__(self, tokens: tuple[Token, ...]) -> None:
        self._tokens = tokens
        self._next = 0
        self._depth = 0

    def formula(self) -> Formula:
        statements: list[Statement] = []
        while not self._at_end():
            if self._accept(";"):
                continue
            at = self._here.at
            if len(statements) == limits.STATEMENTS:
                raise syntax_error(at, f"The formula has more than {limits.STATEMENTS} statements")
            statements.append(self._statement())
            if not self._at_end():
                self._expect(";")
        if not statements:
            raise syntax_error(self._here.at, "The formula has no statement")
        return Formula(tuple(statements))

    def _statement(self) -> Statement:
        token = self._here
        if token.kind == "name" and self._is_mark("=", ahead=1):
            self._next += 2
            return Assignment(token.text, self._expression(), token.at)
        return self._expression()

    def _expression(self) -> Expression:
        with self._deeper():
            cases = []
            condition = self._level(0)
            while self._is_mark("?"):
                question = self._take()
                value = self._expression()
                self._expect(":")
                cases.append((condition, value, question.at))
                condition = self._level(0)
        return Conditional(tuple(cases), condition) if cases else condition

    def _level(self, level: int) -> Expression:
        if level == len(_LEVELS):
            return self._unary()
        first = self._level(level + 1)
        links = []
        while self._here.kind == "mark" and self._here.text in _LEVELS[level]:
            operator = self._take()
            links.append(Link(operator.text, self._level(level + 1), operator.at))
        return Chain(first, tuple(links)) if links else first

    def _unary(self) -> Expression:
        at = self._here.at
        operators = []
        while self._here.kind == "mark" and self._here.text in _UNARY:
            operators.append(self._take().text)
        operand = self._postfix()
        return Unary(tuple(operators), operand, at) if operators else operand

    def _postfix(self) -> Expression:
        value = self._primary()
        members = 0
        while self._accept("."):
            members += 1
            name = self._take_name()
            if members > limits.NESTING:
                raise self._too_deep(name)
            if self._is_mark("("):
                parenthesis = self._here.at
                value = MethodCall(value, name.text, self._arguments(), name.at, parenthesis)
            else:
                value = Member(value, name.text, name.at)
        return value

    def _primary(self) -> Expression:
        token = self._here
        if token.kind == "name":
            self._next += 1
            if self._is_mark("("):
                return Call(token.text, self._arguments(), token.at)
            return Name(token.text, token.at)
        if token.kind == "number":
            self._next += 1
            return self._number(token)
        if token.kind == "string":
            self._next += 1
            return Text(token.text)
        if self._accept("("):
            inner = self._expression()
            self._expect(")")
            return inner
        raise syntax_error(token.at, f"Unexpected {_shown(token)}")

    def _number(self, token: Token) -> Number:
        value = float(token.text)
        if not math.isfinite(value):
            raise syntax_error(token.at, "The number is too large")
        return Number(value)

    def _arguments(self) -> tuple[Expression, ...]:
        self._expect("(")
        arguments: list[Expression] = []
        while not self._accept(")"):
            if arguments:
                self._expect(",")
            arguments.append(self._expression())
        return tuple(arguments)

    @property
    def _here(self) -> Token:
        return self._tokens[self._next]

    def _at_end(self) -> bool:
        return self._here.kind == "end"

    def _take(self) -> Token:
        token = self._here
        self._next += 1
        return token

    def _take_name(self) -> Token:
        if self._here.kind != "name":
            raise syntax_error(self._here.at, f"Expected a name, found {_shown(self._here)}")
        return self._take()

    def _is_mark(self, mark: str, *, ahead: int = 0) -> bool:
        # There is always a token ahead: a name is never the last one, the end is.
        token = self._tokens[self._next + ahead]
        return token.kind == "mark" and token.text == mark

    def _accept(self, mark: str) -> bool:
        found = self._is_mark(mark)
        self._next += found
        return found

    def _expect(self, mark: str) -> None:
        if not self._accept(mark):
            raise syntax_error(self._here.at, f"Expected '{mark}', found {_shown(self._here)}")

    @contextmanager
    def _deeper(self) -> Iterator[None]:
        self._depth += 1
        if self._depth > limits.NESTING:
            raise self._too_deep(self._here)
        yield
        self._depth -= 1

    def _too_deep(self, token: Token) -> Exception:
        return syntax_error(token.at, f"The formula is nested deeper than {limits.NESTING} levels")


def _shown(token: Token) -> str:
    return token.text if token.kind == "end" else f"'{token.text}'"
