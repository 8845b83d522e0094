"""Answers that are errors: read, cleaned, and turned into one error of the tree."""

from __future__ import annotations

import json
from datetime import datetime, timedelta, timezone
from email.utils import format_datetime

import pytest

from azbatch_core.errors import (
    AuthenticationError,
    Conflict,
    InvalidRequest,
    NotFound,
    QuotaExceeded,
    ServiceUnavailable,
    Throttled,
)
from azbatch_core.service.connect import error_mapping
from azbatch_core.service.connect.error_mapping import from_reply, from_sdk, parse_retry_after, read_reply

NOW = datetime(2026, 3, 1, 12, 0, 0, tzinfo=timezone.utc)


def envelope(code: str, message: str, **details: str) -> str:
    """An error body as the service writes it."""
    tail = "\nRequestId:b89ea3f0-6105-4f9e-91a9-fe972b51fb89\nTime:2026-03-01T12:00:00.4177348Z"
    document: dict[str, object] = {
        "odata.metadata": "https://x/$metadata#Microsoft.Azure.Batch.Protocol.Entities.Container.errors/@Element",
        "code": code,
        "message": {"lang": "en-US", "value": message + tail},
    }
    if details:
        document["values"] = [{"key": key, "value": value} for key, value in details.items()]
    return json.dumps(document, indent=2).replace("\n", "\r\n")


def test_an_envelope_gives_one_line_and_keeps_the_rest_as_fields() -> None:
    body = envelope(
        "InvalidPropertyValue",
        "The value provided for one of the properties in the request body is invalid.",
        PropertyName="vmSize",
        PropertyValue="STANDARD_DS64_v3",
        Reason="The specified vm size is not valid",
    )
    reply = read_reply(400, {"Request-Id": "from-the-header"}, body, now=NOW)
    error = from_reply(reply)
    assert isinstance(error, InvalidRequest)
    assert error.message == "The value provided for one of the properties in the request body is invalid."
    assert error.code == "InvalidPropertyValue"
    assert error.details == {
        "PropertyName": "vmSize",
        "PropertyValue": "STANDARD_DS64_v3",
        "Reason": "The specified vm size is not valid",
    }
    assert error.request_id == "from-the-header"
    assert reply.time == "2026-03-01T12:00:00.4177348Z"
    assert "\n" not in str(error)


def test_the_request_id_of_the_message_serves_where_no_header_has_one() -> None:
    reply = read_reply(409, {}, envelope("JobExists", "The specified job already exists."))
    assert reply.request_id == "b89ea3f0-6105-4f9e-91a9-fe972b51fb89"


def test_a_quota_is_not_a_conflict_although_both_are_409() -> None:
    body = envelope(
        "ActiveJobAndScheduleQuotaReached", "Active job and schedule quota for the account has been reached."
    )
    assert isinstance(from_reply(read_reply(409, {}, body)), QuotaExceeded)
    taken = from_reply(read_reply(409, {}, envelope("JobExists", "The specified job already exists.")))
    assert isinstance(taken, Conflict)


def test_a_head_without_a_body_is_judged_by_its_status_and_says_what_was_asked() -> None:
    error = from_reply(read_reply(404, {"request-id": "r"}, "", what="HEAD /jobs/j/tasks/t/files/wd%2Fx"))
    assert isinstance(error, NotFound)
    assert error.code is None
    assert error.message == "the service answered HTTP 404 to HEAD /jobs/j/tasks/t/files/wd%2Fx"


def test_an_html_page_of_a_proxy_is_not_repeated() -> None:
    error = from_reply(read_reply(502, {}, "<html><body><h1>Bad Gateway</h1></body></html>"))
    assert isinstance(error, ServiceUnavailable)
    assert error.retryable
    assert "html" not in str(error)


def test_signatures_are_taken_out_of_what_the_service_echoes() -> None:
    url = "https://s.blob.core.windows.net/c?sv=2024&sig=Abc%2Bdef%3D&sp=w"
    body = envelope("InvalidPropertyValue", f"Bad URL {url}", PropertyName="containerUrl", PropertyValue=url)
    error = from_reply(read_reply(400, {}, body))
    assert "Abc" not in f"{error} {error.details} {error!r}"
    assert "sig=***&sp=w" in error.details["PropertyValue"]


