"""Containers and blobs on disk: contents as plain files, everything else in one SQLite table.

A blob appears or changes at once or not at all: its content is written aside, moved into place and then
entered in the table. A service that is killed in between loses only what it had not acknowledged.
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
from dataclasses import dataclass, field
from datetime import datetime, timezone
from typing import TYPE_CHECKING, Any, BinaryIO

from azbatch_core.local.blobs.errors import BlobError
from azbatch_core.local.blobs.names import hashed_path, is_blob_name, is_container_name, natural_path

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence
    from pathlib import Path

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


@dataclass(frozen=True)
class Container:
    """A container's record."""

    name: str
    etag: str
    modified: datetime
    metadata: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Block:
    """A block of a blob: its base64 id and its size in bytes."""

    id: str
    size: int


@dataclass(frozen=True)
class Blob:
    """A blob's record.

    Attributes:
        path: Where its content lies.
        etag: Without quotes.
        properties: Header names such as `content-type` with their values.
        blocks: What it was committed from; empty if it was put in one piece.
    """

    container: str
    name: str
    path: Path
    size: int
    etag: str
    created: datetime
    modified: datetime
    properties: Mapping[str, str] = field(default_factory=dict)
    metadata: Mapping[str, str] = field(default_factory=dict)
    blocks: tuple[Block, ...] = ()


