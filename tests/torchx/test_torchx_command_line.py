"""What is done in the command alone: errors are a line and an exit code, and nothing is looked up twice."""

from __future__ import annotations

import gc
import signal
import subprocess
import sys
import threading
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

import pytest
from conftest import BIN, WITHIN, Commands, Ended
from torchx.specs import InvalidRunConfigException

from azbatch_torchx import command_line, compat

if TYPE_CHECKING:
    from collections.abc import Sequence

COUNTED = """
from torchx.specs import AppDef, Role, resource
from torchx.util import entrypoints


def hello() -> AppDef:
    found = [entrypoints.metadata.entry_points() for _ in range(2)]
    print("read again:", found[0] is not found[1])
    role = Role(name="r", image="alpine:3.20", entrypoint="true", resource=resource(cpu=1, memMB=64))
    return AppDef(name="counted", roles=[role])
"""
RUN = ("run", "-s", "azure_batch", "-cfg")
MISSING = "azure_batch://torchx/here:nosuch"


def assert_said(ended: Ended, said: str, code: int = 1) -> None:
    """The command ended with one line that holds a text, and no traceback."""
    assert "Traceback" not in ended.err
    assert [said in line for line in ended.err.splitlines() if "ERROR" in line] == [True], ended.err
    assert ended.code == code


def commands(torchx: Commands, handle: str) -> list[tuple[str, ...]]:
    """All that ask an account for an app."""
    listed = torchx("--help").out
    return [(word, handle) for word in ("status", "log", "cancel", "describe", "delete") if word in listed]


@pytest.mark.parametrize("words", [(*RUN, "account=down", "utils.echo"), ("list", "-s", "azure_batch"), ()])
def test_an_account_out_of_reach(torchx: Commands, words: Sequence[str]) -> None:
    config = torchx.folder / "config.toml"
    key = 'account_name = "none"\naccount_key = "env:AZBATCH_TEST_KEY"\n'
    config.write_text(f'default = "down"\n[accounts.down]\nendpoint = "http://127.0.0.1:9"\n{key}')
    handle = "azure_batch://torchx/down:job-1"
    for tried in [words] if words else [*commands(torchx, handle), ("log", f"{handle}/role/0")]:
        ended = torchx(*tried, AZBATCH_CONFIG=str(config))
        assert_said(
            ended, "no answer from 127.0.0.1:9: connection refused - check that the service is running"
        )


def test_a_key_that_is_not_the_account_s(torchx: Commands) -> None:
    other = "bm90IGl0cyBrZXk="
    for words in [(*RUN, "account=here", "utils.echo"), ("list", "-s", "azure_batch"), ("status", MISSING)]:
        ended = torchx(*words, AZBATCH_TEST_KEY=other)
        assert_said(ended, "AuthenticationFailed")
        assert other not in ended.err


def test_an_account_without_a_login(torchx: Commands) -> None:
    config = torchx.folder / "config.toml"
    config.write_text('[accounts.far]\nendpoint = "https://none.westeurope.batch.azure.com"\n')
    handle = "azure_batch://torchx/far:job-1"
    for words in (("status", handle), (*RUN, "account=far", "utils.echo")):
        ended = torchx(*words, AZBATCH_CONFIG=str(config), PATH=str(torchx.folder))
        assert_said(ended, "run 'az login'")
        assert "Attempted" not in ended.err
        assert max(map(len, ended.err.splitlines())) < 300


@pytest.mark.parametrize(
    ("name", "said"), [("nope", "no app of azure_batch"), ("hree:job-1", "did you mean 'here'?")]
)
def test_what_is_no_app_of_an_account(torchx: Commands, name: str, said: str) -> None:
    for words in commands(torchx, f"azure_batch://torchx/{name}"):
        assert_said(torchx(*words), said)


@pytest.mark.skipif(not find_spec("torchx.plugins"), reason="TorchX 0.7 reads handles before it knows of us")
def test_what_is_no_handle(torchx: Commands) -> None:
    for handle in ("azure_batch://x", "azure_batch://torchx/", "local:foo", ""):
        for words in commands(torchx, handle):
            if words[0] != "log":  # TorchX itself tells it there
                assert_said(torchx(*words), ">/<app_id>, such as azure_batch://torchx/local:echo-264afdd7")


def test_the_list_of_an_account_that_is_none(torchx: Commands) -> None:
    assert_said(torchx("list", "-s", "azure_batch", AZBATCH_ACCOUNT="hree"), "did you mean 'here'?")


def test_the_log_of_an_app_that_is_not_there_ends(torchx: Commands) -> None:
    """TorchX 0.7 asks every second until there is one; the nightly line ends it by itself."""
    ended = torchx("log", MISSING)
    assert "Traceback" not in ended.err
    assert "here:nosuch" in ended.err
    assert ended.code == (0 if "not found" in ended.err else 1)
    assert_said(torchx("log", f"{MISSING}/role/0"), f"there is no app {MISSING}")


def test_the_other_commands_for_an_app_that_is_not_there(torchx: Commands) -> None:
    for words in (("status", MISSING), ("describe", MISSING)):
        assert_said(torchx(*words), "does not exist or has been removed")
    ended = torchx("cancel", MISSING)
    assert (ended.code, ended.err) == (0, "")


