"""Files of a task or a node, under a directory that nobody gets out of."""

from __future__ import annotations

import mimetypes
import os
import shutil
import stat
import uuid
from collections import deque
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import quote

from azbatch_core.local.errors import BatchError
from azbatch_core.local.http.dates import http_date_of, wire_time_of
from azbatch_core.local.streaming import FilePart

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import Any, BinaryIO

_AT_ONCE = 256 * 1024  # bytes
_DIGITS_MOST = 19  # as many as a 64-bit number has
_TYPES = mimetypes.MimeTypes(filenames=())


@dataclass(frozen=True)
class FileEntry:
    """A file or folder.

    Attributes:
        name: path relative to the directory that is listed, with `/`.
        path: where it is.
        status: what the file system says about it.
    """

    name: str
    path: Path
    status: os.stat_result

    @property
    def shown(self) -> str:
        """The name as text. On a Linux node it need not be UTF-8; other bytes are U+FFFD here."""
        return os.fsencode(self.name).decode(errors="replace")

    @property
    def is_directory(self) -> bool:
        """Whether it is a folder."""
        return stat.S_ISDIR(self.status.st_mode)

    def headers(self, base_url: str) -> dict[str, str]:
        """The headers that describe it."""
        return {
            "Content-Type": content_type(self.name),
            "Last-Modified": http_date_of(self.status.st_mtime),
            "ocp-batch-file-isdirectory": str(self.is_directory),
            "ocp-batch-file-mode": f"0o{self.status.st_mode:o}",
            "ocp-batch-file-url": quote(self._url(base_url), safe=""),
        }

    def document(self, base_url: str) -> dict[str, Any]:
        """Its entry in a list; folders have no properties there. The URL has the bytes of the name."""
        entry: dict[str, Any] = {
            "name": self.shown,
            "url": self._url(base_url),
            "isDirectory": self.is_directory,
        }
        if not self.is_directory:
            entry["properties"] = {
                "lastModified": wire_time_of(self.status.st_mtime),
                "contentLength": str(self.status.st_size),
                "contentType": content_type(self.name),
                "fileMode": f"0o{self.status.st_mode:o}",
            }
        return entry

    def _url(self, base_url: str) -> str:
        return f"{base_url}/{quote(os.fsencode(self.name))}"


def content_type(name: str) -> str:
    """The media type by the name's ending; text for those that have none, as task output mostly is."""
    if "." not in Path(name).name:
        return "text/plain"
    return _TYPES.guess_type(name)[0] or "application/octet-stream"


def find(root: Path, name: str) -> FileEntry:
    """The file or folder `name` under `root`.

    Raises:
        BatchError: `InvalidUri` for a name that is no relative path without `..`, `FileNotFound` if there is
            none, if a link leads out of `root`, or if reading it could last for ever: a pipe, a device.
    """
    parts = name.split("/")
    if "\0" in name or any(part in ("", ".", "..") for part in parts):
        raise BatchError("InvalidUri", Reason="A file is named by its path relative to the directory.")
    path = root.joinpath(*parts)
    try:
        if not path.resolve(strict=True).is_relative_to(root.resolve()):
            raise BatchError("FileNotFound")
        status = path.stat()
    except (OSError, RuntimeError):  # a loop of links is a RuntimeError before Python 3.13
        raise BatchError("FileNotFound") from None
    if not _is_plain(status):
        raise BatchError("FileNotFound")
    return FileEntry(name, path, status)


def walk(root: Path, *, recursive: bool) -> Iterator[FileEntry]:
    """What `find` would find, folder by folder, each sorted by name; links to folders are not entered."""
    waiting = deque([("", root)])
    while waiting:
        prefix, directory = waiting.popleft()
        try:
            with os.scandir(directory) as found:
                items = sorted(found, key=lambda item: item.name)
        except OSError:
            continue
        for item in items:
            try:
                status = item.stat(follow_symlinks=False)
                if item.is_symlink():
                    status = find(root, prefix + item.name).status
            except (OSError, BatchError):
                continue
            if not _is_plain(status):
                continue
            entry = FileEntry(prefix + item.name, Path(item.path), status)
            yield entry
            if recursive and item.is_dir(follow_symlinks=False):
                waiting.append((entry.name + "/", entry.path))


