"""The syntax tree of a formula. Chains of operators are flat: it is only as deep as the text is nested."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    from azbatch_core.local.autoscale.errors import Position

__all__ = [
    "Assignment",
    "Call",
    "Chain",
    "Conditional",
    "Expression",
    "Formula",
    "Link",
    "Member",
    "MethodCall",
    "Name",
    "Number",
    "Statement",
    "Text",
    "Unary",
]


@dataclass(frozen=True)
class Number:
    """A double literal."""

    value: float


@dataclass(frozen=True)
class Text:
    """A string literal."""

    value: str


@dataclass(frozen=True)
class Name:
    """A variable or a constant."""

    name: str
    at: Position


@dataclass(frozen=True)
class Member:
    """`base.name`."""

    base: Expression
    name: str
    at: Position


@dataclass(frozen=True)
class MethodCall:
    """`base.name(arguments)`; `parenthesis` is where the service sees missing samples."""

    base: Expression
    name: str
    arguments: tuple[Expression, ...]
    at: Position
    parenthesis: Position


@dataclass(frozen=True)
class Call:
    """`name(arguments)`."""

    name: str
    arguments: tuple[Expression, ...]
    at: Position


@dataclass(frozen=True)
class Unary:
    """`operators` (each `-` or `!`, outermost first) before an operand."""

    operators: tuple[str, ...]
    operand: Expression
    at: Position


@dataclass(frozen=True)
class Link:
    """An operator and its right operand."""

    operator: str
    operand: Expression
    at: Position


@dataclass(frozen=True)
class Chain:
    """`first op a op b …`, operators of one precedence, taken from the left."""

    first: Expression
    links: tuple[Link, ...]


@dataclass(frozen=True)
class Conditional:
    """`c1 ? v1 : c2 ? v2 : … : otherwise`; `cases` are (condition, value, place of the question mark)."""

    cases: tuple[tuple[Expression, Expression, Position], ...]
    otherwise: Expression


Expression: TypeAlias = Number | Text | Name | Member | MethodCall | Call | Unary | Chain | Conditional


@dataclass(frozen=True)
class Assignment:
    """`name = value`."""

    name: str
    value: Expression
    at: Position


Statement: TypeAlias = Assignment | Expression


@dataclass(frozen=True)
class Formula:
    """A formula that the service accepts; whether it runs is another matter."""

    statements: tuple[Statement, ...]
