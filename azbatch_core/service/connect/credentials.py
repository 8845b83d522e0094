"""Who we are to Azure: from an account's settings, or a caller's own object, to a credential of the SDK.

azure.identity is imported only for a credential that needs it; with a shared key it never is (it takes longer
to import than a short command should run). `check` finds what is wrong without importing anything.
"""

from __future__ import annotations

import base64
import binascii
import os
from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.parse import urlsplit

from azbatch_core.errors import ConfigurationError

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import TypeAlias

    from azure.core.credentials import AzureNamedKeyCredential, TokenProvider

    from azbatch_core.specs import AccountSpec

    Credential: TypeAlias = TokenProvider | AzureNamedKeyCredential
    """What a caller may pass in place of the account's own credential."""

__all__ = [
    "CLOUDS",
    "Cloud",
    "build",
    "build_default",
    "build_token",
    "check",
    "decode_key",
    "is_key",
    "scope",
]


class Cloud(NamedTuple):
    """What differs between Azure's clouds.

    Attributes:
        authority: Host of Entra ID.
        batch: Resource id of the Batch service, as registered there.
        vault: What the host names of Key Vaults end in.
        blob: What the host names of blob storage end in.
    """

    authority: str
    batch: str
    vault: str
    blob: str


# Resource ids and hosts as azure-cli-core 2.91 has them ("cloud.py").
CLOUDS = {
    "public": Cloud(
        "login.microsoftonline.com",
        "https://batch.core.windows.net/",
        "vault.azure.net",
        "blob.core.windows.net",
    ),
    "usgov": Cloud(
        "login.microsoftonline.us",
        "https://batch.core.usgovcloudapi.net/",
        "vault.usgovcloudapi.net",
        "blob.core.usgovcloudapi.net",
    ),
    "china": Cloud(
        "login.chinacloudapi.cn",
        "https://batch.chinacloudapi.cn/",
        "vault.azure.cn",
        "blob.core.chinacloudapi.cn",
    ),
    "bleu": Cloud(
        "login.sovcloud-identity.fr",
        "https://batch.sovcloud-api.fr/",
        "vault.sovcloud-api.fr",
        "blob.core.sovcloud-api.fr",
    ),
}

_ENDPOINT_FORM = "https://<account>.<region>.batch.azure.com"


def scope(account: AccountSpec) -> str:
    """What to ask a token for. The double slash is meant: the resource id itself ends in one."""
    return f"{CLOUDS[account.cloud].batch}/.default"


def is_key(account: AccountSpec, given: object | None = None) -> bool:
    """Whether requests are signed with the account's key instead of carrying a token."""
    if given is not None:
        return hasattr(given, "named_key")
    return account.credential == "shared_key"


def check(account: AccountSpec, given: object | None = None) -> str:
    """Find what can be found wrong with an account without asking anyone; return its endpoint.

    Args:
        account: The account.
        given: A credential object that a caller passed in, to be used in place of the account's own.

    Raises:
        ConfigurationError: No endpoint; a key that is not base64, or missing; a token over http; an object
        that is
            no credential.
    """
    endpoint = account.endpoint
    if not endpoint:
        raise ConfigurationError(
            f"the account {account.name!r} has no endpoint", hint=f"give it as endpoint: {_ENDPOINT_FORM}"
        )
    if given is not None:
        _check_given(given)
    elif is_key(account):
        _check_key(account)
    if not is_key(account, given) and urlsplit(endpoint).scheme != "https":
        raise ConfigurationError(
            f"the account {account.name!r} has an http endpoint, and a token must not travel unencrypted",
            hint="use the https endpoint, or a shared key (it signs requests and stays here)",
        )
    return endpoint


def _check_given(given: object) -> None:
    named = getattr(given, "named_key", None)
    if named is not None:
        decode_key(named.key, f"the key of the account {named.name!r}")
    elif not (
        callable(getattr(given, "get_token", None)) or callable(getattr(given, "get_token_info", None))
    ):
        raise ConfigurationError(
            f"a credential needs get_token, and {type(given).__name__} has none",
            hint="pass a credential of azure.identity, or an azure.core.credentials.AzureNamedKeyCredential",
        )


def _check_key(account: AccountSpec) -> None:
    """Look at the key where that asks nobody; one in a Key Vault is looked at when it has been read."""
    key = account.account_key
    if key is not None and not (key.reference or "").startswith("keyvault:"):
        decode_key(key.reveal(), f"the key of the account {account.name!r}")