class BlobStore:
    """The blobs below one folder. Several stores, also of several threads, may share the folder."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self._service = root / _SERVICE_FOLDER
        self._incoming = self._service / "incoming"
        self._incoming.mkdir(parents=True, exist_ok=True)
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
            with self._lock, self._db:
                self._db.execute("INSERT INTO containers VALUES (?, ?, ?, ?)", row)
        except sqlite3.IntegrityError:
            raise BlobError("ContainerAlreadyExists") from None
        (self.root / name).mkdir(exist_ok=True)
        return _container(row)

    def container(self, name: str) -> Container:
        """Look a container up; raises `ContainerNotFound`."""
        with self._lock:
            row = self._db.execute("SELECT * FROM containers WHERE name = ?", (name,)).fetchone()
        if row is None:
            raise BlobError("ContainerNotFound")
        return _container(row)

    def containers(self, prefix: str = "", after: str = "", limit: int = 5000) -> list[Container]:
        """The containers whose names start with `prefix` and come after `after`, in order."""
        with self._lock:
            rows = self._db.execute(
                "SELECT * FROM containers WHERE name > ? AND name >= ? ORDER BY name", (after, prefix)
            )
            return [_container(row) for row in _while_prefixed(rows, 0, prefix, limit)]

    def delete_container(self, name: str) -> None:
        """Delete a container with its blobs; raises `ContainerNotFound`."""
        self.container(name)
        with self._lock, self._db:
            self._db.execute("DELETE FROM blobs WHERE container = ?", (name,))
            self._db.execute("DELETE FROM containers WHERE name = ?", (name,))
        shutil.rmtree(self.root / name, ignore_errors=True)
        shutil.rmtree(self._service / "blocks" / name, ignore_errors=True)

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
    ) -> Blob:
        """Move `content` (from `incoming`) into place as a blob, in place of one that was there.

        Raises:
            BlobError: `ContainerNotFound` or `InvalidResourceName`.
        """
        if not is_blob_name(name):
            raise BlobError("InvalidResourceName")
        with self._lock:
            old = self.find(container, name)
            path = old.path if old else self._free_path(container, name)
            now = time.time()
            size = content.stat().st_size
            path.parent.mkdir(parents=True, exist_ok=True)
            content.replace(path)
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
            with self._db:
                self._db.execute("INSERT OR REPLACE INTO blobs VALUES (?,?,?,?,?,?,?,?,?,?)", row)
        self._drop_blocks(container, name)
        return self._blob(row)

    def set_metadata(self, container: str, name: str, metadata: Mapping[str, str]) -> Blob:
        """Replace a blob's metadata."""
        with self._lock, self._db:
            self.blob(container, name)
            self._db.execute(
                "UPDATE blobs SET metadata = ?, etag = ?, modified = ? WHERE container = ? AND name = ?",
                (json.dumps(dict(metadata)), self._new_etag(), time.time(), container, name),
            )
        return self.blob(container, name)

    def delete(self, container: str, name: str) -> None:
        """Delete a blob; raises `ContainerNotFound` or `BlobNotFound`."""
        with self._lock:
            blob = self.blob(container, name)
            with self._db:
                self._db.execute("DELETE FROM blobs WHERE container = ? AND name = ?", (container, name))
            blob.path.unlink(missing_ok=True)
            folder = blob.path.parent
            with contextlib.suppress(OSError):  # not empty: other blobs lie there
                while folder != self.root / container:
                    folder.rmdir()
                    folder = folder.parent
        self._drop_blocks(container, name)

    # Blocks that are not committed

    def put_block(self, container: str, name: str, block_id: str, content: Path) -> None:
        """Keep `content` (from `incoming`) as a block until it is committed."""
        self.container(container)
        if not is_blob_name(name):
            raise BlobError("InvalidResourceName")
        folder = self._block_folder(container, name)
        folder.mkdir(parents=True, exist_ok=True)
        content.replace(folder / _block_file(block_id))

    def uncommitted(self, container: str, name: str) -> list[Block]:
        """The blocks that wait to be committed, in order of their ids."""
        folder = self._block_folder(container, name)
        if not folder.is_dir():
            return []
        return sorted(
            (Block(bytes.fromhex(file.name).decode(), file.stat().st_size) for file in folder.iterdir()),
            key=lambda block: block.id,
        )

    def commit(
        self,
        container: str,
        name: str,
        choice: Sequence[tuple[str, str]],
        *,
        properties: Mapping[str, str] | None = None,
        metadata: Mapping[str, str] | None = None,
    ) -> Blob:
        """Make a blob out of blocks.

        Args:
            container: The container's name.
            name: The blob's name.
            choice: Pairs of `Committed`, `Uncommitted` or `Latest` and a block id.
            properties: As for `put`.
            metadata: As for `put`.

        Raises:
            BlobError: `InvalidBlockList`: one of the blocks is not there.
        """
        source = _Blocks(self._block_folder(container, name), self.find(container, name))
        target = self.incoming()
        try:
            with target.open("wb") as output:
                blocks = [source.append(output, kind, block_id) for kind, block_id in choice]
            return self.put(container, name, target, properties=properties, metadata=metadata, blocks=blocks)
        finally:
            target.unlink(missing_ok=True)

    def _block_folder(self, container: str, name: str) -> Path:
        return self._service / "blocks" / container / hashlib.sha256(name.encode()).hexdigest()

    def _drop_blocks(self, container: str, name: str) -> None:
        shutil.rmtree(self._block_folder(container, name), ignore_errors=True)

    def _free_path(self, container: str, name: str) -> Path:
        folder = self.root / container
        natural = natural_path(name)
        if natural is not None:
            path = folder / natural
            parents = [parent for parent in path.parents if parent.is_relative_to(folder)]
            if not _exists(path) and all(parent.is_dir() or not _exists(parent) for parent in parents):
                return path
        return folder / hashed_path(name)

    def _new_etag(self) -> str:
        with self._lock:
            self._last_etag = max(self._last_etag + 1, time.time_ns() // 100)
            return f"0x{self._last_etag:X}"

    def _blob(self, row: tuple[Any, ...]) -> Blob:
        container, name, path, size, etag, created, modified, properties, metadata, blocks = row
        return Blob(
            container,
            name,
            self.root / path,
            size,
            etag,
            _utc(created),
            _utc(modified),
            json.loads(properties),
            json.loads(metadata),
            tuple(Block(*block) for block in json.loads(blocks)),
        )


class _Blocks:
    """The blocks that a commit may choose from: those that wait, and those of the blob as it is."""

    def __init__(self, folder: Path, old: Blob | None) -> None:
        self._folder = folder
        self._old = old
        self._committed: dict[str, tuple[int, int]] = {}
        offset = 0
        for block in old.blocks if old else ():
            self._committed[block.id] = (offset, block.size)
            offset += block.size

    def append(self, output: BinaryIO, kind: str, block_id: str) -> Block:
        """Write one block to `output`."""
        waiting = self._folder / _block_file(block_id)
        if kind in {"Uncommitted", "Latest"} and waiting.is_file():
            with waiting.open("rb") as source:
                shutil.copyfileobj(source, output)
            return Block(block_id, waiting.stat().st_size)
        if kind in {"Committed", "Latest"} and block_id in self._committed and self._old is not None:
            offset, size = self._committed[block_id]
            with self._old.path.open("rb") as source:
                source.seek(offset)
                output.write(source.read(size))
            return Block(block_id, size)
        raise BlobError("InvalidBlockList")


def _block_file(block_id: str) -> str:
    return block_id.encode().hex()


def _container(row: tuple[Any, ...]) -> Container:
    name, etag, modified, metadata = row
    return Container(name, etag, _utc(modified), json.loads(metadata))


def _utc(seconds: float) -> datetime:
    return datetime.fromtimestamp(seconds, timezone.utc)


def _exists(path: Path) -> bool:
    return path.exists() or path.is_symlink()


def _while_prefixed(
    rows: Iterable[tuple[Any, ...]], column: int, prefix: str, limit: int
) -> Iterator[tuple[Any, ...]]:
    for number, row in enumerate(rows):
        if number == limit or not str(row[column]).startswith(prefix):
            return
        yield row
