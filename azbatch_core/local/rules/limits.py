"""What a pool's parts may be: slots, endpoints, subnets, mounts, users, disks, packages.

Every rule is written down in the SDK's model that its function names, beside most with the words "the request
fails with HTTP status code 400". What is assumed is said to be, here and in docs/assumptions.md.
"""

from __future__ import annotations

import re
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from azbatch_core.local.errors import HIDDEN, invalid_property
from azbatch_core.local.rules.images import forbidden_by_key

if TYPE_CHECKING:
    from collections.abc import Iterable

    from azbatch_core.local.store.records import Doc

__all__ = ["check_parts", "check_slots", "check_subnet", "cores_of"]

_SLOTS_MOST, _SLOTS_A_CORE = 256, 4
_USER_NAME_MOST = 20
# Assumed of what the model calls "any Unicode characters": signs that names of neither system can have.
_NO_NAME = re.compile(r"[/\\:\x00-\x1f\x7f]")
_PACKAGES_MOST = 10
_UNIT_MOST = 63

_ENDPOINTS_MOST = 5
_ENDPOINT_NAME = re.compile(r"(?=.{1,77}\Z)[A-Za-z0-9](?:[A-Za-z0-9_.-]*[A-Za-z0-9_])?", re.ASCII)
_PORT_MOST = 65535
_AGENT_PORTS = (29876, 29877)
_FRONTEND_MOST = 65534
_RESERVED = range(50000, 55001)
_PORTS_LEAST = 40
_RULES_MOST = 25
_PRIORITIES = range(150, 4097)
_PORTS = re.compile(r"(\d{1,5})(?:-(\d{1,5}))?", re.ASCII)

_MOUNTS_MOST = 10  # "Mount a virtual file system on a Batch pool"
_FILE_SYSTEMS = (
    "azureBlobFileSystemConfiguration",
    "nfsMountConfiguration",
    "cifsMountConfiguration",
    "azureFileShareConfiguration",
)
_BLOB_LOGINS = ("accountKey", "sasKey", "identityReference")

_CORES = re.compile(r"(?:standard|basic)_[a-z]+(\d+)", re.IGNORECASE)
_BY_PLACE = re.compile(
    r"(?:standard|basic)_(?:(a|gs?)(\d+)(?:-\d+)?|(ds?)(\d+)(?:-\d+)?(?:_v2)?)(?:_promo)?", re.IGNORECASE
)
_PLACES = {
    "a": {0: 1, 1: 1, 2: 2, 3: 4, 4: 8, 5: 2, 6: 4, 7: 8, 8: 8, 9: 16, 10: 8, 11: 16},
    "d": {1: 1, 2: 2, 3: 4, 4: 8, 5: 16, 11: 2, 12: 4, 13: 8, 14: 16, 15: 20},
    "g": {1: 2, 2: 4, 3: 8, 4: 16, 5: 32},
}


def cores_of(vm_size: str) -> int:
    """The cores of a VM size by its name: `standard_d2s_v3` has 2 (documented naming convention).

    In names of the oldest series (A, D, DS, Dv2, DSv2, G, GS) the number is a place in the series, and those
    are listed ("Sizes for virtual machines in Azure"). Where cores are held back (`standard_m16-4ms`) all
    count. 1 for a name without a number.
    """
    old = _BY_PLACE.fullmatch(vm_size)
    if old:
        series, place = old[1] or old[3], int(old[2] or old[4])
        return _PLACES[series[0].lower()].get(place, place)
    found = _CORES.match(vm_size)
    return int(found[1]) if found else 1


def check_slots(pool: Doc) -> None:
    """The smaller of 256 and four for each core of the VM size (SDK BatchPoolCreateOptions)."""
    slots = pool.get("taskSlotsPerNode")
    if slots is None:
        return
    cores = cores_of(pool.get("vmSize") or "")
    most = min(_SLOTS_MOST, _SLOTS_A_CORE * cores)
    if not 1 <= slots <= most:
        raise invalid_property(
            "taskSlotsPerNode",
            slots,
            f"The value must be between 1 and {most}: the smaller of {_SLOTS_MOST} and {_SLOTS_A_CORE} for"
            f" each core of the vmSize, which has {cores}.",
        )


