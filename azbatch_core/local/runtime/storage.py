"""The way to storage: URLs, identities, and azure-storage-blob where containers are concerned.

azure-storage-blob is imported at the first container, since it takes a quarter of a second and 30 MB.
"""

from __future__ import annotations

from datetime import datetime, timedelta, timezone
from typing import TYPE_CHECKING, Any, Literal
from urllib.parse import unquote, urlsplit, urlunsplit

from azbatch_core.local.blobs.auth import service_sas

if TYPE_CHECKING:
    from collections.abc import Mapping

    from azure.storage.blob import ContainerClient

    from azbatch_core.local.runtime.base import BlobPlace

Trouble = Literal["denied", "missing", "timeout", "other"]

STORAGE_SCOPE = "https://storage.azure.com/.default"

_DENIED = {401, 403}
_NOT_FOUND = 404
_LOOPBACK = {"localhost", "::1"}
_IDENTITY_HOURS = 1
# A node's link to storage is good or the task fails soon; the client's own waits add up to minutes.
_RETRIES: dict[str, Any] = {
    "retry_total": 3,
    "initial_backoff": 1,
    "increment_base": 2,
    "connection_timeout": 20,
    "read_timeout": 60,
}


def without_query(url: str) -> str:
    """A URL that may be shown: signatures are in the query, passwords before the host."""
    try:
        parts = urlsplit(url)
    except ValueError:
        return "(not a URL)"
    return urlunsplit((parts.scheme, parts.netloc.rpartition("@")[2], parts.path, "", ""))


def is_loopback(url: str) -> bool:
    """Whether a URL leads to this machine, where no proxy should come in between."""
    host = urlsplit(url).hostname or ""
    return host in _LOOPBACK or host.startswith("127.")


def locally_signed(
    url: str, identity: Mapping[str, Any] | None, blobs: BlobPlace | None, permissions: str
) -> str:
    """The URL, with a signature if an identity is to open a container or blob of the local service.

    Every identity may do everything there; elsewhere the URL comes back as it is.
    """
    parts = urlsplit(url)
    if not identity or parts.query or blobs is None or not url.startswith(blobs.endpoint + "/"):
        return url
    path = unquote(url[len(blobs.endpoint) + 1 :])
    container, _, blob = path.rstrip("/").partition("/")
    expiry = datetime.now(timezone.utc) + timedelta(hours=_IDENTITY_HOURS)
    return f"{url}?{service_sas(blobs.account, blobs.key, container, permissions, expiry, blob=blob or None)}"


def container_client(
    url: str, identity: Mapping[str, Any] | None, blobs: BlobPlace | None, permissions: str
) -> ContainerClient:
    """A client for a container URL with a signature, or opened by an identity. To be closed.

    Raises:
        ValueError: That is no container URL.
    """
    from azure.storage.blob import ContainerClient

    if not url.lower().startswith(("http://", "https://")):
        raise ValueError("A container URL starts with https:// or http://")
    signed = locally_signed(url, identity, blobs, permissions)
    options = {**_RETRIES, "use_env_settings": not is_loopback(url)}
    credential = developer_credential() if identity and needs_token(signed) else None
    return ContainerClient.from_container_url(signed, credential=credential, **options)


def developer_credential() -> Any:
    """What stands for a pool's identity here: whoever is logged in on this machine."""
    from azure.identity import DefaultAzureCredential

    return DefaultAzureCredential()


def needs_token(url: str) -> bool:
    """Whether an identity's token has to open a URL: it has no signature of its own, and a safe way."""
    parts = urlsplit(url)
    return parts.scheme == "https" and not parts.query


def classify(error: Exception) -> Trouble:
    """What an error of azure.core means for a file."""
    from azure.core import exceptions

    status = getattr(error, "status_code", None)
    if status in _DENIED or isinstance(error, exceptions.ClientAuthenticationError):
        return "denied"
    if status == _NOT_FOUND:
        return "missing"
    timeouts = (exceptions.ServiceRequestTimeoutError, exceptions.ServiceResponseTimeoutError)
    return "timeout" if isinstance(error, timeouts) else "other"
