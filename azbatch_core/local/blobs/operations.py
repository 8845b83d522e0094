"""What the blob service can do: one method for each operation it serves.

The subset that staging needs; any other operation is refused as not implemented.
"""

from __future__ import annotations

import asyncio
import base64
import binascii
import hashlib
import os
import re
from contextlib import ExitStack, asynccontextmanager
from functools import partial
from typing import TYPE_CHECKING

from azbatch_core.local.blobs import documents
from azbatch_core.local.blobs.auth import Need
from azbatch_core.local.blobs.documents import http_date
from azbatch_core.local.blobs.errors import BlobError
from azbatch_core.local.blobs.request import Answer
from azbatch_core.local.streaming import FilePart

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
    from pathlib import Path
    from typing import BinaryIO

    from azbatch_core.local.blobs.records import Blob, Container
    from azbatch_core.local.blobs.request import Request
    from azbatch_core.local.blobs.store import BlobStore

    Handler = Callable[["Operations", Request], Awaitable[Answer]]

_PROPERTIES = ("content-type", "content-encoding", "content-language", "content-disposition", "cache-control")
_METADATA_PREFIX = "x-ms-meta-"
_METADATA_NAME = re.compile(r"[A-Za-z_]\w*\Z", re.ASCII)
_RANGE = re.compile(r"bytes=(\d{1,19})-(\d{0,19})\Z")
_LARGEST_PAGE = 5000
_WRITE_BYTES = 1024 * 1024
_LONGEST_BLOCK_ID = 64  # bytes, decoded