def parse_range(header: str, size: int) -> tuple[int, int]:
    """The first byte and the number of bytes that `bytes=a-b`, `bytes=a-` or `bytes=-n` stand for.

    Raises:
        BatchError: `InvalidHeaderValue`, or `InvalidRange` if the file has no such byte.
    """
    unit, _, interval = header.partition("=")
    first, dash, last = interval.strip().partition("-")
    numbers = [part for part in (first, last) if part]
    if unit.strip().lower() != "bytes" or not dash or not numbers or not all(map(_is_number, numbers)):
        raise BatchError("InvalidHeaderValue", HeaderName="ocp-range", HeaderValue=header)
    if not first:
        start, end = max(0, size - int(last)), size - 1
    else:
        start, end = int(first), min(int(last), size - 1) if last else size - 1
        if last and int(last) < start:
            raise BatchError("InvalidHeaderValue", HeaderName="ocp-range", HeaderValue=header)
    if start >= size:
        raise BatchError("InvalidRange")
    return start, end - start + 1


def read(path: Path, start: int, length: int) -> bytes | FilePart:
    """`length` bytes from `start` on, many of them from the file as it is now; fewer if it shrinks meanwhile.

    Raises:
        BatchError: `FileNotFound`, `IOError`.
    """
    try:
        file = _open(path)
        if length > _AT_ONCE:
            return FilePart(file, start, length)
        with file:
            return b"".join(FilePart(file, start, length))
    except FileNotFoundError:
        raise BatchError("FileNotFound") from None
    except OSError as error:
        raise BatchError("IOError", Reason=error.strerror or "The file cannot be read.") from None


def _open(path: Path) -> BinaryIO:
    # Without waiting: a task may have put a pipe there since it was looked at.
    file = open(path, "rb", opener=lambda name, flags: os.open(name, flags | os.O_NONBLOCK))  # noqa: SIM115 - the caller closes
    if not _is_plain(os.fstat(file.fileno())):
        file.close()
        raise FileNotFoundError(path)
    return file


def _is_plain(status: os.stat_result) -> bool:
    return stat.S_ISREG(status.st_mode) or stat.S_ISDIR(status.st_mode)


def delete(entry: FileEntry, *, recursive: bool, trash: Path) -> Callable[[], None]:
    """Remove the file, or take the folder with all that is in it out of its place.

    Args:
        entry: what is deleted.
        recursive: it may be a folder.
        trash: where a folder waits to be deleted, on the same file system.

    Returns:
        the rest of the work, which may last. It raises `BatchError` (`IOError`, `FileNotFound`) where the
        folder had to stay in its place; what cannot be deleted in the trash is left to the next start.

    Raises:
        BatchError: `InvalidQueryParameterValue` for a folder without `recursive`, `FileNotFound`, `IOError`.
    """
    folder = entry.is_directory and not entry.path.is_symlink()
    if folder and not recursive:
        raise BatchError(
            "InvalidQueryParameterValue",
            QueryParameterName="recursive",
            QueryParameterValue="false",
            Reason="The file is a directory; it can only be deleted recursively.",
        )
    if not folder:
        with _told():
            entry.path.unlink()
        return lambda: None
    target = trash / uuid.uuid4().hex
    try:
        trash.mkdir(parents=True, exist_ok=True)
        entry.path.rename(target)
    except OSError:  # a mount point, or a folder that may not be moved
        return lambda: _delete_tree(entry.path)
    return lambda: shutil.rmtree(target, ignore_errors=True)


def _delete_tree(folder: Path) -> None:
    with _told():
        shutil.rmtree(folder)


@contextmanager
def _told() -> Iterator[None]:
    try:
        yield
    except FileNotFoundError:
        raise BatchError("FileNotFound") from None
    except OSError as error:
        raise BatchError("IOError", Reason=error.strerror or "The file cannot be deleted.") from None


def _is_number(text: str) -> bool:
    return text.isdecimal() and text.isascii() and len(text) <= _DIGITS_MOST