def check_parts(pool: Doc) -> None:
    """Refuse a network, mounts, users, disks or packages that no pool can have."""
    _check_network(pool.get("networkConfiguration") or {})
    _check_mounts(pool.get("mountConfiguration") or ())
    for user in pool.get("userAccounts") or ():
        _check_user(user)
    for disk in (pool.get("virtualMachineConfiguration") or {}).get("dataDisks") or ():
        _check_disk(disk)
    count = len(pool.get("applicationPackageReferences") or ())
    if count > _PACKAGES_MOST:
        reason = f"A pool has at most {_PACKAGES_MOST} package references; it names {count}."
        raise invalid_property("applicationPackageReferences", count, reason)


def _check_user(user: Doc) -> None:
    """SDK UserAccount, LinuxUserConfiguration; no value is shown, as a password is among them."""
    name, ids = user["name"], user.get("linuxUserConfiguration") or {}
    if not 1 <= len(name) <= _USER_NAME_MOST:
        raise invalid_property("name", HIDDEN, f"A user name has 1 to {_USER_NAME_MOST} characters.")
    if _NO_NAME.search(name):
        raise invalid_property(
            "name", HIDDEN, "A user name has no slash, backslash, colon or control character."
        )
    if ("uid" in ids) != ("gid" in ids):
        raise invalid_property(
            "gid" if "gid" in ids else "uid", HIDDEN, "uid and gid are specified together."
        )


def _check_disk(disk: Doc) -> None:
    """SDK DataDisk."""
    number = disk["lun"]
    if not 0 <= number <= _UNIT_MOST:
        raise invalid_property("lun", number, f"The value must be between 0 and {_UNIT_MOST}.")


def check_subnet(network: Doc) -> None:
    """Refuse a subnet, of a pool or of a job, as for an account that is used with its key (recorded)."""
    subnet = network.get("subnetId")
    if subnet is not None:
        raise forbidden_by_key("subnetId", subnet)


def _check_network(network: Doc) -> None:
    check_subnet(network)
    pools = (network.get("endpointConfiguration") or {}).get("inboundNATPools") or ()
    if not pools:
        return
    provision = (network.get("publicIPAddressConfiguration") or {}).get("provision")
    if provision == "nopublicipaddresses":
        raise invalid_property("inboundNATPools", len(pools), "A pool without public addresses has none.")
    if len(pools) > _ENDPOINTS_MOST:
        reason = f"A pool has at most {_ENDPOINTS_MOST} inbound NAT pools; it has {len(pools)}."
        raise invalid_property("inboundNATPools", len(pools), reason)
    for pool in pools:
        _check_endpoint(pool)
    _refuse_twice("name", [pool["name"].lower() for pool in pools])
    _refuse_twice("backendPort", [pool["backendPort"] for pool in pools])
    ranges = sorted((pool["frontendPortRangeStart"], pool["frontendPortRangeEnd"]) for pool in pools)
    for (_, end), (start, _) in pairwise(ranges):
        if start <= end:
            reason = f"The ranges of the pool's endpoints overlap: one ends at {end}."
            raise invalid_property("frontendPortRangeStart", start, reason)
    _check_rules([rule for pool in pools for rule in pool.get("networkSecurityGroupRules") or ()])


