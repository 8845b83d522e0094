"""Files of tasks and nodes: list, read a range, download.

A range is answered with 200 and just its bytes. A start beyond the end is refused (416), so the size is asked
first.
"""

from __future__ import annotations

import secrets
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, Any

from azbatch_core.service.documents import requests
from azbatch_core.service.documents.wire import moment
from azbatch_core.service.states import FileInfo

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from azbatch_core.service.connect.connection import Connection

PIECE = 4 * 1024 * 1024
"""Bytes of one ranged read."""


def size(connection: Connection, *segments: str) -> int:
    """The length of a file in bytes, by ``"jobs", JOB, "tasks", TASK, "files", NAME`` or the like of a node.

    Raises:
        NotFound: No such file, task or node.
        Conflict: The task has not run yet.
    """
    from azbatch_core.service.connect import sdk  # noqa: PLC0415 - imports azure.*

    answer = connection.call(sdk.request, connection.client, "HEAD", sdk.path(*segments))
    return int(answer.headers.get("Content-Length") or 0)


def read(connection: Connection, *segments: str, start: int, end: int) -> bytes:
    """The bytes from `start` up to, not including, `end`.

    Raises:
        InvalidRequest: The file is shorter by now (code ``InvalidRange``).
    """
    from azbatch_core.service.connect import sdk  # noqa: PLC0415 - imports azure.*

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
        NotFound: No such file.
    """
    segments = ("jobs", job_id, "tasks", task_id, "files", path)
    target = dest / PurePosixPath(path).name if dest.is_dir() else dest
    length = size(connection, *segments)
    target.parent.mkdir(parents=True, exist_ok=True)
    part = target.with_name(f".{target.name}.{secrets.token_hex(4)}.part")
    try:
        with part.open("xb") as sink:
            for start in range(0, length, PIECE):
                sink.write(read(connection, *segments, start=start, end=min(length, start + PIECE)))
        part.replace(target)
    finally:
        part.unlink(missing_ok=True)
    return target
