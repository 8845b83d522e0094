"""The copy of a task's file that its own output files put into the account's storage.

Which blob that is follows from the task's record on the service, so any machine that knows the job
can find it.
"""

from __future__ import annotations

from contextlib import ExitStack
from datetime import timedelta
from typing import TYPE_CHECKING, Any, TypeVar
from urllib.parse import urlsplit

from azbatch_core.errors import NotFound
from azbatch_core.service.connect import sending
from azbatch_core.service.connect.retry import RetrySettings
from azbatch_core.service.documents import requests

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping
    from types import TracebackType

    from typing_extensions import Self

    from azbatch_core.service.connect.connection import Connection
    from azbatch_core.service.connect.storage import StorageResolver
    from azbatch_core.specs import StorageSpec

T = TypeVar("T")

_READING = timedelta(hours=1)
_BOUNDS = RetrySettings(attempts=4, total_time=30.0)


class BlobCopy:
    """A blob, read like a file.

    Attributes:
        name: ``CONTAINER/BLOB``.
    """

    def __init__(self, connection: Connection, blob: Any, name: str) -> None:
        self._connection = connection
        self._blob = blob
        self.name = name

    def size(self) -> int | None:
        """None when there is no such blob.

        Raises:
            AzBatchError: The storage did not say: it is out of reach, or nobody here may read it.
        """
        try:
            return int(self._send(lambda: self._blob.get_blob_properties().size))
        except NotFound:
            return None

    def read(self, start: int, end: int) -> bytes:
        """The bytes from `start` up to `end`.

        Raises:
            AzBatchError: They could not be read.
        """
        return self._send(lambda: bytes(self._blob.download_blob(offset=start, length=end - start).readall()))

    def _send(self, function: Callable[[], T]) -> T:
        return _send(self._connection, str(self._blob.url), function)


def _send(connection: Connection, url: str, function: Callable[[], T]) -> T:
    return sending.send(
        function,
        endpoint=url.partition("?")[0],  # without its query, which is the signature
        name="storage",
        clock=connection.clock,
        settings=_BOUNDS,
    )


class UploadedLogs:
    """The copies of a job's files. Storage is opened for the first that is looked for."""

    def __init__(self, connection: Connection, job_id: str) -> None:
        self._connection = connection
        self._job_id = job_id
        self._resolver: StorageResolver | None = None
        self._containers: dict[str, Any] = {}
        self._open = ExitStack()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._open.close()

    def find(self, task_id: str, name: str) -> BlobCopy | None:
        """The copy of a file in the task's folder (``stdout.txt``); None where the task uploads no such file.

        Only the account's own storage is looked at: the task's record holds no signature that may read.

        Raises:
            AzBatchError: The task's record, or the storage, cannot be asked.
        """
        place = self._place(task_id, name)
        return None if place is None else self._copy(*place)

    def find_member(self, task_id: str, name: str, rank: int, nodes: Collection[str]) -> BlobCopy | None:
        """The copy of a file in the folder of a gang's member; None where there is none.

        Args:
            task_id: The gang.
            name: The file, as `find` has it.
            rank: The member's; not 0, the main node's.
            nodes: Where the members are, or were: other nodes hold copies of earlier tries.

        Raises:
            AzBatchError: As `find`.
        """
        from azbatch_core.plan.blob_names import member_folder

        place = self._place(task_id, name)
        if place is None:
            return None
        container, blob = place
        folder, last = member_folder(blob, rank), blob.rpartition("/")[2]
        for found in self._listed(container, folder):
            if found.endswith(f"/{last}") and found[len(folder) : -len(last) - 1] in nodes:
                return self._copy(container, found)
        return None

    def _place(self, task_id: str, name: str) -> tuple[str, str] | None:
        """The container and name of the blob that Batch makes of a file."""
        from azbatch_core.plan.blob_names import blob_of

        storage = self._connection.account.storage
        if storage is None:
            return None
        try:
            task = requests.get_task(self._connection, self._job_id, task_id, ("id", "outputFiles"))
        except NotFound:
            return None
        for output in task.get("outputFiles") or ():
            found = blob_of(output, name)
            container = container_name(output, storage)
            if found is not None and container is not None:
                return container, found
        return None

    def _copy(self, container: str, blob: str) -> BlobCopy:
        client = self._container(container).get_blob_client(blob)
        return BlobCopy(self._connection, client, f"{container}/{blob}")

    def _listed(self, container: str, folder: str) -> list[str]:
        client = self._container(container)
        try:
            return _send(
                self._connection,
                str(client.url),
                lambda: list(client.list_blob_names(name_starts_with=folder)),
            )
        except NotFound:
            return []

    def _container(self, name: str) -> Any:
        from azure.storage.blob import ContainerClient

        from azbatch_core.plan.secrets import StorageRef
        from azbatch_core.service.connect.storage import StorageResolver

        if self._resolver is None:
            connection = self._connection
            self._resolver = StorageResolver(
                connection.account,
                lifetime=_READING,
                credential=connection.credential,
                clock=connection.clock,
                retry=_BOUNDS,
            )
        if name not in self._containers:
            url = self._resolver(StorageRef(name, permission="rl"))
            client = ContainerClient.from_container_url(url, retry_total=0)
            self._containers[name] = self._open.enter_context(client)
        return self._containers[name]


def container_name(output: Mapping[str, Any], storage: StorageSpec) -> str | None:
    """The container's name, when it is one of this storage; None when it is somebody else's."""
    url = str(((output.get("destination") or {}).get("container") or {}).get("containerUrl") or "")
    here, there = urlsplit(storage.blob_endpoint.rstrip("/")), urlsplit(url)
    if here.netloc.lower() != there.netloc.lower() or not there.path.startswith(f"{here.path}/"):
        return None
    return there.path[len(here.path) + 1 :].split("/", 1)[0] or None
