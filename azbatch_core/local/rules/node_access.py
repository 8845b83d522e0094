"""Ways onto a node: its users and endpoints, and the extensions of its machine."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from azbatch_core.local.errors import HIDDEN, BatchError, invalid_property
from azbatch_core.local.rules.documents import without_secrets
from azbatch_core.local.rules.times import moment
from azbatch_core.local.wire.durations import TICKS_PER_SECOND, sortable_time

if TYPE_CHECKING:
    from azbatch_core.local.store.records import Doc, Node

__all__ = [
    "check_new_user",
    "check_secrets",
    "endpoints",
    "expiry_of",
    "extension_documents",
    "ipv6_address",
    "is_windows",
    "remote_login",
]

# SDK UserAccount.name says 20 characters; the signs are those that both systems take.
_USER_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_.-]{0,19}")
_DAY = 86400 * TICKS_PER_SECOND
_LOGIN_PORTS = (22, 3389)
_PLACE = "localhost"
_LOOPBACK_6 = "::1"
# What the SDK's live tests find on a Linux node beside the pool's own.
_OWN_EXTENSION: dict[str, Any] = {
    "name": "batchNodeExtension",
    "publisher": "Microsoft.Azure.Extensions",
    "type": "CustomScript",
}


def is_windows(spec: Doc) -> bool:
    """Whether a pool's nodes run Windows."""
    agent = (spec.get("virtualMachineConfiguration") or {}).get("nodeAgentSKUId") or ""
    return bool(agent.lower().startswith("batch.node.windows"))


def check_new_user(spec: Doc, body: Doc, now: int) -> None:
    """Refuse a user whose name, password, key or expiry time cannot be."""
    name = body["name"]
    if not _USER_NAME.fullmatch(name):
        reason = "A user name is 1 to 20 letters, digits, underscores, periods and hyphens, letters first."
        raise invalid_property("name", name, reason)
    check_secrets(spec, body, now)


def check_secrets(spec: Doc, body: Doc, now: int) -> None:
    """Refuse what SDK BatchNodeUserCreateOptions rules out for the nodes' system; no secret is quoted."""
    if is_windows(spec):
        if body.get("sshPublicKey"):
            raise invalid_property("sshPublicKey", HIDDEN, "Nodes with Windows take no SSH public keys.")
        if not body.get("password"):
            raise BatchError("MissingRequiredProperty", PropertyName="password")
    expiry = body.get("expiryTime")
    if expiry is not None and sortable_time(expiry) <= sortable_time(moment(now)):
        raise invalid_property("expiryTime", expiry, "The expiry time must be in the future.")


def expiry_of(body: Doc, now: int) -> str:
    """When a user expires: as asked for, else in a day (SDK BatchNodeUserCreateOptions.expiry_time)."""
    return str(body.get("expiryTime") or moment(now + _DAY))


def endpoints(node: Node, spec: Doc) -> list[Doc]:
    """A node's `inboundEndpoints`, from the pool's `inboundNATPools`.

    Names are `<name>.<number>` (recorded), with one for each family of addresses that the pool has. The
    pool's ranges of ports are shared out by the nodes' numbers. Nothing listens there.
    """
    network = spec.get("networkConfiguration") or {}
    addresses = [node.address, _LOOPBACK_6] if _has_ipv6(network) else [node.address]
    pools = (network.get("endpointConfiguration") or {}).get("inboundNATPools") or ()
    found = []
    for pool in pools:
        first, last = pool["frontendPortRangeStart"], pool["frontendPortRangeEnd"]
        number = (node.key - 1) % max(1, last - first + 1)
        found += [
            {
                "name": f"{pool['name']}.{number}",
                "protocol": pool["protocol"],
                "publicIPAddress": address,
                "publicFQDN": _PLACE,
                "frontendPort": first + number,
                "backendPort": pool["backendPort"],
            }
            for address in addresses
        ]
    return found


def ipv6_address(spec: Doc) -> str | None:
    """A node's `ipv6Address`: None unless the pool has public addresses of that family."""
    return _LOOPBACK_6 if _has_ipv6(spec.get("networkConfiguration") or {}) else None


def _has_ipv6(network: Doc) -> bool:
    families = (network.get("publicIPAddressConfiguration") or {}).get("ipFamilies") or ()
    return any(family.lower() == "ipv6" for family in families)


def remote_login(node: Node, spec: Doc) -> Doc:
    """Where to log in to a node.

    Since mid-2024 no port is open unless the pool has an endpoint for it ("Pool endpoint configuration").

    Raises:
        BatchError: OperationNotValidOnNode: the pool has no endpoint for SSH or RDP.
    """
    ways = [way for way in endpoints(node, spec) if way["backendPort"] in _LOGIN_PORTS]
    if ways:
        found = {
            "remoteLoginIPAddress": ways[0]["publicIPAddress"],
            "remoteLoginPort": ways[0]["frontendPort"],
        }
        if ipv6_address(spec) is not None:
            found["ipv6RemoteLoginIPAddress"] = _LOOPBACK_6
            found["ipv6RemoteLoginPort"] = ways[0]["frontendPort"]
        return found
    reason = "The pool has no inbound endpoint for the port of SSH (22) or RDP (3389)."
    raise BatchError("OperationNotValidOnNode", Reason=reason)


def extension_documents(node: Node, spec: Doc) -> list[Doc]:
    """The extensions of a node's machine, Batch's own last; those of a node that came up are installed."""
    given = [*((spec.get("virtualMachineConfiguration") or {}).get("extensions") or ()), _OWN_EXTENSION]
    word = "Creating" if node.booted is None else "Succeeded"
    status: Doc = {
        "code": f"ProvisioningState/{word.lower()}",
        "level": "Info",
        "displayStatus": "Provisioning succeeded" if node.booted is not None else "Creating",
    }
    if node.booted is not None:
        status["time"] = moment(node.booted)
    return [
        {
            "provisioningState": word,
            "vmExtension": without_secrets(item),
            "instanceView": {"name": item["name"], "statuses": [status]},
        }
        for item in given
    ]
