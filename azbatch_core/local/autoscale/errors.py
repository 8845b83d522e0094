"""A formula's errors, in the service's codes and wording.

Two channels, as in the service: text that does not parse or is too long is refused by the request itself
(`AutoScaleError.refused`); anything later is reported inside the run, with line and column in its `Message`.
"""

from __future__ import annotations

from dataclasses import dataclass

from azbatch_core.local.autoscale import limits
from azbatch_core.local.errors import ERRORS

__all__ = [
    "AutoScaleError",
    "FormulaError",
    "Mistake",
    "Position",
    "evaluation_error",
    "insufficient_data",
    "syntax_error",
    "too_long",
]

_SYNTAX = "AutoScalingFormulaSyntaxError"
_TOO_LONG = "AutoScaleFormulaTooLong"
_EVALUATION = "AutoScalingFormulaEvaluationError"
_INSUFFICIENT = "InsufficientSampleData"
_MESSAGES = {
    _SYNTAX: ERRORS[_SYNTAX].message,
    _TOO_LONG: ERRORS[_TOO_LONG].message,
    _EVALUATION: "The specified auto-scaling formula has evaluation error",
    _INSUFFICIENT: "Autoscale evaluation failed due to insufficient sample data",
}


@dataclass(frozen=True)
class Position:
    """A place in a formula; both numbers count from 1."""

    line: int
    column: int

    def __str__(self) -> str:
        return f"Line {self.line}, Col {self.column}"


@dataclass(frozen=True)
class AutoScaleError:
    """The error of an AutoScaleRun: code, message and name-value pairs as they stand on the wire."""

    code: str
    message: str
    values: tuple[tuple[str, str], ...] = ()

    @property
    def refused(self) -> bool:
        """Whether the service answers 400 with this code instead of reporting it in a run."""
        return self.code in {_SYNTAX, _TOO_LONG}

    def to_wire(self) -> dict[str, object]:
        """The `error` member of an AutoScaleRun document."""
        pairs = [{"name": name, "value": value} for name, value in self.values]
        return {"code": self.code, "message": self.message, "values": pairs}


class FormulaError(Exception):
    """A formula that cannot be read or evaluated; `error` is what the service says about it."""

    def __init__(self, code: str, **values: str) -> None:
        self.error = AutoScaleError(code, _MESSAGES[code], tuple(values.items()))
        super().__init__(code, values)

    def __str__(self) -> str:
        return ": ".join([self.error.code, *(value for _, value in self.error.values)])


class Mistake(ValueError):  # noqa: N818 - internal: the evaluator turns it into a FormulaError
    """An operation that its operands do not allow, before anybody said where in the formula it stands."""


def syntax_error(at: Position, reason: str) -> FormulaError:
    """The formula does not parse."""
    return FormulaError(_SYNTAX, Message=f"{at}: {reason}")


def evaluation_error(at: Position, reason: str) -> FormulaError:
    """The formula parses and fails when it runs."""
    return FormulaError(_EVALUATION, Message=f"{at}: {reason}")


def insufficient_data(at: Position, variable: str, wanted: int, received: int) -> FormulaError:
    """A window holds fewer samples than asked for, both in percent; `at` is the parenthesis of the call."""
    text = f"{at}: Insufficient data from data set: {variable} wanted {wanted}%, received {received}%"
    return FormulaError(_INSUFFICIENT, Message=text)


def too_long() -> FormulaError:
    """The formula exceeds the service's length."""
    return FormulaError(_TOO_LONG, MaxLimit=str(limits.FORMULA_CHARACTERS))
