"""The user's workspace on the nodes: packed, kept in storage under a name made of its content, and unpacked.

No Docker is needed. TorchX's ignore files hold, and what no node can use is left out as well: caches, virtual
environments and what version control keeps.
"""

from __future__ import annotations

import gzip
import hashlib
import logging
import stat
import tarfile
import tempfile
import weakref
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from azbatch_core import ResourceFile
from azbatch_torchx.workspace_files import IGNORE_FILES, Walk

LOG = logging.getLogger("azbatch")
CONTAINER: Final = "azbatch-workspaces"
METADATA: Final = "azure_batch.workspace"
"""The key of a role's metadata that holds the name of its archive; nodes never see it."""
MOST_BYTES: Final = 64 * 1024 * 1024
MOST_FILES: Final = 10_000
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

    @property
    def words(self) -> str:
        """How much it is."""
        return "1 file" if self.files == 1 else f"{self.files} files"


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
    size = files = 0
    walk = Walk(folder)
    for name, path in walk.files():
        chosen.append((name, path))
        if path.is_dir():
            continue
        files += 1
        size += path.stat().st_size
        if bounded and (size > MOST_BYTES or files > MOST_FILES):
            what = f"{MOST_BYTES >> 20} MiB" if size > MOST_BYTES else f"{MOST_FILES:,} files"
            raise TooLargeError(
                f"the workspace {folder} has more than {what} and is not sent: name what to leave out in"
                f' {IGNORE_FILES[0]}, say workspace=archive to send all of it, or --workspace="" for none'
            )
    _tell(walk)
    if not files:
        if walk.ignore_file:
            LOG.warning("no file of the workspace %s is sent: %s leaves out all", folder, walk.ignore_file)
        else:
            LOG.info("no file of the workspace %s is sent: there is none", folder)
        return None
    with (
        tempfile.NamedTemporaryFile(prefix="azbatch-workspace-", suffix=".tar.gz", delete=False) as made,
        gzip.GzipFile(fileobj=made, mode="wb", mtime=0, filename="", compresslevel=6) as packed,
        tarfile.open(fileobj=packed, mode="w", format=tarfile.PAX_FORMAT) as tar,
    ):
        for name, path in sorted(chosen):
            _add(tar, name, path)
    return _made(Path(made.name), files)


def _tell(walk: Walk) -> None:
    """Name what is left out although no rule says so."""
    told = []
    for reason, names in walk.left.items():
        shown = ", ".join([*sorted(names)[:_SHOWN], *(["…"] if len(names) > _SHOWN else [])])
        told.append(f"{shown} ({reason})")
    if told:
        LOG.warning("not sent with the workspace: %s", "; ".join(told))


def _add(tar: tarfile.TarFile, name: str, path: Path) -> None:
    """Add a file or a folder with nothing of the machine that it is on: neither owner nor time."""
    entry = tarfile.TarInfo(name)
    found = path.stat()
    entry.mode = stat.S_IMODE(found.st_mode) | stat.S_IRUSR | stat.S_IWUSR
    if path.is_dir():
        entry.type = tarfile.DIRTYPE
        entry.mode |= stat.S_IXUSR
        tar.addfile(entry)
        return
    entry.size = found.st_size
    with path.open("rb") as data:
        tar.addfile(entry, data)


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
