"""Who may ask."""

from __future__ import annotations

import base64
import hashlib
import hmac
from datetime import datetime, timedelta, timezone
from email.utils import format_datetime

import pytest

from azbatch_core.local.auth import SharedKey
from azbatch_core.local.errors import BatchError

NOW = datetime(2026, 12, 1, 12, 0, tzinfo=timezone.utc)
PATH = "/jobs/j/tasks/t/files/wd%2Fout%20file.txt"
QUERY = "api-version=2025-06-01&%24select=id%2Cstate&timeOut=30"


@pytest.fixture
def keys(account_key):
    return SharedKey("devaccount", account_key)


def headers(**more):
    return {"ocp-date": format_datetime(NOW, usegmt=True), **more}


def refusal(keys, method, path, query, sent):
    with pytest.raises(BatchError) as caught:
        keys.verify(method, path, query, sent, NOW)
    return caught.value


def test_a_request_signed_as_the_sdk_does_is_accepted(keys, sign):
    sent = headers()
    sent["authorization"] = sign("GET", PATH, QUERY, sent)
    keys.verify("GET", PATH, QUERY, sent, NOW)


@pytest.mark.parametrize("length", ["0", ""])
def test_a_request_without_a_body_may_sign_its_length_either_way(keys, sign, length):
    sent = headers(**{"content-length": length})
    authorization = sign("DELETE", "/pools/p", "api-version=2025-06-01", sent)
    for arrived in ("0", ""):
        keys.verify(
            "DELETE",
            "/pools/p",
            "api-version=2025-06-01",
            {**sent, "content-length": arrived, "authorization": authorization},
            NOW,
        )


def test_the_length_of_a_body_is_signed(keys, sign):
    sent = headers(**{"content-length": "12"})
    sent["authorization"] = sign("POST", "/jobs", "", sent)
    keys.verify("POST", "/jobs", "", sent, NOW)
    sent["content-length"] = "0"
    assert refusal(keys, "POST", "/jobs", "", sent).code == "AuthenticationFailed"


def test_query_names_may_be_signed_in_lower_case(keys, account_key):
    sent = headers()
    text = "GET" + "\n" * 12 + f"ocp-date:{sent['ocp-date']}\n/devaccount/pools"
    text += "\napi-version:2025-06-01\ntimeout:30"
    digest = hmac.new(base64.b64decode(account_key), text.encode(), hashlib.sha256).digest()
    sent["authorization"] = f"SharedKey devaccount:{base64.b64encode(digest).decode()}"
    keys.verify("GET", "/pools", "api-version=2025-06-01&timeOut=30", sent, NOW)


@pytest.mark.parametrize("empty", ["$select:", None])
@pytest.mark.parametrize("timeout", ["timeOut", "timeout"])
def test_an_empty_value_may_be_signed_or_left_out(keys, account_key, timeout, empty):
    sent = headers()
    parameters = sorted(filter(None, [empty, "api-version:2025-06-01", f"{timeout}:30"]))
    text = "GET" + "\n" * 12 + f"ocp-date:{sent['ocp-date']}\n/devaccount/jobs\n" + "\n".join(parameters)
    digest = hmac.new(base64.b64decode(account_key), text.encode(), hashlib.sha256).digest()
    sent["authorization"] = f"SharedKey devaccount:{base64.b64encode(digest).decode()}"
    keys.verify("GET", "/jobs", "api-version=2025-06-01&%24select=&timeOut=30", sent, NOW)


def test_either_key_of_an_account_opens(account_key, sign):
    other = base64.b64encode(b"another key").decode()
    keys = SharedKey("devaccount", other, account_key)
    for key in (other, account_key):
        sent = headers()
        sent["authorization"] = sign("GET", "/pools", "", sent, key=key)
        keys.verify("GET", "/pools", "", sent, NOW)


@pytest.mark.parametrize(
    ("path", "query", "extra"),
    [
        ("/jobs/j/tasks/t/files/wd/out%20file.txt", QUERY, {}),
        (PATH, QUERY + "&force=true", {}),
        (PATH, QUERY, {"ocp-range": "bytes=0-9"}),
        (PATH, QUERY, {"if-match": '"0x8D"'}),
    ],
)
def test_what_was_signed_cannot_be_changed(keys, sign, path, query, extra):
    sent = headers()
    authorization = sign("GET", PATH, QUERY, sent)
    error = refusal(keys, "GET", path, query, {**sent, **extra, "authorization": authorization})
    assert (error.code, error.status) == ("AuthenticationFailed", 403)


@pytest.mark.parametrize("minutes", [-14, 14])
def test_a_clock_may_be_off_a_little(keys, sign, minutes):
    sent = {"ocp-date": format_datetime(NOW + timedelta(minutes=minutes), usegmt=True)}
    sent["authorization"] = sign("GET", "/pools", "", sent)
    keys.verify("GET", "/pools", "", sent, NOW)


@pytest.mark.parametrize(
    "date", ["Tue, 01 Dec 2026 11:44:00 GMT", "Tue, 01 Dec 2026 12:16:00 GMT", "soon", None]
)
def test_old_future_wrong_and_missing_dates_are_refused(keys, sign, date):
    sent = {} if date is None else {"ocp-date": date}
    sent["authorization"] = sign("GET", "/pools", "", sent)
    assert refusal(keys, "GET", "/pools", "", sent).code == "AuthenticationFailed"


@pytest.mark.parametrize(
    ("authorization", "code"),
    [
        ("", "AuthenticationFailed"),
        ("Bearer eyJ0eXAi", "AuthenticationFailed"),
        ("SharedKey", "InvalidAuthenticationInfo"),
        ("SharedKey devaccount", "InvalidAuthenticationInfo"),
        ("SharedKey devaccount:not base64!", "AuthenticationFailed"),
        ("SharedKey devaccount:AAAA", "AuthenticationFailed"),
        ("SharedKey devaccount:é", "AuthenticationFailed"),
    ],
)
def test_other_authorizations_are_refused(keys, authorization, code):
    assert refusal(keys, "GET", "/pools", "", headers(authorization=authorization)).code == code


def test_another_accounts_signature_is_refused(keys, sign):
    sent = headers()
    sent["authorization"] = sign("GET", "/pools", "", sent, account="other")
    assert refusal(keys, "GET", "/pools", "", sent).code == "AuthenticationFailed"


def test_a_key_that_is_not_base64_is_refused_at_once():
    with pytest.raises(ValueError, match=r".*"):
        SharedKey("devaccount", "not a key")


def test_the_key_is_in_no_repr(keys, account_key):
    assert account_key not in repr(keys)