def test_a_storage_error_is_read_from_its_xml() -> None:
    body = (
        '\ufeff<?xml version="1.0" encoding="utf-8"?><Error><Code>ContainerAlreadyExists</Code>'
        "<Message>The specified container already exists.\nRequestId:61aa\n"
        "Time:2026-03-01T12:00:00.1Z</Message></Error>"
    )
    reply = read_reply(409, {"x-ms-request-id": "61aa"}, body)
    assert (reply.code, reply.message) == (
        "ContainerAlreadyExists",
        "The specified container already exists.",
    )
    assert (reply.request_id, reply.time) == ("61aa", "2026-03-01T12:00:00.1Z")


def test_the_code_of_a_storage_head_is_in_a_header() -> None:
    assert read_reply(404, {"x-ms-error-code": "BlobNotFound"}, "").code == "BlobNotFound"


def test_key_vault_nests_its_error() -> None:
    body = json.dumps(
        {"error": {"code": "SecretNotFound", "message": "A secret with (name/id) x was not found"}}
    )
    error = from_reply(read_reply(404, {}, body))
    assert isinstance(error, NotFound)
    assert error.message == "A secret with (name/id) x was not found"


def test_entra_says_why_on_its_first_line() -> None:
    body = json.dumps(
        {
            "error": "invalid_client",
            "error_description": "AADSTS7000215: Invalid client secret provided.\r\nTrace ID: 1\r\nMore: 2",
        }
    )
    assert read_reply(401, {}, body).message == "AADSTS7000215: Invalid client secret provided."


@pytest.mark.parametrize(("minutes", "side"), [(40, "ahead"), (-40, "behind")])
def test_a_wrong_clock_is_named_when_signatures_are_refused(minutes: int, side: str) -> None:
    date = format_datetime(NOW - timedelta(minutes=minutes), usegmt=True)
    body = envelope("AuthenticationFailed", "Server failed to authenticate the request.")
    error = from_reply(read_reply(403, {"Date": date}, body, now=NOW))
    assert isinstance(error, AuthenticationError)
    assert error.hint == f"this machine's clock is 40 minutes {side}: set it right"


def test_a_right_clock_is_not_blamed() -> None:
    body = envelope("AuthenticationFailed", "Server failed to authenticate the request.")
    headers = {"Date": format_datetime(NOW, usegmt=True)}
    error = from_reply(read_reply(403, headers, body, now=NOW))
    assert "key" in (error.hint or "")


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({"retry-after": "7"}, 7.0),
        ({"retry-after": "0"}, 0.0),
        ({"retry-after": "-3"}, 0.0),
        ({"retry-after": "Sun, 01 Mar 2026 12:00:30 GMT"}, 30.0),
        ({"retry-after": "Sun, 01 Mar 2026 11:00:00 GMT"}, 0.0),
        # The service's clock is five minutes behind ours, and its date means 30 seconds all the same.
        ({"retry-after": "Sun, 01 Mar 2026 11:55:30 GMT", "date": "Sun, 01 Mar 2026 11:55:00 GMT"}, 30.0),
        ({"retry-after-ms": "250"}, 0.25),
        ({"x-ms-retry-after-ms": "1500"}, 1.5),
        ({"retry-after": "soon"}, None),
        ({}, None),
    ],
)
def test_retry_after_in_all_its_forms(headers: dict[str, str], seconds: float | None) -> None:
    assert parse_retry_after(headers, NOW) == seconds


def test_an_error_of_ours_passes_through() -> None:
    error = Throttled("slow down")
    assert from_sdk(error) is error


def test_a_refused_connection_is_told_in_words() -> None:
    error = from_sdk(ConnectionRefusedError(111, "Connection refused"))
    assert isinstance(error, ServiceUnavailable)
    assert error.retryable
    assert error.message == "no answer: connection refused"


def test_the_answer_behind_an_error_stays_within_reach() -> None:
    class Response:
        status_code = 503
        headers = {"retry-after": "4"}  # noqa: RUF012 - a stand-in

        def text(self) -> str:
            return envelope("ServerBusy", "The server is busy.")

    cause = Exception()
    cause.response = Response()  # type: ignore[attr-defined]
    error = from_sdk(cause)
    error.__cause__ = cause
    reply = error_mapping.reply_of(error)
    assert reply is not None
    assert (reply.status, reply.retry_after, reply.time) == (503, 4.0, "2026-03-01T12:00:00.4177348Z")
    assert error_mapping.reply_of(ValueError()) is None
