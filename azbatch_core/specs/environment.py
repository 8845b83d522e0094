"""Environment variables, with values that may be secret."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Annotated, Any, Final

from pydantic import BeforeValidator, Field, field_validator, model_validator

from azbatch_core.errors import SpecError
from azbatch_core.specs.base import Spec
from azbatch_core.specs.command import written
from azbatch_core.specs.names import check_text
from azbatch_core.specs.problems import path_of, problem, relocate
from azbatch_core.specs.secrets import Secret

if TYPE_CHECKING:
    from collections.abc import Iterable

    from typing_extensions import Self

_NAME: Final = re.compile(r"[^\s=\x00-\x1f\x7f]+")
_RESERVED_PREFIX: Final = "AZ_BATCH_"


class EnvironmentVariable(Spec):
    """One variable of a task's environment; exactly one of `value` and `secret`."""

    name: str = Field(
        description="The name, without '='. Names that start with AZ_BATCH_ belong to Batch.",
        examples=["THREADS"],
    )
    value: str | None = Field(default=None, description="The value, shown to everybody who may read the job.")
    secret: Secret | None = Field(default=None, description="The value as a secret, never shown by azbatch.")

    @field_validator("name")
    @classmethod
    def _check_name(cls, value: str) -> str:
        if not _NAME.fullmatch(value):
            raise problem("a variable's name must not be empty or have '=', spaces or control characters")
        if value.upper().startswith(_RESERVED_PREFIX):
            raise problem(
                f"{value!r} is set by Batch itself: names that start with {_RESERVED_PREFIX} are taken"
            )
        return check_text(value)

    @field_validator("value")
    @classmethod
    def _check_value(cls, value: str | None) -> str | None:
        return value if value is None else check_text(value)

    @model_validator(mode="after")
    def _exactly_one(self) -> Self:
        if (self.value is None) == (self.secret is None):
            raise problem(f"the variable {self.name} needs exactly one of value and secret")
        return self


def parse_environment(given: object) -> tuple[EnvironmentVariable, ...]:
    """Variables from a mapping, or from a list of `EnvironmentVariable`, mappings and ``NAME=VALUE`` texts.

    In a mapping a value is text, a number (as written), true or false (in lower case), null (the empty
    string), a `Secret`, or ``{secret: …}``. A text is split at its first ``=``, so that values may have
    more of them.

    Raises:
        SpecError: A name that is taken, malformed or given twice, or a value that is none of these.
    """
    if isinstance(given, dict):
        variables = [_of_pair(name, value) for name, value in given.items()]
    elif isinstance(given, (list, tuple)):
        variables = [_of_item(index, item) for index, item in enumerate(given)]
    else:
        raise problem("must be a mapping of names to values, or a list of NAME=VALUE")
    _refuse_twice(variables)
    return tuple(variables)


def _of_pair(name: Any, value: object) -> EnvironmentVariable:
    if isinstance(name, str):
        try:
            return _variable(name, value)
        except SpecError as error:
            failure = relocate(error, path_of((name,)))
            if not isinstance(value, dict) or error.field == "name":
                # The key of the mapping is the variable's name, and its value the value: no path below it.
                text = error.message.removeprefix(f"{error.field}: ")
                failure = problem(text, field=path_of((name,)), hint=error.hint)
        raise failure
    raise problem("a variable's name must be text")


def _variable(name: str, value: object) -> EnvironmentVariable:
    if isinstance(value, Secret):
        return EnvironmentVariable(name=name, secret=value)
    if isinstance(value, dict):
        return EnvironmentVariable(**{**value, "name": name})
    text = "" if value is None else written(value)
    if text is None:
        raise problem("the value must be text, a number, true, false, null or {secret: …}")
    return EnvironmentVariable(name=name, value=text)


def _of_item(index: int, item: object) -> EnvironmentVariable:
    if isinstance(item, EnvironmentVariable):
        return item
    try:
        if isinstance(item, dict):
            return EnvironmentVariable(**item)
        if isinstance(item, str):
            name, equals, value = item.partition("=")
            if not equals:
                raise problem("has no '='", hint="write NAME=VALUE")
            return EnvironmentVariable(name=name, value=value)
        raise problem("must be NAME=VALUE or a mapping with name and value or secret")
    except SpecError as error:
        failure = relocate(error, f"[{index}]")
    raise failure


def _refuse_twice(variables: Iterable[EnvironmentVariable]) -> None:
    seen: set[str] = set()
    for variable in variables:
        if variable.name in seen:
            raise problem(f"the variable {variable.name} is given twice")
        seen.add(variable.name)


Environment = Annotated[
    tuple[EnvironmentVariable, ...],
    BeforeValidator(
        parse_environment,
        json_schema_input_type=dict[str, str | float | bool | dict[str, Secret] | None]
        | tuple[str | EnvironmentVariable, ...],
    ),
]
