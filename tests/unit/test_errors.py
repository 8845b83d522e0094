"""The tree of exceptions: each one says its story on one line, and survives a copy and a pickle."""

from __future__ import annotations

import copy
import inspect
import pickle
from typing import TYPE_CHECKING

import pytest

from azbatch_core import errors
from azbatch_core.errors import AzBatchError, JobFailed, SpecError, SubmissionError
from azbatch_core.service.connect.connection import Connection
from azbatch_core.service.handle import JobHandle
from azbatch_core.service.states import JobState, JobStatus, Submission, TaskAddResult
from azbatch_core.specs import AccountSpec

if TYPE_CHECKING:
    from collections.abc import Callable

ACCOUNT = AccountSpec(name="work", endpoint="https://a.b.batch.azure.com", account_key="c2VjcmV0LWtleQ==")
TREE = [kind for _, kind in inspect.getmembers(errors, inspect.isclass) if issubclass(kind, AzBatchError)]


def make(kind: type[AzBatchError]) -> AzBatchError:
    """An error with something in every attribute."""
    if issubclass(kind, SpecError):
        return kind("no good", field="tasks[3].command", line=7, hint="another")
    if issubclass(kind, JobFailed):
        return kind("it failed", status=JobStatus("work:j", "j", JobState.FAILED), hint="azbatch why work:j")
    if issubclass(kind, SubmissionError):
        handle = JobHandle(Connection(ACCOUNT), "j")
        return kind("some are missing", submission=Submission(handle, [TaskAddResult("t", "failed", "no")]))
    return kind("no", code="Code", details={"a": "b"}, request_id="r-1", hint="wait", retryable=True)


@pytest.mark.parametrize("kind", TREE)
@pytest.mark.parametrize("again", [copy.copy, copy.deepcopy, lambda error: pickle.loads(pickle.dumps(error))])  # noqa: S301 - our own
def test_every_error_survives(
    kind: type[AzBatchError], again: Callable[[AzBatchError], AzBatchError]
) -> None:
    error = make(kind)
    error.custom = "kept"  # type: ignore[attr-defined]
    found = again(error)
    assert type(found) is kind
    assert (str(found), found.args) == (str(error), error.args)
    assert set(found.__dict__) == set(error.__dict__)
    plain = {name: value for name, value in error.__dict__.items() if name != "submission"}
    assert {name: found.__dict__[name] for name in plain} == plain


def test_a_submission_in_a_pickle_keeps_its_results_and_no_key() -> None:
    data = pickle.dumps(make(SubmissionError))
    assert b"c2VjcmV0LWtleQ==" not in data
    error = pickle.loads(data)  # noqa: S301 - our own
    assert error.submission.failed == (TaskAddResult("t", "failed", "no"),)
    assert (error.submission.job.id, error.submission.job.handle) == ("j", "work:j")


def test_what_an_error_carries_is_on_its_one_line() -> None:
    assert str(make(errors.Throttled)) == "no [Code] (a=b) - wait"
