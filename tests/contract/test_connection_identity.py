"""Each kind of credential becomes the object of azure-identity that it names, for the right cloud."""

from __future__ import annotations

import sys
from types import ModuleType
from typing import TYPE_CHECKING, Any

import pytest
from azure import identity
from azure.core.credentials import AzureNamedKeyCredential
from azure.core.exceptions import ClientAuthenticationError

from azbatch_core.errors import AuthenticationError, ConfigurationError, ServiceUnavailable
from azbatch_core.service.connect import credentials, error_mapping, keyvault
from azbatch_core.service.connect.connection import Connection
from azbatch_core.specs import AccountSpec, Secret

if TYPE_CHECKING:
    from pathlib import Path

ENDPOINT = "https://mybatch.westeurope.batch.azure.com"


@pytest.fixture(autouse=True)
def clean(monkeypatch: pytest.MonkeyPatch) -> None:
    """No login from the machine that runs the tests."""
    for name in ("AZURE_TENANT_ID", "AZURE_CLIENT_ID", "AZURE_CLIENT_SECRET", "AZURE_FEDERATED_TOKEN_FILE"):
        monkeypatch.delenv(name, raising=False)


def account(**settings: Any) -> AccountSpec:
    return AccountSpec(**{"name": "work", "endpoint": ENDPOINT, **settings})


@pytest.mark.parametrize(
    ("settings", "kind"),
    [
        ({}, identity.DefaultAzureCredential),
        ({"tenant_id": "t", "client_id": "c"}, identity.DefaultAzureCredential),
        ({"credential": "cli", "tenant_id": "t"}, identity.AzureCliCredential),
        ({"credential": "managed_identity"}, identity.ManagedIdentityCredential),
        ({"credential": "managed_identity", "client_id": "c"}, identity.ManagedIdentityCredential),
        (
            {
                "credential": "service_principal",
                "tenant_id": "t",
                "client_id": "c",
                "client_secret": Secret("s"),
            },
            identity.ClientSecretCredential,
        ),
    ],
)
def test_each_kind_is_built(settings: dict[str, Any], kind: type[object]) -> None:
    assert type(credentials.build(account(**settings))) is kind


def test_a_workload_identity_is_filled_in_by_the_cluster(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("AZURE_TENANT_ID", "t")
    monkeypatch.setenv("AZURE_FEDERATED_TOKEN_FILE", str(tmp_path / "token"))
    built = credentials.build(account(credential="workload_identity", client_id="c"))
    assert type(built) is identity.WorkloadIdentityCredential


def test_the_login_host_is_that_of_the_cloud() -> None:
    settings = {"credential": "service_principal", "tenant_id": "t", "client_id": "c", "client_secret": "s"}
    built = credentials.build(account(cloud="china", **settings))
    assert built._authority == "https://login.chinacloudapi.cn"


def test_a_key_is_signed_with_under_the_accounts_own_name() -> None:
    built = credentials.build(account(account_key="a2V5IQ=="))
    assert type(built) is AzureNamedKeyCredential
    assert built.named_key == ("mybatch", "a2V5IQ==")


def test_a_key_may_be_kept_in_a_vault(monkeypatch: pytest.MonkeyPatch) -> None:
    values = {"good": "a2V5IQ==", "bad": "not base64!"}
    monkeypatch.setattr(
        keyvault, "resolver", lambda _, **__: lambda reference: values[reference.rpartition("/")[2]]
    )
    vault = "keyvault:https://my.vault.azure.net/secrets/"
    assert credentials.build(account(account_key=f"{vault}good")).named_key.key == "a2V5IQ=="
    with pytest.raises(ConfigurationError, match="is not base64") as caught:
        credentials.build(account(account_key=f"{vault}bad"))
    assert "not base64!" not in str(caught.value)


def test_a_vault_is_read_with_a_callers_own_token() -> None:
    own = identity.AzureCliCredential()
    assert keyvault.resolver(account(), own)._make_credential() is own
    key = AzureNamedKeyCredential("mybatch", "a2V5IQ==")
    assert type(keyvault.resolver(account(), key)._make_credential()) is identity.DefaultAzureCredential


@pytest.mark.parametrize(
    ("settings", "kind"),
    [
        ({"account_key": "a2V5IQ=="}, identity.DefaultAzureCredential),
        ({"credential": "cli"}, identity.AzureCliCredential),
    ],
)
def test_a_vault_is_read_with_the_accounts_token_or_the_default_chain(
    settings: dict[str, Any], kind: type[object]
) -> None:
    assert type(keyvault.resolver(account(**settings))._make_credential()) is kind


@pytest.mark.parametrize("version", ["14.2.0", "15.0.0b1"])
def test_an_old_sdk_is_named_before_anything_fails(version: str, monkeypatch: pytest.MonkeyPatch) -> None:
    old = ModuleType("azure.batch")
    old.__version__ = version  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "azure.batch", old)
    monkeypatch.setattr("azure.batch", old)
    with (
        Connection(account(account_key="a2V5IQ==")) as connection,
        pytest.raises(ConfigurationError) as caught,
    ):
        _ = connection.client
    assert caught.value.message == f"azure-batch {version} is installed, but azbatch needs 15.1 or a later 15"
    assert caught.value.hint == "pip install 'azure-batch>=15.1,<16'"


def test_a_missing_sdk_is_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "azure.batch", None)
    missing = pytest.raises(ConfigurationError, match="azure-batch is not installed")
    with Connection(account(account_key="a2V5IQ==")) as connection, missing:
        _ = connection.client


def test_a_refusal_by_entra_is_an_authentication_error() -> None:
    class Credential:
        def get_token(self, *_: str, **__: Any) -> object:
            raise ClientAuthenticationError("AADSTS700016: no such application.\nTrace ID: 7")

    with (
        Connection(account(), credential=Credential()) as connection,
        pytest.raises(AuthenticationError) as caught,
    ):
        connection.call(connection.client.get_job, "j")
    assert caught.value.message == "AADSTS700016: no such application. Trace ID: 7"


@pytest.mark.parametrize(
    ("cause", "words", "retryable"),
    [
        (TimeoutError("x"), "no answer from batch.example: timed out", True),
        (OSError(101, "Network is unreachable"), "the connection failed", True),
    ],
)
def test_a_connection_that_fails_is_told_in_words(cause: OSError, words: str, *, retryable: bool) -> None:
    from azure.core.exceptions import ServiceRequestError

    error = error_mapping.from_sdk(ServiceRequestError(cause, error=cause), "https://batch.example")
    assert isinstance(error, ServiceUnavailable)
    assert words in error.message
    assert error.retryable is retryable


def test_a_name_that_does_not_resolve_and_a_bad_certificate_have_their_own_words() -> None:
    import socket
    import ssl

    from azure.core.exceptions import ServiceRequestError

    unknown = socket.gaierror(-2, "Name or service not known")
    error = error_mapping.from_sdk(ServiceRequestError(unknown, error=unknown), "https://batch.example")
    assert error.message == "no answer from batch.example: the host name is not known"
    untrusted = ssl.SSLCertVerificationError(1, "self-signed certificate")
    untrusted.verify_message = "self-signed certificate"
    error = error_mapping.from_sdk(ServiceRequestError(untrusted, error=untrusted), "https://batch.example")
    assert "is not trusted: self-signed certificate" in error.message
    assert not error.retryable
