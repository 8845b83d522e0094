"""What an account offers, whatever is in it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from azbatch_core.local.routes.slices import page_of
from azbatch_core.local.rules.images import supported_images as images

if TYPE_CHECKING:
    from azbatch_core.local.http.call import Call
    from azbatch_core.local.http.response import Response


def supported_images(call: Call) -> Response:
    """GET /supportedimages: a dated copy of what a real account listed."""
    documents, after = page_of(images(), call.page())
    return call.listing(documents, after)
