"""Credential objects that a program brings along, in place of the account's own credential."""

from __future__ import annotations

import socket
from typing import TYPE_CHECKING, Any

import pytest
from azure.core.credentials import AccessToken, AzureNamedKeyCredential

from azbatch_core import AccountSpec, AzureBatch, ConfigurationError, JobSpec, TaskSpec
from azbatch_core.service.connect.retry import RetrySettings
from azbatch_core.service.connect.storage import StorageResolver
from azbatch_core.service.output.uploaded_logs import UploadedLogs
from azbatch_core.service.submit.submitter import Submitter

if TYPE_CHECKING:
    from azbatch_core.local import LocalBatch

HTTPS = "https://mybatch.westeurope.batch.azure.com"
WRONG_KEY = "d3Jvbmc="


class Token:
    """A token credential, as azure-identity's are."""

    def __init__(self) -> None:
        self.scopes: list[str] = []

    def get_token(self, *scopes: str, **_: Any) -> AccessToken:
        """Tell what was asked for."""
        self.scopes.extend(scopes)
        return AccessToken("the-token", 2**31)


class SignedSession:
    """An adapter of the kind that older SDKs took."""

    def signed_session(self) -> None:
        """A session."""


def test_a_named_key_signs_in_place_of_the_accounts_own(local: LocalBatch) -> None:
    spec = AccountSpec(
        name="here", endpoint=local.endpoint, account_name=local.account_name, account_key=WRONG_KEY
    )
    right = AzureNamedKeyCredential(local.account_name, local.account_key)
    with AzureBatch(spec, credential=right) as batch:
        assert [item.name for item in batch.check().items if not item.ok] == []
    with AzureBatch(spec) as batch:
        assert not batch.check().ok


def test_a_token_credential_is_asked_for_the_scope_of_batch() -> None:
    with socket.socket() as nobody:
        nobody.bind(("127.0.0.1", 0))  # taken, but nobody listens
        endpoint = f"https://127.0.0.1:{nobody.getsockname()[1]}"
        token = Token()
        with AzureBatch(AccountSpec(name="work", endpoint=endpoint), credential=token) as batch:
            batch._connection._retry = RetrySettings(attempts=1)
            assert not batch.check().ok
    assert set(token.scopes) == {"https://batch.core.windows.net//.default"}


def test_anything_else_is_refused_in_one_line() -> None:
    with pytest.raises(ConfigurationError) as caught:
        AzureBatch(AccountSpec(name="work", endpoint=HTTPS), credential=SignedSession())  # type: ignore[arg-type]
    assert caught.value.message == "a credential needs get_token, and SignedSession has none"
    assert "\n" not in str(caught.value)


def test_a_named_key_that_is_not_base64_is_refused_without_being_shown() -> None:
    key = AzureNamedKeyCredential("mybatch", "not base64!")
    with pytest.raises(ConfigurationError, match="is not base64") as caught:
        AzureBatch(AccountSpec(name="work", endpoint=HTTPS), credential=key)
    assert "not base64!" not in str(caught.value)


def test_a_named_key_cannot_make_pools_that_need_entra_id() -> None:
    spec = AccountSpec(name="work", endpoint=HTTPS)
    network = "/subscriptions/s/resourceGroups/g/providers/Microsoft.Network"
    job = JobSpec(
        name="j",
        pool={"kind": "managed", "subnet_id": f"{network}/virtualNetworks/v/subnets/n"},
        tasks=[TaskSpec(command=["true"])],
    )
    with (
        AzureBatch(spec, credential=AzureNamedKeyCredential("mybatch", WRONG_KEY)) as batch,
        pytest.raises(ConfigurationError, match="Entra ID"),
    ):
        batch.plan(job)
    with AzureBatch(spec, credential=Token()) as batch:
        assert batch.plan(job).pool.action == "ensure"


def test_storage_and_key_vault_are_opened_with_it_too(monkeypatch: pytest.MonkeyPatch) -> None:
    own = Token()
    storage = {"blob_endpoint": "https://mystore.blob.core.windows.net"}
    spec = AccountSpec(name="work", endpoint=HTTPS, storage=storage)
    job = JobSpec(name="j", tasks=[TaskSpec(command=["true"])])
    with AzureBatch(spec, credential=own) as batch:
        submitter = Submitter(batch._connection, batch.plan(job))
        assert submitter._secrets._make_credential() is own
        assert submitter._storage._credential is own
        given: list[object] = []

        def sign(resolver: StorageResolver, _: object) -> str:
            given.append(resolver._credential)
            return "https://mystore.blob.core.windows.net/logs?sig=x"

        monkeypatch.setattr(StorageResolver, "__call__", sign)
        with UploadedLogs(batch._connection, "j") as copies:
            copies._container("logs")
        assert given == [own]
