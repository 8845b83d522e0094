"""Pools: what is refused, what is filled in, what is shown."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from azbatch_core.local.autoscale import FormulaError, parse
from azbatch_core.local.errors import BatchError, invalid_property
from azbatch_core.local.rules.checks import (
    check_at_least,
    check_id,
    check_metadata,
    check_program,
    check_seconds,
)
from azbatch_core.local.rules.documents import default_identity, put_written, without_secrets
from azbatch_core.local.rules.images import check_machine
from azbatch_core.local.rules.limits import check_parts, check_slots
from azbatch_core.local.rules.node_access import is_windows
from azbatch_core.local.rules.times import moment, ticks_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from azbatch_core.local.autoscale import AutoScaleResult
    from azbatch_core.local.store.records import Doc, Pool

    Change = Callable[[Doc, Doc], Doc]

__all__ = [
    "allocation_error",
    "auto_scale_run",
    "check_fields",
    "check_formula",
    "check_interval",
    "check_new",
    "check_removal",
    "check_resize",
    "container_configuration",
    "fill",
    "fill_start_task",
    "patched",
    "pool_document",
    "quota_error",
    "replaced",
    "resize_error",
]

_RESIZE_LEAST = 300.0
_REMOVED_MOST = 100
_INTERVAL_LEAST, _INTERVAL_MOST = 300.0, 168 * 3600.0
_NO_CORES = "The specified account has reached core quota"
_VM_SIZE = re.compile(r"(standard|basic)_[a-z0-9_\-]+", re.IGNORECASE)
_REPLACEABLE = ("startTask", "metadata", "applicationPackageReferences")
_PATCHABLE = (
    "displayName",
    "vmSize",
    "enableInterNodeCommunication",
    "startTask",
    "applicationPackageReferences",
    "metadata",
    "virtualMachineConfiguration",
    "taskSlotsPerNode",
    "taskSchedulingPolicy",
    "networkConfiguration",
    "userAccounts",
    "mountConfiguration",
    "upgradePolicy",
)


def check_new(body: Doc) -> None:
    """Refuse a pool, or the pool of an auto pool, that the service would refuse."""
    if "id" in body:
        check_id(body["id"])
    _check_scaling(body)
    check_fields(body, {})
    check_resize(body)


def _check_scaling(body: Doc) -> None:
    """A pool has targets or a formula (SDK BatchPoolCreateOptions.enable_auto_scale)."""
    if not body.get("enableAutoScale"):
        if body.get("autoScaleFormula") or body.get("autoScaleEvaluationInterval"):
            raise invalid_property(
                "autoScaleFormula",
                body.get("autoScaleFormula"),
                "The pool does not have enableAutoScale set.",
            )
        return
    if not body.get("autoScaleFormula"):
        raise BatchError("InvalidAutoScalingSettings", Reason="enableAutoScale needs an autoScaleFormula.")
    for name in ("targetDedicatedNodes", "targetLowPriorityNodes"):
        if body.get(name) is not None:
            reason = f"{name} cannot be specified together with enableAutoScale."
            raise BatchError("InvalidAutoScalingSettings", Reason=reason)
    check_interval(body)


def check_interval(body: Doc) -> None:
    """Refuse an evaluation interval outside 5 minutes to 168 hours."""
    check_seconds(body, "autoScaleEvaluationInterval", least=_INTERVAL_LEAST, most=_INTERVAL_MOST)


def check_formula(formula: str) -> None:
    """Refuse a formula that does not parse or is too long, with the service's code."""
    try:
        parse(formula)
    except FormulaError as failure:
        raise BatchError(failure.error.code, **dict(failure.error.values)) from None


def check_fields(body: Doc, kept: Doc) -> None:
    """Refuse wrong values in what both creation and PATCH may set; `kept` is the pool's spec before it."""
    size = body.get("vmSize")
    if size is not None and not _VM_SIZE.fullmatch(size):
        raise invalid_property(
            "vmSize", size, "The value provided for one of the properties in the request body is invalid."
        )
    if size is not None or body.get("taskSlotsPerNode") is not None:
        check_slots({**kept, **body})
    check_parts(body)
    check_machine(body.get("virtualMachineConfiguration") or {})
    check_metadata(body)
    start = body.get("startTask")
    if start:
        check_at_least(start, "maxTaskRetryCount", -1)
        check_program(start)


def check_resize(body: Doc) -> None:
    """Refuse wrong targets and a resize timeout under five minutes."""
    check_at_least(body, "targetDedicatedNodes", 0)
    check_at_least(body, "targetLowPriorityNodes", 0)
    check_seconds(body, "resizeTimeout", least=_RESIZE_LEAST)


def check_removal(body: Doc) -> None:
    """Refuse a removal of no node or of more than 100 (SDK BatchNodeRemoveOptions), and a short timeout."""
    count = len(body["nodeList"])
    if not 1 <= count <= _REMOVED_MOST:
        reason = f"Between 1 and {_REMOVED_MOST} nodes can be removed in one request; it names {count}."
        raise invalid_property("nodeList", count, reason)
    check_seconds(body, "resizeTimeout", least=_RESIZE_LEAST)


def fill_start_task(given: Doc) -> Doc:
    """A start task as echoed."""
    return {
        **given,
        "maxTaskRetryCount": given.get("maxTaskRetryCount") or 0,
        "userIdentity": given.get("userIdentity") or default_identity(),
        "waitForSuccess": given.get("waitForSuccess", True),
    }


def _fill_user(given: Doc) -> Doc:
    """A user account of a Windows pool as echoed; recorded: the default mode of login is spelt out."""
    return {
        **given,
        "windowsUserConfiguration": {"loginMode": "batch", **given.get("windowsUserConfiguration", {})},
    }