class Operations:
    """The operations over one store."""

    def __init__(self, store: BlobStore) -> None:
        self._store = store

    # The account

    async def list_containers(self, request: Request) -> Answer:
        """List Containers."""
        query = dict(request.query)
        limit = _page_size(query)
        found = self._store.containers(query.get("prefix", ""), query.get("marker", ""), limit + 1)
        page, marker = found[:limit], found[limit - 1].name if len(found) > limit else ""
        return _xml(documents.container_list(_endpoint(request), query, page, marker))

    # Containers

    async def create_container(self, request: Request) -> Answer:
        """Create Container."""
        return Answer(
            201, _stamp(self._store.create_container(request.container or "", _metadata(request.headers)))
        )

    async def get_container(self, request: Request) -> Answer:
        """Get Container Properties."""
        container = self._store.container(request.container or "")
        metadata = {_METADATA_PREFIX + name: value for name, value in container.metadata.items()}
        return Answer(200, {**_stamp(container), **metadata, **_LEASE})

    async def delete_container(self, request: Request) -> Answer:
        """Delete Container."""
        await asyncio.to_thread(self._store.delete_container, request.container or "")
        return Answer(202)

    async def list_blobs(self, request: Request) -> Answer:
        """List Blobs. The marker is the last name of the page before."""
        query = dict(request.query)
        container, limit = request.container or "", _page_size(query)
        if query.get("delimiter"):
            entries, marker = self._hierarchy(container, query, limit)
        else:
            found = self._store.blobs(container, query.get("prefix", ""), query.get("marker", ""), limit + 1)
            entries, marker = list(found[:limit]), found[limit - 1].name if len(found) > limit else ""
        return _xml(documents.blob_list(_endpoint(request), container, query, entries, marker))

    def _hierarchy(
        self, container: str, query: Mapping[str, str], limit: int
    ) -> tuple[list[Blob | str], str]:
        prefix, delimiter = query.get("prefix", ""), query["delimiter"]
        after = query.get("marker", "")
        entries: list[Blob | str] = []
        while True:
            found = self._store.blobs(container, prefix, after, 1)
            if not found:
                return entries, ""
            if len(entries) == limit:
                return entries, after
            name = found[0].name
            cut = name.find(delimiter, len(prefix))
            if cut < 0:
                entries.append(found[0])
                after = name
            else:
                folder = name[: cut + len(delimiter)]
                entries.append(folder)
                after = folder + "\U0010ffff"  # behind all names in the folder

    # Blobs

    async def put_blob(self, request: Request) -> Answer:
        """Put Blob, of block blobs."""
        container, name = _names(request)
        if request.headers.get("x-ms-blob-type", "").lower() != "blockblob":
            raise BlobError("NotImplemented" if "x-ms-blob-type" in request.headers else "InvalidHeaderValue")
        if "x-ms-copy-source" in request.headers:
            raise BlobError("NotImplemented")
        self._store.container(container)
        metadata = _metadata(request.headers)
        async with self._received(request) as (content, md5):
            blob = await asyncio.to_thread(
                self._store.put,
                container,
                name,
                content,
                properties={**_properties(request.headers, plain=True), "content-md5": md5},
                metadata=metadata,
                check=partial(_check_conditions, request),
            )
        return Answer(201, {**_stamp(blob), "content-md5": md5, **_ENCRYPTED})

    async def put_block(self, request: Request) -> Answer:
        """Put Block."""
        container, name = _names(request)
        block_id = request.query.get("blockid", "")
        try:
            decoded = base64.b64decode(block_id, validate=True)
        except (binascii.Error, ValueError):
            raise BlobError("InvalidQueryParameterValue") from None
        if not 0 < len(decoded) <= _LONGEST_BLOCK_ID:
            raise BlobError("InvalidBlockId")
        self._store.container(container)
        async with self._received(request) as (content, md5):
            await asyncio.to_thread(self._store.put_block, container, name, block_id, content)
        return Answer(201, {"content-md5": md5, **_ENCRYPTED})

    async def put_block_list(self, request: Request) -> Answer:
        """Put Block List."""
        container, name = _names(request)
        choice = documents.parse_block_list(await request.document())
        blob = await asyncio.to_thread(
            self._store.commit,
            container,
            name,
            choice,
            properties=_properties(request.headers, plain=False),
            metadata=_metadata(request.headers),
            check=partial(_check_conditions, request),
        )
        return Answer(201, {**_stamp(blob), **_ENCRYPTED})

    async def get_block_list(self, request: Request) -> Answer:
        """Get Block List."""
        container, name = _names(request)
        blob = self._store.find(container, name)
        waiting = self._store.uncommitted(container, name)
        if blob is None and not waiting:
            raise BlobError("BlobNotFound")
        kind = request.query.get("blocklisttype", "committed").lower()
        return _xml(documents.block_list(blob.blocks if blob else (), waiting, kind))

    async def get_blob(self, request: Request) -> Answer:
        """Get Blob, or a range of it; Get Blob Properties."""
        blob, file = self._store.open(*_names(request))
        with ExitStack() as stack:
            stack.callback(file.close)
            if _is_unmodified(request, blob):
                return Answer(304, _stamp(blob))
            headers = {**_stamp(blob), **_blob_headers(blob)}
            wanted = request.headers.get("x-ms-range") or request.headers.get("range")
            size = os.fstat(file.fileno()).st_size
            if request.method == "HEAD":
                return Answer(200, {**headers, "content-length": str(size)})
            if wanted is None:
                status, start, end = 200, 0, size
            else:
                start, end = _parse_range(wanted, size)
                status = 206
                md5 = headers.pop("content-md5", None)
                if md5 is not None:
                    headers["x-ms-blob-content-md5"] = md5
                headers["content-range"] = f"bytes {start}-{end - 1}/{size}"
            headers["content-length"] = str(end - start)
            stack.pop_all()
            return Answer(status, headers, file=FilePart(file, start, end - start))

    async def set_metadata(self, request: Request) -> Answer:
        """Set Blob Metadata."""
        container, name = _names(request)
        metadata = _metadata(request.headers)
        check = partial(_check_conditions, request)
        return Answer(200, _stamp(self._store.set_metadata(container, name, metadata, check)))

    async def get_metadata(self, request: Request) -> Answer:
        """Get Blob Metadata."""
        blob = self._store.blob(*_names(request))
        return Answer(200, {**_stamp(blob), **_metadata_headers(blob.metadata)})

    async def delete_blob(self, request: Request) -> Answer:
        """Delete Blob."""
        container, name = _names(request)
        await asyncio.to_thread(self._store.delete, container, name, partial(_check_conditions, request))
        return Answer(202, {"x-ms-delete-type-permanent": "true"})

    @asynccontextmanager
    async def _received(self, request: Request) -> AsyncIterator[tuple[Path, str]]:
        """The body in a file that is gone afterwards, unless it was moved; and its base64 MD5."""
        path = self._store.incoming()
        try:
            with path.open("wb") as file:
                md5 = await _receive(request, file)
            if request.headers.get("content-md5", md5) != md5:
                raise BlobError("Md5Mismatch")
            yield path, md5
        finally:
            path.unlink(missing_ok=True)


async def _receive(request: Request, file: BinaryIO) -> str:
    """Write the body to `file`, many pieces at a time and in a thread; its base64 MD5."""
    digest = hashlib.md5(usedforsecurity=False)

    def write(data: bytes) -> None:
        file.write(data)
        digest.update(data)

    pieces: list[bytes] = []
    size = 0
    async for piece in request.chunks():
        pieces.append(piece)
        size += len(piece)
        if size >= _WRITE_BYTES:
            await asyncio.to_thread(write, b"".join(pieces))
            pieces.clear()
            size = 0
    await asyncio.to_thread(write, b"".join(pieces))
    await asyncio.to_thread(file.flush)
    return base64.b64encode(digest.digest()).decode()


def _check_conditions(request: Request, blob: Blob | None) -> None:
    """Conditions of a write."""
    headers = request.headers
    if headers.get("if-none-match") == "*" and blob is not None:
        raise BlobError("BlobAlreadyExists")
    wanted = headers.get("if-match")
    if wanted is not None and (blob is None or wanted.strip('"') not in {blob.etag, "*"}):
        raise BlobError("ConditionNotMet")
    refused = headers.get("if-none-match", "").strip('"')
    if blob is not None and refused == blob.etag:
        raise BlobError("ConditionNotMet")