def decode_key(key: str, what: str) -> bytes:
    """The bytes of an account key; what is wrong with it is told without a part of it.

    Raises:
        ConfigurationError: It is not base64.
    """
    try:
        decoded = base64.b64decode(key.strip(), validate=True)
    except (binascii.Error, ValueError):
        decoded = b""
    if not decoded:
        # `from None` would keep the key in the context's locals all the same; the binascii error says
        # nothing.
        raise ConfigurationError(
            f"{what} is not base64",
            hint="copy it again from the portal's page of keys: 88 characters, == at the end",
        )
    return decoded


def build(account: AccountSpec, given: object | None = None) -> Any:
    """The credential for `BatchClient`: the caller's own object, a named key, or one of azure.identity.

    Raises:
        ConfigurationError: A setting is missing, or a secret cannot be read.
    """
    if given is not None:
        return given
    if not is_key(account):
        return build_token(account)
    from azure.core.credentials import AzureNamedKeyCredential  # noqa: PLC0415 - azure.* is imported late

    if account.account_key is None:
        raise ConfigurationError(f"the account {account.name!r} uses a shared key, but has none")
    key = account.account_key.reveal(_resolver(account)).strip()
    decode_key(key, f"the key of the account {account.name!r}")
    return AzureNamedKeyCredential(account.batch_account, key)


def _resolver(account: AccountSpec) -> Callable[[str], str]:
    from azbatch_core.service.connect import keyvault  # noqa: PLC0415 - it needs this module itself

    return keyvault.resolver(account)


def build_token(account: AccountSpec) -> Any:
    """A token credential of azure.identity for the account's kind; not for a shared key.

    Raises:
        ConfigurationError: A setting is missing.
    """
    makers: dict[str, Callable[[Any, AccountSpec], Any]] = {
        "default": _default,
        "cli": lambda module, spec: module.AzureCliCredential(**_given_only(tenant_id=spec.tenant_id)),
        "managed_identity": lambda module, spec: module.ManagedIdentityCredential(
            **_given_only(client_id=spec.client_id)
        ),
        "service_principal": _service_principal,
        "workload_identity": _workload_identity,
    }
    return makers[account.credential](_identity(), account)


def build_default(account: AccountSpec) -> Any:
    """The default chain of azure.identity, whatever the account's kind."""
    return _default(_identity(), account)


def _identity() -> Any:
    try:
        from azure import identity  # noqa: PLC0415 - a third of a second
    except ImportError as exc:
        raise ConfigurationError(
            "azure-identity is not installed", hint="pip install azure-identity"
        ) from exc
    return identity


def _given_only(**settings: str | None) -> dict[str, str]:
    return {name: value for name, value in settings.items() if value}


def _default(module: Any, account: AccountSpec) -> Any:
    settings = _given_only(
        managed_identity_client_id=account.client_id,
        workload_identity_client_id=account.client_id,
        workload_identity_tenant_id=account.tenant_id,
        shared_cache_tenant_id=account.tenant_id,
    )
    return module.DefaultAzureCredential(authority=CLOUDS[account.cloud].authority, **settings)


def _service_principal(module: Any, account: AccountSpec) -> Any:
    secret = account.client_secret.reveal(_resolver(account)) if account.client_secret else None
    return module.ClientSecretCredential(
        account.tenant_id, account.client_id, secret, authority=CLOUDS[account.cloud].authority
    )


def _workload_identity(module: Any, account: AccountSpec) -> Any:
    """From the profile; what is missing there, from the variables that a cluster's webhook sets."""
    settings = {
        "AZURE_TENANT_ID": account.tenant_id or os.environ.get("AZURE_TENANT_ID"),
        "AZURE_CLIENT_ID": account.client_id or os.environ.get("AZURE_CLIENT_ID"),
        "AZURE_FEDERATED_TOKEN_FILE": os.environ.get("AZURE_FEDERATED_TOKEN_FILE"),
    }
    missing = [name for name, value in settings.items() if not value]
    if missing:
        raise ConfigurationError(
            f"the account {account.name!r} uses workload_identity, but {', '.join(missing)} is not set",
            hint="these are set in a pod whose service account is bound to an identity",
        )
    return module.WorkloadIdentityCredential(
        tenant_id=settings["AZURE_TENANT_ID"],
        client_id=settings["AZURE_CLIENT_ID"],
        token_file_path=settings["AZURE_FEDERATED_TOKEN_FILE"],
        authority=CLOUDS[account.cloud].authority,
    )
