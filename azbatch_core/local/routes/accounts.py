"""What an account offers, whatever is in it."""

from __future__ import annotations

import json
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from azbatch_core.local.routes.slices import page_of

if TYPE_CHECKING:
    from azbatch_core.local.http.call import Call
    from azbatch_core.local.http.response import Response


def supported_images(call: Call) -> Response:
    """GET /supportedimages: a dated copy of what a real account listed."""
    documents, after = page_of(_images(), call.page())
    return call.listing(documents, after)


@lru_cache(maxsize=1)
def _images() -> tuple[dict[str, Any], ...]:
    table = json.loads((Path(__file__).parent / "supported_images.json").read_text(encoding="utf-8"))
    return tuple(_document(dict(zip(table["columns"], row, strict=True))) for row in table["images"])


def _document(row: dict[str, Any]) -> dict[str, Any]:
    reference = {name: row.pop(name) for name in ("publisher", "offer", "sku")}
    document = {"imageReference": {**reference, "version": "latest"}, **row}
    if row["batchSupportEndOfLife"]:
        document["batchSupportEndOfLife"] += "T00:00:00Z"
    return {name: value for name, value in document.items() if value}