def _is_unmodified(request: Request, blob: Blob) -> bool:
    """Conditions of a read: whether the client's copy is still the right one."""
    wanted = request.headers.get("if-match")
    if wanted is not None and wanted.strip('"') not in {blob.etag, "*"}:
        raise BlobError("ConditionNotMet")
    return request.headers.get("if-none-match", "").strip('"') == blob.etag


_LEASE = {"x-ms-lease-status": "unlocked", "x-ms-lease-state": "available"}
_ENCRYPTED = {"x-ms-request-server-encrypted": "true"}
_WRITE = Need("cw")
_BY_KEY_ONLY = False

# (method, level, restype, comp) -> what to call and what must be allowed.
TABLE: dict[tuple[str, str, str, str], tuple[Handler, Need]] = {
    ("GET", "account", "", "list"): (Operations.list_containers, Need("l", _BY_KEY_ONLY)),
    ("PUT", "container", "container", ""): (Operations.create_container, Need("cw", _BY_KEY_ONLY)),
    ("GET", "container", "container", ""): (Operations.get_container, Need("r", _BY_KEY_ONLY)),
    ("HEAD", "container", "container", ""): (Operations.get_container, Need("r", _BY_KEY_ONLY)),
    ("DELETE", "container", "container", ""): (Operations.delete_container, Need("d", _BY_KEY_ONLY)),
    ("GET", "container", "container", "list"): (Operations.list_blobs, Need("l")),
    ("PUT", "blob", "", ""): (Operations.put_blob, _WRITE),
    ("PUT", "blob", "", "block"): (Operations.put_block, _WRITE),
    ("PUT", "blob", "", "blocklist"): (Operations.put_block_list, _WRITE),
    ("GET", "blob", "", "blocklist"): (Operations.get_block_list, Need("r")),
    ("GET", "blob", "", ""): (Operations.get_blob, Need("r")),
    ("HEAD", "blob", "", ""): (Operations.get_blob, Need("r")),
    ("PUT", "blob", "", "metadata"): (Operations.set_metadata, Need("w")),
    ("GET", "blob", "", "metadata"): (Operations.get_metadata, Need("r")),
    ("HEAD", "blob", "", "metadata"): (Operations.get_metadata, Need("r")),
    ("DELETE", "blob", "", ""): (Operations.delete_blob, Need("d")),
}


def _names(request: Request) -> tuple[str, str]:
    return request.container or "", request.blob or ""


def _stamp(item: Blob | Container) -> dict[str, str]:
    return {"etag": f'"{item.etag}"', "last-modified": http_date(item.modified)}


def _blob_headers(blob: Blob) -> dict[str, str]:
    return {
        "content-type": "application/octet-stream",
        **{name: value for name, value in blob.properties.items() if value},
        **_metadata_headers(blob.metadata),
        **_LEASE,
        "accept-ranges": "bytes",
        "x-ms-blob-type": "BlockBlob",
        "x-ms-access-tier": "Hot",
        "x-ms-access-tier-inferred": "true",
        "x-ms-server-encrypted": "true",
        "x-ms-creation-time": http_date(blob.created),
    }


def _properties(headers: Mapping[str, str], *, plain: bool) -> dict[str, str]:
    """What to keep of a request's headers; with `plain` its own content headers count, too."""
    properties = {}
    for name in _PROPERTIES:
        value = headers.get(f"x-ms-blob-{name}") or (headers.get(name) if plain else None)
        if value:
            properties[name] = value
    properties.setdefault("content-type", "application/octet-stream")
    if "x-ms-blob-content-md5" in headers:
        properties["content-md5"] = headers["x-ms-blob-content-md5"]
    return properties


def _metadata(headers: Mapping[str, str]) -> dict[str, str]:
    cut = len(_METADATA_PREFIX)
    found = {name[cut:]: value for name, value in headers.items() if name.startswith(_METADATA_PREFIX)}
    if not all(_METADATA_NAME.match(name) for name in found):
        raise BlobError("InvalidMetadata")
    return found


def _metadata_headers(metadata: Mapping[str, str]) -> dict[str, str]:
    return {_METADATA_PREFIX + name: value for name, value in metadata.items()}


def _page_size(query: Mapping[str, str]) -> int:
    text = query.get("maxresults")
    if not text:
        return _LARGEST_PAGE
    if not text.isascii() or not text.isdigit():
        raise BlobError("InvalidQueryParameterValue")
    size = int(text[:9])
    if size == 0:
        raise BlobError("OutOfRangeInput")
    return min(size, _LARGEST_PAGE)


def _parse_range(text: str, size: int) -> tuple[int, int]:
    """First byte and the byte behind the last."""
    match = _RANGE.match(text)
    if match is None:
        raise BlobError("InvalidHeaderValue")
    start = int(match[1])
    end = min(int(match[2]) + 1, size) if match[2] else size
    if start >= end:
        raise BlobError("InvalidRange")
    return start, end


def _endpoint(request: Request) -> str:
    return f"http://{request.headers.get('host', '')}/{request.account}"


def _xml(document: bytes) -> Answer:
    return Answer(200, {"content-type": "application/xml"}, document)
