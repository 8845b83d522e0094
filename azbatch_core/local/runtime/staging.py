"""Resource files: fetched into the working directory before a command starts. Blocks; runs in threads.

Rules: SDK texts of `ResourceFile`. Blobs of a container keep their whole names below `filePath`.
"""

from __future__ import annotations

import os
from contextlib import closing, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from azbatch_core.local.blobs.errors import BlobError
from azbatch_core.local.blobs.store import BlobStore
from azbatch_core.local.runtime.download import download
from azbatch_core.local.runtime.failures import TaskFailure, disk_failure
from azbatch_core.local.runtime.storage import cause_of, classify, container_client, without_query

if TYPE_CHECKING:
    import threading
    from collections.abc import Iterable, Iterator

    from azbatch_core.local.runtime.base import BlobPlace
    from azbatch_core.local.runtime.storage import Trouble

_DEFAULT_MODE = "0770"
_LIST_CODES: dict[Trouble, str] = {
    "denied": "ResourceContainerAccessDenied",
    "missing": "ResourceContainerNotFound",
    "timeout": "ResourceContainerListTimedOut",
    "other": "ResourceContainerListMiscError",
}
# The account reads its own storage with the account's key.
_ACCOUNTS_OWN = {"resourceId": "auto storage"}
_DOWNLOAD_CODES: dict[Trouble, str] = {
    "denied": "BlobAccessDenied",
    "missing": "BlobNotFound",
    "timeout": "BlobDownloadTimedOut",
    "other": "BlobDownloadMiscError",
}


def stage(
    files: Iterable[dict[str, Any]], wd: Path, blobs: BlobPlace | None, given_up: threading.Event
) -> None:
    """Fetch all resource files into `wd`. Returns early, with some of them missing, when given up.

    Raises:
        TaskFailure: One could not be fetched or written.
    """
    stager = _Stager(wd, blobs, given_up)
    for file in files:
        stager.fetch(file)


class _Stager:
    def __init__(self, wd: Path, blobs: BlobPlace | None, given_up: threading.Event) -> None:
        self._wd = wd
        self._blobs = blobs
        self._given_up = given_up

    def fetch(self, file: dict[str, Any]) -> None:
        if self._given_up.is_set():
            return
        if file.get("httpUrl"):
            self._fetch_url(file)
        elif file.get("storageContainerUrl"):
            self._fetch_container(file)
        else:
            self._fetch_auto_storage(file)

    def _fetch_url(self, file: dict[str, Any]) -> None:
        path = file.get("filePath") or ""
        target = self._target(path, file)
        try:
            download(
                file["httpUrl"],
                lambda pieces: self._write(target, pieces, file),
                identity=file.get("identityReference"),
                blobs=self._blobs,
                given_up=self._given_up,
            )
        except TaskFailure as error:
            error.info.setdefault("details", []).append({"name": "FilePath", "value": path})
            raise

    def _fetch_container(self, file: dict[str, Any]) -> None:
        from azure.core.exceptions import AzureError

        url = file["storageContainerUrl"]
        shown = without_query(url)
        try:
            client = container_client(url, file.get("identityReference"), self._blobs, "rl")
        except ValueError as error:
            raise TaskFailure(
                "ResourceContainerListMiscError", BlobContainerUrl=shown, Message=str(error)
            ) from error
        with client:
            try:
                names = list(client.list_blob_names(name_starts_with=file.get("blobPrefix") or None))
            except AzureError as error:
                raise TaskFailure(
                    _LIST_CODES[classify(error)], BlobContainerUrl=shown, Message=cause_of(error)
                ) from error
            for name in names:
                if self._given_up.is_set():
                    return
                target = self._blob_target(name, file)
                if target is None:
                    continue
                try:
                    self._write(target, client.download_blob(name).chunks(), file)
                except AzureError as error:
                    raise TaskFailure(
                        _DOWNLOAD_CODES[classify(error)],
                        BlobSource=f"{shown}/{name}",
                        FilePath=name,
                        Message=cause_of(error),
                    ) from error

    def _fetch_auto_storage(self, file: dict[str, Any]) -> None:
        container = file.get("autoStorageContainerName") or ""
        if self._blobs is None:
            raise TaskFailure("ResourceContainerNotFound", AutoStorageContainerName=container)
        if self._blobs.root is None:
            url = f"{self._blobs.endpoint}/{container}"
            self._fetch_container({**file, "storageContainerUrl": url, "identityReference": _ACCOUNTS_OWN})
            return
        with closing(BlobStore(self._blobs.root)) as store:
            try:
                store.container(container)
            except BlobError as error:
                raise TaskFailure("ResourceContainerNotFound", AutoStorageContainerName=container) from error
            for blob in store.blobs(container, file.get("blobPrefix") or "", limit=-1):
                if self._given_up.is_set():
                    return
                target = self._blob_target(blob.name, file)
                if target is not None:
                    with store.open(container, blob.name)[1] as source:
                        self._write(target, iter(lambda: source.read(1024 * 1024), b""), file)

    def _blob_target(self, name: str, file: dict[str, Any]) -> Path | None:
        """Where a blob of a container goes; None for one that only stands for a folder."""
        folder = file.get("filePath") or "."
        target = self._target(f"{folder}/{name}", file)
        if name.endswith("/"):
            self._make_folder(target)
            return None
        return target

    def _target(self, path: str, file: dict[str, Any]) -> Path:
        """The place of a file, inside the working directory."""
        wd = str(self._wd)
        target = os.path.normpath(f"{wd}/{path}")
        if not path or path.startswith("/") or "\0" in path or not target.startswith(f"{wd}/"):
            raise TaskFailure(
                "ResourceFileCreateFailed",
                category="UserError",
                FilePath=str(file.get("filePath") or path),
                Message="The path must be relative to the working directory of the task and stay inside",
            )
        return Path(target)

    def _make_folder(self, folder: Path) -> None:
        try:
            folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise self._disk_failure("ResourceDirectoryCreateFailed", folder, error) from error

    def _write(self, target: Path, pieces: Iterator[bytes], file: dict[str, Any]) -> None:
        mode = self._mode(file)
        self._make_folder(target.parent)
        if self._given_up.is_set():
            return
        try:
            output = target.open("wb")
        except OSError as error:
            raise self._disk_failure("ResourceFileCreateFailed", target, error) from error
        with output:
            for piece in pieces:
                try:
                    output.write(piece)
                except OSError as error:
                    raise self._disk_failure("ResourceFileWriteFailed", target, error) from error
                if self._given_up.is_set():
                    return
        target.chmod(mode)

    def _mode(self, file: dict[str, Any]) -> int:
        text = str(file.get("fileMode") or _DEFAULT_MODE)
        with suppress(ValueError):
            mode = int(text, 8)
            if 0 <= mode <= 0o7777:  # noqa: PLR2004 - all bits of a mode
                return mode
        raise TaskFailure(
            "ResourceFileCreateFailed", category="UserError", Message=f"{text!r} is not an octal file mode"
        )

    def _disk_failure(self, code: str, path: Path, error: OSError) -> TaskFailure:
        return disk_failure(code, error, FilePath=os.path.relpath(path, self._wd))
