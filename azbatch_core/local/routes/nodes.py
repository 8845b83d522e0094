"""Nodes and their counts."""

from __future__ import annotations

from typing import TYPE_CHECKING

from azbatch_core.local.http import casing
from azbatch_core.local.routes.slices import page_of

if TYPE_CHECKING:
    from azbatch_core.local.http.call import Call
    from azbatch_core.local.http.response import Response
    from azbatch_core.local.rules.nodes import GoingDown
    from azbatch_core.local.store.records import Deallocation


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


def reboot(call: Call) -> Response:
    """POST …/reboot."""
    return _go_down(call, "rebooting", "nodeRebootOption")


def reimage(call: Call) -> Response:
    """POST …/reimage."""
    return _go_down(call, "reimaging", "nodeReimageOption")


def deallocate(call: Call) -> Response:
    """POST …/deallocate."""
    return _go_down(call, "deallocating", "nodeDeallocateOption")


def _go_down(call: Call, state: GoingDown, option: str) -> Response:
    engine, ids = call.engine, call.ids
    engine.nodes.go_down(ids["poolId"], ids["nodeId"], state, call.body.get(option) or "requeue")
    return call.acted()


def start(call: Call) -> Response:
    """POST …/start."""
    call.engine.nodes.start(call.ids["poolId"], call.ids["nodeId"])
    return call.acted()


def disable_scheduling(call: Call) -> Response:
    """POST …/disablescheduling."""
    option: Deallocation = call.body.get("nodeDisableSchedulingOption") or "requeue"
    call.engine.nodes.disable_scheduling(call.ids["poolId"], call.ids["nodeId"], option)
    return call.acted()


def enable_scheduling(call: Call) -> Response:
    """POST …/enablescheduling."""
    call.engine.nodes.enable_scheduling(call.ids["poolId"], call.ids["nodeId"])
    return call.acted()


def create_user(call: Call) -> Response:
    """POST …/users."""
    call.engine.node_access.create_user(call.ids["poolId"], call.ids["nodeId"], call.body)
    return call.created_untagged(call.body["name"])


def replace_user(call: Call) -> Response:
    """PUT …/users/{userName}."""
    ids = call.ids
    call.engine.node_access.replace_user(ids["poolId"], ids["nodeId"], ids["userName"], call.body)
    return call.acted()


def delete_user(call: Call) -> Response:
    """DELETE …/users/{userName}."""
    ids = call.ids
    call.engine.node_access.delete_user(ids["poolId"], ids["nodeId"], ids["userName"])
    return call.done()


def remote_login(call: Call) -> Response:
    """GET …/remoteloginsettings, the one GET whose answer has the header `DataServiceId`."""
    found = call.engine.node_access.remote_login(call.ids["poolId"], call.ids["nodeId"])
    response = call.element(found, tagged=False)
    response.headers["DataServiceId"] = call.url
    return response


def upload_logs(call: Call) -> Response:
    """POST …/uploadbatchservicelogs."""
    found = call.engine.node_access.upload_logs(call.ids["poolId"], call.ids["nodeId"], call.body)
    return call.element(found, tagged=False)


def list_extensions(call: Call) -> Response:
    """GET …/extensions."""
    found = call.engine.node_access.extensions(call.ids["poolId"], call.ids["nodeId"])
    documents, after = page_of(found, call.page())
    return call.listing(documents, after)


def get_extension(call: Call) -> Response:
    """GET …/extensions/{extensionName}."""
    ids = call.ids
    found = call.engine.node_access.extension(ids["poolId"], ids["nodeId"], ids["extensionName"])
    return call.element(found, tagged=False)


def counts(call: Call) -> Response:
    """GET /nodecounts."""
    page = call.page()
    documents, after = call.engine.nodes.counts(page.match, page.after, page.limit)
    return call.listing(documents, after)
