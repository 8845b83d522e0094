"""The commands of `torchx` as people type them."""

from __future__ import annotations

import json
import subprocess
from typing import TYPE_CHECKING, Any

import pytest
from conftest import BIN, WITHIN, Commands, Ended
from torchx.runner.config import apply

from azbatch_core import AzureBatch
from azbatch_torchx import options

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


@pytest.fixture
def batch(variables: dict[str, str], monkeypatch: pytest.MonkeyPatch) -> Iterator[AzureBatch]:
    for name, value in variables.items():
        if name.startswith("AZBATCH"):
            monkeypatch.setenv(name, value)
    with AzureBatch("here") as client:
        yield client


def test_the_command_of_the_earlier_attempt_as_it_stood(torchx: Commands) -> None:
    """With no configuration at all: the account is local, whose service it starts."""
    torchx = Commands(torchx.folder, {**torchx.variables, "AZBATCH_CONFIG": str(torchx.folder / "none")})
    try:
        ended = torchx(
            *("run", "--scheduler", "azure_batch", "--scheduler_args", "image_repo=ghcr.io/pytorch/torchx"),
            *("utils.echo", "--image", "alpine:latest", "--msg", "hello"),
        )
        assert ended.code == 0, ended.err
        handle = ended.out.strip()
        assert handle.startswith("azure_batch://torchx/local:echo-")
        assert torchx("log", handle).out.splitlines()[0].endswith("hello")
        assert "/_page/#/jobs/echo-" in torchx("status", handle).out
    finally:
        stop = [str(BIN / "azbatch"), "local", "stop"]
        subprocess.run(stop, env=torchx.variables, capture_output=True, check=True, timeout=WITHIN)


def test_an_app_from_its_start_to_its_removal(torchx: Commands, batch: AzureBatch) -> None:
    handle = torchx.run("--wait", "utils.echo", "--msg", "a b")
    status = torchx("status", handle)
    assert status.code == 0
    assert "State: SUCCEEDED" in status.out
    assert "*echo[0]:SUCCEEDED" in status.out
    described = torchx("describe", handle)
    assert "'name': 'echo'" in described.out
    for shown in ("'num_replicas': 1", "'entrypoint': 'echo'", "'args': ['a b']", "'cpu': 1", "'memMB': "):
        assert shown in described.out
    assert handle in torchx("list", "-s", "azure_batch").out
    assert torchx("cancel", handle).code == 0
    assert "State: SUCCEEDED" in torchx("status", handle).out
    batch.job(handle.rpartition("/")[2]).delete(wait=True)
    gone = torchx("status", handle)
    assert gone.code == 1
    assert "Traceback" not in gone.err


def test_logs_that_cannot_be_had(torchx: Commands) -> None:
    handle = torchx.run("--wait", "utils.echo")
    for words, said in (
        ((f"{handle}/echo/1",), "has no replica 1 of a role 'echo'"),
        ((f"{handle}/nope/0",), "has no replica 0 of a role 'nope'"),
        (("--regex", "a(b", handle), "'a(b' is no regular expression: missing )"),
    ):
        ended = torchx("log", *words)
        assert said in ended.err
        assert "Traceback" not in ended.err
        assert ended.code == 1


def test_output_comes_as_it_is_written_and_ends(torchx: Commands) -> None:
    ended = torchx(
        *("run", "-s", "azure_batch", "-cfg", "account=here", "--log", "utils.sh"),
        *("printf", r"one\ntwo $HOME\nthree"),
    )
    assert ended.code == 0, ended.err
    lines = {line.partition("sh/0 ")[2] for line in ended.err.splitlines() if "sh/0 " in line}
    assert {"one", "two $HOME", "three"} <= lines
    assert "Request URL" not in ended.err


@pytest.mark.parametrize(("command", "code", "state"), [("true", 0, "SUCCEEDED"), ("exit 3", 1, "FAILED")])
def test_exit_codes_of_a_run_that_is_waited_for(
    torchx: Commands, command: str, code: int, state: str
) -> None:
    ended = torchx("run", "-s", "azure_batch", "-cfg", "account=here", "--wait", "utils.sh", *command.split())
    assert ended.code == code
    assert "Traceback" not in ended.err
    status = torchx("status", ended.out.strip().splitlines()[-1]).out
    assert f"State: {state}" in status
    assert ("user: exit code 3" in status) == (state == "FAILED")


def test_a_dry_run_shows_the_plan_and_makes_nothing(torchx: Commands, batch: AzureBatch) -> None:
    before = {job.id for job in batch.jobs()}
    ended = torchx("run", "-s", "azure_batch", "-cfg", "account=here", "--dryrun", "utils.echo")
    assert ended.code == 0, ended.err
    for word in ("app ", "pool ", "why ", "image ", "tasks ", "echo"):
        assert word in ended.out
    assert "idleSamples" not in ended.out
    assert {job.id for job in batch.jobs()} == before


def test_a_dry_run_shows_what_the_user_runs_not_what_is_around_it(torchx: Commands) -> None:
    (torchx.folder / "a.txt").write_text("hi")
    words = ("--dryrun", "utils.sh", "--num_replicas", "2", "cat", "a.txt", "it's")
    ended = torchx("run", "-s", "azure_batch", "-cfg", "account=here", *words)
    (row,) = [line for line in ended.out.splitlines() if line.startswith("sh ")]
    assert " sh -c 'cat " in row
    assert "tar -xzf" not in ended.out
    assert "note: 1 file of the workspace, unpacked where the command starts" in ended.out
    assert "release" not in ended.out


