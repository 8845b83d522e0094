"""Images of nodes: what the account lists, and which references a pool may have."""

from __future__ import annotations

import json
import re
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from azbatch_core.local.errors import BatchError, invalid_property

if TYPE_CHECKING:
    from azbatch_core.local.store.records import Doc

__all__ = ["check_machine", "forbidden_by_key", "supported_images"]

_MARKETPLACE = ("publisher", "offer", "sku")
_BY_ID = ("virtualMachineImageId", "sharedGalleryImageId", "communityGalleryImageId")
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


def check_machine(machine: Doc) -> None:
    """Refuse an image, its node agent or containers on it that no pool can have.

    The words are those of recorded refusals of 2025-01. Of marketplace images it takes those of the dated
    list and a few that the real service was seen to take without listing them. Images by id are for accounts
    that are used with Microsoft Entra ID, and this one is used with its key.

    Raises:
        BatchError: `InvalidPropertyValue`, `NodeAgentSKUNotFound`, or `Forbidden` for an image by id.
    """
    reference = machine.get("imageReference")
    if reference is None:
        return
    resource = reference.get("virtualMachineImageId")
    if resource is not None and not _GALLERY.fullmatch(resource):
        raise invalid_property("virtualMachineImageId", resource, _GALLERY_REASON)
    for name in _BY_ID:
        if name in reference:
            raise forbidden_by_key(name, reference[name])
    key = tuple(str(reference.get(name, "")) for name in _MARKETPLACE)
    image = _known().get(tuple(map(str.lower, key)))
    if image is None:
        raise BatchError(
            "InvalidPropertyValue",
            PropertyName="imageReference",
            Reason="The specified imageReference with publisher {} offer {} sku {} is not supported.".format(
                *key
            ),
        )
    _check_agent(machine.get("nodeAgentSKUId"), image)
    if machine.get("containerConfiguration") and not image.containers:
        raise invalid_property(
            "containerConfiguration",
            machine["containerConfiguration"],
            "The specified imageReference with publisher {} offer {} sku {} cannot host containers: it has"
            " not the capability DockerCompatible.".format(*key),
        )


def _check_agent(agent: str | None, image: _Image) -> None:
    if agent is None or agent.lower() == image.agent:
        return
    if agent.lower() not in {known.agent for known in _known().values()}:
        raise BatchError("NodeAgentSKUNotFound")
    raise invalid_property(
        "nodeAgentSKUId", agent, f"The node agent of the specified imageReference is {image.agent}."
    )


def forbidden_by_key(name: str, value: str) -> BatchError:
    """The refusal of what only Microsoft Entra ID may ask for; how its reason begins is recorded."""
    reason = f"Property {name} with value {value} needs Microsoft Entra ID: it is not for the account's key"
    return BatchError("Forbidden", Reason=reason)


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


class _Image(NamedTuple):
    agent: str
    containers: bool


@lru_cache(maxsize=1)
def _known() -> dict[tuple[str, ...], _Image]:
    """Images by publisher, offer and sku, all in lower case."""
    table = _table()
    rows = [(*row[:4], row[-1]) for row in table["images"]] + [(*row, ()) for row in table["unlisted"]]
    return {
        tuple(map(str.lower, names)): _Image(agent.lower(), "DockerCompatible" in capabilities)
        for *names, agent, capabilities in rows
    }


@lru_cache(maxsize=1)
def _table() -> dict[str, Any]:
    path = Path(__file__).parent / "supported_images.json"
    loaded: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return loaded
