"""Blocks: those that wait to be committed, a file each, and those that a blob was committed from."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, BinaryIO

from azbatch_core.local.blobs.errors import BlobError
from azbatch_core.local.blobs.records import Block

if TYPE_CHECKING:
    from pathlib import Path

    from azbatch_core.local.blobs.records import Blob

_COPY_BYTES = 1024 * 1024


def block_file(block_id: str) -> str:
    """The name of the file that a block waits in."""
    return block_id.encode().hex()


def waiting_blocks(folder: Path) -> list[Block]:
    """The blocks that wait in a folder, in order of their ids."""
    if not folder.is_dir():
        return []
    return sorted(
        (Block(bytes.fromhex(file.name).decode(), file.stat().st_size) for file in folder.iterdir()),
        key=lambda block: block.id,
    )


class BlockSource:
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
        waiting = self._folder / block_file(block_id)
        if kind in {"Uncommitted", "Latest"} and waiting.is_file():
            with waiting.open("rb") as source:
                return Block(block_id, _copy(source, output))
        if kind in {"Committed", "Latest"} and block_id in self._committed and self._old is not None:
            offset, size = self._committed[block_id]
            with self._old.path.open("rb") as source:
                source.seek(offset)
                return Block(block_id, _copy(source, output, size))
        raise BlobError("InvalidBlockList")


def _copy(source: BinaryIO, target: BinaryIO, most: float = math.inf) -> int:
    """Copy at most so many bytes, in pieces; how many they were."""
    copied = 0
    while piece := source.read(int(min(_COPY_BYTES, most - copied))):
        target.write(piece)
        copied += len(piece)
    return copied
