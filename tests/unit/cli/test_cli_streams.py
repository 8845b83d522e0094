"""Ctrl-C at any moment, and standard streams that are closed or full."""

from __future__ import annotations

import errno
import os
import subprocess
import sys
from typing import TYPE_CHECKING

import click
import pytest

from azbatch_core import cli
from azbatch_core.cli import exits

if TYPE_CHECKING:
    from collections.abc import Sequence
    from importlib.machinery import ModuleSpec
    from pathlib import Path
    from types import ModuleType

    from cli_fakes import Azbatch, Chunk, FakeBatch

COMMAND = [sys.executable, "-m", "azbatch_core.cli"]


class _Interrupter:
    """An import of that module is where Ctrl-C comes."""

    def __init__(self, name: str) -> None:
        self.name = name

    def find_spec(
        self, name: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """Let others find anything else."""
        del path, target
        if name == self.name:
            raise KeyboardInterrupt
        return None


@pytest.mark.parametrize("error", [KeyboardInterrupt(), click.Abort()])
def test_ctrl_c_is_one_line_and_no_bug(error: BaseException, batch: FakeBatch, azbatch: Azbatch) -> None:
    batch.raises["jobs"] = error
    result = azbatch("jobs")
    assert (result.code, result.out, result.err) == (130, "", "azbatch: interrupted\n")


def test_ctrl_c_while_modules_are_imported(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.delattr(cli, "app", raising=False)
    monkeypatch.delitem(sys.modules, "azbatch_core.cli.app", raising=False)
    monkeypatch.setattr(sys, "meta_path", [_Interrupter("azbatch_core.cli.app"), *sys.meta_path])
    assert cli.main(["jobs"]) == 130
    assert capsys.readouterr().err == "azbatch: interrupted\n"


def test_the_entry_point_imports_nothing_that_takes_time() -> None:
    text = "import sys, azbatch_core.cli; print([name for name in ('click', 'rich') if name in sys.modules])"
    done = subprocess.run([sys.executable, "-c", text], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"


def test_a_closed_stdout_is_told_before_anything_is_done(
    monkeypatch: pytest.MonkeyPatch, batch: FakeBatch, capsys: pytest.CaptureFixture[str]
) -> None:
    with monkeypatch.context() as patch:
        patch.setattr(sys, "stdout", None)
        assert cli.main(["run", "true"]) == exits.SERVICE
    assert batch.submitted == []
    said = capsys.readouterr().err
    assert said.startswith("azbatch: error: stdout is closed")
    assert said.count("\n") == 1


def test_a_closed_stdin_that_was_to_hold_the_job(monkeypatch: pytest.MonkeyPatch, azbatch: Azbatch) -> None:
    monkeypatch.setattr(sys, "stdin", None)
    result = azbatch("submit", "-")
    assert result.code == exits.SERVICE
    assert result.err == "azbatch: error: stdin is closed, and the job was to come from there\n"


def test_a_closed_stderr_keeps_results() -> None:
    done = subprocess.run(
        ["/bin/sh", "-c", 'exec "$@" 2>&-', "sh", *COMMAND, "version"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stdout.startswith("azbatch ")) == (0, True)


def test_a_full_stdout_is_named(batch: FakeBatch, azbatch: Azbatch) -> None:
    batch.raises["jobs"] = OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
    result = azbatch("jobs")
    assert result.code == exits.SERVICE
    assert result.err == "azbatch: error: stdout cannot be written: No space left on device\n"


def test_a_full_stdout_ends_the_process_with_one_line() -> None:
    with open("/dev/full", "w") as full:  # noqa: PTH123 - a device
        done = subprocess.run(
            [*COMMAND, "version"], stdout=full, stderr=subprocess.PIPE, text=True, check=False
        )
    assert done.returncode == exits.SERVICE
    assert done.stderr == "azbatch: error: stdout cannot be written: No space left on device\n"


def test_a_full_disk_elsewhere_is_not_stdout(batch: FakeBatch, azbatch: Azbatch, tmp_path: Path) -> None:
    batch.fake_job.raises["download"] = OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(tmp_path))
    result = azbatch("files", "get", "job-1", "t1", "a", str(tmp_path))
    assert result.code == exits.BAD_INPUT
    assert str(tmp_path) in result.err


def test_output_that_cannot_be_written_ends_the_following(
    batch: FakeBatch, azbatch: Azbatch, chunk: Chunk, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(_text: object) -> int:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    batch.fake_job.chunks = [chunk("t1", "stdout", "x")]
    monkeypatch.setattr("azbatch_core.cli.follow.LogWriter._put", lambda *_: refuse(None))
    result = azbatch("run", "-q", "true")
    assert result.code == exits.SERVICE
    assert "stdout cannot be written" in result.err
