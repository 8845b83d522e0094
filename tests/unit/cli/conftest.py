"""The command line against the fake client, and streams that a test chooses."""

from __future__ import annotations

import logging
import sys
from typing import TYPE_CHECKING

import pytest
from cli_fakes import Azbatch, Chunk, FakeBatch, MakeTask, Result, Terminal, done

from azbatch_core.cli import main
from azbatch_core.service.summaries import LogChunk

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from pytest_mock import MockerFixture


@pytest.fixture(autouse=True)
def _clean_environment(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[None]:
    for name in ("AZBATCH_ACCOUNT", "NO_COLOR", "FORCE_COLOR", "COLUMNS"):
        monkeypatch.delenv(name, raising=False)
    # Set, so that what `--debug` writes into the environment is taken back after the test.
    monkeypatch.setenv("AZBATCH_DEBUG", "")
    monkeypatch.setenv("TERM", "xterm-256color")
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    loggers = [logging.getLogger("azbatch"), logging.getLogger("azure")]
    handlers = [logger.handlers[:] for logger in loggers]
    yield
    for logger, before in zip(loggers, handlers, strict=True):
        logger.handlers[:] = before


@pytest.fixture
def batch(mocker: MockerFixture) -> FakeBatch:
    """The client that every command gets."""
    fake = FakeBatch()

    def opened(account: str | None = None) -> FakeBatch:
        fake.opened.append(account)
        return fake

    mocker.patch("azbatch_core.client.AzureBatch", opened)
    return fake


@pytest.fixture
def azbatch(batch: FakeBatch, capsys: pytest.CaptureFixture[str]) -> Azbatch:
    """Call the command with these words."""
    assert batch.opened == []  # the fake is in place before the command can run

    def call(*words: str) -> Result:
        code = main(words)
        captured = capsys.readouterr()
        return Result(code, captured.out, captured.err)

    return call


@pytest.fixture
def terminal(monkeypatch: pytest.MonkeyPatch) -> Terminal:
    """Make both streams terminals of that width."""

    def make(columns: int) -> None:
        monkeypatch.setenv("COLUMNS", str(columns))
        monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
        monkeypatch.setattr(sys.stderr, "isatty", lambda: True)

    return make


@pytest.fixture
def make_task() -> MakeTask:
    """A task that has run: `make_task("t1", exit_code=3)`."""
    return done


@pytest.fixture
def chunk() -> Chunk:
    """A piece of output: `chunk("t1", "stdout", "text")`."""
    return LogChunk
