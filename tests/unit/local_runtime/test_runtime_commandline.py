"""How command lines are split."""

from __future__ import annotations

import shlex

import pytest
from hypothesis import given
from hypothesis import strategies as st

from azbatch_core.local.runtime.commandline import split


@pytest.mark.parametrize(
    ("line", "arguments"),
    [
        ("true", ["true"]),
        ("echo  $HOME && rm *", ["echo", "$HOME", "&&", "rm", "*"]),
        ("/bin/bash -c 'echo \"a b\"; exit 3'", ["/bin/bash", "-c", 'echo "a b"; exit 3']),
        ('sh -c "echo \\"x\\" # y"', ["sh", "-c", 'echo "x" # y']),
        ("echo # not a comment", ["echo", "#", "not", "a", "comment"]),
        ("echo ''", ["echo", ""]),
        ("echo a\\ b", ["echo", "a b"]),
        ("echo\n\tx", ["echo", "x"]),
    ],
)
def test_quotes_are_the_only_special_characters(line: str, arguments: list[str]) -> None:
    assert split(line) == arguments


@pytest.mark.parametrize("line", ["", "  ", "''", "echo 'x", 'echo "x', "echo \\"])
def test_what_cannot_be_split_is_refused(line: str) -> None:
    with pytest.raises(ValueError, match=r"."):
        split(line)


@given(st.text("ab \t\n\r\v\xa0'\"\\#$", max_size=20))
def test_it_splits_as_shlex_does(line: str) -> None:
    try:
        expected = shlex.split(line)
    except ValueError:
        expected = []
    if expected and expected[0]:
        assert split(line) == expected
    else:
        with pytest.raises(ValueError, match=r"."):
            split(line)


def test_a_long_line_takes_no_longer_than_its_length() -> None:
    # shlex needs twenty seconds here.
    assert [len(argument) for argument in split("x " + "a" * 1_000_000 + " '" + "b c" * 300_000 + "'")] == [
        1, 1_000_000, 900_000,
    ]  # fmt: skip


@given(st.lists(st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"])), min_size=1))
def test_every_argument_survives_quoting(arguments: list[str]) -> None:
    arguments = ["program", *arguments]
    assert split(shlex.join(arguments)) == arguments
