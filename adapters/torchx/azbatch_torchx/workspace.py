"""The user's workspace on the nodes: packed, kept in storage under a name made of its content, and unpacked.

No Docker is needed. TorchX's ignore files hold, and what no node can use is left out as well: caches, virtual
environments and what version control keeps.
"""

from __future__ import annotations

import gzip
import hashlib
import logging
import os
import stat
import tarfile
import tempfile
import weakref
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

from azbatch_core import ResourceFile

if TYPE_CHECKING:
    from collections.abc import Iterator

LOG = logging.getLogger("azbatch")
CONTAINER: Final = "azbatch-workspaces"
METADATA: Final = "azure_batch.workspace"
"""The key of a role's metadata that holds the name of its archive; nodes never see it."""
IGNORE_FILES: Final = (".torchxignore", ".dockerignore")
MOST_BYTES: Final = 64 * 1024 * 1024
MOST_FILES: Final = 10_000
_NEVER: Final = frozenset(
    {".git", ".hg", ".svn", "__pycache__", ".mypy_cache", ".pytest_cache", ".ruff_cache"}
)
_NO_ARCHIVE: Final = 125
_SHOWN: Final = 5
_PIECE: Final = 1024 * 1024

# $1 is the archive, in the working directory; the rest is the command and is never touched.
_UNPACK: Final = f"""
tar -xzf "$1" || {{
echo "azbatch: the workspace cannot be unpacked (the image must have tar and gzip)" >&2
exit {_NO_ARCHIVE}
}}
rm -f "$1"
shift
exec "$@"
"""


class TooLargeError(Exception):
    """A workspace that nobody meant to be sent; its text says what to do."""


@dataclass(frozen=True)
class Archive:
    """A packed workspace.

    Attributes:
        path: Where it is on this machine, for as long as this object lives.
        name: Its blob's name, made of its content.
        files: How many files it holds.
    """

    path: Path
    name: str
    files: int


def _made(path: Path, files: int) -> Archive:
    digest = hashlib.sha256()
    with path.open("rb") as data:
        while piece := data.read(_PIECE):
            digest.update(piece)
    archive = Archive(path, f"{digest.hexdigest()[:40]}.tar.gz", files)
    weakref.finalize(archive, path.unlink, missing_ok=True)
    return archive


def pack(folder: Path, *, bounded: bool) -> Archive | None:
    """Pack a workspace; the same content gives the same name everywhere. None if there is nothing in it.

    Args:
        folder: The workspace.
        bounded: Refuse one of more than `MOST_BYTES` or `MOST_FILES`, such as a home folder.

    Raises:
        TooLargeError: It is.
        OSError: It cannot be read.
    """
    chosen: list[tuple[str, Path]] = []
    size = 0
    for name, path in _files(folder):
        chosen.append((name, path))
        size += path.stat().st_size
        if bounded and (size > MOST_BYTES or len(chosen) > MOST_FILES):
            what = f"{MOST_BYTES >> 20} MiB" if size > MOST_BYTES else f"{MOST_FILES:,} files"
            raise TooLargeError(
                f"the workspace {folder} has more than {what} and is not sent: name what to leave out in"
                f' {IGNORE_FILES[0]}, say workspace=archive to send all of it, or --workspace="" for none'
            )
    if not chosen:
        return None
    with (
        tempfile.NamedTemporaryFile(prefix="azbatch-workspace-", suffix=".tar.gz", delete=False) as made,
        gzip.GzipFile(fileobj=made, mode="wb", mtime=0, filename="", compresslevel=6) as packed,
        tarfile.open(fileobj=packed, mode="w", format=tarfile.PAX_FORMAT) as tar,
    ):
        for name, path in sorted(chosen):
            _add(tar, name, path)
    return _made(Path(made.name), len(chosen))


def _add(tar: tarfile.TarFile, name: str, path: Path) -> None:
    """Add a file with nothing of the machine that it is on: neither owner nor time."""
    entry = tarfile.TarInfo(name)
    found = path.stat()
    entry.size = found.st_size
    entry.mode = stat.S_IMODE(found.st_mode) | stat.S_IRUSR | stat.S_IWUSR
    with path.open("rb") as data:
        tar.addfile(entry, data)


def _files(folder: Path) -> Iterator[tuple[str, Path]]:
    """The files of a workspace by their names in it; links are followed as far as they stay in it.

    A link that leaves it may lead to anything that its user can read: a line names those that are left out.
    """
    from torchx.workspace.api import walk_workspace

    ignore = next((name for name in IGNORE_FILES if (folder / name).exists()), IGNORE_FILES[0])
    left_out: list[str] = []
    leaving: list[str] = []
    home = folder.resolve()
    for place, _, files in walk_workspace(_Disk(), str(folder), ignore):
        below = os.path.relpath(place, folder)
        parts = set(Path(below).parts)
        if parts & _NEVER or (below != "." and "pyvenv.cfg" in files):
            left_out.append(f"{below}{os.sep}")
            continue
        if f"{below}{os.sep}".startswith(tuple(left_out)):
            continue
        for name in files:
            path = Path(place) / name
            if path.is_symlink() and path.exists() and not path.resolve().is_relative_to(home):
                leaving.append(os.path.relpath(path, folder))
                continue
            if path.is_file():  # no sockets, no links to nowhere
                yield Path(os.path.normpath(Path(below) / name)).as_posix(), path
    if leaving:
        shown = ", ".join([*sorted(leaving)[:_SHOWN], *(["…"] if len(leaving) > _SHOWN else [])])
        LOG.warning("links that lead out of the workspace are not sent: %s", shown)


class _Disk:
    """What TorchX's walk asks of fsspec, whose import takes a tenth of a second: this machine's files."""

    exists = staticmethod(os.path.exists)
    open = staticmethod(open)

    @staticmethod
    def walk(path: str, **_: object) -> Iterator[tuple[str, dict[str, object], dict[str, object]]]:
        """One folder: its path, its folders and its files. What cannot be read has none; a link is a file."""
        folders: dict[str, object] = {}
        files: dict[str, object] = {}
        with suppress(OSError), os.scandir(path) as entries:
            for entry in entries:
                (folders if entry.is_dir(follow_symlinks=False) else files)[entry.name] = {}
        yield path, folders, files


def folder_of(workspace: object) -> Path | None:
    """The folder that TorchX names, as a path or ``file://…``; None for what is no folder of this machine."""
    text = str(workspace)
    if "://" in text and not text.startswith("file://"):
        return None
    path = Path(text.removeprefix("file://"))
    return path if path.is_dir() else None


def resource_file(name: str) -> ResourceFile:
    """What brings an archive to each node, into the working directory."""
    return ResourceFile(container=CONTAINER, blob_prefix=name)


def unpacked(command: tuple[str, ...], name: str) -> tuple[str, ...]:
    """The command, after the archive was unpacked where it starts; needs ``/bin/sh``, tar and gzip."""
    return ("/bin/sh", "-c", _UNPACK.strip(), "workspace", name, *command)
