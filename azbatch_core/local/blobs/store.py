"""Containers and blobs on disk: contents as plain files, everything else in one SQLite table.

A blob appears or changes at once or not at all: its content is written aside, moved to a path of its own,
then entered in the table, and only then is the content that it replaces deleted. A service that is killed in
between loses only what it had not acknowledged. All calls block; any thread may make them.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import shutil
import sqlite3
import threading
import time
import uuid
import weakref
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING, Any, BinaryIO

from azbatch_core.local.blobs.blocks import BlockSource, block_file, waiting_blocks
from azbatch_core.local.blobs.errors import BlobError
from azbatch_core.local.blobs.names import HASHED, hashed_path, is_blob_name, is_container_name, natural_path
from azbatch_core.local.blobs.records import Blob, Container, blob_of, container_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
    from pathlib import Path

    from azbatch_core.local.blobs.records import Block

    Check = Callable[["Blob | None"], None]

_SERVICE_FOLDER = ".service"
_SCHEMA = """
CREATE TABLE IF NOT EXISTS containers (
    name TEXT PRIMARY KEY, etag TEXT NOT NULL, modified REAL NOT NULL, metadata TEXT NOT NULL
) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS blobs (
    container TEXT NOT NULL, name TEXT NOT NULL, path TEXT NOT NULL, size INTEGER NOT NULL,
    etag TEXT NOT NULL, created REAL NOT NULL, modified REAL NOT NULL, properties TEXT NOT NULL,
    metadata TEXT NOT NULL, blocks TEXT NOT NULL, PRIMARY KEY (container, name)
) WITHOUT ROWID;
"""
_COLUMNS = "container, name, path, size, etag, created, modified, properties, metadata, blocks"


class BlobStore:
    """The blobs below one folder. Several stores, also of several threads, may share the folder."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self._service = root / _SERVICE_FOLDER
        self._incoming = self._service / "incoming"
        self._trash = self._service / "trash"
        for folder in (self._incoming, self._trash):
            folder.mkdir(parents=True, exist_ok=True)
        self._lock = threading.RLock()
        self._last_etag = 0
        self._db = sqlite3.connect(self._service / "index.db", timeout=30, check_same_thread=False)
        self._close = weakref.finalize(self, self._db.close)
        self._db.execute("PRAGMA journal_mode=WAL")
        self._db.execute("PRAGMA synchronous=NORMAL")
        with self._db:
            self._db.executescript(_SCHEMA)

    def close(self) -> None:
        """Let go of the files; calling it again is fine."""
        self._close()

    def sweep(self) -> None:
        """Delete what a killed service left half done; only while nobody else writes to the folder."""
        for folder in (self._incoming, self._trash):
            for entry in folder.iterdir():
                _delete(entry)
        with self._lock:
            known = {row[0] for row in self._db.execute("SELECT path FROM blobs")}
        for container in self.containers():
            for path in (self.root / container.name).glob(f"{HASHED}*"):
                if path.relative_to(self.root).as_posix() not in known:
                    path.unlink()

    @contextmanager
    def _writing(self) -> Iterator[None]:
        """One at a time, of all stores on the folder, and wholly or not at all."""
        with self._lock, self._db:
            self._db.execute("BEGIN IMMEDIATE")
            yield

    # Containers

    def create_container(self, name: str, metadata: Mapping[str, str] | None = None) -> Container:
        """Make a container.

        Raises:
            BlobError: `InvalidResourceName` or `ContainerAlreadyExists`.
        """
        if not is_container_name(name):
            raise BlobError("InvalidResourceName")
        row = (name, self._new_etag(), time.time(), json.dumps(dict(metadata or {})))
        try:
            with self._writing():
                self._db.execute("INSERT INTO containers VALUES (?, ?, ?, ?)", row)
                (self.root / name).mkdir(exist_ok=True)
        except sqlite3.IntegrityError:
            raise BlobError("ContainerAlreadyExists") from None
        return container_of(row)

    def container(self, name: str) -> Container:
        """Look a container up; raises `ContainerNotFound`."""
        with self._lock:
            row = self._db.execute("SELECT * FROM containers WHERE name = ?", (name,)).fetchone()
        if row is None:
            raise BlobError("ContainerNotFound")
        return container_of(row)

    def containers(self, prefix: str = "", after: str = "", limit: int = 5000) -> list[Container]:
        """The containers whose names start with `prefix` and come after `after`, in order."""
        with self._lock:
            rows = self._db.execute(
                "SELECT * FROM containers WHERE name > ? AND name >= ? ORDER BY name", (after, prefix)
            )
            return [container_of(row) for row in _while_prefixed(rows, 0, prefix, limit)]

    def delete_container(self, name: str) -> None:
        """Delete a container with its blobs; raises `ContainerNotFound`."""
        with self._lock:
            with self._writing():
                self.container(name)
                self._db.execute("DELETE FROM blobs WHERE container = ?", (name,))
                self._db.execute("DELETE FROM containers WHERE name = ?", (name,))
            thrown = self._put_aside(self.root / name)
        _delete(thrown)
        self._throw(self._service / "blocks" / name)

    def _throw(self, folder: Path) -> None:
        """Delete a folder that need not be there; others may make a new one of that name meanwhile."""
        with self._lock:
            thrown = self._put_aside(folder)
        _delete(thrown)

    def _put_aside(self, folder: Path) -> Path:
        target = self._trash / uuid.uuid4().hex
        with contextlib.suppress(FileNotFoundError):
            folder.rename(target)
        return target

    # Blobs

    def find(self, container: str, name: str) -> Blob | None:
        """The record of a blob, None if there is none; raises `ContainerNotFound`."""
        with self._lock:
            row = self._db.execute(
                f"SELECT {_COLUMNS} FROM blobs WHERE container = ? AND name = ?",  # noqa: S608 - constant
                (container, name),
            ).fetchone()
        if row is None:
            self.container(container)
            return None
        return self._blob(row)

    def blob(self, container: str, name: str) -> Blob:
        """The record of a blob; raises `ContainerNotFound` or `BlobNotFound`."""
        found = self.find(container, name)
        if found is None:
            raise BlobError("BlobNotFound")
        return found

    def open(self, container: str, name: str) -> tuple[Blob, BinaryIO]:
        """A blob with its content as it is now, whatever becomes of it later. To be closed.

        Raises:
            BlobError: `ContainerNotFound` or `BlobNotFound`.
        """
        blob = self.blob(container, name)
        while (file := _opened(blob.path)) is None:
            newer = self.blob(container, name)
            if newer.path == blob.path:  # somebody else took the file away
                raise BlobError("BlobNotFound")
            blob = newer
        return blob, file

    def blobs(self, container: str, prefix: str = "", after: str = "", limit: int = 5000) -> list[Blob]:
        """The blobs whose names start with `prefix` and come after `after`, in order."""
        self.container(container)
        with self._lock:
            rows = self._db.execute(
                f"SELECT {_COLUMNS} FROM blobs "  # noqa: S608 - constant
                "WHERE container = ? AND name > ? AND name >= ? ORDER BY name",
                (container, after, prefix),
            )
            return [self._blob(row) for row in _while_prefixed(rows, 1, prefix, limit)]

    def incoming(self) -> Path:
        """A free path for content that is being written."""
        return self._incoming / uuid.uuid4().hex

    def put(
        self,
        container: str,
        name: str,
        content: Path,
        *,
        properties: Mapping[str, str] | None = None,
        metadata: Mapping[str, str] | None = None,
        blocks: Iterable[Block] = (),
        check: Check | None = None,
    ) -> Blob:
        """Move `content` (from `incoming`) into place as a blob, instead of one that was there.

        `check` sees the blob that is there at that moment, and may refuse.

        Raises:
            BlobError: `ContainerNotFound` or `InvalidResourceName`, or what `check` raises.
        """
        if not is_blob_name(name):
            raise BlobError("InvalidResourceName")
        size = content.stat().st_size
        with self._lock, ExitStack() as undo:
            with self._writing():
                old = self.find(container, name)
                if check is not None:
                    check(old)
                now = time.time()
                path = self._free_path(container, name)
                row = (
                    container,
                    name,
                    path.relative_to(self.root).as_posix(),
                    size,
                    self._new_etag(),
                    old.created.timestamp() if old else now,
                    now,
                    json.dumps(dict(properties or {})),
                    json.dumps(dict(metadata or {})),
                    json.dumps([[block.id, block.size] for block in blocks]),
                )
                path.parent.mkdir(parents=True, exist_ok=True)
                content.replace(path)
                undo.callback(path.unlink, missing_ok=True)
                self._db.execute("INSERT OR REPLACE INTO blobs VALUES (?,?,?,?,?,?,?,?,?,?)", row)
            undo.pop_all()
            if old is not None:
                self._discard(old)
        self._drop_blocks(container, name)
        return self._blob(row)

    def set_metadata(
        self, container: str, name: str, metadata: Mapping[str, str], check: Check | None = None
    ) -> Blob:
        """Replace a blob's metadata; `check` as for `put`."""
        with self._writing():
            found = self.blob(container, name)
            if check is not None:
                check(found)
            self._db.execute(
                "UPDATE blobs SET metadata = ?, etag = ?, modified = ? WHERE container = ? AND name = ?",
                (json.dumps(dict(metadata)), self._new_etag(), time.time(), container, name),
            )
        return self.blob(container, name)

    def delete(self, container: str, name: str, check: Check | None = None) -> None:
        """Delete a blob; raises `ContainerNotFound` or `BlobNotFound`, or what `check` raises."""
        with self._lock:
            with self._writing():
                blob = self.blob(container, name)
                if check is not None:
                    check(blob)
                self._db.execute("DELETE FROM blobs WHERE container = ? AND name = ?", (container, name))
            self._discard(blob)
        self._drop_blocks(container, name)

    def _discard(self, blob: Blob) -> None:
        """Delete the content of a blob that is not in the table any more, and folders that this empties."""
        blob.path.unlink(missing_ok=True)
        folder = blob.path.parent
        with contextlib.suppress(OSError):  # not empty: other blobs lie there
            while folder != self.root / blob.container:
                folder.rmdir()
                folder = folder.parent

    # Blocks that are not committed

    def put_block(self, container: str, name: str, block_id: str, content: Path) -> None:
        """Keep `content` (from `incoming`) as a block until it is committed."""
        self.container(container)
        if not is_blob_name(name):
            raise BlobError("InvalidResourceName")
        folder = self._block_folder(container, name)
        with self._lock:
            folder.mkdir(parents=True, exist_ok=True)
            content.replace(folder / block_file(block_id))

    def uncommitted(self, container: str, name: str) -> list[Block]:
        """The blocks that wait to be committed, in order of their ids."""
        return waiting_blocks(self._block_folder(container, name))

    def commit(
        self,
        container: str,
        name: str,
        choice: Sequence[tuple[str, str]],
        *,
        properties: Mapping[str, str] | None = None,
        metadata: Mapping[str, str] | None = None,
        check: Check | None = None,
    ) -> Blob:
        """Make a blob out of blocks.

        Args:
            container: The container's name.
            name: The blob's name.
            choice: Pairs of `Committed`, `Uncommitted` or `Latest` and a block id.
            properties: As for `put`.
            metadata: As for `put`.
            check: As for `put`; asked before the blocks are copied, too.

        Raises:
            BlobError: `InvalidBlockList`: one of the blocks is not there; or what `check` raises.
        """
        old = self.find(container, name)
        if check is not None:
            check(old)
        source = BlockSource(self._block_folder(container, name), old)
        target = self.incoming()
        try:
            with target.open("wb") as output:
                blocks = [source.append(output, kind, block_id) for kind, block_id in choice]
            return self.put(
                container,
                name,
                target,
                properties=properties,
                metadata=metadata,
                blocks=blocks,
                check=check,
            )
        finally:
            target.unlink(missing_ok=True)

    def _block_folder(self, container: str, name: str) -> Path:
        return self._service / "blocks" / container / hashlib.sha256(name.encode()).hexdigest()

    def _drop_blocks(self, container: str, name: str) -> None:
        self._throw(self._block_folder(container, name))

    def _free_path(self, container: str, name: str) -> Path:
        folder = self.root / container
        natural = natural_path(name)
        if natural is not None:
            path = folder / natural
            parents = [parent for parent in path.parents if parent.is_relative_to(folder)]
            if not _exists(path) and all(parent.is_dir() or not _exists(parent) for parent in parents):
                return path
        return folder / hashed_path(name, uuid.uuid4().hex)

    def _new_etag(self) -> str:
        with self._lock:
            self._last_etag = max(self._last_etag + 1, time.time_ns() // 100)
            return f"0x{self._last_etag:X}"

    def _blob(self, row: tuple[Any, ...]) -> Blob:
        return blob_of(row, self.root)


def _opened(path: Path) -> BinaryIO | None:
    with contextlib.suppress(FileNotFoundError):
        return path.open("rb")
    return None


def _delete(path: Path) -> None:
    if path.is_dir():
        shutil.rmtree(path, ignore_errors=True)
    else:
        path.unlink(missing_ok=True)


def _exists(path: Path) -> bool:
    return path.exists() or path.is_symlink()


def _while_prefixed(
    rows: Iterable[tuple[Any, ...]], column: int, prefix: str, limit: int
) -> Iterator[tuple[Any, ...]]:
    for number, row in enumerate(rows):
        if number == limit or not str(row[column]).startswith(prefix):
            return
        yield row
