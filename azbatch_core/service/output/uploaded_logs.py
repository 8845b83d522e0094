"""The copy of a task's file that its own output files put into the account's storage.

Which blob that is follows from the task's record on the service, so any machine that knows the job can find
it.
"""

from __future__ import annotations

import fnmatch
from datetime import timedelta
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from azbatch_core.errors import AzBatchError
from azbatch_core.service.documents import requests

if TYPE_CHECKING:
    from collections.abc import Mapping

    from azbatch_core.service.connect.connection import Connection
    from azbatch_core.specs import StorageSpec

_WILD = "*?["
_READING = timedelta(hours=1)


class BlobCopy:
    """A blob, read like a file.

    Attributes:
        name: ``CONTAINER/BLOB``.
    """

    def __init__(self, blob: Any, name: str) -> None:
        self._blob = blob
        self.name = name

    def size(self) -> int | None:
        """None when there is no such blob, or nobody here may read it."""
        from azure.core.exceptions import AzureError  # noqa: PLC0415 - azure.* is imported late

        try:
            return int(self._blob.get_blob_properties().size)
        except AzureError:
            return None

    def read(self, start: int, end: int) -> bytes:
        """The bytes from `start` up to `end`."""
        from azure.core.exceptions import AzureError  # noqa: PLC0415 - azure.* is imported late

        try:
            return bytes(self._blob.download_blob(offset=start, length=end - start).readall())
        except AzureError:
            return b""


def find(connection: Connection, job_id: str, task_id: str, name: str) -> BlobCopy | None:
    """The copy of a file in the task's folder (``stdout.txt``); None where the task uploads no such file.

    Only the account's own storage is looked at: the task's record does not hold a signature that may read.
    """
    storage = connection.account.storage
    if storage is None:
        return None
    try:
        task = requests.get_task(connection, job_id, task_id, ("id", "outputFiles"))
    except AzBatchError:
        return None
    for output in task.get("outputFiles") or ():
        found = blob_name(output, name)
        container = container_name(output, storage)
        if found is not None and container is not None:
            return BlobCopy(_open(connection, container, found), f"{container}/{found}")
    return None


def blob_name(output: Mapping[str, Any], name: str) -> str | None:
    """The blob that an output file makes of a file in the task's folder; None when it does not match it.

    The pattern counts from the task's working directory, one below its folder. A pattern with a wildcard
    makes the path a folder; one without makes it the blob's name (`OutputFileBlobContainerDestination` docs).
    """
    pattern = str(output.get("filePattern") or "").replace("\\", "/")
    path = str(((output.get("destination") or {}).get("container") or {}).get("path") or "").strip("/")
    for prefix in ("../", "$AZ_BATCH_TASK_DIR/", "${AZ_BATCH_TASK_DIR}/"):
        if pattern.startswith(prefix):
            pattern = pattern[len(prefix) :]
            break
    else:
        return None
    if not any(letter in pattern for letter in _WILD):
        return (path or name) if pattern == name else None
    flat = pattern.removeprefix("**/")
    if "/" in flat or not fnmatch.fnmatchcase(name, flat):
        return None
    return f"{path}/{name}" if path else name


def container_name(output: Mapping[str, Any], storage: StorageSpec) -> str | None:
    """The container's name, when it is one of this storage; None when it is somebody else's."""
    url = str(((output.get("destination") or {}).get("container") or {}).get("containerUrl") or "")
    here, there = urlsplit(storage.blob_endpoint.rstrip("/")), urlsplit(url)
    if here.netloc.lower() != there.netloc.lower() or not there.path.startswith(f"{here.path}/"):
        return None
    return there.path[len(here.path) + 1 :].split("/", 1)[0] or None


def _open(connection: Connection, container: str, name: str) -> Any:
    from azure.storage.blob import ContainerClient  # noqa: PLC0415 - a quarter of a second

    from azbatch_core.plan.secrets import StorageRef  # noqa: PLC0415 - only where a copy is wanted
    from azbatch_core.service.connect.storage import StorageResolver  # noqa: PLC0415 - same

    resolve = StorageResolver(connection.account, lifetime=_READING, credential=connection.credential)
    url = resolve(StorageRef(container, permission="rl"))
    return ContainerClient.from_container_url(url).get_blob_client(name)
