"""Applications."""

from __future__ import annotations

from typing import TYPE_CHECKING

from azbatch_core.local.routes.slices import page_of

if TYPE_CHECKING:
    from azbatch_core.local.http.call import Call
    from azbatch_core.local.http.response import Response


def list_applications(call: Call) -> Response:
    """GET /applications."""
    documents, after = page_of(call.engine.packages.page(), call.page())
    return call.listing(documents, after)


def get(call: Call) -> Response:
    """GET /applications/{applicationId}."""
    return call.element(call.engine.packages.get(call.ids["applicationId"]), tagged=False)
