"""Files of tasks and nodes: list, read a range, download.

A range is answered with 200 and just its bytes. A start beyond the end is refused (416), so the size is asked
first.
"""

from __future__ import annotations

import secrets
from contextlib import suppress
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, Any, cast

from azbatch_core.errors import AzBatchError, NotFound, SpecError
from azbatch_core.service.documents import requests
from azbatch_core.service.documents.wire import moment

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

    from azbatch_core.service.connect.connection import Connection
    from azbatch_core.service.summaries import FileInfo

PIECE = 4 * 1024 * 1024
"""Bytes of one ranged read."""


_FOLDER_MARK = "ocp-batch-file-isdirectory"


def size(connection: Connection, *segments: str) -> int:
    """The length of a file in bytes, by ``"jobs", JOB, "tasks", TASK, "files", NAME`` or the like of a node.

    A folder has none: 0.

    Raises:
        NotFound: No such file, task or node.
        Conflict: The task has not run yet.
    """
    return int(_properties(connection, *segments).get("Content-Length") or 0)


def _properties(connection: Connection, *segments: str) -> Mapping[str, str]:
    from azbatch_core.service.connect import sdk

    answer = connection.call(sdk.request, connection.client, "HEAD", sdk.path(*segments))
    return cast("Mapping[str, str]", answer.headers)


def read(connection: Connection, *segments: str, start: int, end: int) -> bytes:
    """The bytes from `start` up to, not including, `end`.

    Raises:
        InvalidRequest: The file is shorter by now (code ``InvalidRange``).
    """
    from azbatch_core.service.connect import sdk

    if end <= start:
        return b""
    headers = {"Accept": "application/octet-stream", "ocp-range": f"bytes={start}-{end - 1}"}
    return connection.call(sdk.content, connection.client, sdk.path(*segments), headers=headers)


def of_task(connection: Connection, job_id: str, task_id: str) -> Iterator[FileInfo]:
    """Every file and folder of a task.

    Raises:
        NotFound: No such job or task, or its files are gone.
        Conflict: The task has not run.
    """
    for document in requests.listing(connection, "jobs", job_id, "tasks", task_id, "files", recursive=True):
        yield _info(document)


def _info(document: dict[str, Any]) -> FileInfo:
    from azbatch_core.service.summaries import FileInfo

    properties = document.get("properties") or {}
    return FileInfo(
        # A Windows node separates with backslashes.
        name=str(document.get("name")).replace("\\", "/"),
        size=int(properties.get("contentLength") or 0),
        is_directory=bool(document.get("isDirectory")),
        last_modified=moment(properties.get("lastModified")),
    )


def download(connection: Connection, job_id: str, task_id: str, path: str, dest: Path) -> Path:
    """Copy a file of a task; gives where it is. The destination appears only once it is complete.

    Raises:
        NotFound: No such job, task or file.
        SpecError: The path is a folder or leads out of the task's, or the folder of `dest` is not there.
        OSError: The destination cannot be written; names it.
    """
    _check_path(path)
    target = dest / PurePosixPath(path).name if dest.is_dir() else dest
    if not target.parent.is_dir():
        raise SpecError(f"there is no folder {target.parent}", field="dest", hint="make it first")
    segments = ("jobs", job_id, "tasks", task_id, "files", path)
    length = _length(connection, job_id, task_id, path)
    part = target.with_name(f".{secrets.token_hex(8)}.part")
    try:
        with part.open("xb") as sink:
            for start in range(0, length, PIECE):
                sink.write(read(connection, *segments, start=start, end=min(length, start + PIECE)))
        part.replace(target)
    except AzBatchError:  # some of them are OSErrors
        raise
    except OSError as error:
        # The draft's name means nothing to who asked.
        raise OSError(error.errno, error.strerror, str(target)) from error
    finally:
        with suppress(OSError):
            part.unlink(missing_ok=True)
    return target


def _check_path(path: str) -> None:
    """Names are relative to the task's folder; the service would only say that there is no such file."""
    parts = path.replace("\\", "/").split("/")
    if not path or ".." in parts or not parts[0]:
        raise SpecError(
            f"{path!r} is not in the task's folder",
            field="path",
            hint="name a file relative to it, such as stdout.txt or wd/out.csv",
        )


def _length(connection: Connection, job_id: str, task_id: str, path: str) -> int:
    try:
        found = _properties(connection, "jobs", job_id, "tasks", task_id, "files", path)
    except NotFound as error:
        # An answer without a body does not say what is missing: the job, the task or the file.
        requests.get_task(connection, job_id, task_id, ("id",))
        raise NotFound(
            f"task {task_id} has no file {path}",
            hint=f"`azbatch files ls {connection.account.name}:{job_id} {task_id}` lists what there is",
        ) from error
    if str(found.get(_FOLDER_MARK)).lower() == "true":
        raise SpecError(f"{path} is a folder: name a file in it", field="path")
    return int(found.get("Content-Length") or 0)
