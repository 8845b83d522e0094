"""Files under a directory that nobody gets out of."""

from __future__ import annotations

import json
import os
from contextlib import closing

import pytest
from hypothesis import given
from hypothesis import strategies as st

from azbatch_core.local.errors import BatchError
from azbatch_core.local.http import files
from azbatch_core.local.http.router import Router
from azbatch_core.local.routes.table import OPERATIONS


@pytest.fixture
def root(tmp_path):
    root = tmp_path / "task"
    (root / "wd" / "deep").mkdir(parents=True)
    (root / "stdout.txt").write_bytes(b"hello\n")
    (root / "wd" / "out file.bin").write_bytes(b"0123456789")
    (root / "wd" / "deep" / "x").write_bytes(b"")
    (tmp_path / "secret.txt").write_text("no")
    return root


def code(action, *arguments, **options):
    with pytest.raises(BatchError) as caught:
        action(*arguments, **options)
    return caught.value.code


def test_a_listing_goes_level_by_level_and_names_files_from_the_root(root):
    assert [entry.name for entry in files.walk(root, recursive=False)] == ["stdout.txt", "wd"]
    assert [entry.name for entry in files.walk(root, recursive=True)] == [
        "stdout.txt",
        "wd",
        "wd/deep",
        "wd/out file.bin",
        "wd/deep/x",
    ]


def test_an_entry_of_a_list(root):
    (root / "stdout.txt").chmod(0o644)
    text, folder = (
        entry.document("http://h/jobs/j/tasks/t/files") for entry in files.walk(root, recursive=False)
    )
    assert text["name"] == "stdout.txt"
    assert text["url"] == "http://h/jobs/j/tasks/t/files/stdout.txt"
    assert text["properties"]["contentLength"] == "6"
    assert text["properties"]["fileMode"] == "0o100644"
    assert text["properties"]["contentType"] == "text/plain"
    assert folder == {"name": "wd", "url": "http://h/jobs/j/tasks/t/files/wd", "isDirectory": True}


def test_a_name_may_be_any_bytes(root):
    (root / "wd" / os.fsdecode(b"bad\xff")).write_bytes(b"x")
    entry = next(entry for entry in files.walk(root, recursive=True) if entry.name.startswith("wd/bad"))
    document = entry.document("http://h/files")
    assert json.dumps(document, ensure_ascii=False).encode()
    assert (document["name"], document["url"]) == ("wd/bad\ufffd", "http://h/files/wd/bad%FF")
    assert entry.headers("http://h/files")["ocp-batch-file-url"].endswith("wd%2Fbad%25FF")
    _, ids = Router(OPERATIONS).match("GET", "/jobs/j/tasks/t/files/wd%2Fbad%FF")
    assert files.find(root, ids["filePath"]).status.st_size == 1


def test_the_headers_of_a_file(root):
    headers = files.find(root, "wd/out file.bin").headers("http://h/files")
    assert headers["ocp-batch-file-url"] == "http%3A%2F%2Fh%2Ffiles%2Fwd%2Fout%2520file.bin"
    assert headers["ocp-batch-file-isdirectory"] == "False"
    assert headers["ocp-batch-file-mode"].startswith("0o100")
    assert files.find(root, "wd").headers("http://h")["ocp-batch-file-isdirectory"] == "True"


@pytest.mark.parametrize(
    "name", ["../secret.txt", "wd/../../secret.txt", "/etc/passwd", "", ".", "wd//x", "a\0b", "wd/."]
)
def test_names_that_lead_elsewhere_are_refused(root, name):
    assert code(files.find, root, name) == "InvalidUri"


def test_links_that_lead_elsewhere_are_not_followed(root, tmp_path):
    (root / "wd" / "leak").symlink_to(tmp_path / "secret.txt")
    (root / "wd" / "out").symlink_to(tmp_path)
    (root / "wd" / "loop").symlink_to("loop")
    for name in ("wd/leak", "wd/out/secret.txt", "wd/loop"):
        assert code(files.find, root, name) == "FileNotFound"
    names = {entry.name for entry in files.walk(root, recursive=True)}
    assert names.isdisjoint({"wd/leak", "wd/out", "wd/out/secret.txt", "wd/loop"})


