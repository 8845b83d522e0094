"""Help and completion: complete, and cheap."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click
import pytest
from click.shell_completion import ShellComplete

from azbatch_core.cli.app import COMMANDS, app
from azbatch_core.cli.lazy import Entry, LazyGroup
from azbatch_core.cli.recent import complete_job, forget, remember, remembered

if TYPE_CHECKING:
    from cli_fakes import Azbatch
    from pytest_mock import MockerFixture


def every_command() -> list[tuple[str, ...]]:
    found: list[tuple[str, ...]] = []
    context = click.Context(app)
    for name in COMMANDS:
        found.append((name,))
        command = app.get_command(context, name)
        if isinstance(command, LazyGroup):
            found += [(name, inner) for inner in command.entries]
    return found


@pytest.mark.parametrize("words", every_command(), ids=" ".join)
def test_every_command_explains_itself(words: tuple[str, ...], azbatch: Azbatch) -> None:
    result = azbatch(*words, "--help")
    assert result.code == 0
    assert result.out.startswith(f"Usage: azbatch {' '.join(words)}")
    assert "--debug" in result.out or words[0] in {"files", "account", "local"}
    assert azbatch(*words, "-h").out == result.out


def test_the_table_says_what_the_commands_say_of_themselves(azbatch: Azbatch) -> None:
    out = azbatch("--help").out
    for name, entry in COMMANDS.items():
        assert f"  {name} " in out
        assert isinstance(entry, Entry)
        assert entry.summary.split()[0] in out


def test_everything_that_lists_or_shows_speaks_json(azbatch: Azbatch) -> None:
    listing = "jobs show tasks why nodes pools version"
    inner = "files ls, pools list, pools show, account show, account check, account list, local status"
    for words in [*map(str.split, listing.split()), *map(str.split, inner.split(", "))]:
        assert "--json" in azbatch(*words, "--help").out, words


@pytest.mark.parametrize("words", [("--help",), (), ("run", "--help"), ("submit", "--help"), ("bad",)])
def test_help_imports_nothing_heavy(words: tuple[str, ...]) -> None:
    program = (
        "import sys; from azbatch_core.cli import main; main(sys.argv[1:]); "
        "print(sorted({name.split('.')[0] for name in sys.modules} & "
        "{'azure', 'pydantic', 'rich', 'yaml', 'tenacity', 'asyncio', 'starlette', 'requests'}))"
    )
    done = subprocess.run(
        [sys.executable, "-c", program, *words],
        capture_output=True,
        text=True,
        check=True,
        env={**os.environ},
    )
    assert done.stdout.splitlines()[-1] == "[]"


def completions(words: str, incomplete: str) -> list[str]:
    found = ShellComplete(app, {}, "azbatch", "_AZBATCH_COMPLETE").get_completions(words.split(), incomplete)
    return [item.value for item in found]


def test_commands_and_options_complete() -> None:
    assert completions("", "wa") == ["wait"]
    assert completions("", "co") == ["completion"]
    assert completions("files", "") == ["ls", "get"]
    assert "--follow" in completions("submit", "--fo")
    assert completions("logs --stream", "std") == ["stdout", "stderr"]


def test_jobs_complete_by_handle_and_by_id() -> None:
    remember("local:pi-1")
    remember("prod:pi-2")
    assert completions("show", "") == ["prod:pi-2", "local:pi-1"]
    assert completions("logs -f", "pi-") == ["pi-2", "pi-1"]
    assert completions("cancel pi-1", "prod:") == ["prod:pi-2"]


def test_the_newest_jobs_are_remembered_once() -> None:
    for number in range(150):
        remember(f"local:j{number}")
    remember("local:j149")
    remember("local:j100")
    known = remembered()
    assert len(known) == 100
    assert known[:2] == ["local:j100", "local:j149"]
    forget("local:j100")
    assert "local:j100" not in remembered()


def test_remembering_is_never_in_the_way(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    blocked = tmp_path / "file"
    blocked.write_text("")
    monkeypatch.setenv("XDG_STATE_HOME", str(blocked))
    remember("local:a")
    assert remembered() == []
    assert complete_job(None, None, "") == []  # type: ignore[arg-type]


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_scripts(shell: str, azbatch: Azbatch, mocker: MockerFixture) -> None:
    mocker.patch("click.shell_completion.BashComplete._check_version")
    result = azbatch("completion", shell)
    assert result.code == 0
    assert "_AZBATCH_COMPLETE" in result.out
    assert ("COMP_WORDBREAKS" in result.out) == (shell == "bash"), "bash breaks words at a handle's colon"


def test_another_shell_is_refused(azbatch: Azbatch) -> None:
    result = azbatch("completion", "csh")
    assert result.code == 2
    assert "fish" in result.err


def test_the_reference_is_what_the_commands_say(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("COLUMNS", raising=False)
    tool = Path(__file__).parents[3] / "tools" / "render_cli_docs.py"
    done = subprocess.run([sys.executable, str(tool), "--check"], check=False)
    assert done.returncode == 0, "run tools/render_cli_docs.py"
