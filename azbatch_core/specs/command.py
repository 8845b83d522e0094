"""Commands: a list of arguments, or a script for the shell; never a string that sometimes meets a shell.

Batch runs a command line without a shell. A list of arguments is quoted so that the node's splitting gives
back exactly these arguments; a script is handed to a shell once, whole.
"""

from __future__ import annotations

import re
import shlex
import subprocess
from typing import Annotated, Any, Final, Literal

from pydantic import BeforeValidator, Field, field_validator

from azbatch_core.errors import SpecError
from azbatch_core.specs.base import Spec
from azbatch_core.specs.names import check_text
from azbatch_core.specs.problems import mask_text, problem, relocate, show

OperatingSystem = Literal["linux", "windows"]
MAX_STRING: Final = 128 * 1024
"""Bytes of one argument, or of one ``NAME=VALUE``, with the NUL at its end (MAX_ARG_STRLEN, execve(2))."""

_SHELL_SIGNS: Final = re.compile(r"\$\{?[A-Za-z_]\w*|\$\(|^(?:&&|\|\|?|;|[12]?>>?|<|2>&1)$|&&|;$|`")
_SHELLS: Final = frozenset(
    {"sh", "bash", "dash", "zsh", "ksh", "fish", "cmd", "cmd.exe", "powershell", "pwsh"}
)
_SHOWN: Final = 60


class Shell(Spec):
    """A script that runs in the shell of the node (``/bin/bash -c`` on Linux, ``cmd /c`` on Windows)."""

    script: str = Field(
        description=(
            "The script: one or more lines for the shell, which expands variables and understands "
            "&&, | and >."
        ),
        examples=["echo $AZ_BATCH_NODE_ID && ./run.sh > out.txt"],
    )

    @field_validator("script")
    @classmethod
    def _check(cls, value: str) -> str:
        if not value.strip():
            raise problem("the script is empty")
        return check_text(value)


def shell(script: str) -> Shell:
    """A command that a shell runs: `shell("echo $HOME > out.txt")`.

    Raises:
        SpecError: The script is empty or has a NUL character.
    """
    return Shell(script=script)


def parse_command(value: object) -> tuple[str, ...] | Shell:
    """A command from a list of arguments, a `Shell` or ``{"shell": "script"}``.

    Numbers, true and false in a list become text as they are written in a file: ``[sleep, 5]``.

    Raises:
        SpecError: A plain string (the message shows both right forms), an argument that is not text, a
            program without a name, or a NUL.
    """
    if isinstance(value, Shell):
        return value
    if isinstance(value, (list, tuple)):
        arguments = tuple(_argument(index, item) for index, item in enumerate(value))
        if arguments and not arguments[0].strip():
            raise problem(
                "is empty: a command starts with the program to run",
                field="[0]",
                hint="name the program, or write [] for the container image's own entry point",
            )
        return arguments
    if isinstance(value, dict) and len(value) == 1 and set(value) <= {"shell", "script"}:
        try:
            return Shell(script=next(iter(value.values())))
        except SpecError as error:
            failure = problem(
                error.message.removeprefix("script: "), field=next(iter(value)), hint=error.hint
            )
        raise failure
    if isinstance(value, str):
        raise _plain_string(value)
    raise problem(
        f"{show(value)} is not a command", hint='write a list, ["echo", "hi"], or {shell: "script"}'
    )


def _argument(index: int, value: object) -> str:
    text = written(value)
    if text is None:
        raise problem(
            f"an argument must be text, not {show(value)}", field=f"[{index}]", hint="put quotes around it"
        )
    try:
        return check_text(text)
    except SpecError as error:
        failure = relocate(error, f"[{index}]")
    raise failure


def written(value: object) -> str | None:
    """A scalar as text, the way a file writes it (true, 1.50); None for what is not a scalar."""
    if isinstance(value, str):
        return value
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, (int, float)):
        return str(value)
    return None


def _plain_string(text: str) -> SpecError:
    if not text.strip():
        return problem("is an empty string", hint="write [] for the container image's own entry point")
    try:
        words = shlex.split(text[:_SHOWN])  # more is not shown
    except ValueError:
        words = [text]
    short = mask_text(text if len(text) <= _SHOWN else text[:_SHOWN] + "…")
    listed = (
        "[" + ", ".join(f'"{word}"' for word in words) + "]"
        if len(text) <= _SHOWN
        else '["program", "argument", …]'
    )
    return problem(
        f"{short!r} is a plain string, which says nothing about a shell",
        hint=(
            f"write a list, {mask_text(listed)}, or a script, {{shell: {short!r}}} (in Python: "
            f"shell({short!r}))"
        ),
    )


Command = Annotated[
    tuple[str, ...] | Shell,
    BeforeValidator(
        parse_command,
        json_schema_input_type=tuple[str | float | bool, ...] | Shell | dict[Literal["shell"], str],
    ),
]
"""A tuple of arguments or a `Shell`. Empty means: the container image's own entry point."""


def command_line(command: tuple[str, ...] | Shell, os: OperatingSystem = "linux") -> str:
    """The command line for Batch, quoted exactly once.

    On Linux the node splits it by the rules of the POSIX shell (quotes and backslashes, nothing expanded)
    into exactly the given arguments. On Windows it is the form that the C runtime splits, or one ``cmd /d
    /s /c "…"``, whose inside cmd takes as it is.

    Raises:
        SpecError: A script of several lines for Windows, which ``cmd /c`` cannot take.
    """
    if isinstance(command, Shell):
        if os == "linux":
            return shlex.join(("/bin/bash", "-c", command.script))
        if "\n" in command.script.strip():
            raise problem(
                "cmd takes a script of one line",
                hint="join the lines with '&&', or ship a .cmd file as a resource file",
            )
        return f'cmd.exe /d /s /c "{command.script.strip()}"'
    return shlex.join(command) if os == "linux" else subprocess.list2cmdline(command)


def command_warnings(command: tuple[str, ...] | Shell) -> tuple[str, ...]:
    """What looks as if it was meant for a shell in a command that meets none; at most one line."""
    if isinstance(command, Shell) or not command:
        return ()
    if re.split(r"[/\\]", command[0])[-1].lower() in _SHELLS:
        return ()
    signs = (_SHELL_SIGNS.search(argument) for argument in command)
    sign = next((found.group() for found in signs if found), None)
    if sign is None:
        return ()
    rule = "stays as it is, because no shell runs it: use a shell script if it should not"
    return (f"{sign!r} in the command {rule}",)


def check_any_command(command: Any, *, container: object) -> None:
    """Refuse an empty command where no container image can supply one.

    Raises:
        SpecError: The command is empty and there is no container.
    """
    if not isinstance(command, Shell) and not command and container is None:
        raise problem(
            "is empty", field="command", hint="name the program to run, or a container whose entry point runs"
        )
