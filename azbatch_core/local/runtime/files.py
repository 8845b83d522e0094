"""Looking into node and task directories from outside: listing, and finding one file.

Nothing outside the directory is ever reached, neither by `..` nor by a link that a task made.
"""

from __future__ import annotations

import os
import stat
from collections import deque
from dataclasses import dataclass
from datetime import datetime, timezone
from pathlib import Path


@dataclass(frozen=True)
class FileEntry:
    """A file or folder below a directory.

    Attributes:
        name: Relative to the directory, with `/`.
        size: Bytes; 0 for folders.
        created: When it was made; where the file system does not say, when it last changed its record.
        mode: All bits of `st_mode`.
    """

    name: str
    is_directory: bool
    size: int
    created: datetime
    modified: datetime
    mode: int


def list_files(root: Path, recursive: bool) -> list[FileEntry]:  # noqa: FBT001 - the wire's own flag
    """What is in a directory, breadth first; in disk order inside each folder, as nodes on Linux list.

    Links show as what they lead to if that is inside the directory, else they are left out, as are pipes,
    sockets and devices. Linked folders are listed but not entered.

    Raises:
        FileNotFoundError: There is no such directory.
        NotADirectoryError: It is a file.
    """
    real_root = os.path.realpath(root)
    found: list[FileEntry] = []
    waiting = deque([(real_root, "")])
    while waiting:
        folder, prefix = waiting.popleft()
        try:
            with os.scandir(folder) as scan:
                entries = list(scan)
        except OSError:
            if folder == real_root:
                raise
            continue  # gone meanwhile, or closed by the task
        for entry in entries:
            listed = _entry(entry, prefix, real_root)
            if listed is None:
                continue
            found.append(listed)
            if recursive and entry.is_dir(follow_symlinks=False):
                waiting.append((entry.path, f"{prefix}{entry.name}/"))
    return found


def resolve(root: Path, name: str) -> Path:
    """The path of a file or folder that a request names.

    Args:
        root: The directory that names are relative to.
        name: As requested, decoded; a slash at its end is ignored.

    Raises:
        FileNotFoundError: There is none, the name leads out of the directory, or to something whose reading
            could last for ever: a pipe, a socket, a device.
    """
    real_root = os.path.realpath(root)
    parts = name.strip("/").split("/")
    if "\0" in name or not name.strip("/") or any(part in {"", ".", ".."} for part in parts):
        raise FileNotFoundError(name)
    real = os.path.realpath(f"{real_root}/{name.strip('/')}")
    if not _is_inside(real, real_root) or not _is_plain(real):
        raise FileNotFoundError(name)
    return Path(real)


def describe(root: Path, name: str) -> FileEntry:
    """The entry of one file or folder; raises `FileNotFoundError` as `resolve` does."""
    return _from_stat(name.strip("/"), resolve(root, name).stat())


def _entry(entry: os.DirEntry[str], prefix: str, real_root: str) -> FileEntry | None:
    try:
        if entry.is_symlink() and not _is_inside(os.path.realpath(entry.path), real_root):
            return None
        info = entry.stat()
        return _from_stat(prefix + entry.name, info) if _is_plain_mode(info.st_mode) else None
    except OSError:  # gone meanwhile, or a link that leads nowhere
        return None


def _from_stat(name: str, info: os.stat_result) -> FileEntry:
    is_directory = stat.S_ISDIR(info.st_mode)
    created = getattr(info, "st_birthtime", info.st_ctime)
    return FileEntry(
        name,
        is_directory,
        0 if is_directory else info.st_size,
        datetime.fromtimestamp(created, timezone.utc),
        datetime.fromtimestamp(info.st_mtime, timezone.utc),
        info.st_mode,
    )


def _is_plain(path: str) -> bool:
    try:
        return _is_plain_mode(os.lstat(path).st_mode)
    except OSError:
        return False


def _is_plain_mode(mode: int) -> bool:
    return stat.S_ISREG(mode) or stat.S_ISDIR(mode)


def _is_inside(real: str, real_root: str) -> bool:
    return real == real_root or real.startswith(real_root + os.sep)
