"""Output files: sent to containers after a command ended. Blocks; runs in threads.

Two logs are written next to stdout.txt, as the node agent does: `fileuploadout.txt` says what was done,
`fileuploaderr.txt` holds a JSON object for each failure.
"""

from __future__ import annotations

import json
import os
from dataclasses import dataclass
from datetime import datetime, timezone
from typing import TYPE_CHECKING, Any, TextIO

from azbatch_core.local.runtime.failures import TaskFailure
from azbatch_core.local.runtime.patterns import Match, matches
from azbatch_core.local.runtime.storage import cause_of, classify, container_client, without_query

if TYPE_CHECKING:
    import threading
    from collections.abc import Iterable, Mapping
    from pathlib import Path

    from azure.storage.blob import ContainerClient

    from azbatch_core.local.runtime.base import BlobPlace
    from azbatch_core.local.runtime.storage import Trouble

_CODES: dict[Trouble, str] = {
    "denied": "FileUploadAccessDenied",
    "missing": "FileUploadContainerNotFound",
    "timeout": "FileUploadTimedOut",
    "other": "FileUploadMiscError",
}
_CONDITIONS = {"tasksuccess": {True}, "taskfailure": {False}, "taskcompletion": {True, False}}
_SETTINGS = {
    "content-type": "content_type",
    "content-encoding": "content_encoding",
    "content-language": "content_language",
    "content-disposition": "content_disposition",
    "cache-control": "cache_control",
}
_METADATA_PREFIX = "x-ms-meta-"


def upload(
    files: Iterable[dict[str, Any]],
    directory: Path,
    environment: Mapping[str, str],
    *,
    succeeded: bool,
    blobs: BlobPlace | None,
    given_up: threading.Event,
) -> None:
    """Send the output files whose condition holds. What can be sent is sent, whatever fails before it.

    A pattern that matches nothing is no failure. Blobs that exist are replaced.

    Args:
        files: `outputFiles` as on the wire.
        directory: The task's directory; patterns are relative to its `wd`.
        environment: The task's variables, for patterns.
        succeeded: Whether the task succeeded so far.
        blobs: The local blob service.
        given_up: Set when the rest shall not be sent.

    Raises:
        TaskFailure: The first failure.
    """
    due = [file for file in files if succeeded in _CONDITIONS[_condition(file)]]
    if not due:
        return
    with (
        (directory / "fileuploadout.txt").open("a", encoding="utf-8") as out,
        (directory / "fileuploaderr.txt").open("a", encoding="utf-8") as err,
    ):
        uploader = _Uploader(directory / "wd", environment, blobs, given_up, out, err)
        for file in due:
            uploader.send(file)
    if uploader.failure is not None:
        raise uploader.failure


@dataclass(frozen=True)
class _Destination:
    url: str
    path: str | None
    identity: Mapping[str, Any] | None
    headers: tuple[Mapping[str, str], ...]

    @classmethod
    def of(cls, file: dict[str, Any]) -> _Destination:
        container = (file.get("destination") or {}).get("container") or {}
        return cls(
            container.get("containerUrl") or "",
            container.get("path"),
            container.get("identityReference"),
            tuple(container.get("uploadHeaders") or ()),
        )


class _Uploader:
    def __init__(  # noqa: PLR0917 - private, called once
        self,
        wd: Path,
        environment: Mapping[str, str],
        blobs: BlobPlace | None,
        given_up: threading.Event,
        out: TextIO,
        err: TextIO,
    ) -> None:
        self.failure: TaskFailure | None = None
        self._wd = wd
        self._environment = environment
        self._blobs = blobs
        self._given_up = given_up
        self._out = out
        self._err = err
        self._sent: set[tuple[str, str]] = set()

    def send(self, file: dict[str, Any]) -> None:
        """Send what one entry of `outputFiles` matches."""
        if self._given_up.is_set():
            return
        pattern = str(file.get("filePattern") or "")
        destination = _Destination.of(file)
        self._log(f"Uploading all files matching pattern {pattern}")
        found = matches(pattern, self._wd, self._environment, destination.path)
        if not found:
            self._log(f"No file matches pattern {pattern}")
            return
        try:
            client = container_client(destination.url, destination.identity, self._blobs, "w")
        except ValueError as error:
            self._fail("FileUploadMiscError", pattern, destination, None, str(error))
            return
        with client:
            for match in found:
                if self._given_up.is_set():
                    return
                self._send_one(client, match, pattern, destination)

    def _send_one(
        self, client: ContainerClient, match: Match, pattern: str, destination: _Destination
    ) -> None:
        from azure.core.exceptions import AzureError

        if match.blob != _readable(match.blob):
            self._fail("FileUploadMiscError", pattern, destination, match, "The name is not UTF-8")
            return
        target = (without_query(destination.url), match.blob)
        if target in self._sent:
            self._fail("FileUploadConflict", pattern, destination, match, "Two files for one blob")
            return
        self._sent.add(target)
        settings, metadata = _headers(destination)
        try:
            with match.file.open("rb") as data:
                client.upload_blob(
                    match.blob, data, overwrite=True, content_settings=settings, metadata=metadata
                )
        except AzureError as error:
            self._fail(_CODES[classify(error)], pattern, destination, match, cause_of(error))
        except OSError as error:
            reason = error.strerror or type(error).__name__
            self._fail("FileUploadMiscError", pattern, destination, match, reason)
        else:
            self._log(f"Uploaded {match.file} to {target[0]}/{match.blob}")

    def _fail(
        self, code: str, pattern: str, destination: _Destination, match: Match | None, reason: str
    ) -> None:
        file = _readable(str(match.file)) if match else ""
        shown = without_query(destination.url)
        record = {"code": code, "pattern": pattern, "file": file, "destination": shown, "message": reason}
        self._err.write(json.dumps(record, ensure_ascii=False) + "\n")
        self._log(f"Failed: {code} ({reason})")
        if self.failure is None:
            path = os.path.relpath(file, self._wd) if file else pattern
            self.failure = TaskFailure(code, FilePath=path, Destination=shown, Message=reason)

    def _log(self, text: str) -> None:
        now = datetime.now(timezone.utc)
        self._out.write(f"{now:%Y-%m-%d %H:%M:%S},{now.microsecond // 1000:03} {text}\n")


def _readable(name: str) -> str:
    """A file's name as text: names on Linux may be any bytes, those of blobs and what is kept may not."""
    return os.fsencode(name).decode(errors="replace")


def _condition(file: dict[str, Any]) -> str:
    text = str((file.get("uploadOptions") or {}).get("uploadCondition") or "taskcompletion").lower()
    return text if text in _CONDITIONS else "taskcompletion"


def _headers(destination: _Destination) -> tuple[Any, dict[str, str] | None]:
    from azure.storage.blob import ContentSettings

    settings: dict[str, Any] = {}
    metadata: dict[str, str] = {}
    for header in destination.headers:
        name, value = str(header.get("name", "")).lower(), str(header.get("value") or "")
        plain = name.removeprefix("x-ms-blob-")
        if plain in _SETTINGS:
            settings[_SETTINGS[plain]] = value
        elif name.startswith(_METADATA_PREFIX):
            metadata[name.removeprefix(_METADATA_PREFIX)] = value
    return (ContentSettings(**settings) if settings else None), metadata or None
