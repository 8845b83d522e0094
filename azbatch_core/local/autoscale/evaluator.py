"""A syntax tree run against samples and a time: each node once at most, vectors within a budget."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

from azbatch_core.local.autoscale import choices, functions, limits
from azbatch_core.local.autoscale.errors import Mistake, evaluation_error, insufficient_data
from azbatch_core.local.autoscale.moments import read_moment
from azbatch_core.local.autoscale.operators import binary, truth, unary
from azbatch_core.local.autoscale.samples import METHODS, InsufficientData
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
from azbatch_core.local.autoscale.values import Timestamp, type_name

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from azbatch_core.local.autoscale.errors import Position
    from azbatch_core.local.autoscale.values import Value
    from azbatch_core.local.autoscale.variables import Scope

__all__ = ["run"]


class _Stop(Exception):  # noqa: N818 - `stop()` was called; no error
    pass


def run(formula: Formula, scope: Scope, now: Timestamp, random: Callable[[], float]) -> None:
    """Run the statements in order; on return `scope` holds what they assigned, up to a `stop()`.

    Raises:
        FormulaError: `AutoScalingFormulaEvaluationError` or `InsufficientSampleData`.
    """
    evaluator = _Evaluator(scope, now, random)
    try:
        for statement in formula.statements:
            evaluator.statement(statement)
    except _Stop:
        pass


@contextmanager
def _located(at: Position) -> Iterator[None]:
    try:
        yield
    except Mistake as mistake:
        raise evaluation_error(at, str(mistake)) from None


class _Evaluator:
    def __init__(self, scope: Scope, now: Timestamp, random: Callable[[], float]) -> None:
        self._scope = scope
        self._now = now
        self._random = random
        self._work = 0

    def statement(self, statement: Statement) -> None:
        if isinstance(statement, Assignment):
            value = self._value(statement.value)
            with _located(statement.at):
                self._scope.assign(statement.name, value, statement.at)
        else:
            self._value(statement)

    def _value(self, node: Expression) -> Value:  # noqa: PLR0911 - a kind of node a line
        match node:
            case Number() | Text():
                return node.value
            case Name():
                return self._name(node)
            case Chain():
                return self._chain(node)
            case Conditional():
                return self._conditional(node)
            case Unary():
                return self._unary(node)
            case Call():
                return self._call(node)
            case MethodCall():
                return self._method(node)
            case Member():
                return self._member(node)

    def _name(self, node: Name) -> Value:
        value = self._scope.read(node.name)
        if value is None:
            raise evaluation_error(node.at, f"Undefined symbol: {node.name}")
        return value

    def _chain(self, node: Chain) -> Value:
        value = self._value(node.first)
        for link in node.links:
            if link.operator in {"&&", "||"}:
                value = self._logic(value, link)
            else:
                right = self._value(link.operand)
                with _located(link.at):
                    self._spend((value, right))
                    value = binary(link.operator, value, right)
        return value

    def _logic(self, left: Value, link: Link) -> float:
        with _located(link.at):
            first = truth(left)
        decided = first == (link.operator == "||")
        if decided and choices.LOGIC_IS_LAZY:
            return float(first)
        right = self._value(link.operand)
        with _located(link.at):
            second = truth(right)
        return float(first if decided else second)

    def _conditional(self, node: Conditional) -> Value:
        for condition, value, question in node.cases:
            tested = self._value(condition)
            with _located(question):
                chosen = truth(tested)
            if chosen:
                return self._value(value)
        return self._value(node.otherwise)

    def _unary(self, node: Unary) -> Value:
        value = self._value(node.operand)
        with _located(node.at):
            for operator in reversed(node.operators):
                value = unary(operator, value)
        return value

    def _member(self, node: Member) -> Value:
        value = self._value(node.base)
        found = value.member(node.name) if isinstance(value, Timestamp) else None
        if found is None:
            raise evaluation_error(node.at, f"A {type_name(value)} has no member {node.name}")
        return found

    def _method(self, node: MethodCall) -> Value:
        samples = self._scope.samples(node.base.name) if isinstance(node.base, Name) else None
        if samples is None or node.name not in METHODS or not isinstance(node.base, Name):
            kind = "sample set" if samples is not None else type_name(self._value(node.base))
            raise evaluation_error(node.at, f"A {kind} has no method {node.name}")
        arguments = [self._value(argument) for argument in node.arguments]
        try:
            with _located(node.parenthesis):
                return samples.method(node.name, arguments)
        except InsufficientData as lack:
            raise insufficient_data(node.parenthesis, node.base.name, lack.wanted, lack.received) from None

    def _call(self, node: Call) -> Value:
        bound: dict[str, Callable[[Sequence[Value]], Value]] = {
            "time": self._time,
            "rand": self._rand,
            "stop": self._stop,
        }
        if node.name not in bound and node.name not in functions.FUNCTIONS:
            raise evaluation_error(node.at, f"Undefined symbol: {node.name}")
        arguments = [self._value(argument) for argument in node.arguments]
        with _located(node.at):
            self._spend(arguments)
            if node.name in bound:
                return bound[node.name](arguments)
            return functions.call(node.name, arguments)

    def _spend(self, operands: Sequence[Value]) -> None:
        self._work += sum(len(operand) for operand in operands if isinstance(operand, tuple))
        if self._work > limits.WORK:
            raise Mistake(f"The formula computes with more than {limits.WORK} elements of vectors")

    def _time(self, arguments: Sequence[Value]) -> Value:
        match arguments:
            case [] | [""]:
                return self._now
            case [str() as text]:
                return read_moment(text)
        raise Mistake("time takes one string")

    def _rand(self, arguments: Sequence[Value]) -> Value:
        if arguments:
            raise Mistake("rand takes no arguments")
        return float(self._random())

    def _stop(self, arguments: Sequence[Value]) -> Value:
        if arguments:
            raise Mistake("stop takes no arguments")
        raise _Stop
