"""The account `local`: what is read, when something is started, and what is said when that fails."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from typing import TYPE_CHECKING, Any

import pytest

from azbatch_core.errors import ConfigurationError, LocalServiceStopped, ServiceUnavailable
from azbatch_core.service.connect import local as module
from azbatch_core.service.connect.clock import Clock
from azbatch_core.service.connect.local import local_account, state_dir
from azbatch_core.specs import AccountSpec, Secret

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from pytest_mock import MockerFixture

KEY = "bG9jYWwga2V5IG9mIGEgdGVzdCwgbm90IGEgc2VjcmV0"
WRITTEN = {
    "endpoint": "http://127.0.0.1:5999",
    "account_name": "devaccount",
    "account_key": KEY,
    "pid": os.getpid(),
    "version": "0.1.0",
    "blob_endpoint": "http://127.0.0.1:5999/devblobs",
    "blob_account": "devblobs",
    "blob_key": KEY,
}


@pytest.fixture
def state(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """An empty state directory."""
    monkeypatch.setenv("AZBATCH_LOCAL_DIR", str(tmp_path / "state"))
    (tmp_path / "state").mkdir()
    return tmp_path / "state"


class Starter:
    """Stands for the command that starts the service."""

    def __init__(self, returncode: int = 0, stdout: str = "", stderr: str = "") -> None:
        self.result = (returncode, stdout, stderr)
        self.commands: list[list[str]] = []

    def __call__(self, command: list[str], **_: Any) -> subprocess.CompletedProcess[str]:
        """Note the command."""
        self.commands.append(command)
        return subprocess.CompletedProcess(command, *self.result)


def use(monkeypatch: pytest.MonkeyPatch, starter: Starter, *, answers: bool = False) -> Starter:
    monkeypatch.setattr(subprocess, "run", starter)
    monkeypatch.setattr(module, "_answers", lambda _: answers)
    return starter


def test_a_running_service_is_used_as_it_is(state: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (state / "endpoint.json").write_text(json.dumps(WRITTEN))
    starter = use(monkeypatch, Starter(), answers=True)
    account = local_account()
    assert starter.commands == []
    assert (account.name, account.batch_account, account.endpoint) == (
        "local",
        "devaccount",
        "http://127.0.0.1:5999",
    )
    assert account.storage is not None
    assert account.storage.blob_endpoint == "http://127.0.0.1:5999/devblobs"
    assert KEY not in repr(account)


@pytest.mark.parametrize("left_behind", [None, '{"endpoint": ', "[]", json.dumps(WRITTEN)])
def test_a_service_that_does_not_answer_is_started(
    left_behind: str | None, state: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if left_behind is not None:
        (state / "endpoint.json").write_text(left_behind)
    fresh = {**WRITTEN, "endpoint": "http://127.0.0.1:6001"}
    starter = use(monkeypatch, Starter(0, f"starting\n{json.dumps(fresh)}\n"))
    assert local_account().endpoint == "http://127.0.0.1:6001"
    assert starter.commands == [
        [sys.executable, "-m", "azbatch_core.local", "start", "--state-dir", str(state)]
    ]


@pytest.mark.usefixtures("state")
def test_nothing_is_started_when_asked_not_to(monkeypatch: pytest.MonkeyPatch) -> None:
    starter = use(monkeypatch, Starter())
    with pytest.raises(ServiceUnavailable, match="not running"):
        local_account(start=False)
    assert starter.commands == []


@pytest.mark.usefixtures("state")
def test_a_missing_extra_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    use(monkeypatch, Starter(3))
    with pytest.raises(ConfigurationError, match=r"pip install 'azbatch\[local\]'"):
        local_account()


@pytest.mark.usefixtures("state")
@pytest.mark.parametrize(
    ("starter", "words", "kind"),
    [
        (
            Starter(1, "", "Traceback\n  ...\nOSError: no space left on device\n"),
            "no space left on device",
            ServiceUnavailable,
        ),
        (Starter(1, "", "azbatch local: the disk is full\n"), "the disk is full", ServiceUnavailable),
        (Starter(2, "", "azbatch local: it is no account\n"), "it is no account", ConfigurationError),
        (Starter(-9), "exit code -9", ServiceUnavailable),
        (Starter(0, "not json"), "exit code 0", ServiceUnavailable),
    ],
)
def test_a_failed_start_is_one_line(
    starter: Starter, words: str, kind: type[Exception], monkeypatch: pytest.MonkeyPatch
) -> None:
    use(monkeypatch, starter)
    with pytest.raises((ConfigurationError, ServiceUnavailable)) as caught:
        local_account()
    assert type(caught.value) is kind
    assert words in caught.value.message
    assert "azbatch local:" not in caught.value.message
    assert "\n" not in str(caught.value)


@pytest.mark.usefixtures("state")
def test_a_start_that_hangs_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    def hang(command: list[str], **options: Any) -> None:
        raise subprocess.TimeoutExpired(command, options["timeout"])

    monkeypatch.setattr(subprocess, "run", hang)
    with pytest.raises(ServiceUnavailable, match="within 60 seconds"):
        local_account()


@pytest.mark.parametrize("written", [{**WRITTEN, "pid": 2**22 + 1}, {"endpoint": "nonsense"}])
def test_a_dead_process_does_not_answer_whoever_has_its_port(state: Path, written: dict[str, Any]) -> None:
    (state / "endpoint.json").write_text(json.dumps(written))
    with pytest.raises(ServiceUnavailable, match="not running"):
        local_account(start=False)


def test_the_state_is_below_home_unless_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    assert state_dir({}) == tmp_path / ".local" / "state" / "azbatch" / "local"
    assert state_dir({"AZBATCH_LOCAL_DIR": "~/elsewhere"}) == tmp_path / "elsewhere"


class _Steps(Clock):
    """A clock that moves, and does something, when someone sleeps."""

    def __init__(self, then: Callable[[], object] = lambda: None) -> None:
        self.now = 0.0
        self.then = then

    def monotonic(self) -> float:
        return self.now

    def sleep(self, seconds: float) -> None:
        self.now += seconds
        self.then()


def test_a_service_that_was_stopped_is_missed_at_once(state: Path) -> None:
    clock, remarks = _Steps(), []
    with pytest.raises(LocalServiceStopped, match="the local service was stopped") as caught:
        module.wait_for_return(clock, lambda: remarks.append(state))
    assert clock.now < 2
    assert (len(remarks), caught.value.retryable) == (1, False)


def test_one_that_was_killed_gets_some_seconds_to_come_back(state: Path) -> None:
    clock = _Steps()
    (state / "endpoint.json").write_text(json.dumps({**WRITTEN, "pid": 2**22 + 1}))
    with pytest.raises(ServiceUnavailable):
        module.wait_for_return(clock, lambda: None)
    assert 5 < clock.now < 10


def test_one_that_came_back_is_taken_where_it_is(state: Path, mocker: MockerFixture) -> None:
    mocker.patch.object(module, "_answers", side_effect=[True])
    moved = {**WRITTEN, "endpoint": "http://127.0.0.1:6001"}
    clock = _Steps(lambda: (state / "endpoint.json").write_text(json.dumps(moved)))
    assert module.wait_for_return(clock, lambda: None).endpoint == "http://127.0.0.1:6001"


def test_a_namesake_is_not_the_local_service(state: Path, mocker: MockerFixture) -> None:
    def named(name: str, endpoint: str = "http://127.0.0.1:5997") -> AccountSpec:
        return AccountSpec(name=name, endpoint=endpoint, credential="shared_key", account_key=Secret(KEY))

    (state / "endpoint.json").write_text(json.dumps({**WRITTEN, "endpoint": "http://127.0.0.1:5998"}))
    mocker.patch.object(module, "_answers", return_value=True)
    assert module.is_local_service(local_account(start=False))
    assert not module.is_local_service(named("local"))
    assert not module.is_local_service(named("other", "http://127.0.0.1:5998"))
