"""Two output patterns: can they match the same file?"""

from __future__ import annotations

import fnmatch
from itertools import product

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from azbatch_core.plan.globs import components, has_wildcard, overlap


@pytest.mark.parametrize(
    ("one", "two"),
    [
        (".command.*", ".command.out"),
        ("*.txt", "out.*"),
        ("../std*.txt", "../stdout.txt"),
        ("../stdout.txt", "$AZ_BATCH_TASK_DIR/stdout.txt"),
        ("out.txt", "${AZ_BATCH_TASK_WORKING_DIR}/out.txt"),
        ("./a/../out.txt", "out.txt"),
        ("**/*.csv", "results/a.csv"),
        ("**/*.csv", "a.csv"),
        ("results/**", "results/deep/down/a.csv"),
        ("a/**/z", "a/b/**/z"),
        ("[ab].txt", "[bc].txt"),
        ("[!a].txt", "?.txt"),
        ("[a-f]1", "[e-z]1"),
        ("[!a]", "[!b]"),
        ("/data/*", "/data/x"),
        ("*", "*"),
        ("*", "*."),
        ("a.b", "*.b"),
    ],
)
def test_patterns_that_meet(one: str, two: str):
    assert overlap(one, two)
    assert overlap(two, one)


@pytest.mark.parametrize(
    ("one", "two"),
    [
        ("*.txt", "*.csv"),
        ("*", ".hidden"),
        ("?", "*."),
        ("[.]x", ".x"),
        ("?hidden", ".hidden"),
        ("*", "sub/x"),
        ("../std*.txt", "std*.txt"),
        ("a/*.txt", "b/*.txt"),
        ("[ab].txt", "[cd].txt"),
        ("[!a]", "a"),
        ("abc[*]", "abcd"),
        ("a?", "a"),
        ("out.txt", "$HOME/out.txt"),
        ("/data/x", "data/x"),
        ("**/a", "**/b"),
    ],
)
def test_patterns_that_never_meet(one: str, two: str):
    assert not overlap(one, two)
    assert not overlap(two, one)


PATTERNS = st.text(alphabet="ab*?.", min_size=1, max_size=4)
NAMES = ["".join(letters) for length in range(1, 7) for letters in product("ab.", repeat=length)]


def _matches(name: str, pattern: str) -> bool:
    if name.startswith(".") and not pattern.startswith("."):
        return False
    return fnmatch.fnmatchcase(name, pattern)


@given(
    one=PATTERNS.filter(lambda text: set(text) != {"."}), two=PATTERNS.filter(lambda text: set(text) != {"."})
)
@settings(max_examples=150, deadline=None)
def test_overlap_is_exactly_what_trying_every_name_says(one: str, two: str):
    one, two = one.replace("**", "*"), two.replace("**", "*")
    common = any(_matches(name, one) and _matches(name, two) for name in NAMES)
    # Six letters are enough for two patterns of at most four to meet.
    assert overlap(one, two) == common


def test_the_parts_of_a_pattern_are_counted_from_the_task_directory():
    assert components("out/*.txt") == ("wd", "out", "*.txt")
    assert components("../stdout.txt") == ("stdout.txt",)
    assert components("/mnt/x") == ("", "mnt", "x")
    assert components("$HOME/x") == ("$HOME", "x")
    assert components("out/**") == ("wd", "out", "**", "*")


def test_wildcards_are_told_from_plain_names():
    assert has_wildcard("a*")
    assert has_wildcard("a?")
    assert has_wildcard("[ab]")
    assert not has_wildcard("../stdout.txt")
