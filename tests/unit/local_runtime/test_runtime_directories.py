"""The folders of nodes and tasks."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

import pytest

from azbatch_core.local.runtime import directories

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


@pytest.fixture
def executor() -> Iterator[ThreadPoolExecutor]:
    with ThreadPoolExecutor(1) as pool:
        yield pool


def test_a_node_has_the_folders_of_a_real_one(tmp_path: Path) -> None:
    directories.create_node(tmp_path)
    assert {p.relative_to(tmp_path).as_posix() for p in tmp_path.rglob("*")} == {
        "applications", "fsmounts", "shared", "startup", "volatile", "volatile/startup", "workitems",
    }  # fmt: skip


def test_making_a_node_again_keeps_what_it_holds(tmp_path: Path) -> None:
    directories.create_node(tmp_path)
    (tmp_path / "shared/x").write_text("kept")
    directories.create_node(tmp_path)
    assert (tmp_path / "shared/x").read_text() == "kept"


@pytest.mark.parametrize(
    ("job", "path"),
    [("job", "workitems/job/job-1/t"), ("nightly:job-7", "workitems/nightly/job-7/t")],
)
def test_a_task_lies_below_its_job(tmp_path: Path, job: str, path: str) -> None:
    assert directories.task_directory(tmp_path, job, "t") == tmp_path / path


@pytest.mark.parametrize("bad", ["", ".", "..", "a/b", "../x", "a\0b"])
def test_an_id_that_is_no_folder_name_is_refused(tmp_path: Path, bad: str) -> None:
    with pytest.raises(ValueError, match="cannot name a folder"):
        directories.task_directory(tmp_path, "job", bad)
    with pytest.raises(ValueError, match="cannot name a folder"):
        directories.job_directory(tmp_path, f"{bad}:job-1" if bad else "")


def test_a_task_has_wd_and_certs(tmp_path: Path) -> None:
    task = tmp_path / "workitems/job/job-1/t"
    directories.prepare_task(task)
    assert {p.name for p in task.iterdir()} == {"wd", "certs"}
    with pytest.raises(FileExistsError):
        directories.prepare_task(task)


def test_thrown_away_is_gone_at_once_and_deleted_later(tmp_path: Path, executor: ThreadPoolExecutor) -> None:
    folder = tmp_path / "node"
    (folder / "a/b").mkdir(parents=True)
    (folder / "a/b/c").write_text("x")
    trash = directories.Trash(tmp_path / "trash", executor)
    trash.throw(folder)
    assert not folder.exists()
    trash.throw(folder)  # nothing there: fine
    executor.shutdown()
    assert list((tmp_path / "trash").iterdir()) == []


def test_what_a_killed_service_threw_away_is_deleted(tmp_path: Path, executor: ThreadPoolExecutor) -> None:
    (tmp_path / "trash/old/x").mkdir(parents=True)
    trash = directories.Trash(tmp_path / "trash", executor)
    trash.empty()
    executor.shutdown()
    assert list((tmp_path / "trash").iterdir()) == []


def test_a_folder_that_a_task_closed_is_deleted(tmp_path: Path) -> None:
    inner = tmp_path / "x/closed"
    inner.mkdir(parents=True)
    (inner / "file").write_text("x")
    inner.chmod(0)
    directories.delete_tree(tmp_path / "x")
    assert not (tmp_path / "x").exists()


def test_deleting_follows_no_links(tmp_path: Path) -> None:
    (tmp_path / "kept").mkdir()
    (tmp_path / "kept/file").write_text("x")
    (tmp_path / "x").mkdir()
    (tmp_path / "x/link").symlink_to(tmp_path / "kept")
    (tmp_path / "link").symlink_to(tmp_path / "kept")
    directories.delete_tree(tmp_path / "x")
    directories.delete_tree(tmp_path / "link")
    assert [p.name for p in tmp_path.iterdir()] == ["kept"]
    assert (tmp_path / "kept/file").exists()