def _check_endpoint(pool: Doc) -> None:
    """SDK BatchInboundNatPool."""
    name, port = pool["name"], pool["backendPort"]
    if not _ENDPOINT_NAME.fullmatch(name):
        reason = (
            "A name is 1 to 77 letters, digits, underscores, periods and hyphens; it begins with a letter or"
            " digit and ends with one or an underscore."
        )
        raise invalid_property("name", name, reason)
    if not 1 <= port <= _PORT_MOST or port in _AGENT_PORTS:
        reason = f"A port is 1 to {_PORT_MOST}; 29876 and 29877 are reserved."
        raise invalid_property("backendPort", port, reason)
    first, last = pool["frontendPortRangeStart"], pool["frontendPortRangeEnd"]
    for key, value in (("frontendPortRangeStart", first), ("frontendPortRangeEnd", last)):
        if not 1 <= value <= _FRONTEND_MOST or value in _RESERVED:
            reason = f"A port is 1 to {_FRONTEND_MOST}; 50000 to 55000 are reserved."
            raise invalid_property(key, value, reason)
    if first < _RESERVED.start <= last:
        raise invalid_property("frontendPortRangeEnd", last, "Ports 50000 to 55000 are reserved.")
    if last - first + 1 < _PORTS_LEAST:
        reason = f"A range has at least {_PORTS_LEAST} ports; from {first} it has {max(0, last - first + 1)}."
        raise invalid_property("frontendPortRangeEnd", last, reason)


def _check_rules(rules: list[Doc]) -> None:
    """SDK NetworkSecurityGroupRule, and how many of them BatchInboundNatPool allows a pool."""
    if len(rules) > _RULES_MOST:
        reason = f"A pool has at most {_RULES_MOST} rules over all of its endpoints; it has {len(rules)}."
        raise invalid_property("networkSecurityGroupRules", len(rules), reason)
    for rule in rules:
        if rule["priority"] not in _PRIORITIES:
            raise invalid_property("priority", rule["priority"], "The value must be between 150 and 4096.")
        _check_ports(rule.get("sourcePortRanges") or ())
    _refuse_twice("priority", [rule["priority"] for rule in rules])


def _check_ports(texts: Iterable[str]) -> None:
    found = []
    for text in texts:
        match = _PORTS.fullmatch(text)
        ports = (0, _PORT_MOST) if text == "*" else match and (int(match[1]), int(match[2] or match[1]))
        if not ports or not ports[0] <= ports[1] <= _PORT_MOST:
            reason = f"*, a port or a range such as 100-200 is expected, within 0 to {_PORT_MOST}."
            raise invalid_property("sourcePortRanges", text, reason)
        found.append((*ports, text))
    for (_, end, _), (start, _, text) in pairwise(sorted(found)):
        if start <= end:
            raise invalid_property("sourcePortRanges", text, "It overlaps with another one of the rule.")


def _refuse_twice(name: str, values: list[Any]) -> None:
    for value in values:
        if values.count(value) > 1:
            raise invalid_property(name, value, "The value must be unique within the pool.")


def _check_mounts(mounts: Iterable[Doc]) -> None:
    """SDK MountConfiguration; no value is shown, as keys are among them."""
    systems = [_file_system(mount) for mount in mounts]
    if len(systems) > _MOUNTS_MOST:
        reason = f"A pool has at most {_MOUNTS_MOST} mounts; it has {len(systems)}."
        raise invalid_property("mountConfiguration", len(systems), reason)
    for kind, system in systems:
        # Assumed of a path that is "relative to the Batch mounts directory": it stays inside.
        parts = re.split(r"[/\\]", system["relativeMountPath"])
        if not parts[0] or ".." in parts or ":" in parts[0]:
            reason = "A path below the mounts directory is expected: not empty, no root, no '..' in it."
            raise invalid_property("relativeMountPath", HIDDEN, reason)
        given = [name for name in _BLOB_LOGINS if system.get(name)]
        if kind == _FILE_SYSTEMS[0] and len(given) != 1:
            reason = f"Exactly one of {', '.join(_BLOB_LOGINS)} must be specified."
            raise invalid_property(given[-1] if given else kind, HIDDEN, reason)


def _file_system(mount: Doc) -> tuple[str, Doc]:
    given = [name for name in _FILE_SYSTEMS if mount.get(name) is not None]
    if len(given) != 1:
        reason = f"Exactly one of {', '.join(_FILE_SYSTEMS)} must be specified."
        raise invalid_property("mountConfiguration", HIDDEN, reason)
    return given[0], mount[given[0]]
