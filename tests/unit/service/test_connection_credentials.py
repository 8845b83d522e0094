"""What is wrong with an account or a credential is found before anything is sent."""

from __future__ import annotations

import base64
from types import SimpleNamespace

import pytest

from azbatch_core.errors import ConfigurationError
from azbatch_core.service.connect import credentials
from azbatch_core.service.connect.connection import Connection, check_sdk_version, is_loopback
from azbatch_core.service.connect.keyvault import KeyVaultResolver
from azbatch_core.specs import AccountSpec, Secret

KEY = base64.b64encode(b"a key that no message may show").decode()
ENDPOINT = "https://mybatch.westeurope.batch.azure.com"


class TokenCredential:
    """What Python callers pass in."""

    def get_token(self, *scopes: str) -> object:
        """A token."""
        return SimpleNamespace(token="t", expires_on=0, scopes=scopes)


class SignedSession:
    """An adapter of the kind that older SDKs took."""

    def signed_session(self) -> None:
        """A session."""


def named_key(key: str) -> object:
    return SimpleNamespace(named_key=SimpleNamespace(name="mybatch", key=key))


def account(**settings: object) -> AccountSpec:
    return AccountSpec(**{"name": "work", "endpoint": ENDPOINT, **settings})


def test_an_account_without_an_endpoint_is_no_use() -> None:
    with pytest.raises(ConfigurationError, match="no endpoint"):
        Connection(account(endpoint=None))


def test_a_callers_credential_is_taken_in_both_kinds() -> None:
    assert not Connection(account(), credential=TokenCredential()).key_auth
    assert Connection(account(), credential=named_key(KEY)).key_auth
    assert Connection(account(account_key=KEY)).key_auth
    assert not Connection(account(account_key=KEY), credential=TokenCredential()).key_auth


def test_an_adapter_without_get_token_is_refused_in_one_line() -> None:
    with pytest.raises(ConfigurationError) as caught:
        Connection(account(), credential=SignedSession())
    assert caught.value.message == "a credential needs get_token, and SignedSession has none"
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("wrong", ["not base64!", "abc", "", "ünïcode", "   "])
def test_a_key_that_is_not_base64_is_refused_without_being_shown(
    wrong: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("A_KEY", wrong)
    with pytest.raises(ConfigurationError) as caught:
        Connection(account(account_key="env:A_KEY"))
    assert not wrong.strip() or wrong not in f"{caught.value!r}{caught.value}"
    with pytest.raises(ConfigurationError, match="base64"):
        Connection(account(), credential=named_key(wrong or "!"))


def test_a_token_never_travels_over_http() -> None:
    local = account(endpoint="http://127.0.0.1:1234", account_key=KEY)
    with pytest.raises(ConfigurationError, match="must not travel unencrypted"):
        Connection(local, credential=TokenCredential())
    assert Connection(local).is_local


@pytest.mark.parametrize(
    ("endpoint", "expected"),
    [
        ("http://127.0.0.1:80", True),
        ("http://127.9.9.9", True),
        ("http://[::1]:8080", True),
        ("https://localhost", True),
        ("https://batch.localhost", True),
        ("https://localhost.example.com", False),
        ("https://10.0.0.1", False),
        (ENDPOINT, False),
    ],
)
def test_loopback_is_told_by_address(endpoint: str, *, expected: bool) -> None:
    assert is_loopback(endpoint) is expected


@pytest.mark.parametrize("found", ["14.2.0", "15.0.0b2", "15.0", "15.1.0b3", "16.0.0", "8.0"])
def test_an_sdk_of_another_line_is_refused_with_its_version(found: str) -> None:
    with pytest.raises(ConfigurationError, match=found):
        check_sdk_version(found)


@pytest.mark.parametrize("found", ["15.1.0", "15.1.1", "15.2.0", "15.10.3"])
def test_the_right_sdk_passes(found: str) -> None:
    check_sdk_version(found)


@pytest.mark.parametrize(
    ("cloud", "scope"),
    [
        ("public", "https://batch.core.windows.net//.default"),
        ("usgov", "https://batch.core.usgovcloudapi.net//.default"),
        ("china", "https://batch.chinacloudapi.cn//.default"),
        ("bleu", "https://batch.sovcloud-api.fr//.default"),
    ],
)
def test_each_cloud_has_a_scope_of_its_own(cloud: str, scope: str) -> None:
    assert credentials.scope(account(cloud=cloud)) == scope


def test_a_workload_identity_outside_a_cluster_names_what_is_missing(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for name in ("AZURE_TENANT_ID", "AZURE_CLIENT_ID", "AZURE_FEDERATED_TOKEN_FILE"):
        monkeypatch.delenv(name, raising=False)
    with pytest.raises(ConfigurationError, match="AZURE_TENANT_ID, AZURE_FEDERATED_TOKEN_FILE is not set"):
        credentials._workload_identity(None, account(credential="workload_identity", client_id="c"))


def test_a_closed_connection_says_so() -> None:
    connection = Connection(account(account_key=KEY))
    connection.close()
    connection.close()
    with pytest.raises(ConfigurationError, match="closed"):
        _ = connection.client


def test_a_connection_shows_no_secret() -> None:
    assert repr(Connection(account(account_key=KEY))) == f"Connection('work', '{ENDPOINT}')"


@pytest.mark.parametrize(
    "url",
    [
        "https://evil.vault.example.com/secrets/x",
        "http://my.vault.azure.net/secrets/x",
        "https://vault.azure.net/secrets/x",
    ],
)
def test_a_token_goes_to_no_vault_outside_azure(url: str) -> None:
    resolver = KeyVaultResolver(lambda: pytest.fail("a token was asked for"))
    with pytest.raises(ConfigurationError, match="does not name a Key Vault"):
        resolver(f"keyvault:{url}")


def test_a_key_in_a_vault_is_not_fetched_to_make_a_connection() -> None:
    reference = "keyvault:https://my.vault.azure.net/secrets/batch-key"
    assert Connection(account(account_key=Secret(reference))).key_auth
