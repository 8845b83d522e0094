"""Accounts: where a Batch service is and how to log in there."""

from __future__ import annotations

import base64
import binascii
import re
from typing import TYPE_CHECKING, Any, Final, Literal

from pydantic import Field, field_validator, model_validator

from azbatch_core.catalog.clouds import ACCOUNT_HOSTS, CloudName, is_azure
from azbatch_core.specs.base import Spec
from azbatch_core.specs.problems import problem, show
from azbatch_core.specs.secrets import Secret
from azbatch_core.specs.urls import is_private_host, split_http_url

if TYPE_CHECKING:
    from typing_extensions import Self

CredentialKind = Literal[
    "shared_key", "default", "cli", "managed_identity", "service_principal", "workload_identity"
]

_NAME: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")


def repair_endpoint(value: str) -> str:
    """An endpoint URL without the usual slips: spaces and quotes around it, no scheme, a slash at the end.

    Raises:
        SpecError: What is left is not an http(s) URL of a host, has a query, or is a Batch host over plain
            http.
    """
    text = value.strip().strip("'\"`").strip()
    if not text:
        raise problem("must not be empty")
    if "://" not in text:
        text = f"https://{text}"
    parts = split_http_url(text.rstrip("/"))
    if parts.query or parts.fragment or parts.username:
        raise problem(
            "an endpoint has no query and no user name",
            hint="it reads like https://ACCOUNT.REGION.batch.azure.com",
        )
    host = parts.hostname or ""
    if parts.scheme == "http" and is_azure(host):
        raise problem(f"{show(text)} is plain http, which Azure does not answer", hint="write https://")
    return parts.geturl().rstrip("/")


def is_key_text(text: str) -> bool:
    """Whether a text can be the key of an account: base64, and not empty."""
    try:
        return bool(base64.b64decode(text, validate=True))
    except (binascii.Error, ValueError):
        return False


def check_account_key(key: Secret | None) -> Secret | None:
    """The key itself, when it is a reference or valid base64. The key is never repeated.

    Raises:
        SpecError: It is not base64.
    """
    if key is None or key.reference is not None:
        return key
    if not is_key_text(key.reveal()):
        raise problem(
            "is not a valid key: an account key is base64 text",
            hint="copy it whole, without spaces or quotes",
        )
    return key


class StorageSpec(Spec):
    """A blob storage account for inputs and outputs."""

    blob_endpoint: str = Field(
        description=(
            "The URL of the blob service; quotes, a missing https:// and a slash at the end are repaired."
        ),
        examples=["https://mystorage.blob.core.windows.net"],
    )
    account_name: str = Field(
        default="",
        description="The storage account's name. Left out: taken from blob_endpoint.",
        examples=["mystorage"],
    )
    account_key: Secret | None = Field(
        default=None, description="The storage key. Left out: the account's login is used."
    )

    @field_validator("blob_endpoint")
    @classmethod
    def _repair(cls, value: str) -> str:
        return repair_endpoint(value)

    @field_validator("account_key")
    @classmethod
    def _check_key(cls, value: Secret | None) -> Secret | None:
        return check_account_key(value)

    @model_validator(mode="before")
    @classmethod
    def _take_name(cls, data: Any) -> Any:
        if (
            not isinstance(data, dict)
            or data.get("account_name")
            or not isinstance(data.get("blob_endpoint"), str)
        ):
            return data
        parts = split_http_url(repair_endpoint(data["blob_endpoint"]))
        host = parts.hostname or ""
        name = parts.path.strip("/") if is_private_host(host) else host.partition(".")[0]
        if not name:
            raise problem("is missing, and blob_endpoint does not tell it", field="account_name")
        return {**data, "account_name": name}