def _fill_vm(given: Doc) -> Doc:
    vm = dict(given)
    image = vm.get("imageReference")
    if image and "virtualMachineImageId" not in image:
        vm["imageReference"] = {**image, "version": image.get("version") or "latest"}
    if vm.get("osDisk"):
        vm["osDisk"] = {"ephemeralOSDiskSettings": {}, **vm["osDisk"]}
    return vm


def fill(body: Doc) -> Doc:
    """The user's part of a pool as echoed; targets and resize timeout are kept apart from it."""
    spec = {
        key: value
        for key, value in body.items()
        if value is not None and key not in {"targetDedicatedNodes", "targetLowPriorityNodes"}
    }
    spec["resizeTimeout"] = body.get("resizeTimeout") or "PT15M"
    spec["enableAutoScale"] = bool(body.get("enableAutoScale"))
    if spec["enableAutoScale"]:
        spec.setdefault("autoScaleEvaluationInterval", "PT15M")
    else:
        spec.pop("autoScaleFormula", None)
        spec.pop("autoScaleEvaluationInterval", None)
    spec["enableInterNodeCommunication"] = bool(body.get("enableInterNodeCommunication"))
    spec["taskSlotsPerNode"] = body.get("taskSlotsPerNode") or 1
    spec["taskSchedulingPolicy"] = {"nodeFillType": "spread", **(body.get("taskSchedulingPolicy") or {})}
    spec["vmSize"] = str(body.get("vmSize") or "").lower()
    if spec.get("startTask"):
        spec["startTask"] = fill_start_task(spec["startTask"])
    if spec.get("virtualMachineConfiguration"):
        spec["virtualMachineConfiguration"] = _fill_vm(spec["virtualMachineConfiguration"])
        if is_windows(spec):
            spec["userAccounts"] = [_fill_user(user) for user in spec.get("userAccounts") or ()]
    if spec.get("networkConfiguration"):
        spec["networkConfiguration"] = {"dynamicVNetAssignmentScope": "none", **spec["networkConfiguration"]}
    _drop_empty(spec)
    return spec


def _drop_empty(spec: Doc) -> None:
    # Lists that were given empty are not echoed (recorded for metadata and package references).
    for name in ("metadata", "applicationPackageReferences", "userAccounts"):
        if not spec.get(name):
            spec.pop(name, None)


def patched(spec: Doc, body: Doc) -> Doc:
    """A pool's spec after PATCH: what is given replaces, what is not stays."""
    given = {key: body[key] for key in _PATCHABLE if body.get(key) is not None}
    return fill({**spec, **given})


def replaced(spec: Doc, body: Doc) -> Doc:
    """A pool's spec after `updateproperties`: what the body omits of the three is removed."""
    return fill({**spec, **{name: body.get(name) for name in _REPLACEABLE}})


def container_configuration(spec: Doc) -> Doc:
    """`containerConfiguration` of a pool; empty if its nodes are not to run containers."""
    found: Doc = (spec.get("virtualMachineConfiguration") or {}).get("containerConfiguration") or {}
    return found


def resize_error(kind: str) -> Doc:
    """The record of a resize that was stopped short; `kind` is `dedicated` or `low priority`."""
    return {
        "code": "ResizeStopped",
        "message": f"Desired number of {kind} nodes could not be allocated due to a stop resize operation",
    }


def allocation_error(code: str, kind: str, reason: str | None = None) -> Doc:
    """The record of a resize that the service could not carry out; `kind` as in `resize_error`."""
    short = f"Desired number of {kind} nodes could not be allocated"
    messages = {
        "AllocationFailed": short,
        "AllocationTimedout": f"{short} as the resize timeout was reached",
        "AccountSpotCoreQuotaReached": "The specified account has reached Spot core quota",
        "AccountLowPriorityCoreQuotaReached": "The specified account has reached low priority core quota",
        "Unknown": "An unknown error has occurred",
    }
    error: Doc = {"code": code, "message": messages.get(code, _NO_CORES)}
    if reason:
        error["values"] = [{"name": "Reason", "value": reason}]
    return error


def quota_error(kind: str, reason: str) -> Doc:
    """The record of a resize that met the account's limit; `kind` as in `resize_error`."""
    code = "AccountCoreQuotaReached" if kind == "dedicated" else "AccountSpotCoreQuotaReached"
    return allocation_error(code, kind, reason)


def pool_document(pool: Pool, base: str, current: tuple[int, int]) -> Doc:
    """A pool as GET shows it; `current` counts its dedicated and spot nodes."""
    doc: Doc = without_secrets(pool.spec)
    doc["url"] = f"{base}/pools/{pool.id}"
    put_written(doc, pool.created, pool.modified)
    doc["state"] = pool.state
    doc["stateTransitionTime"] = moment(pool.since)
    doc["allocationState"] = pool.allocation
    doc["allocationStateTransitionTime"] = moment(pool.allocation_since)
    if pool.allocation != "steady":
        doc["resizeTimeout"] = pool.resize_timeout
    elif pool.resize_errors:
        doc["resizeErrors"] = pool.resize_errors
    doc["currentDedicatedNodes"], doc["currentLowPriorityNodes"] = current
    doc["targetDedicatedNodes"] = pool.dedicated
    doc["targetLowPriorityNodes"] = pool.spot
    if pool.auto_scale_run is not None:
        doc["autoScaleRun"] = pool.auto_scale_run
    return doc


def auto_scale_run(result: AutoScaleResult) -> Doc:
    """A run of a formula as on the wire."""
    doc: Doc = {"timestamp": moment(ticks_of(result.timestamp)), "results": result.results}
    if result.error is not None:
        doc["error"] = result.error.to_wire()
    return doc
