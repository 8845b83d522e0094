"""Nodes and their counts."""

from __future__ import annotations

from typing import TYPE_CHECKING

from azbatch_core.local.http import casing

if TYPE_CHECKING:
    from azbatch_core.local.http.call import Call
    from azbatch_core.local.http.response import Response


def list_nodes(call: Call) -> Response:
    """GET /pools/{poolId}/nodes."""
    page = call.page()
    documents, after = call.engine.nodes.page(
        call.ids["poolId"], page.match, page.after, page.limit, hints=page.hints
    )
    return call.listing(documents, after, casing.NODE)


def get(call: Call) -> Response:
    """GET /pools/{poolId}/nodes/{nodeId}."""
    document = call.engine.nodes.get(call.ids["poolId"], call.ids["nodeId"])
    return call.element(document, casing.NODE, tagged=False)


def counts(call: Call) -> Response:
    """GET /nodecounts."""
    page = call.page()
    documents, after = call.engine.nodes.counts(page.match, page.after, page.limit)
    return call.listing(documents, after)
