"""Files of tasks and of nodes: the same four operations over two directories."""

from __future__ import annotations

from typing import TYPE_CHECKING

from azbatch_core.local.http import files
from azbatch_core.local.http.conditions import check_conditions
from azbatch_core.local.http.dates import wire_time_of
from azbatch_core.local.http.response import Response
from azbatch_core.local.routes.slices import slice_of

if TYPE_CHECKING:
    from pathlib import Path

    from azbatch_core.local.http.aside import Work
    from azbatch_core.local.http.call import Call


_FILE_CONDITIONS = frozenset({"if-modified-since", "if-unmodified-since"})


def list_files(call: Call) -> Work:
    """GET …/files."""
    entries = files.walk(_root(call), recursive=call.query.flag("recursive"))
    page = call.page()

    def work() -> Response:
        matches = (entry for entry in entries if page.match is None or page.match({"name": entry.shown}))
        found, after = slice_of(matches, page)
        return call.listing([entry.document(call.url) for entry in found], after)

    return work


def download(call: Call) -> Response:
    """GET …/files/{filePath}: 200 with the bytes of `ocp-range` only, or with all of them."""
    entry = _found(call)
    start, length = 0, 0 if entry.is_directory else entry.status.st_size
    wanted = call.headers.get("ocp-range")
    if wanted:
        start, length = files.parse_range(wanted, length)
    body = files.read(entry.path, start, length) if length else b""
    return Response(call.operation.status, entry.headers(_folder_url(call)), body)


def properties(call: Call) -> Response:
    """HEAD …/files/{filePath}."""
    entry = _found(call)
    size = 0 if entry.is_directory else entry.status.st_size
    headers = {**entry.headers(_folder_url(call)), "Content-Length": str(size)}
    return Response(call.operation.status, headers)


def delete(call: Call) -> Work:
    """DELETE …/files/{filePath}."""
    entry = files.find(_root(call), call.ids["filePath"])
    # What comes to its place from here on is another folder: a task that is tried again makes one.
    rest = files.delete(entry, recursive=call.query.flag("recursive"), trash=call.engine.trash)

    def work() -> Response:
        rest()
        return call.done()

    return work


def _root(call: Call) -> Path:
    if "taskId" in call.ids:
        return call.engine.tasks.directory(call.ids["jobId"], call.ids["taskId"])
    return call.engine.nodes.directory(call.ids["poolId"], call.ids["nodeId"])


def _folder_url(call: Call) -> str:
    return call.url.rpartition("/")[0]


def _found(call: Call) -> files.FileEntry:
    entry = files.find(_root(call), call.ids["filePath"])
    check_conditions(
        {name: value for name, value in call.headers.items() if name in _FILE_CONDITIONS},
        {"lastModified": wire_time_of(entry.status.st_mtime)},
        reading=True,
    )
    return entry
