"""The XML documents of the blob service."""

from __future__ import annotations

from datetime import datetime, timezone
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest

from azbatch_core.local.blobs.documents import blob_list, error_document, http_date, parse_block_list
from azbatch_core.local.blobs.errors import BlobError
from azbatch_core.local.blobs.records import Blob

NOW = datetime(2026, 12, 1, 4, 5, 6, tzinfo=timezone.utc)


def test_dates_are_written_in_english() -> None:
    assert http_date(NOW) == "Tue, 01 Dec 2026 04:05:06 GMT"


@pytest.mark.parametrize("name", ["a<b>&'\"", "tab\tend", "\x01\x02", "日本"])
def test_any_name_gives_a_document_that_can_be_read(name: str) -> None:
    blob = Blob("box", name, Path("/x"), 3, "0x1", NOW, NOW)
    document = blob_list("http://h/a", "box", {"prefix": "<&"}, [blob, "folder&/"], "next&")
    root = ET.fromstring(document)  # noqa: S314 - our own document
    assert root.findtext("NextMarker") == "next&"
    assert root.findtext("Blobs/BlobPrefix/Name") == "folder&/"
    found = root.find("Blobs/Blob/Name")
    assert found is not None
    assert (found.get("Encoded") == "true") == (name == "\x01\x02")


def test_a_refusal_can_be_read() -> None:
    root = ET.fromstring(error_document("A", "<m>", "&d"))  # noqa: S314 - our own document
    assert [child.text for child in root] == ["A", "<m>", "&d"]


def test_a_block_list_is_read_in_order() -> None:
    blocks = b"<Latest>QQ==</Latest><Committed> Qg== </Committed><Uncommitted>Qw==</Uncommitted>"
    document = b"<BlockList>" + blocks + b"</BlockList>"
    assert parse_block_list(document) == [("Latest", "QQ=="), ("Committed", "Qg=="), ("Uncommitted", "Qw==")]


@pytest.mark.parametrize(
    "document",
    [
        b"",
        b"<BlockList>",
        b"\xff",
        b'<!DOCTYPE b [<!ENTITY a "aaaa"><!ENTITY c "&a;&a;">]><BlockList><Latest>&c;</Latest></BlockList>',
    ],
)
def test_what_is_no_block_list_is_refused(document: bytes) -> None:
    with pytest.raises(BlobError, match="InvalidXmlDocument"):
        parse_block_list(document)
