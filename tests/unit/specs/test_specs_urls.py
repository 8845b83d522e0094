"""URLs with signatures: read, checked, masked."""

from __future__ import annotations

from datetime import datetime, timezone

import pytest
from specs_refusals import SECRET, refusal

from azbatch_core.errors import SpecError
from azbatch_core.specs import OutputFile, ResourceFile, UrlSecret

BASE = "https://acc.blob.core.windows.net"


def test_a_url_is_shown_without_the_values_of_its_query():
    url = UrlSecret(f"{BASE}/c?sv=2024&se=2027-01-02T03:04:05Z&sp=rl&sig={SECRET}")
    assert str(url) == f"{BASE}/c?sv=***&se=***&sp=***&sig=***"
    assert url.signed
    assert url.permissions == "rl"
    assert url.expires == datetime(2027, 1, 2, 3, 4, 5, tzinfo=timezone.utc)
    assert url.reveal().endswith(SECRET)


def test_a_url_without_query_is_shown_whole():
    url = UrlSecret(f"{BASE}/c")
    assert str(url) == f"{BASE}/c"
    assert not url.signed
    assert url.expires is None


def test_a_password_in_a_url_is_masked():
    assert str(UrlSecret(f"https://user:{SECRET}@h.example/x")) == "https://***@h.example/x"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("2027-01-02", datetime(2027, 1, 2, tzinfo=timezone.utc)),
        ("2027-01-02T03:04Z", datetime(2027, 1, 2, 3, 4, tzinfo=timezone.utc)),
        ("2027-01-02T03:04:05.1234567Z", datetime(2027, 1, 2, 3, 4, 5, tzinfo=timezone.utc)),
        ("soon", None),
        ("", None),
    ],
)
def test_the_end_of_a_sas_is_read_in_all_its_forms(text: str, expected: datetime | None):
    assert UrlSecret(f"{BASE}/c?se={text}&sig=x").expires == expected


def test_a_reference_to_a_url_is_checked_when_it_is_resolved(monkeypatch: pytest.MonkeyPatch):
    url = UrlSecret("env:AZBATCH_TEST_URL")
    assert str(url) == "env:AZBATCH_TEST_URL"
    assert (url.host, url.path, url.query) == (None, None, {})
    monkeypatch.setenv("AZBATCH_TEST_URL", f"{BASE}/c?sig={SECRET}")
    assert url.reveal() == f"{BASE}/c?sig={SECRET}"
    monkeypatch.setenv("AZBATCH_TEST_URL", f"ftp://x?sig={SECRET}")
    refusal(url.reveal)


def test_urls_are_equal_by_content():
    assert UrlSecret(f"{BASE}/c?sig=a") == UrlSecret(f"{BASE}/c?sig=a")
    assert len({UrlSecret(f"{BASE}/c?sig=a"), UrlSecret(f"{BASE}/c?sig=b")}) == 2
    assert UrlSecret(f"{BASE}/c") != f"{BASE}/c"


@pytest.mark.parametrize(
    ("url", "reason"),
    [
        ("", "must not be empty"),
        ("x", "not an http(s) URL"),
        ("ftp://a/b", "not an http(s) URL"),
        ("https:///c", "no host"),
        ("https://a:99999/c", "malformed"),
        ("https://[::1/c", "malformed"),
        (f"'{BASE}/c?sig={SECRET}'", "quotes"),
        (f'"{BASE}/c?sig={SECRET}"', "quotes"),
        (f"{BASE}/c d?sig={SECRET}", "space"),
        (f"{BASE}/c?sig={SECRET}\n", "space"),
        (f"{BASE}/c&sig={SECRET}", "SAS in its path"),
        (f"{BASE}/c/sv=1&sig={SECRET}", "SAS in its path"),
        (f"{BASE}/?sp=rl&sig={SECRET}", "names no container"),
        (f"{BASE}?sp=rl&sig={SECRET}", "names no container"),
        (f"{BASE}/c/blob?sp=rl&sig={SECRET}", "names a blob"),
        (f"{BASE}/c?sr=b&sp=rl&sig={SECRET}", "SAS for a blob"),
        (f"{BASE}/c?restype=container&sp=rl&sig={SECRET}", "request of the storage API"),
        (f"{BASE}/c?sp=r&sig={SECRET}", "does not grant list"),
        (f"{BASE}/c?sp=w&sig={SECRET}", "does not grant read and list"),
        (f"http://acc.blob.core.windows.net/c?sp=rl&sig={SECRET}", "plain http"),
    ],
)
def test_a_wrong_container_url_is_explained_before_a_node_meets_it(url: str, reason: str):
    error = refusal(ResourceFile, storage_container_url=url)
    assert error.field == "storage_container_url"
    assert reason in error.message


@pytest.mark.parametrize(
    "url",
    [
        f"{BASE}/c?sp=racwdl&sr=c&sig=x",
        f"{BASE}/c?si=policy&sig=x",
        f"{BASE}/c",
        "http://127.0.0.1:10000/devstoreaccount1/c?sp=rl&sig=x",
        "http://localhost:10000/c?sig=x",
        "env:MY_URL",
    ],
)
def test_right_container_urls_pass(url: str):
    assert ResourceFile(storage_container_url=url).storage_container_url == UrlSecret(url)


def test_an_output_needs_write_and_an_input_file_needs_read():
    assert (
        "grant write" in refusal(OutputFile, file_pattern="*", container_url=f"{BASE}/c?sp=rl&sig=x").message
    )
    assert OutputFile(file_pattern="*", container_url=f"{BASE}/c?sp=w&sig=x").container_url
    assert "grant read" in refusal(ResourceFile, http_url=f"{BASE}/c/b?sp=w&sig=x", file_path="b").message


def test_a_url_cannot_be_changed():
    with pytest.raises(AttributeError):
        UrlSecret(BASE).host = "x"  # type: ignore[misc]  # that it fails is the test


def test_a_url_must_be_text():
    with pytest.raises(SpecError, match="must be text"):
        ResourceFile(http_url=5, file_path="x")
