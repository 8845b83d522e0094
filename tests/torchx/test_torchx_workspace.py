"""The workspace on the nodes: what is in it, where it is unpacked, when it is sent."""

from __future__ import annotations

import logging
import os
import tarfile
from typing import TYPE_CHECKING, Any

import pytest
from torchx.runner import get_runner
from torchx.specs import AppState
from torchx_apps import CFG, app_of, stdout, wait

from azbatch_torchx import workspace

if TYPE_CHECKING:
    from pathlib import Path

    from conftest import Commands


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A workspace with something of each kind."""
    made = tmp_path / "project"
    for name in ("train.py", "lib/util.py", "data/big.bin", ".git/config", "venv/pyvenv.cfg", "venv/bin/x"):
        (made / name).parent.mkdir(parents=True, exist_ok=True)
        (made / name).write_text(f"# {name}\n")
    (made / "lib/link.py").symlink_to("util.py")
    (made / "lib/broken").symlink_to("nowhere")
    (made / "run me.sh").write_text("echo ran\n")
    (made / "run me.sh").chmod(0o755)
    (made / ".torchxignore").write_text("data\n")
    return made


@pytest.mark.parametrize("replicas", [1, 2])
def test_the_workspace_is_where_the_command_starts(scheduler: Any, folder: Path, replicas: int) -> None:
    script = 'find . -type f | sort; cat lib/link.py; "./run me.sh"; printf "%s\\n" "$@"'
    app = app_of("sh", "-c", script, "sh", "it's", "$HOME", num_replicas=replicas)
    app_id = scheduler.submit(app, CFG, workspace=str(folder))
    wait(scheduler, app_id, AppState.SUCCEEDED)
    files = ["./.torchxignore", "./lib/link.py", "./lib/util.py", "./run me.sh", "./train.py"]
    for k in range(replicas):
        lines = [line.rstrip("\n") for line in stdout(scheduler, app_id, k=k)]
        mark = ["./.azbatch-member"] if k else []  # tells whose output is kept under which name
        assert lines == [*mark, *files, "# lib/util.py", "ran", "it's", "$HOME"]


def test_it_is_sent_when_it_changed(scheduler: Any, folder: Path, caplog: pytest.LogCaptureFixture) -> None:
    def sent() -> str:
        caplog.clear()
        with caplog.at_level(logging.INFO, "azbatch"):
            scheduler.submit(app_of("true"), CFG, workspace=f"file://{folder}")
        return next(one for one in caplog.messages if one.startswith("the workspace"))

    (folder / "train.py").write_text(f"# {folder}\n")
    assert sent() == "the workspace: 5 files"
    for path in folder.rglob("*"):
        if path.is_file():
            os.utime(path, (1, 1))
    (folder / "data/big.bin").write_text("another")
    assert sent() == "the workspace: 5 files, unchanged in storage"
    (folder / "train.py").write_text(f"#  {folder}\n")
    assert sent() == "the workspace: 5 files"


def test_a_link_out_of_the_workspace_is_not_sent(
    folder: Path, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "secret").write_text("mine")
    (folder / "lib/out").symlink_to("../../secret")
    (folder / "whole").symlink_to(tmp_path)
    archive = workspace.pack(folder, bounded=True)
    assert archive is not None
    with tarfile.open(archive.path) as packed:
        names = packed.getnames()
    assert "lib/link.py" in names
    assert "lib/out" not in names
    said = "lib/broken (leads nowhere); lib/out, whole (leads out of it)"
    assert caplog.messages == [f"not sent with the workspace: {said}"]


def packed_names(folder: Path) -> list[str]:
    archive = workspace.pack(folder, bounded=True)
    if archive is None:
        return []
    with tarfile.open(archive.path) as packed:
        return packed.getnames()


def test_links_to_folders_are_followed_and_what_cannot_be_sent_is_named(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    for name in ("data/v1/a.txt", ".git/hook", "a/x.py"):
        (tmp_path / name).parent.mkdir(parents=True)
        (tmp_path / name).write_text(name)
    (tmp_path / "empty/inner").mkdir(parents=True)
    (tmp_path / "data/current").symlink_to("v1")
    (tmp_path / "latest").symlink_to(tmp_path / "data/current")
    (tmp_path / "a/up").symlink_to("..")
    (tmp_path / "a/self").symlink_to("self")
    (tmp_path / "hooks").symlink_to(".git")
    os.mkfifo(tmp_path / "pipe")
    files = ["a/x.py", "data/current/a.txt", "data/v1/a.txt", "empty/inner", "latest/a.txt"]
    assert packed_names(tmp_path) == files
    said = "a/self (leads nowhere); a/up (leads back to where it is); pipe (is no file)"
    assert caplog.messages == [f"not sent with the workspace: {said}"]


@pytest.mark.parametrize(
    ("rules", "kept"),
    [
        ("*\n!sub/y.txt", ["sub/y.txt"]),
        ("*\n!sub", ["sub/deep/z.txt", "sub/x.py", "sub/y.txt"]),
        ("*\n!sub\nsub/deep", ["sub/x.py", "sub/y.txt"]),
        ("*\n!**/z.txt", ["sub/deep/z.txt"]),
        ("sub\n!sub/deep/z.txt", [".torchxignore", "b.py", "sub/deep/z.txt"]),
        ("*.py", [".torchxignore", "sub/deep/z.txt", "sub/y.txt"]),
        ("**/*.py # code\n/sub/deep/", [".torchxignore", "sub/y.txt"]),
        ("!sub/x.py\n*.py\nsub/*", [".torchxignore"]),
        ("*\n!*.py", ["b.py"]),
        ("*", []),
    ],
)
def test_the_last_rule_that_names_a_path_or_its_folder_decides(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, rules: str, kept: list[str]
) -> None:
    (tmp_path / "sub/deep").mkdir(parents=True)
    for name in ("b.py", "sub/x.py", "sub/y.txt", "sub/deep/z.txt"):
        (tmp_path / name).write_text(name)
    (tmp_path / ".torchxignore").write_text(rules)
    assert packed_names(tmp_path) == kept
    nothing = f"no file of the workspace {tmp_path} is sent: .torchxignore leaves out all"
    assert caplog.messages == ([] if kept else [nothing])


def test_a_workspace_without_files_is_told(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.INFO, "azbatch"):
        assert packed_names(tmp_path) == []
    assert caplog.messages == [f"no file of the workspace {tmp_path} is sent: there is none"]


def test_a_home_folder_is_not_sent_by_accident(
    scheduler: Any, folder: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(workspace, "MOST_FILES", 3)
    app_id = scheduler.submit(app_of("ls", "-a"), CFG, workspace=str(folder))
    assert "has more than 3 files and is not sent" in caplog.text
    wait(scheduler, app_id, AppState.SUCCEEDED)
    assert "train.py\n" not in stdout(scheduler, app_id)
    app_id = scheduler.submit(app_of("ls"), {**CFG, "workspace": "archive"}, workspace=str(folder))
    wait(scheduler, app_id, AppState.SUCCEEDED)
    assert "train.py\n" in stdout(scheduler, app_id)


def test_a_dry_run_sends_nothing_and_can_be_scheduled(scheduler: Any, folder: Path) -> None:
    with get_runner() as runner:
        info = runner.dryrun(app_of("cat", "train.py"), "azure_batch", CFG, workspace=str(folder))
        handle = runner.schedule(info)
        app_id = handle.rpartition("/")[2]
        wait(scheduler, app_id, AppState.SUCCEEDED)
        assert stdout(scheduler, app_id) == ["# train.py\n"]


@pytest.mark.parametrize(
    ("cfg", "said"),
    [
        ("workspace=zip", "workspace=zip is none of auto, archive, image, none"),
        ("workspace=image", "needs image_repo"),
        ("workspace=image,image_repo=r.example/x", "needs Docker: no Docker daemon answers"),
    ],
)
def test_what_cannot_be_had_is_said(torchx: Commands, cfg: str, said: str) -> None:
    ended = torchx(
        "run", "-s", "azure_batch", "-cfg", f"account=here,{cfg}", "utils.echo", DOCKER_HOST="unix:///nowhere"
    )
    assert ended.code == 1
    assert said in ended.err


def test_a_workspace_that_is_not_there_is_an_error(torchx: Commands) -> None:
    words = ("--workspace", str(torchx.folder / "nonexistent"), "utils.echo")
    ended = torchx("run", "-s", "azure_batch", "-cfg", "account=here", *words)
    assert ended.code == 1
    assert "nonexistent is no folder of this machine" in ended.err


def test_from_the_command_line_and_not_at_all(torchx: Commands) -> None:
    (torchx.folder / "hello.txt").write_text("hi there\n")
    words = ("--wait", "--log", "utils.sh", "cat", "hello.txt")
    ended = torchx("run", "-s", "azure_batch", "-cfg", "account=here", *words)
    assert "hi there" in ended.err + ended.out
    ended = torchx("run", "-s", "azure_batch", "-cfg", "account=here,workspace=none", *words)
    assert "hi there" not in ended.err + ended.out
