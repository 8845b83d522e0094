"""Which files an output pattern matches, and what their blobs are called."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from azbatch_core.local.runtime.patterns import expand_variables, matches

if TYPE_CHECKING:
    from pathlib import Path

FILES = [
    "stdout.txt",
    "stderr.txt",
    "fileuploadout.txt",
    "wd/a.txt",
    "wd/b.csv",
    "wd/c1.txt",
    "wd/abc*",
    "wd/.hidden.txt",
    "wd/out/x.txt",
    "wd/out/deep/y.txt",
    "wd/.git/z.txt",
    "wd/-d/[e]",
]


@pytest.fixture
def wd(tmp_path: Path) -> Path:
    for name in FILES:
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(name)
    (tmp_path / "wd/loop").symlink_to(tmp_path / "wd")
    return tmp_path / "wd"


@pytest.mark.parametrize(
    ("pattern", "blobs"),
    [
        ("*.txt", ["a.txt", "c1.txt"]),
        ("*", ["a.txt", "abc*", "b.csv", "c1.txt"]),
        (".*", [".hidden.txt"]),
        (".*.txt", [".hidden.txt"]),
        ("?.txt", ["a.txt"]),
        ("[a-b].*", ["a.txt", "b.csv"]),
        ("[!a].*", ["b.csv"]),
        ("abc[*]", ["abc*"]),
        ("c[0-9].txt", ["c1.txt"]),
        ("**/*.txt", ["a.txt", "c1.txt", "out/deep/y.txt", "out/x.txt"]),
        ("**/deep/*", ["out/deep/y.txt"]),
        ("out/**", ["deep/y.txt", "x.txt"]),
        ("out/*.txt", ["x.txt"]),
        ("./out/../*.csv", ["b.csv"]),
        ("../std*.txt", ["stderr.txt", "stdout.txt"]),
        ("*/x.txt", ["loop/out/x.txt", "out/x.txt"][1:]),
        ("a.txt", ["a.txt"]),
        ("out/x.txt", ["x.txt"]),
        ("../stdout.txt", ["stdout.txt"]),
        ("nothing*", []),
        ("nothing", []),
        ("out", []),
        ("nowhere/**/*.txt", []),
        ("", []),
    ],
)
def test_a_pattern_matches(wd: Path, pattern: str, blobs: list[str]) -> None:
    found = matches(pattern, wd, {}, None)
    assert [match.blob for match in found] == blobs
    assert all(match.file.is_file() for match in found)


@pytest.mark.parametrize(
    ("pattern", "path", "blobs"),
    [
        ("a.txt", "job/task/result.txt", ["job/task/result.txt"]),
        ("../stdout.txt", "logs/out", ["logs/out"]),
        ("../std*.txt", "logs/out.txt", ["logs/out.txt/stderr.txt", "logs/out.txt/stdout.txt"]),
        ("out/**/*.txt", "r/", ["r/deep/y.txt", "r/x.txt"]),
        ("*.csv", "", ["b.csv"]),
        ("*.csv", "/", ["b.csv"]),
    ],
)
def test_the_path_is_a_folder_only_for_wildcards(wd: Path, pattern: str, path: str, blobs: list[str]) -> None:
    assert [match.blob for match in matches(pattern, wd, {}, path)] == blobs


def test_variables_are_expanded_first(wd: Path) -> None:
    env = {"AZ_BATCH_TASK_DIR": str(wd.parent), "KIND": "csv"}
    assert [m.blob for m in matches("$AZ_BATCH_TASK_DIR/stdout.txt", wd, env, None)] == ["stdout.txt"]
    assert [m.blob for m in matches("*.${KIND}", wd, env, None)] == ["b.csv"]
    assert expand_variables("$NO/${NO}/$KIND$", env) == "$NO/${NO}/csv$"


def test_links_to_folders_lead_to_no_endless_walk(wd: Path) -> None:
    assert not any("loop" in match.blob for match in matches("**/*", wd, {}, None))
