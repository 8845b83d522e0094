"""What the store knows of containers, blobs and blocks."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from datetime import datetime, timezone
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path


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


def container_of(row: tuple[Any, ...]) -> Container:
    """A container from its row."""
    name, etag, modified, metadata = row
    return Container(name, etag, _utc(modified), json.loads(metadata))


def blob_of(row: tuple[Any, ...], root: Path) -> Blob:
    """A blob from its row; `root` is what its path is relative to."""
    container, name, path, size, etag, created, modified, properties, metadata, blocks = row
    return Blob(
        container,
        name,
        root / path,
        size,
        etag,
        _utc(created),
        _utc(modified),
        json.loads(properties),
        json.loads(metadata),
        tuple(Block(*block) for block in json.loads(blocks)),
    )


def _utc(seconds: float) -> datetime:
    return datetime.fromtimestamp(seconds, timezone.utc)
