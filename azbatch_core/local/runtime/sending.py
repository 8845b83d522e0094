"""Files that the service itself sends to a container. Blocks; runs in threads."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any

from azbatch_core.local.runtime.storage import cause_of, container_client, without_query

if TYPE_CHECKING:
    from collections.abc import Mapping

    from azbatch_core.local.runtime.base import BlobPlace

_LOG = logging.getLogger(__name__)


def send(
    url: str, identity: Mapping[str, Any] | None, files: Mapping[str, bytes], blobs: BlobPlace | None
) -> None:
    """Write blobs into a container; what fails is logged, without the container's signature."""
    from azure.core.exceptions import AzureError

    try:
        with container_client(url, identity, blobs, "w") as client:
            for name, content in files.items():
                client.upload_blob(name, content, overwrite=True)
    except (AzureError, ValueError) as error:
        cause = cause_of(error) if isinstance(error, AzureError) else error
        _LOG.warning("Logs cannot be uploaded to %s: %s", without_query(url), cause)