class AccountSpec(Spec):
    """A Batch account: its endpoint and the way to log in; a profile of the configuration is one."""

    name: str = Field(
        description="The profile's name: letters, digits, '.', '_' and '-'. It is part of every job handle.",
        examples=["work"],
    )
    endpoint: str | None = Field(
        default=None,
        description="The account's URL; quotes, a missing https:// and a slash at the end are repaired.",
        examples=["https://myaccount.westeurope.batch.azure.com"],
    )
    account_name: str | None = Field(
        default=None,
        description=(
            "The Batch account's own name. Left out: taken from the endpoint, else the profile's name."
        ),
        examples=["myaccount"],
    )
    credential: CredentialKind = Field(
        default="default",
        description=(
            "How to log in: the account's key, azure-identity's default chain, the Azure CLI's login, a "
            "managed identity, a service principal, or a workload identity. Left out: shared_key when "
            "account_key is given, else default."
        ),
    )
    account_key: Secret | None = Field(
        default=None, description="The account's key (base64), for shared_key."
    )
    tenant_id: str | None = Field(
        default=None, min_length=1, description="The Entra tenant, for service_principal and others."
    )
    client_id: str | None = Field(
        default=None, min_length=1, description="The application or the user-assigned identity."
    )
    client_secret: Secret | None = Field(
        default=None, description="The application's secret, for service_principal."
    )
    cloud: CloudName = Field(
        default="public", description="The Azure cloud, which decides where tokens come from."
    )
    subscription_id: str | None = Field(
        default=None, min_length=1, description="The subscription, for what only the management API can do."
    )
    resource_group: str | None = Field(
        default=None, min_length=1, description="The resource group, for the same."
    )
    storage: StorageSpec | None = Field(
        default=None, description="The storage for inputs and outputs that name a container only."
    )

    @property
    def batch_account(self) -> str:
        """The Batch account's own name, with which requests are signed."""
        if self.account_name:
            return self.account_name
        host = split_http_url(self.endpoint).hostname or "" if self.endpoint else ""
        return host.partition(".")[0] if host.endswith(ACCOUNT_HOSTS) else self.name

    @field_validator("name")
    @classmethod
    def _check_name(cls, value: str) -> str:
        if not _NAME.fullmatch(value):
            raise problem(f"{show(value)} is not a profile's name: 1 to 64 letters, digits, '.', '_' and '-'")
        return value

    @field_validator("endpoint")
    @classmethod
    def _repair(cls, value: str | None) -> str | None:
        if value is None:
            return None
        endpoint = repair_endpoint(value)
        path = split_http_url(endpoint).path
        if path:
            raise problem(f"has the path {show(path)}: a Batch endpoint is a host", hint="remove the path")
        return endpoint

    @field_validator("account_key")
    @classmethod
    def _check_key(cls, value: Secret | None) -> Secret | None:
        return check_account_key(value)

    @model_validator(mode="before")
    @classmethod
    def _choose_credential(cls, data: Any) -> Any:
        if isinstance(data, dict) and data.get("account_key") is not None and "credential" not in data:
            return {**data, "credential": "shared_key"}
        return data

    @model_validator(mode="after")
    def _check_login(self) -> Self:
        if self.credential == "shared_key" and self.account_key is None:
            raise problem(
                "is missing: shared_key needs it",
                field="account_key",
                hint="better a reference: 'env:AZURE_BATCH_ACCESS_KEY'",
            )
        if self.credential != "shared_key" and self.account_key is not None:
            raise problem(
                f"is given, and credential {self.credential!r} does not use it",
                field="account_key",
                hint="leave one of them out, or write credential: shared_key",
            )
        if self.credential == "service_principal":
            for name in ("tenant_id", "client_id", "client_secret"):
                if getattr(self, name) is None:
                    raise problem("is missing: service_principal needs it", field=name)
        if (
            self.credential != "shared_key"
            and self.endpoint is not None
            and self.endpoint.startswith("http:")
        ):
            raise problem(
                f"{self.credential!r} sends a token, which is never sent over plain http",
                field="credential",
                hint="use shared_key, or https",
            )
        return self
