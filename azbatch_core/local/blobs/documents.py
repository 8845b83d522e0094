"""The XML documents of the Blob service: lists, block lists and errors."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING
from urllib.parse import quote
from xml.parsers import expat
from xml.sax.saxutils import escape, quoteattr

from azbatch_core.local.blobs.errors import BlobError

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from datetime import datetime

    from azbatch_core.local.blobs.records import Blob, Block, Container

_HEAD = '<?xml version="1.0" encoding="utf-8"?>'
_NOT_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_DAYS = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")
_MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")
_BLOCK_KINDS = {"Committed", "Uncommitted", "Latest"}


def http_date(moment: datetime) -> str:
    """A time as HTTP writes it, whatever the locale."""
    day, month = _DAYS[moment.weekday()], _MONTHS[moment.month - 1]
    return f"{day}, {moment:%d} {month} {moment:%Y %H:%M:%S} GMT"


def error_document(code: str, message: str, detail: str = "") -> bytes:
    """The body of a refusal."""
    extra = _tag("AuthenticationErrorDetail", detail) if detail else ""
    return f"{_HEAD}<Error>{_tag('Code', code)}{_tag('Message', message)}{extra}</Error>".encode()


def blob_list(
    endpoint: str, container: str, query: dict[str, str], entries: Iterable[Blob | str], marker: str
) -> bytes:
    """A page of blobs; strings among the entries are common prefixes."""
    with_metadata = "metadata" in query.get("include", "").split(",")
    items = "".join(
        f"<BlobPrefix>{_name(entry)}</BlobPrefix>" if isinstance(entry, str) else _blob(entry, with_metadata)
        for entry in entries
    )
    attributes = f"ServiceEndpoint={quoteattr(endpoint)} ContainerName={quoteattr(container)}"
    return (
        f"{_HEAD}<EnumerationResults {attributes}>"
        f"{_echo(query)}<Blobs>{items}</Blobs>{_tag('NextMarker', marker)}</EnumerationResults>"
    ).encode()


def container_list(
    endpoint: str, query: dict[str, str], containers: Iterable[Container], marker: str
) -> bytes:
    """A page of containers."""
    items = "".join(
        f"<Container>{_name(container.name)}<Properties>"
        f"{_tag('Last-Modified', http_date(container.modified))}{_tag('Etag', _quoted(container.etag))}"
        "<LeaseStatus>unlocked</LeaseStatus><LeaseState>available</LeaseState></Properties></Container>"
        for container in containers
    )
    return (
        f"{_HEAD}<EnumerationResults ServiceEndpoint={quoteattr(endpoint)}>{_echo(query)}"
        f"<Containers>{items}</Containers>{_tag('NextMarker', marker)}</EnumerationResults>"
    ).encode()


def block_list(committed: Sequence[Block], uncommitted: Sequence[Block], kind: str) -> bytes:
    """The blocks of a blob; `kind` is `committed`, `uncommitted` or `all`."""
    parts = ""
    if kind != "uncommitted":
        parts += f"<CommittedBlocks>{_blocks(committed)}</CommittedBlocks>"
    if kind != "committed":
        parts += f"<UncommittedBlocks>{_blocks(uncommitted)}</UncommittedBlocks>"
    return f"{_HEAD}<BlockList>{parts}</BlockList>".encode()


def parse_block_list(document: bytes) -> list[tuple[str, str]]:
    """The pairs of kind and block id in the body of a commit; raises `InvalidXmlDocument`."""
    pairs: list[tuple[str, str]] = []

    def start(name: str, _attributes: dict[str, str]) -> None:
        if name in _BLOCK_KINDS:
            pairs.append((name, ""))

    def text(data: str) -> None:
        if pairs:
            kind, so_far = pairs[-1]
            pairs[-1] = (kind, so_far + data)

    def refuse(*_: object) -> None:
        raise BlobError("InvalidXmlDocument")

    parser = expat.ParserCreate()
    parser.StartElementHandler = start
    parser.CharacterDataHandler = text
    # No entities: a few bytes of them can stand for gigabytes.
    parser.EntityDeclHandler = refuse
    try:
        parser.Parse(document, True)
    except expat.ExpatError:
        raise BlobError("InvalidXmlDocument") from None
    return [(kind, block_id.strip()) for kind, block_id in pairs]


def _blob(blob: Blob, with_metadata: bool) -> str:  # noqa: FBT001 - private
    properties = blob.properties
    metadata = "".join(_tag(name, value) for name, value in blob.metadata.items()) if with_metadata else ""
    return (
        f"<Blob>{_name(blob.name)}<Properties>"
        f"{_tag('Creation-Time', http_date(blob.created))}{_tag('Last-Modified', http_date(blob.modified))}"
        f"{_tag('Etag', blob.etag)}{_tag('Content-Length', str(blob.size))}"
        f"{_tag('Content-Type', properties.get('content-type', ''))}"
        f"{_tag('Content-Encoding', properties.get('content-encoding', ''))}"
        f"{_tag('Content-Language', properties.get('content-language', ''))}"
        f"{_tag('Content-MD5', properties.get('content-md5', ''))}"
        f"{_tag('Cache-Control', properties.get('cache-control', ''))}"
        "<BlobType>BlockBlob</BlobType><AccessTier>Hot</AccessTier><LeaseStatus>unlocked</LeaseStatus>"
        "<LeaseState>available</LeaseState><ServerEncrypted>true</ServerEncrypted></Properties>"
        f"<Metadata>{metadata}</Metadata></Blob>"
    )


def _blocks(blocks: Iterable[Block]) -> str:
    return "".join(
        f"<Block>{_tag('Name', block.id)}{_tag('Size', str(block.size))}</Block>" for block in blocks
    )


def _echo(query: dict[str, str]) -> str:
    names = {"prefix": "Prefix", "marker": "Marker", "maxresults": "MaxResults", "delimiter": "Delimiter"}
    return "".join(_tag(tag, query[name]) for name, tag in names.items() if query.get(name))


def _name(name: str) -> str:
    # What XML cannot hold travels percent-encoded ("List Blobs": Encoded).
    if _NOT_XML.search(name):
        return f'<Name Encoded="true">{quote(name, safe="")}</Name>'
    return _tag("Name", name)


def _tag(name: str, text: str) -> str:
    return f"<{name}>{escape(text)}</{name}>" if text else f"<{name}/>"


def _quoted(etag: str) -> str:
    return f'"{etag}"'
