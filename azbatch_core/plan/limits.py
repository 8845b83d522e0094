"""Commands that will not do what they look like: signs for a shell without one, text that Linux refuses."""

from __future__ import annotations

from typing import TYPE_CHECKING

from azbatch_core.specs import Shell, command_warnings
from azbatch_core.specs.command import MAX_STRING

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from azbatch_core.specs import Command, EnvironmentVariable
    from azbatch_core.specs.command import OperatingSystem

_RULE = "Linux takes less than 128 KiB and will not start the command"


def program_warnings(
    command: Command, variables: Iterable[EnvironmentVariable], os: OperatingSystem
) -> Iterator[str]:
    """What a user should know of a command and its own variables before it is sent."""
    yield from command_warnings(command)
    if os == "linux":
        yield from too_long(command, variables)


def too_long(command: Command, variables: Iterable[EnvironmentVariable]) -> Iterator[str]:
    """What of a command and its variables Linux refuses, so that the command never starts."""
    yield from _too_long_words(command)
    yield from too_long_variables(variables)


def _too_long_words(command: Command) -> Iterator[str]:
    if isinstance(command, Shell):
        if _bytes(command.script) >= MAX_STRING:
            yield (
                f"its script has {_bytes(command.script):,} bytes: {_RULE}; "
                "ship it as a resource file and run that"
            )
    else:
        for place, argument in enumerate(command):
            if _bytes(argument) >= MAX_STRING:
                yield (
                    f"argument {place} of its command has {_bytes(argument):,} bytes: {_RULE}; "
                    "put it in a resource file"
                )


def too_long_variables(variables: Iterable[EnvironmentVariable]) -> Iterator[str]:
    """The variables that Linux refuses. Secrets are measured, not shown; one to look up has no length yet."""
    for variable in variables:
        value = variable.value
        if value is None and variable.secret is not None and variable.secret.reference is None:
            value = variable.secret.reveal()
        size = _bytes(variable.name) + 1 + _bytes(value or "")
        if size >= MAX_STRING:
            yield f"the variable {variable.name} has {size:,} bytes: {_RULE}; put it in a resource file"


def _bytes(text: str) -> int:
    return len(text) if text.isascii() else len(text.encode("utf-8", "surrogatepass"))