@pytest.mark.parametrize(
    ("cfg", "words", "said"),
    [
        ("account=here,max_nodes=abc", ("utils.echo",), "max_nodes=abc is no whole number"),
        ("account=here,priority=1.5", ("utils.echo",), "priority=1.5 is no whole number"),
        ("account=here,spot=perhaps", ("utils.echo",), "spot=perhaps is neither true nor false"),
        ("account", ("utils.echo",), "-cfg is not of the form name=value"),
        ("account=here", ("utils.echo", "--num_replicas", "0"), "Non-positive replicas for role: echo"),
        (
            "account=here",
            ("utils.sh", "-h", "azure_nope", "true"),
            "No named resource found for `azure_nope`",
        ),
    ],
)
def test_what_torchx_alone_looks_at(torchx: Commands, cfg: str, words: tuple[str, ...], said: str) -> None:
    assert_said(torchx(*RUN, cfg, *words), said)


def test_where_an_error_came_from_is_told_on_demand(torchx: Commands) -> None:
    ended = torchx("--log_level", "DEBUG", *RUN, "account=here,max_nodes=abc", "utils.echo")
    assert ended.code == 1
    assert "Traceback" in ended.err


def test_an_error_of_somebody_else_is_shown_as_before(torchx: Commands) -> None:
    (torchx.folder / "broken.py").write_text(
        "from torchx.specs import AppDef\n\n\ndef app() -> AppDef:\n    raise ValueError('mine')\n"
    )
    ended = torchx(*RUN, "account=here", "broken.py:app")
    assert ended.code == 1
    assert "Traceback" in ended.err
    assert "ValueError: mine" in ended.err


def test_ctrl_c_while_a_run_is_waited_for(torchx: Commands) -> None:
    """It ends the command, as a signal's end, and not the app."""
    command = [str(BIN / "torchx"), *RUN, "account=here", "--wait", "utils.sh", "sleep", "1000"]
    started = subprocess.Popen(
        command,
        cwd=torchx.folder,
        env={**torchx.variables, "PYTHONUNBUFFERED": "1"},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert started.stderr is not None
    for line in started.stderr:
        if "Waiting for the app to finish" in line:
            break
    started.send_signal(signal.SIGINT)
    out, err = started.communicate(timeout=WITHIN)
    assert started.returncode == -signal.SIGINT
    assert_said(Ended(1, out, err), "an app that was submitted goes on")
    handle = out.strip()
    assert (
        "State: RUNNING" in torchx("status", handle).out or "State: PENDING" in torchx("status", handle).out
    )
    assert torchx("cancel", handle).code == 0


def test_a_reader_that_has_enough(torchx: Commands) -> None:
    """`torchx log HANDLE | head -1` ends without a word."""
    handle = torchx.run("--wait", "utils.sh", "seq", "1", "100000")
    with subprocess.Popen(
        [str(BIN / "torchx"), "log", handle],
        cwd=torchx.folder,
        env=torchx.variables,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as log:
        assert log.stdout is not None
        assert log.stderr is not None
        assert log.stdout.readline().endswith(" 1\n")
        log.stdout.close()
        assert "BrokenPipeError" not in log.stderr.read()


def test_what_is_installed_is_read_once(torchx: Commands) -> None:
    """TorchX reads the metadata of all packages for each component that it looks at."""
    (torchx.folder / "counted.py").write_text(COUNTED)
    ended = torchx(*RUN, "account=here", "counted.py:hello", PYTHONPATH=str(torchx.folder))
    assert ended.code == 0, ended.err
    assert "read again: False" in ended.out


@pytest.mark.parametrize("word", ["true", "1", "YES", "on"])
def test_words_that_mean_true(scheduler: Any, word: str) -> None:
    assert scheduler.run_opts().cfg_from_str(f"account=here,spot={word}") == {"account": "here", "spot": True}
    assert scheduler.run_opts().cfg_from_str("spot=off;keep_logs=no") == {"spot": False, "keep_logs": False}


def test_a_program_gets_errors_as_it_did(scheduler: Any) -> None:
    """Nothing of the command's ways is done to a program that uses TorchX, however often it asks."""
    assert sys.excepthook.__module__ != "azbatch_torchx.command_line"
    assert threading.excepthook.__module__ != "azbatch_torchx.command_line"
    for _ in range(3):
        assert scheduler.describe("here:nosuch") is None
        assert scheduler.describe("heere:job-1") is None
    with pytest.raises(InvalidRunConfigException, match="max_nodes=abc"):
        scheduler.run_opts().cfg_from_str("max_nodes=abc")
    with pytest.raises(InvalidRunConfigException, match="max_nodes=abc"):
        scheduler.run_opts().resolve({"max_nodes": "abc"})


@pytest.mark.parametrize("command", ["torchx", ""])
def test_only_the_command_keeps_garbage(monkeypatch: pytest.MonkeyPatch, command: str) -> None:
    monkeypatch.setattr(compat, "is_command", lambda: bool(command))
    frozen = gc.get_freeze_count()
    try:
        with command_line.collecting_later():
            assert not gc.isenabled()
        assert gc.isenabled()
        assert (gc.get_freeze_count() > frozen) == bool(command)
    finally:
        gc.unfreeze()
