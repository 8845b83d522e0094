"""Commands: quoted exactly once, so that a node runs exactly what was written."""

from __future__ import annotations

import json
import shlex
import subprocess
import sys
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from specs_refusals import refusal

from azbatch_core.specs import Shell, StartTask, TaskSpec, command_line, command_warnings, shell

TEXT = st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]), max_size=30)
PRINT_ARGUMENTS = "import sys, json; print(json.dumps(sys.argv[1:]))"
NASTY = [
    "",
    " ",
    "a b",
    "it's",
    'say "hi"',
    "'\"'\"'",
    "$HOME",
    "`id`",
    "\\",
    "a\\ b",
    "line\nline",
    "*",
    "#x",
    '{"json": ["a", 1]}',
    "https://a.example/c?sp=r&sig=a%2Fb%3D",
    "a;b && c | d > e",
    "!history",
    "~",
    "é名前",
    "-n",
    "%PATH%",
]


@given(TEXT.filter(str.strip), st.lists(TEXT))
def test_a_list_is_split_back_into_the_same_arguments(program: str, more: list[str]):
    arguments = [program, *more]
    task = TaskSpec(command=arguments)
    assert shlex.split(command_line(task.command)) == arguments


@given(TEXT.filter(str.strip))
def test_a_script_reaches_the_shell_whole(script: str):
    assert shlex.split(command_line(shell(script))) == ["/bin/bash", "-c", script]


def test_nasty_arguments_arrive_unchanged_in_a_process():
    arguments = [sys.executable, "-c", PRINT_ARGUMENTS, *NASTY]
    done = subprocess.run(
        shlex.split(command_line(tuple(arguments))), capture_output=True, text=True, check=True
    )
    assert json.loads(done.stdout) == NASTY


@settings(max_examples=10, deadline=None)
@given(st.lists(TEXT, min_size=1, max_size=5))
def test_a_quoted_list_inside_a_script_arrives_unchanged(arguments: list[str]):
    inner = command_line((sys.executable, "-c", PRINT_ARGUMENTS, *arguments))
    done = subprocess.run(shlex.split(command_line(shell(inner))), capture_output=True, check=True)
    assert json.loads(done.stdout) == arguments


def test_a_script_expands_variables_and_joins_commands():
    line = command_line(shell("A='it''s'; echo \"$A\" && echo two | tr t T"))
    done = subprocess.run(shlex.split(line), capture_output=True, text=True, check=True)
    assert done.stdout == "its\nTwo\n"


@given(st.lists(TEXT.filter(lambda text: "\n" not in text), min_size=1))
def test_on_windows_the_c_runtime_splits_back_the_same_arguments(arguments: list[str]):
    line = command_line(tuple(arguments), os="windows")
    assert split_like_the_c_runtime(line) == arguments


def split_like_the_c_runtime(line: str) -> list[str]:
    """The documented rules of CommandLineToArgvW, for a line without a program name."""
    arguments: list[str] = []
    index = 0
    while index < len(line):
        if line[index] in " \t":
            index += 1
            continue
        current, quoted = "", False
        while index < len(line) and (quoted or line[index] not in " \t"):
            slashes = 0
            while index < len(line) and line[index] == "\\":
                slashes, index = slashes + 1, index + 1
            if index < len(line) and line[index] == '"':
                current += "\\" * (slashes // 2)
                if slashes % 2:
                    current += '"'
                else:
                    quoted = not quoted
                index += 1
            else:
                current += "\\" * slashes
                if index < len(line) and (quoted or line[index] not in " \t"):
                    current, index = current + line[index], index + 1
        arguments.append(current)
    return arguments


def test_on_windows_a_script_is_handed_to_cmd_as_it_is():
    line = command_line(shell('echo "%PATH%" & dir'), os="windows")
    assert line == 'cmd.exe /d /s /c "echo "%PATH%" & dir"'
    assert "one line" in refusal(command_line, shell("a\nb"), os="windows").message


def test_no_command_is_an_empty_line_for_the_image_own_entry_point():
    assert command_line(()) == ""


@pytest.mark.parametrize(
    "make", [lambda command: TaskSpec(command=command), lambda command: StartTask(command=command)]
)
def test_a_plain_string_is_refused_with_both_right_forms(make: Any):
    error = refusal(make, "apt-get update; apt-get install -y 'a b'")
    assert error.field == "command"
    assert error.hint
    assert '["apt-get", "update;", "apt-get", "install", "-y", "a b"]' in error.hint
    assert "{shell: " in error.hint


def test_an_unbalanced_or_long_string_is_refused_all_the_same():
    assert refusal(TaskSpec, command="echo 'x").field == "command"
    assert len(str(refusal(TaskSpec, command="x" * 10_000))) < 500
    assert "empty string" in refusal(TaskSpec, command=" ").message


@pytest.mark.parametrize("value", [5, None, True, {}, {"shell": "a", "x": 1}, {"shel": "a"}, b"x", {1, 2}])
def test_what_is_no_command_is_refused(value: Any):
    assert refusal(TaskSpec, command=value).field == "command"


@pytest.mark.parametrize("value", [None, ["a"], {"a": 1}, "a\0", "\ud800"])
def test_a_wrong_argument_is_named_by_its_place(value: Any):
    assert refusal(TaskSpec, command=["echo", value]).field == "command[1]"


@pytest.mark.parametrize("value", ["", "  ", 5, None, "a\0"])
def test_a_wrong_script_is_refused(value: Any):
    assert refusal(TaskSpec, command={"shell": value}).field == "command.shell"
    assert refusal(shell, value).field == "script"


def test_numbers_and_truth_values_are_written_as_in_a_file():
    assert TaskSpec(command=["sleep", 5, 1.5, True, False]).command == ("sleep", "5", "1.5", "true", "false")


def test_a_script_in_a_mapping_is_a_shell():
    assert TaskSpec(command={"shell": "echo hi"}).command == Shell(script="echo hi") == shell("echo hi")


@pytest.mark.parametrize(
    "command",
    [
        ("echo", "$HOME"),
        ("echo", "${HOME}/x"),
        ("a", "&&", "b"),
        ("a", "|", "b"),
        ("a", ">", "out"),
        ("a", "2>&1"),
        ("a;", "b"),
        ("a", "`id`"),
        ("a", "$(id)"),
        ("a", "x && y"),
    ],
)
def test_shell_signs_without_a_shell_are_warned_of(command: tuple[str, ...]):
    (warning,) = command_warnings(TaskSpec(command=command).command)
    assert "no shell runs it" in warning


@pytest.mark.parametrize(
    "command",
    [
        (),
        ("echo", "hi"),
        ("/bin/sh", "-c", "echo $HOME && ls"),
        ("bash", "-c", "a | b"),
        ("awk", "{print 5}"),
        ("grep", "a|b"),
        ("price", "5$"),
        shell("echo $HOME && ls"),
    ],
)
def test_ordinary_commands_are_not_warned_of(command: Any):
    assert command_warnings(command) == ()


@pytest.mark.parametrize("command", [[""], [" "], ["", "hi"], ("\t",)])
def test_a_program_without_a_name_is_refused(command: Any):
    error = refusal(TaskSpec, command=command)
    assert error.field == "command[0]"
    assert "starts with the program to run" in error.message
    assert TaskSpec(command=["echo", ""]).command == ("echo", "")
