"""Every error is one line that a person can act on, and an exit code that a script can act on."""

from __future__ import annotations

import errno
import logging
from typing import TYPE_CHECKING

import pytest

from azbatch_core import errors
from azbatch_core.cli import exits, main
from azbatch_core.cli.exits import redact, task_exit_code
from azbatch_core.service.states import TaskState, TaskStatus

if TYPE_CHECKING:
    from cli_fakes import Azbatch, FakeBatch


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (errors.SpecError("x"), 2),
        (errors.ConfigurationError("x"), 2),
        (errors.AuthenticationError("x"), 3),
        (errors.NotFound("x"), 3),
        (errors.Conflict("x"), 3),
        (errors.QuotaExceeded("x"), 3),
        (errors.Throttled("x"), 3),
        (errors.ServiceUnavailable("x"), 3),
        (errors.InvalidRequest("x"), 3),
        (errors.JobFailed("x", status=None), 1),
        (errors.WaitTimeout("x"), 124),
        (RuntimeError("x"), 70),
    ],
)
def test_exit_codes(error: BaseException, code: int, batch: FakeBatch, azbatch: Azbatch) -> None:
    batch.raises["jobs"] = error
    result = azbatch("jobs")
    assert result.code == code
    assert result.out == ""
    assert result.err.startswith("azbatch: error: ")
    assert result.err.count("\n") == 1
    assert "Traceback" not in result.err


def test_an_error_carries_code_details_hint_and_request_id(batch: FakeBatch, azbatch: Azbatch) -> None:
    batch.raises["jobs"] = errors.InvalidRequest(
        "the service refused the pool",
        code="InvalidPropertyValue",
        details={"PropertyName": "vmSize"},
        request_id="abc-1",
        hint="choose another size",
    )
    assert azbatch("jobs").err == (
        "azbatch: error: the service refused the pool [InvalidPropertyValue] (PropertyName=vmSize)"
        " - choose another size (request id abc-1)\n"
    )


@pytest.mark.parametrize("words", [("--debug", "jobs"), ("jobs", "--debug")])
def test_debug_adds_the_traceback(words: tuple[str, ...], batch: FakeBatch, azbatch: Azbatch) -> None:
    batch.raises["jobs"] = RuntimeError("boom")
    result = azbatch(*words)
    assert result.err.splitlines()[0].startswith(
        "azbatch: error: this is a bug in azbatch: RuntimeError: boom"
    )
    assert "Traceback (most recent call last)" in result.err


def test_debug_by_environment(batch: FakeBatch, azbatch: Azbatch, monkeypatch: pytest.MonkeyPatch) -> None:
    batch.raises["jobs"] = errors.NotFound("no job")
    monkeypatch.setenv("AZBATCH_DEBUG", "1")
    assert "Traceback" in azbatch("jobs").err
    monkeypatch.setenv("AZBATCH_DEBUG", "0")
    assert "Traceback" not in azbatch("jobs").err


@pytest.mark.parametrize(
    "text",
    [
        "https://x.blob.core.windows.net/c?sv=1&sig=S3CRET%2Bvalue&se=2",
        "DefaultEndpointsProtocol=https;AccountKey=S3CRET==;EndpointSuffix=x",
        "Authorization: SharedKey account:S3CRET=",
        "Authorization: Bearer S3CRET.S3CRET",
    ],
)
def test_secrets_are_blanked_even_in_a_traceback(text: str, batch: FakeBatch, azbatch: Azbatch) -> None:
    batch.raises["jobs"] = RuntimeError(text)
    result = azbatch("jobs", "--debug")
    assert "S3CRET" not in result.err
    assert "***" in result.err


def test_the_key_in_the_environment_is_blanked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AZURE_BATCH_ACCESS_KEY", "a2V5")
    assert redact("key a2V5 was refused") == "key *** was refused"


def test_unknown_command_suggests_the_nearest(azbatch: Azbatch) -> None:
    result = azbatch("lgos")
    assert (result.code, result.out) == (2, "")
    assert result.err.startswith("azbatch: error: No such command 'lgos'. Did you mean 'logs'")
    assert result.err.endswith("? See `azbatch --help`.\n")


def test_unknown_option_suggests_the_nearest(azbatch: Azbatch) -> None:
    result = azbatch("submit", "--folow", "x.yaml")
    assert result.code == 2
    assert "--follow" in result.err
    assert result.err.endswith("See `azbatch submit --help`.\n")


def test_missing_argument_is_one_line(azbatch: Azbatch) -> None:
    result = azbatch("show")
    assert result.code == 2
    assert result.err == "azbatch: error: Missing argument 'JOB'. See `azbatch show --help`.\n"


def test_the_id_of_a_schedules_job_holds_a_colon(batch: FakeBatch, azbatch: Azbatch) -> None:
    assert azbatch("show", "prod:nightly:job-1").code == 0
    assert (batch.opened, batch.fake_job.id) == (["prod"], "nightly:job-1")


@pytest.mark.parametrize("reference", [":job", "local:", ""])
def test_a_job_without_id_or_account_is_refused(reference: str, azbatch: Azbatch) -> None:
    result = azbatch("show", reference)
    assert result.code == 2
    assert "write JOB or ACCOUNT:JOB" in result.err


def test_a_reader_that_went_away_is_no_error(batch: FakeBatch, azbatch: Azbatch) -> None:
    batch.raises["jobs"] = BrokenPipeError(errno.EPIPE, "Broken pipe")
    result = azbatch("jobs")
    assert result.code == exits.BROKEN_PIPE
    assert result.err == ""


@pytest.mark.parametrize(
    ("code", "succeeded", "expected"),
    [
        (0, True, 0),
        (3, False, 3),
        (255, False, 255),
        (256, False, 1),
        (-9, False, 137),
        (None, False, 1),
        (0, False, 1),  # the command was fine, its upload was not
    ],
)
def test_run_exits_as_a_shell_would(code: int | None, *, succeeded: bool, expected: int) -> None:
    task = TaskStatus("t", TaskState.FAILED, exit_code=code)
    assert task_exit_code(task, succeeded=succeeded) == expected


def test_characters_that_the_terminal_lacks_do_not_fail(capfd: pytest.CaptureFixture[str]) -> None:
    assert main(["réseau"]) == 2
    assert "No such command" in capfd.readouterr().err


def test_no_words_teach_the_first_three_commands(azbatch: Azbatch) -> None:
    result = azbatch()
    assert result.code == 0
    for command in ("azbatch run -- echo hello", "azbatch submit --follow job.yaml", "azbatch jobs"):
        assert command in result.out


def test_what_the_service_half_warns_of_is_a_line_too(batch: FakeBatch, azbatch: Azbatch) -> None:
    logger = logging.getLogger("azbatch")
    batch.fake_job.on_cancel = lambda: logger.warning("no answer from %s;\nagain", "host?sig=S3CRET")
    assert azbatch("cancel", "j").err.startswith("azbatch: warning: no answer from host?sig=*** again\n")
