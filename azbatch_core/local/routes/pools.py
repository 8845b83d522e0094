"""Pools."""

from __future__ import annotations

from typing import TYPE_CHECKING

from azbatch_core.local.errors import BatchError
from azbatch_core.local.http import casing

if TYPE_CHECKING:
    from azbatch_core.local.http.call import Call
    from azbatch_core.local.http.response import Response


def create(call: Call) -> Response:
    """POST /pools."""
    return call.created(call.engine.pools.create(call.body))


def list_pools(call: Call) -> Response:
    """GET /pools."""
    page = call.page()
    documents, after = call.engine.pools.page(page.match, page.after, page.limit, hints=page.hints)
    return call.listing(documents, after, casing.POOL)


def get(call: Call) -> Response:
    """GET /pools/{poolId}."""
    return call.element(call.engine.pools.get(call.ids["poolId"]), casing.POOL)


def exists(call: Call) -> Response:
    """HEAD /pools/{poolId}."""
    response = call.element(call.engine.pools.get(call.ids["poolId"]))
    response.body = b""
    return response


def patch(call: Call) -> Response:
    """PATCH /pools/{poolId}."""
    return call.written(call.engine.pools.patch(call.ids["poolId"], call.body))


def replace(call: Call) -> Response:
    """POST /pools/{poolId}/updateproperties."""
    return call.written(call.engine.pools.replace(call.ids["poolId"], call.body))


def resize(call: Call) -> Response:
    """POST /pools/{poolId}/resize."""
    return call.written(call.engine.pools.resize(call.ids["poolId"], call.body))


def stop_resize(call: Call) -> Response:
    """POST /pools/{poolId}/stopresize."""
    return call.written(call.engine.pools.stop_resize(call.ids["poolId"]))


def remove_nodes(call: Call) -> Response:
    """POST /pools/{poolId}/removenodes."""
    return call.written(call.engine.pools.remove_nodes(call.ids["poolId"], call.body))


def enable_auto_scale(call: Call) -> Response:
    """POST /pools/{poolId}/enableautoscale."""
    return call.written(call.engine.pools.enable_auto_scale(call.ids["poolId"], call.body))


def evaluate_auto_scale(call: Call) -> Response:
    """POST /pools/{poolId}/evaluateautoscale."""
    run = call.engine.pools.evaluate_auto_scale(call.ids["poolId"], call.body["autoScaleFormula"])
    return call.element(run, tagged=False)


def disable_auto_scale(call: Call) -> Response:
    """POST /pools/{poolId}/disableautoscale."""
    return call.written(call.engine.pools.disable_auto_scale(call.ids["poolId"]))


def delete(call: Call) -> Response:
    """DELETE /pools/{poolId}."""
    call.engine.pools.delete(call.ids["poolId"])
    return call.done()


def usage_metrics(_call: Call) -> Response:
    """GET /poolusagemetrics, which answers its retirement since 2024-09-30."""
    raise BatchError("PoolUsageMetricAPIRetired")
