"""Images of nodes: what the account lists, and which references a pool may have."""

from __future__ import annotations

import json
import re
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from azbatch_core.local.errors import BatchError, invalid_property

if TYPE_CHECKING:
    from azbatch_core.local.store.records import Doc

__all__ = ["check_image", "supported_images"]

_MARKETPLACE = ("publisher", "offer", "sku")
_GALLERY = re.compile(
    r"/subscriptions/[^/]+/resourceGroups/[^/]+/providers/Microsoft\.Compute"
    r"/galleries/[^/]+/images/[^/]+(/versions/[^/]+)?",
    re.IGNORECASE,
)
_IMAGE = (
    "/subscriptions/{subscriptionId}/resourceGroups/{resourceGroupName}/providers/Microsoft.Compute"
    "/galleries/{galleryName}/images/{galleryImageName}"
)
_GALLERY_REASON = (
    f"The specified resource id must be of the format {_IMAGE}/versions/{{galleryImageVersionName}}"
    f" or {_IMAGE}"
)


def check_image(reference: Doc) -> None:
    """Refuse an image that no pool can have; the words are those of recorded refusals of 2025-01.

    Of marketplace images it takes those of the dated list and a few that the real service was seen to take
    without listing them.

    Raises:
        BatchError: `InvalidPropertyValue`.
    """
    resource = reference.get("virtualMachineImageId")
    if resource is not None:
        if not _GALLERY.fullmatch(resource):
            raise invalid_property("virtualMachineImageId", resource, _GALLERY_REASON)
        return
    if "sharedGalleryImageId" in reference or "communityGalleryImageId" in reference:
        return
    key = tuple(str(reference.get(name, "")) for name in _MARKETPLACE)
    if tuple(map(str.lower, key)) not in _known():
        raise BatchError(
            "InvalidPropertyValue",
            PropertyName="imageReference",
            Reason="The specified imageReference with publisher {} offer {} sku {} is not supported.".format(
                *key
            ),
        )


@lru_cache(maxsize=1)
def supported_images() -> tuple[Doc, ...]:
    """The documents of `GET /supportedimages`; `supported_images.json` says of what day and from where."""
    table = _table()
    return tuple(_document(dict(zip(table["columns"], row, strict=True))) for row in table["images"])


def _document(row: dict[str, Any]) -> Doc:
    reference = {name: row.pop(name) for name in _MARKETPLACE}
    document = {"imageReference": {**reference, "version": "latest"}, **row}
    if row["batchSupportEndOfLife"]:
        document["batchSupportEndOfLife"] += "T00:00:00Z"
    return {name: value for name, value in document.items() if value}


@lru_cache(maxsize=1)
def _known() -> frozenset[tuple[str, ...]]:
    table = _table()
    return frozenset(tuple(map(str.lower, row[:3])) for row in [*table["images"], *table["unlisted"]])


@lru_cache(maxsize=1)
def _table() -> dict[str, Any]:
    path = Path(__file__).parent / "supported_images.json"
    loaded: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return loaded
