"""`azbatch local`: what the local service's own program says, passed on; keys never shown."""

from __future__ import annotations

import io
from types import SimpleNamespace
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from cli_fakes import Azbatch
    from pytest_mock import MockerFixture


def test_local_never_shows_keys(azbatch: Azbatch, mocker: MockerFixture) -> None:
    line = '{"endpoint": "http://127.0.0.1:5", "account_key": "S3CRET", "blob_key": "S3CRET", "pid": 7}\n'
    run = mocker.patch("subprocess.run", return_value=SimpleNamespace(returncode=0, stdout=line, stderr=""))
    for option in ((), ("--json",)):
        result = azbatch("local", "start", *option)
        assert result.code == 0
        assert "http://127.0.0.1:5" in result.out
        assert "S3CRET" not in result.out + result.err
    assert run.call_args.args[0][1:4] == ["-m", "azbatch_core.local", "start"]


def test_local_without_its_extra_says_what_to_install(azbatch: Azbatch, mocker: MockerFixture) -> None:
    mocker.patch("subprocess.run", return_value=SimpleNamespace(returncode=3, stdout="", stderr="x"))
    result = azbatch("local", "start")
    assert result.code == 2
    assert "pip install 'azbatch[local]'" in result.err


def test_local_reset_asks_first(
    azbatch: Azbatch, mocker: MockerFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = mocker.patch("subprocess.run", return_value=SimpleNamespace(returncode=0, stdout="", stderr=""))
    answers = io.StringIO("n\ny\n")
    monkeypatch.setattr("sys.stdin", answers)
    unasked = azbatch("local", "reset")
    assert (unasked.code, answers.tell()) == (2, 0)
    assert "not confirmed; give --yes" in unasked.err
    monkeypatch.setattr(answers, "isatty", lambda: True)
    assert azbatch("local", "reset").code == 2
    run.assert_not_called()
    assert azbatch("local", "reset").code == 0
    run.assert_called_once()
    run.reset_mock()
    assert azbatch("local", "reset", "--yes").code == 0
    run.assert_called_once()


@pytest.mark.parametrize("verb", ["start", "stop", "status"])
def test_what_the_local_program_says_is_passed_on_as_it_is(
    verb: str, azbatch: Azbatch, mocker: MockerFixture
) -> None:
    said = "azbatch local: /x cannot hold the service's state: Not a directory\n"
    mocker.patch("subprocess.run", return_value=SimpleNamespace(returncode=1, stdout="", stderr=said))
    result = azbatch("local", verb)
    assert result.code == 3
    assert result.err == "azbatch: error: /x cannot hold the service's state: Not a directory\n"


def test_a_local_program_that_broke_is_one_line(azbatch: Azbatch, mocker: MockerFixture) -> None:
    said = "Traceback (most recent call last):\n  File …\nOSError: no\n"
    mocker.patch("subprocess.run", return_value=SimpleNamespace(returncode=1, stdout="", stderr=said))
    assert azbatch("local", "status").err == (
        "azbatch: error: `azbatch local status` did not work: OSError: no\n"
    )
