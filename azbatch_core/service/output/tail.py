"""Following one growing file, as text and as it is. Pure: reading is somebody else's.

A character that a read cuts in two waits for its other half. In the text, bytes that are no UTF-8 become
U+FFFD; the bytes themselves come along.
"""

from __future__ import annotations

import codecs
from typing import TYPE_CHECKING, NamedTuple, Protocol

if TYPE_CHECKING:
    from collections.abc import Iterator

PIECE = 4 * 1024 * 1024


class Piece(NamedTuple):
    """Some of a file."""

    text: str
    data: bytes


class Source(Protocol):
    """One file, wherever it is."""

    def size(self) -> int | None:
        """Its length in bytes; None while it is not there."""

    def read(self, start: int, end: int) -> bytes:
        """The bytes from `start` up to `end`; fewer (or none) when it became shorter meanwhile."""


class Tail:
    """What has been read of one file, and what is new in it.

    Attributes:
        offset: Bytes read so far.
        seen: Whether the file was ever there.
    """

    def __init__(self, source: Source, piece: int = PIECE, *, start: int = 0) -> None:
        self._source = source
        self._piece = piece
        self.offset = start
        self.seen = False
        self._length: int | None = None
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self._cut = b""

    def restart(self) -> None:
        """Begin again at the start of the file: it belongs to another try of the task now."""
        self.offset = 0
        self._decoder.reset()
        self._cut = b""

    def measure(self) -> bool:
        """Ask for the file's length; whether it is shorter than what was read of it, so was begun anew."""
        self._length = self._source.size()
        self.seen = self.seen or self._length is not None
        return self._length is not None and self._length < self.offset

    def news(self) -> Iterator[Piece]:
        """What there is up to the length last measured, in pieces."""
        while self._length is not None and self.offset < self._length:
            data = self._source.read(self.offset, min(self._length, self.offset + self._piece))
            if not data:
                return
            self.offset += len(data)
            text = self._decoder.decode(data)
            whole = self._cut + data
            self._cut = self._decoder.getstate()[0]
            if text:
                yield Piece(text, whole[: len(whole) - len(self._cut)])

    @property
    def complete(self) -> bool:
        """Whether the file was there when it was last measured, and was read to that length."""
        return self._length is not None and not self.missing

    @property
    def missing(self) -> int:
        """Bytes up to the length last measured that `news` could not read."""
        return max(0, (self._length or 0) - self.offset)

    def rest(self) -> Piece:
        """What a cut character leaves at the end of the file."""
        cut, self._cut = self._cut, b""
        return Piece(self._decoder.decode(b"", final=True), cut)
