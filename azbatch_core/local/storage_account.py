"""A storage account other than the service's own: a connection string, taken apart."""

from __future__ import annotations

import base64
import binascii
from dataclasses import dataclass, field
from urllib.parse import urlsplit

__all__ = ["STORAGE_VARIABLE", "StorageAccount", "StorageAccountError"]

STORAGE_VARIABLE = "AZBATCH_LOCAL_STORAGE"
"""Where the background service looks for a connection string: a variable, since it holds a key."""

# The same for every storage emulator ("Use the Azurite emulator", well-known storage account).
_EMULATOR = {
    "BlobEndpoint": "http://127.0.0.1:10000/devstoreaccount1",
    "AccountName": "devstoreaccount1",
    "AccountKey": "Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw==",
}


class StorageAccountError(ValueError):
    """That is no connection string; the message names the part, never the key."""


@dataclass(frozen=True)
class StorageAccount:
    """Where blobs are, and the key to them.

    Attributes:
        endpoint: URL of the account's blobs, no slash at the end; the account may be in the host or the path.
        name: Name of the account.
        key: Its key, base64.
    """

    endpoint: str
    name: str
    key: str = field(repr=False)

    @classmethod
    def parse(cls, text: str) -> StorageAccount:
        """The account of a connection string, `UseDevelopmentStorage=true` included.

        Raises:
            StorageAccountError: It does not say endpoint, name and key.
        """
        parts = dict(pair.partition("=")[::2] for pair in text.strip().split(";") if pair)
        if parts.get("UseDevelopmentStorage", "").lower() == "true":
            parts = _EMULATOR
        missing = [name for name in ("AccountName", "AccountKey") if not parts.get(name)]
        if missing:
            raise StorageAccountError(f"the storage connection string has no {' and no '.join(missing)}")
        name, key = parts["AccountName"], parts["AccountKey"]
        try:
            base64.b64decode(key, validate=True)
        except binascii.Error:
            raise StorageAccountError(
                "the AccountKey of the storage connection string is not base64"
            ) from None
        endpoint = parts.get("BlobEndpoint") or (
            f"{parts.get('DefaultEndpointsProtocol') or 'https'}://{name}.blob."
            f"{parts.get('EndpointSuffix') or 'core.windows.net'}"
        )
        if urlsplit(endpoint).scheme not in {"http", "https"} or not urlsplit(endpoint).hostname:
            raise StorageAccountError(
                "the BlobEndpoint of the storage connection string is not an http(s) URL"
            )
        return cls(endpoint.rstrip("/"), name, key)
