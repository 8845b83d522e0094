"""The table of node images: which node agent each one needs, what it can do, until when it is supported."""

from __future__ import annotations

import json
from dataclasses import dataclass
from datetime import date
from functools import lru_cache
from importlib import resources
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    from azbatch_core.catalog.vm_sizes import Architecture


@dataclass(frozen=True)
class Image:
    """A marketplace image that Batch nodes start from.

    Attributes:
        publisher: With `offer` and `sku` the image's name; case does not matter.
        offer: See `publisher`.
        sku: See `publisher`.
        agent: The node agent that belongs to it (``nodeAgentSKUId``).
        generation: The hypervisor generation that it needs.
        architecture: ``x64`` or ``arm64``.
        os: ``linux`` or ``windows``.
        docker: Whether it can host containers.
        nvidia: Whether it carries NVIDIA's driver.
        end_of_support: The day from which Batch makes no pool of it any more; None where none is announced.
    """

    publisher: str
    offer: str
    sku: str
    agent: str
    generation: int
    architecture: Architecture
    os: Literal["linux", "windows"]
    docker: bool
    nvidia: bool
    end_of_support: date | None

    @property
    def name(self) -> str:
        """``publisher offer sku``."""
        return f"{self.publisher} {self.offer} {self.sku}"


@lru_cache(maxsize=1)
def _table() -> dict[str, Any]:
    text = resources.files("azbatch_core.catalog").joinpath("images.json").read_text(encoding="utf-8")
    table: dict[str, Any] = json.loads(text)
    return table


def _image(row: dict[str, Any]) -> Image:
    end = row["end_of_support"]
    return Image(
        publisher=row["publisher"],
        offer=row["offer"],
        sku=row["sku"],
        agent=row["agent"],
        generation=row["generation"],
        architecture=row["arch"],
        os=row["os"],
        docker=bool(row["docker"]),
        nvidia=bool(row["nvidia"]),
        end_of_support=date.fromisoformat(end) if end else None,
    )


@lru_cache(maxsize=1)
def images() -> tuple[Image, ...]:
    """All images, the preferred ones first."""
    table = _table()
    return tuple(_image(dict(zip(table["columns"], row, strict=True))) for row in table["images"])


def find_image(publisher: str, offer: str, sku: str) -> Image | None:
    """The image of that name in any case; None where the table has none."""
    wanted = (publisher.lower(), offer.lower(), sku.lower())
    return next((image for image in images() if (image.publisher, image.offer, image.sku) == wanted), None)


def default_images(
    *, docker: bool = False, nvidia: bool = False, architecture: Architecture = "x64"
) -> list[Image]:
    """The images that a pool can get when its spec names none: one system, in each hypervisor generation.

    The first line of images of the table that does what is asked: plain Ubuntu LTS unless containers or GPUs
    are asked for, because the images with Docker and a driver are far bigger.
    """
    able = [
        image
        for image in images()
        if (image.docker or not docker)
        and (image.nvidia or not nvidia)
        and image.architecture == architecture
        and image.end_of_support is None
    ]
    return [image for image in able if (image.publisher, image.offer) == (able[0].publisher, able[0].offer)]


def default_image(
    *,
    docker: bool = False,
    nvidia: bool = False,
    architecture: Architecture = "x64",
    generations: tuple[int, ...] = (),
) -> Image | None:
    """The default image that boots on one of a VM size's hypervisor generations (empty = any)."""
    candidates = default_images(docker=docker, nvidia=nvidia, architecture=architecture)
    fitting = (image for image in candidates if not generations or image.generation in generations)
    return next(fitting, None)
