"""Listing directories and finding files in them."""

from __future__ import annotations

import os
import stat
from typing import TYPE_CHECKING

import pytest

from azbatch_core.local.runtime.files import describe, list_files, resolve

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def task(tmp_path: Path) -> Path:
    root = tmp_path / "task"
    (root / "wd/out").mkdir(parents=True)
    (root / "stdout.txt").write_text("hello\n")
    (root / "wd/out/ü x.txt").write_text("1")
    (root / "wd/out/empty").touch()
    (tmp_path / "secret.txt").write_text("secret")
    (root / "wd/leak").symlink_to(tmp_path / "secret.txt")
    (root / "wd/up").symlink_to(tmp_path)
    (root / "wd/dangling").symlink_to(tmp_path / "none")
    (root / "wd/inner").symlink_to(root / "stdout.txt")
    os.mkfifo(root / "wd/pipe")
    (root / "wd/piped").symlink_to(root / "wd/pipe")
    return root


def test_a_plain_listing_shows_the_first_level(task: Path) -> None:
    assert {entry.name for entry in list_files(task, recursive=False)} == {"stdout.txt", "wd"}


def test_a_recursive_listing_goes_breadth_first_and_leaves_out_what_leads_outside(task: Path) -> None:
    names = [entry.name for entry in list_files(task, recursive=True)]
    assert set(names) == {
        "stdout.txt", "wd", "wd/out", "wd/inner", "wd/out/ü x.txt", "wd/out/empty",
    }  # fmt: skip
    depths = [name.count("/") for name in names]
    assert depths == sorted(depths)


def test_entries_tell_what_stat_says(task: Path) -> None:
    os.utime(task / "stdout.txt", (1_700_000_000, 1_700_000_000))
    (task / "stdout.txt").chmod(0o640)
    entries = {entry.name: entry for entry in list_files(task, recursive=False)}
    file = entries["stdout.txt"]
    assert (file.is_directory, file.size, file.mode) == (False, 6, stat.S_IFREG | 0o640)
    assert file.modified.isoformat() == "2023-11-14T22:13:20+00:00"
    assert (entries["wd"].is_directory, entries["wd"].size) == (True, 0)
    assert describe(task, "stdout.txt") == file


def test_a_directory_that_is_not_there_is_told(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        list_files(tmp_path / "none", recursive=True)


@pytest.mark.parametrize("name", ["stdout.txt", "wd/out/ü x.txt", "wd/out", "wd/out/", "wd/inner"])
def test_a_file_inside_is_found(task: Path, name: str) -> None:
    assert resolve(task, name) == (task / name).resolve()


@pytest.mark.parametrize(
    "name",
    ["", "/", ".", "..", "../secret.txt", "wd/../../secret.txt", "wd/leak", "wd/up/secret.txt", "wd/up",
     "wd/dangling", "wd/pipe", "wd/piped", "none", "wd//out", "wd/./out", "stdout.txt\0", "wd/out/../out"],
)  # fmt: skip
def test_nothing_else_is_found(task: Path, name: str) -> None:
    with pytest.raises(FileNotFoundError):
        resolve(task, name)


def test_an_absolute_name_is_taken_as_relative(task: Path, tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        resolve(task, str(tmp_path / "secret.txt"))


def test_a_root_behind_a_link_works(task: Path, tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(task)
    assert resolve(tmp_path / "link", "stdout.txt").read_text() == "hello\n"
    assert len(list_files(tmp_path / "link", recursive=False)) == 2
