"""The way to storage: URLs, identities, and azure-storage-blob where containers are concerned.

azure-storage-blob is imported at the first container, since it takes a quarter of a second and 30 MB.
"""

from __future__ import annotations

import re
from datetime import timedelta
from typing import TYPE_CHECKING, Any, Literal
from urllib.parse import parse_qs, unquote, urlsplit, urlunsplit

from azbatch_core.local.blobs.auth import service_sas

if TYPE_CHECKING:
    from collections.abc import Mapping

    from azure.storage.blob import ContainerClient

    from azbatch_core.local.runtime.base import BlobPlace

Trouble = Literal["denied", "missing", "timeout", "other"]

STORAGE_SCOPE = "https://storage.azure.com/.default"

_DENIED = {401, 403}
_NOT_FOUND = 404
# What a `?` or the `sig=` of a signature looks like in a path, once encoded or more often.
_HIDDEN_QUERY = re.compile(r"%(?:25)*3f", re.IGNORECASE)
_SIGNATURE = re.compile(r"(sig(?:=|%(?:25)*3d)).*", re.IGNORECASE | re.DOTALL)
_NEVER_IN_URLS = frozenset("\"' \t\r\n<>")
_NOT_SIGNED = frozenset({"restype", "comp"})
_BLOB_HOST = ".blob."
_LOOPBACK = {"localhost", "::1"}
_IDENTITY_HOURS = 1
_NO_LOGIN = {"ClientAuthenticationError", "CredentialUnavailableError"}
# A node's link to storage is good or the task fails soon; the client's own waits add up to minutes.
_RETRIES: dict[str, Any] = {
    "retry_total": 3,
    "initial_backoff": 1,
    "increment_base": 2,
    "connection_timeout": 20,
    "read_timeout": 60,
}


def without_query(url: str) -> str:
    """A URL that may be shown: signatures are in the query, or where a wrong URL has them.

    Passwords are before the host.
    """
    try:
        parts = urlsplit(url)
    except ValueError:
        return "(not a URL)"
    path = _HIDDEN_QUERY.split(parts.path, maxsplit=1)[0]
    shown = urlunsplit((parts.scheme, parts.netloc.rpartition("@")[2], path, "", ""))
    return _SIGNATURE.sub(r"\1***", shown)


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
    expiry = blobs.now() + timedelta(hours=_IDENTITY_HOURS)
    return f"{url}?{service_sas(blobs.account, blobs.key, container, permissions, expiry, blob=blob or None)}"


def container_client(
    url: str, identity: Mapping[str, Any] | None, blobs: BlobPlace | None, permissions: str
) -> ContainerClient:
    """A client for a container URL with a signature, or opened by an identity. To be closed.

    Raises:
        ValueError: That is no container URL; the message holds nothing of it.
    """
    from azure.storage.blob import ContainerClient

    _check_container_url(url, blobs)
    signed = locally_signed(url, identity, blobs, permissions)
    options = {**_RETRIES, "use_env_settings": not is_loopback(url)}
    credential = developer_credential() if identity and needs_token(signed) else None
    return ContainerClient.from_container_url(signed, credential=credential, **options)


def _check_container_url(url: str, blobs: BlobPlace | None) -> None:
    if not url.lower().startswith(("http://", "https://")) or _NEVER_IN_URLS & set(url):
        raise ValueError("A container URL starts with https:// or http:// and has no quotes or spaces")
    try:
        parts = urlsplit(url)
        host = parts.hostname
    except ValueError:
        host = None
    if not host:
        raise ValueError("A container URL has a host behind https:// or http://")
    path = parts.path.strip("/")
    if _HIDDEN_QUERY.search(path) or _SIGNATURE.search(path):
        raise ValueError("The signature of a container URL comes after a question mark")
    if _NOT_SIGNED & set(parse_qs(parts.query, keep_blank_values=True)):
        raise ValueError("The query of a container URL is the signature alone, without restype or comp")
    names = 2
    if blobs is not None and f"{url.partition('?')[0]}/".startswith(blobs.endpoint + "/"):
        path, names = url[len(blobs.endpoint) :].partition("?")[0].strip("/"), 1
    elif _BLOB_HOST in host:
        names = 1
    if not path or path.count("/") >= names:
        raise ValueError("A container URL ends with the container's name, not with a blob's")


def cause_of(error: Exception) -> str:
    """Why storage cannot be used: its own code, else what the system said, else the kind of exception.

    Never the text of an exception: it may hold a signature.
    """
    code = getattr(error, "error_code", None)
    if code:
        return str(getattr(code, "value", code))
    if type(error).__name__ in _NO_LOGIN and getattr(error, "response", None) is None:
        return "Nobody is logged in on this machine"
    seen: BaseException | None = error
    while seen is not None:
        if isinstance(seen, OSError) and seen.strerror:
            return f"No connection: {seen.strerror}"
        seen = getattr(seen, "inner_exception", None) or seen.__cause__
    return type(error).__name__


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
