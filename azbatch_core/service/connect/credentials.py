"""Who we are to Azure: from an account's settings, or a caller's own object, to a credential of the SDK.

azure.identity is imported only for a credential that needs it; with a shared key it never is (it takes longer
to import than a short command should run). `check` finds what is wrong without importing anything.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any, Union
from urllib.parse import urlsplit

from azbatch_core.catalog.clouds import CLOUDS
from azbatch_core.errors import ConfigurationError

if TYPE_CHECKING:
    from collections.abc import Callable

    from azure.core.credentials import AzureNamedKeyCredential, TokenProvider

    from azbatch_core.service.connect.clock import Clock
    from azbatch_core.specs import AccountSpec

__all__ = [
    "Credential",
    "build",
    "build_default",
    "build_token",
    "check",
    "check_key",
    "is_key",
    "scope",
]


Credential = Union["TokenProvider", "AzureNamedKeyCredential"]
"""What a caller may pass in place of the account's own credential."""

_ENDPOINT_FORM = "https://<account>.<region>.batch.azure.com"


def scope(account: AccountSpec) -> str:
    """What to ask a token for. The double slash is meant: the resource id itself ends in one."""
    return f"{CLOUDS[account.cloud].batch}/.default"


def is_key(account: AccountSpec, given: Credential | None = None) -> bool:
    """Whether requests are signed with the account's key instead of carrying a token."""
    if given is not None:
        return hasattr(given, "named_key")
    return account.credential == "shared_key"


def check(account: AccountSpec, given: Credential | None = None) -> str:
    """Find what can be found wrong with an account without asking anyone; return its endpoint.

    Args:
        account: The account.
        given: A credential object that a caller passed in, to be used in place of the account's own.

    Raises:
        ConfigurationError: No endpoint; a key that is not base64, or missing; a token over http; an object
            that is no credential.
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
        check_key(named.key, f"the key of the account {named.name!r}")
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
        check_key(key.reveal(), f"the key of the account {account.name!r}")


def check_key(key: str, what: str) -> None:
    """Look at an account key; what is wrong with it is told without a part of it.

    Raises:
        ConfigurationError: It is not base64.
    """
    from azbatch_core.specs.accounts import is_key_text

    if not is_key_text(key.strip()):
        raise ConfigurationError(
            f"{what} is not base64",
            hint="copy it again from the portal's page of keys: 88 characters, == at the end",
        )


def build(account: AccountSpec, given: Credential | None = None, *, clock: Clock | None = None) -> Any:
    """The credential for `BatchClient`: the caller's own object, a named key, or one of azure.identity.

    Args:
        account: The account.
        given: A caller's own credential.
        clock: Time and waiting, for a secret that is read from a Key Vault.

    Raises:
        ConfigurationError: A setting is missing, or a secret cannot be read.
    """
    if given is not None:
        return given
    if not is_key(account):
        return build_token(account, clock=clock)
    from azure.core.credentials import AzureNamedKeyCredential

    if account.account_key is None:
        raise ConfigurationError(f"the account {account.name!r} uses a shared key, but has none")
    key = account.account_key.reveal(_resolver(account, clock)).strip()
    check_key(key, f"the key of the account {account.name!r}")
    return AzureNamedKeyCredential(account.batch_account, key)


def _resolver(account: AccountSpec, clock: Clock | None) -> Callable[[str], str]:
    from azbatch_core.service.connect import keyvault

    return keyvault.resolver(account, clock=clock)


def build_token(account: AccountSpec, *, clock: Clock | None = None) -> Any:
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
        "service_principal": lambda module, spec: _service_principal(module, spec, clock),
        "workload_identity": _workload_identity,
    }
    return makers[account.credential](_identity(), account)


def build_default(account: AccountSpec) -> Any:
    """The default chain of azure.identity, whatever the account's kind."""
    return _default(_identity(), account)


def _identity() -> Any:
    try:
        from azure import identity
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


def _service_principal(module: Any, account: AccountSpec, clock: Clock | None) -> Any:
    secret = account.client_secret.reveal(_resolver(account, clock)) if account.client_secret else None
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