def test_a_dry_run_needs_no_credential(torchx: Commands) -> None:
    config = torchx.folder / "config.toml"
    config.write_text('[accounts.far]\nendpoint = "https://none.westeurope.batch.azure.com"\n')
    ended = torchx(
        *("run", "-s", "azure_batch", "-cfg", "account=far", "--dryrun", "utils.echo"),
        AZBATCH_CONFIG=str(config),
    )
    assert ended.code == 0, ended.err
    assert "far:echo-" in ended.out
    assert "price" in ended.out


@pytest.mark.parametrize(
    ("cfg", "words", "said"),
    [
        ("account=hree", ("utils.echo",), "did you mean 'here'?"),
        ("account=here,pool=nosuch", ("utils.echo",), "has no pool 'nosuch'"),
        ("acount=nosuch", ("utils.echo",), "account"),
        ("account=here,max_node=2", ("utils.echo",), "max_node"),
        ("account=here,registry=bob:hunter3@host", ("utils.echo",), "holds a password"),
        ("account=here,wall_time=soon", ("utils.echo",), "'soon' is not a duration"),
        ("account=here,vm_size=big size", ("utils.echo",), "is not a VM size"),
        ("account=here", ("utils.echo", "--image", "no such image"), "is not an image"),
        ("account=here", ("utils.sh", "--memMB", "99000000", "true"), "no VM size"),
    ],
)
def test_what_cannot_run_is_said_in_a_line(
    torchx: Commands, batch: AzureBatch, cfg: str, words: tuple[str, ...], said: str
) -> None:
    before = {job.id for job in batch.jobs()}
    ended = torchx("run", "-s", "azure_batch", "-cfg", cfg, *words)
    assert ended.code == 1
    assert_told_at_the_end(ended, said)
    assert {job.id for job in batch.jobs()} == before


def assert_told_at_the_end(ended: Ended, said: str) -> None:
    """One line about it, and nothing after it."""
    *before, last = ended.err.splitlines()
    assert said in last
    assert "ERROR" in last
    assert "ERROR" not in "".join(before)


def test_the_configuration_file_names_the_account(torchx: Commands) -> None:
    (torchx.folder / ".torchxconfig").write_text(
        "[azure_batch]\naccount = here\nmounts = /tmp:/in;/var:/out:ro\nspot = false\nmax_nodes = 10\n"
    )
    ended = torchx("run", "-s", "azure_batch", "utils.echo", AZBATCH_ACCOUNT="nosuch")
    assert ended.code == 0, ended.err
    assert ended.out.strip() in torchx("list", "-s", "azure_batch", AZBATCH_ACCOUNT="nosuch").out


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("max_nodes = abc", "max_nodes=abc is no whole number"),
        ("max_nodes =", "max_nodes= is no whole number"),
        ("priority = 1.5", "priority=1.5 is no whole number"),
        ("spot = maybe", "spot=maybe is neither true nor false"),
        ("wall_time = soon", "wall_time"),
    ],
)
def test_a_wrong_value_in_the_configuration_file_is_told_in_a_line(
    torchx: Commands, line: str, said: str
) -> None:
    (torchx.folder / ".torchxconfig").write_text(f"[azure_batch]\naccount = here\n{line}\n")
    ended = torchx("run", "-s", "azure_batch", "utils.echo")
    assert ended.code == 1
    assert_told_at_the_end(ended, said)
    assert torchx("list", "-s", "azure_batch").code == 0


def test_values_of_the_configuration_file_are_of_their_options_types(scheduler: Any, tmp_path: Path) -> None:
    lines = "max_nodes = 10\nspot = Yes\nkeep_logs = off\nmounts = /a:/b;/c:/d\nretention = None\n"
    (tmp_path / ".torchxconfig").write_text(f"[azure_batch]\n{lines}")
    cfg: dict[str, Any] = {}
    apply("azure_batch", cfg, dirs=[str(tmp_path)])
    chosen = options.read(scheduler.run_opts().resolve(cfg))
    assert (chosen.max_nodes, chosen.spot, chosen.keep_logs) == (10, True, False)
    assert (chosen.mounts, chosen.retention) == (("/a:/b", "/c:/d"), None)


def test_every_option_is_documented(torchx: Commands) -> None:
    shown = torchx("runopts", "azure_batch")
    assert shown.code == 0
    for option in (
        "max_nodes=MAX_NODES (int, None)",
        "spot=SPOT (bool, False)",
        "account=ACCOUNT (str, None)",
    ):
        assert option in shown.out
    for name in ("account", "pool", "vm_size", "spot", "max_nodes", "priority", "wall_time", "retention"):
        assert f"        {name}=" in shown.out
    for name in ("registry", "identity", "mounts", "containers", "image_repo"):
        assert f"        {name}=" in shown.out
    for word in ("password=", "key=", "secret=", "token="):
        assert word not in shown.out.lower()


def test_as_json(torchx: Commands) -> None:
    ended = torchx("run", "-s", "azure_batch", "-cfg", "account=here", "--json", "utils.echo")
    if "unrecognized arguments" in ended.err:
        pytest.skip("this line has no --json")
    document = json.loads(ended.out)
    assert document["app_id"].startswith("here:echo-")
    assert document["scheduler"] == "azure_batch"
