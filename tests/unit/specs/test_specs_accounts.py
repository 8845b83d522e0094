"""Accounts: endpoints repaired, keys checked at once, logins complete."""

from __future__ import annotations

from typing import Any

import pytest
from specs_refusals import SECRET, refusal

from azbatch_core.specs import AccountSpec, Secret, StorageSpec

ENDPOINT = "https://acct.westeurope.batch.azure.com"
KEY = "c2VjcmV0LWtleS1vZi10aGUtYWNjb3VudA=="


@pytest.mark.parametrize(
    "text",
    [
        ENDPOINT,
        f"{ENDPOINT}/",
        f"'{ENDPOINT}'",
        f'"{ENDPOINT}/"',
        f" {ENDPOINT} \n",
        "acct.westeurope.batch.azure.com",
        "acct.westeurope.batch.azure.com/",
        "'acct.westeurope.batch.azure.com'",
        "HTTPS://acct.westeurope.batch.azure.com",
    ],
)
def test_the_usual_slips_in_an_endpoint_are_repaired(text: str):
    assert AccountSpec(name="a", endpoint=text).endpoint == ENDPOINT


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "empty"),
        ("''", "empty"),
        ("ftp://x", "not an http(s) URL"),
        ("https://", "no host"),
        ("https://x:999999", "malformed"),
        ("https://a b", "space"),
        (f"{ENDPOINT}/pools", "path"),
        (f"{ENDPOINT}?api-version=1", "query"),
        ("http://acct.westeurope.batch.azure.com", "plain http"),
        (f"https://u:{SECRET}@x.example", "user name"),
    ],
)
def test_an_endpoint_beyond_repair_is_refused(text: str, reason: str):
    error = refusal(AccountSpec, name="a", endpoint=text)
    assert error.field == "endpoint"
    assert reason in error.message


@pytest.mark.parametrize("key", ["not base64!", "abc", f"{SECRET}-", "a b==", "é==="])
def test_a_key_that_is_not_base64_is_refused_at_once(key: str):
    for make in (
        lambda: AccountSpec(name="a", account_key=key),
        lambda: StorageSpec(blob_endpoint="s.blob.core.windows.net", account_key=key),
    ):
        error = refusal(make)
        assert error.field == "account_key"
        assert "base64" in error.message
        assert key not in str(error)


def test_a_key_makes_shared_key_the_login_unless_another_is_said():
    assert AccountSpec(name="a", account_key=KEY).credential == "shared_key"
    assert AccountSpec(name="a", account_key="env:KEY").account_key == Secret("env:KEY")
    assert AccountSpec(name="a").credential == "default"


@pytest.mark.parametrize("credential", ["default", "cli", "managed_identity", "workload_identity"])
def test_logins_that_need_nothing_more(credential: Any):
    assert AccountSpec(name="a", endpoint=ENDPOINT, credential=credential).credential == credential


@pytest.mark.parametrize(
    ("fields", "field"),
    [
        ({"credential": "shared_key"}, "account_key"),
        ({"credential": "service_principal"}, "tenant_id"),
        ({"credential": "service_principal", "tenant_id": "t"}, "client_id"),
        ({"credential": "service_principal", "tenant_id": "t", "client_id": "c"}, "client_secret"),
        ({"credential": "cli", "account_key": KEY}, "account_key"),
        ({"credential": "default", "account_key": "env:KEY"}, "account_key"),
        ({"credential": "shared-key"}, "credential"),
        ({"endpoint": "http://127.0.0.1:8080"}, "credential"),
        ({"cloud": "germany"}, "cloud"),
        ({"name": "a:b"}, "name"),
        ({"name": ""}, "name"),
        ({"tenant_id": ""}, "tenant_id"),
        ({"storage": {}}, "storage.blob_endpoint"),
        ({"storage": {"blob_endpoint": "http://127.0.0.1:1"}}, "storage.account_name"),
        ({"storage": {"blob_endpoint": "s.example", "account_key": "!"}}, "storage.account_key"),
    ],
)
def test_wrong_accounts(fields: dict[str, Any], field: str):
    assert refusal(AccountSpec, **{"name": "a", **fields}).field == field


def test_a_local_service_over_http_takes_the_shared_key():
    account = AccountSpec(name="local", endpoint="http://127.0.0.1:8080", account_key=KEY)
    assert account.endpoint == "http://127.0.0.1:8080"


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        ({"endpoint": ENDPOINT}, "acct"),
        ({"endpoint": ENDPOINT, "account_name": "other"}, "other"),
        ({}, "profile"),
        ({"endpoint": "https://proxy.example"}, "profile"),
    ],
)
def test_the_name_that_signs_requests(fields: dict[str, Any], expected: str):
    assert AccountSpec(name="profile", **fields).batch_account == expected


@pytest.mark.parametrize(
    ("endpoint", "name"),
    [
        ("https://mystorage.blob.core.windows.net/", "mystorage"),
        ("mystorage.blob.core.windows.net", "mystorage"),
        ("http://127.0.0.1:10000/devstoreaccount1", "devstoreaccount1"),
    ],
)
def test_a_storage_account_is_named_by_its_endpoint(endpoint: str, name: str):
    storage = StorageSpec(blob_endpoint=endpoint)
    assert storage.account_name == name
    assert not storage.blob_endpoint.endswith("/")
    assert StorageSpec(blob_endpoint=endpoint, account_name="given").account_name == "given"
