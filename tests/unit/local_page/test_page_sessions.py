from __future__ import annotations

from datetime import datetime, timezone

import pytest

from azbatch_core.local.errors import BatchError
from azbatch_core.local.page.sessions import CODE_SECONDS, SESSION_SECONDS, Sessions

NOW = datetime(2026, 1, 1, tzinfo=timezone.utc)


class Time:
    """Seconds that a test sets."""

    def __init__(self) -> None:
        self.seconds = 0.0

    def __call__(self) -> float:
        return self.seconds


@pytest.fixture
def time() -> Time:
    return Time()


@pytest.fixture
def sessions(time: Time) -> Sessions:
    return Sessions(8080, time)


def cookie_of(sessions: Sessions) -> dict[str, str]:
    return {"cookie": sessions.open(sessions.new_code()).partition(";")[0]}


def test_a_code_opens_one_session(sessions: Sessions) -> None:
    code = sessions.new_code()
    header = sessions.open(code)
    assert header.startswith("azbatch-page-8080=")
    assert code not in header
    assert [part.strip() for part in header.split(";")[1:]] == [
        "Path=/_page",
        "Max-Age=43200",
        "HttpOnly",
        "SameSite=Strict",
    ]
    assert sessions.knows({"cookie": f"other=1; {header.partition(';')[0]}"})
    with pytest.raises(BatchError, match="AuthenticationFailed"):
        sessions.open(code)


@pytest.mark.parametrize("code", ["", "x", "ä\udcff"])
def test_another_word_opens_none(sessions: Sessions, code: str) -> None:
    sessions.new_code()
    with pytest.raises(BatchError, match="AuthenticationFailed"):
        sessions.open(code)


def test_codes_and_sessions_end(sessions: Sessions, time: Time) -> None:
    code = sessions.new_code()
    cookie = cookie_of(sessions)
    time.seconds = CODE_SECONDS
    with pytest.raises(BatchError, match="AuthenticationFailed"):
        sessions.open(code)
    time.seconds = SESSION_SECONDS - 1
    assert sessions.knows(cookie)
    time.seconds = SESSION_SECONDS
    assert not sessions.knows(cookie)


def test_the_oldest_of_too_many_are_forgotten(sessions: Sessions) -> None:
    codes = [sessions.new_code() for _ in range(17)]
    with pytest.raises(BatchError):
        sessions.open(codes[0])
    cookies = [
        {"cookie": sessions.open(codes[1]).partition(";")[0]},
        *(cookie_of(sessions) for _ in range(64)),
    ]
    assert [sessions.knows(cookie) for cookie in cookies] == [False, *[True] * 64]


@pytest.mark.parametrize("text", ["", "azbatch-page-8080=x", "azbatch-page-8081=x", "\x00=;;[", 'a="'])
def test_other_cookies_are_no_session(sessions: Sessions, text: str) -> None:
    cookie_of(sessions)
    assert not sessions.knows({"cookie": text})


@pytest.mark.parametrize(
    ("site", "known"), [("same-origin", True), ("none", True), ("same-site", False), ("cross-site", False)]
)
def test_requests_of_other_pages_are_refused(sessions: Sessions, site: str, *, known: bool) -> None:
    assert sessions.knows({**cookie_of(sessions), "sec-fetch-site": site}) is known


@pytest.mark.parametrize("method", ["POST", "PUT", "PATCH", "DELETE", "OPTIONS"])
def test_a_session_writes_nothing(sessions: Sessions, method: str) -> None:
    cookie = cookie_of(sessions)
    sessions.verify("GET", "/jobs", "", cookie, NOW)
    sessions.verify("HEAD", "/jobs/a", "", cookie, NOW)
    with pytest.raises(BatchError, match="UnsupportedHttpVerb"):
        sessions.verify(method, "/jobs", "", cookie, NOW)
    with pytest.raises(BatchError, match="AuthenticationFailed"):
        sessions.verify("GET", "/jobs", "", {}, NOW)
