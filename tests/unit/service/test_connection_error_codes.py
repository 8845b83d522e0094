"""Each service code lands in the right class, whatever the status or the SDK's own class would suggest."""

from __future__ import annotations

import pytest

from azbatch_core.catalog.error_codes import CODES, by_status, lookup
from azbatch_core.errors import (
    AuthenticationError,
    AzBatchError,
    Conflict,
    InvalidRequest,
    NotFound,
    QuotaExceeded,
    ServiceUnavailable,
    Throttled,
)


@pytest.mark.parametrize(
    ("code", "status", "kind"),
    [
        # Seven meanings of 409, for which the SDK has one class.
        ("JobExists", 409, Conflict),
        ("ActiveJobAndScheduleQuotaReached", 409, QuotaExceeded),
        ("PoolQuotaReached", 409, QuotaExceeded),
        ("JobBeingDeleted", 409, Conflict),
        ("TaskFilesCleanedup", 409, Conflict),
        ("InvalidApplicationPackageReferences", 409, InvalidRequest),
        ("OperationInvalidForCurrentState", 409, Conflict),
        ("PoolNotFound", 404, NotFound),
        ("NodeAgentSKUNotFound", 404, NotFound),
        ("AuthenticationFailed", 403, AuthenticationError),
        ("Forbidden", 403, AuthenticationError),
        ("IOError", 403, ServiceUnavailable),
        ("ConditionNotMet", 412, Conflict),
        ("RequestBodyTooLarge", 413, InvalidRequest),
        ("TooManyRequests", 429, Throttled),
        ("TooManyEnableAutoScaleRequests", 503, Conflict),
        ("ServerBusy", 503, ServiceUnavailable),
        ("InternalError", 500, ServiceUnavailable),
        ("NotImplemented", 501, InvalidRequest),
    ],
)
def test_a_listed_code_decides(code: str, status: int, kind: type[AzBatchError]) -> None:
    assert lookup(code, status).kind is kind


@pytest.mark.parametrize(
    ("status", "kind", "retryable"),
    [
        (400, InvalidRequest, False),
        (401, AuthenticationError, False),
        (403, AuthenticationError, False),
        (404, NotFound, False),
        (408, ServiceUnavailable, True),
        (409, Conflict, False),
        (412, Conflict, True),
        (418, InvalidRequest, False),
        (429, Throttled, True),
        (500, ServiceUnavailable, True),
        (501, InvalidRequest, False),
        (502, ServiceUnavailable, True),
        (503, ServiceUnavailable, True),
        (504, ServiceUnavailable, True),
    ],
)
def test_without_a_listed_code_the_status_decides(
    status: int, kind: type[AzBatchError], *, retryable: bool
) -> None:
    for code in (None, "SomethingNewIn2027"):
        info = lookup(code, status)
        assert (info.kind, info.retryable) == (kind, retryable)
    assert by_status(status).kind is kind


def test_429_is_throttling_whatever_the_code_says() -> None:
    assert lookup("OperationInvalidForCurrentState", 429).kind is Throttled


def test_quota_can_pass_with_time_and_a_taken_name_cannot() -> None:
    assert CODES["ActiveJobAndScheduleQuotaReached"].retryable
    assert CODES["JobBeingDeleted"].retryable
    assert not CODES["JobExists"].retryable
    assert not CODES["TaskCompleted"].retryable


def test_hints_are_one_line() -> None:
    for code, info in CODES.items():
        assert info.hint is None or ("\n" not in info.hint and not info.hint.endswith(".")), code
