"""Read the secrets that specs and profiles refer to as ``keyvault:https://VAULT.vault.azure.net/secrets/NAME``.

One GET of the Key Vault REST API through azure-core: a whole SDK for it would be one more thing to install.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from azbatch_core.catalog.clouds import CLOUDS
from azbatch_core.errors import ConfigurationError
from azbatch_core.service.connect import credentials, sending
from azbatch_core.service.connect.clock import Clock
from azbatch_core.service.connect.once import OnceEach
from azbatch_core.service.connect.retry import RetrySettings

if TYPE_CHECKING:
    from collections.abc import Callable

    from azbatch_core.service.connect.credentials import Credential
    from azbatch_core.specs import AccountSpec

__all__ = ["KeyVaultResolver", "resolver"]

_PREFIX = "keyvault:"
_API_VERSION = "7.4"


class KeyVaultResolver:
    """Takes a ``keyvault:`` reference and returns the secret's value; reads each secret once.

    May be shared by threads. Values are kept in memory, for as long as the resolver lives, and nowhere else.

    Args:
        make_credential: Makes the token credential; called on the first secret.
        clock: Time and waiting.
        transport: An azure-core transport in place of the usual one.
    """

    def __init__(
        self, make_credential: Callable[[], Any], *, clock: Clock | None = None, transport: Any = None
    ) -> None:
        self._make_credential = make_credential
        self._clock = clock or Clock()
        self._transport = transport
        self._values: OnceEach[str, str] = OnceEach()
        self._credential: OnceEach[None, Any] = OnceEach()

    def __call__(self, reference: str) -> str:
        """The value of a secret.

        Raises:
            ConfigurationError: The reference leads to no Key Vault of Azure.
            NotFound: There is no such secret.
            AuthenticationError: The credential may not read it.
        """
        url = reference.removeprefix(_PREFIX)
        return self._values.get(url, lambda: self._read(url))

    def _read(self, url: str) -> str:
        # The token's audience follows from the host, so an unknown host must not get to choose one.
        suffix = (urlsplit(url).hostname or "").partition(".")[2]
        if urlsplit(url).scheme != "https" or suffix not in {cloud.vault for cloud in CLOUDS.values()}:
            raise ConfigurationError(
                f"{reference_of(url)} does not name a Key Vault of Azure",
                hint="keyvault:https://VAULT.vault.azure.net/secrets/NAME",
            )
        credential = self._credential.get(None, self._make_credential)
        return sending.send(
            lambda: _get(url, credential, f"https://{suffix}/.default", self._transport),
            endpoint=url,
            name="keyvault",
            clock=self._clock,
            settings=RetrySettings(),
        )


def reference_of(url: str) -> str:
    """The reference that a URL came from."""
    return f"{_PREFIX}{url}"


def _get(url: str, credential: Any, scope: str, transport: Any) -> str:
    from azure.core import PipelineClient
    from azure.core.exceptions import HttpResponseError
    from azure.core.pipeline.policies import BearerTokenCredentialPolicy
    from azure.core.rest import HttpRequest

    settings = {} if transport is None else {"transport": transport}
    client: Any = PipelineClient(url, policies=[BearerTokenCredentialPolicy(credential, scope)], **settings)
    with client:
        answer = client.send_request(HttpRequest("GET", f"{url}?api-version={_API_VERSION}"))
        first_error = 300
        if answer.status_code >= first_error:
            raise HttpResponseError(response=answer)
        return str(answer.json()["value"])


def resolver(
    account: AccountSpec, credential: Credential | None = None, *, clock: Clock | None = None
) -> KeyVaultResolver:
    """A resolver that uses the account's own token credential, or else the default chain.

    The default chain also where the credential itself may be kept in the vault: a shared key, a client
    secret.
    """

    def make() -> Any:
        if credential is not None and not hasattr(credential, "named_key"):
            return credential
        if account.credential in ("shared_key", "service_principal"):
            return credentials.build_default(account)
        return credentials.build_token(account, clock=clock)

    return KeyVaultResolver(make, clock=clock)