def test_links_inside_are_followed(root):
    (root / "wd" / "latest").symlink_to("out file.bin")
    assert files.find(root, "wd/latest").status.st_size == 10


@given(st.text(max_size=30))
def test_no_name_gets_out(tmp_path_factory, name):
    root = tmp_path_factory.getbasetemp()
    try:
        found = files.find(root, name)
    except BatchError:
        return
    assert found.path.resolve().is_relative_to(root.resolve())


@pytest.mark.parametrize(
    ("header", "expected"),
    [
        ("bytes=0-3", (0, 4)),
        ("bytes=4-", (4, 6)),
        ("bytes=-3", (7, 3)),
        ("bytes=-30", (0, 10)),
        ("bytes=8-100", (8, 2)),
    ],
)
def test_ranges(header, expected):
    assert files.parse_range(header, 10) == expected


@pytest.mark.parametrize("header", ["bytes=10-", "bytes=11-12", "bytes=-0"])
def test_ranges_beyond_the_end_are_named_so(header):
    assert code(files.parse_range, header, 10) == "InvalidRange"


@pytest.mark.parametrize(
    "header",
    [
        *("", "bytes", "bytes=", "bytes=-", "bytes=a-b", "bytes=5-4", "lines=1-2", "bytes=1-2,4-5"),
        *(f"bytes={'9' * 5000}-", f"bytes=0-{'9' * 5000}", f"bytes=-{'9' * 5000}"),
    ],
)
def test_what_is_no_range_is_refused(header):
    assert code(files.parse_range, header, 10) == "InvalidHeaderValue"


def test_reading_stops_at_the_length_that_was_promised(root):
    path = root / "wd" / "out file.bin"
    assert files.read(path, 2, 3) == b"234"
    big = root / "big"
    big.write_bytes(bytes(1_000_000))
    with closing(files.read(big, 10, 900_000)) as part:
        assert sum(map(len, part)) == 900_000


@pytest.mark.parametrize("length", [1, 900_000])
def test_a_file_that_vanished_since_it_was_found_is_not_found(root, length):
    path = root / "wd" / "out file.bin"
    path.unlink()
    assert code(files.read, path, 0, length) == "FileNotFound"
    os.mkfifo(path)
    assert code(files.read, path, 0, length) == "FileNotFound"


def test_a_file_is_sent_to_its_end_although_it_is_deleted_meanwhile(root):
    big = root / "big"
    big.write_bytes(bytes(1_000_000))
    with closing(files.read(big, 0, 1_000_000)) as part:
        big.unlink()
        assert sum(map(len, part)) == 1_000_000


def test_what_could_be_read_for_ever_is_neither_listed_nor_found(root):
    os.mkfifo(root / "wd" / "pipe")
    (root / "wd" / "piped").symlink_to("pipe")
    for name in ("wd/pipe", "wd/piped"):
        assert code(files.find, root, name) == "FileNotFound"
    assert {entry.name for entry in files.walk(root, recursive=True)} == {
        *("stdout.txt", "wd", "wd/deep", "wd/deep/x", "wd/out file.bin"),
    }


def test_a_root_behind_a_link_works(root, tmp_path):
    (tmp_path / "link").symlink_to(root)
    assert files.find(tmp_path / "link", "stdout.txt").status.st_size == 6
    assert [entry.name for entry in files.walk(tmp_path / "link", recursive=False)] == ["stdout.txt", "wd"]


def test_a_folder_is_deleted_only_recursively(root, tmp_path):
    trash = tmp_path / "trash"
    refused = code(files.delete, files.find(root, "wd"), recursive=False, trash=trash)
    assert refused == "InvalidQueryParameterValue"
    files.delete(files.find(root, "stdout.txt"), recursive=False, trash=trash)()
    rest = files.delete(files.find(root, "wd"), recursive=True, trash=trash)
    assert list(root.iterdir()) == []
    rest()
    assert list(trash.iterdir()) == []


def test_a_folder_that_cannot_be_moved_is_deleted_where_it_is(root, tmp_path):
    trash = tmp_path / "trash"
    trash.write_text("no folder")
    files.delete(files.find(root, "wd"), recursive=True, trash=trash)()
    assert [path.name for path in root.iterdir()] == ["stdout.txt"]
