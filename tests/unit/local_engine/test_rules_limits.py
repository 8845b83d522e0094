"""What a pool's parts may be, and what its size allows."""

from __future__ import annotations

from typing import Any

import pytest

from azbatch_core.catalog.vm_sizes import vm_sizes
from azbatch_core.local.errors import HIDDEN, BatchError
from azbatch_core.local.rules import pools
from azbatch_core.local.rules.limits import check_parts, cores_of

ENDPOINT = {
    "name": "ssh",
    "protocol": "tcp",
    "backendPort": 22,
    "frontendPortRangeStart": 15000,
    "frontendPortRangeEnd": 15039,
}
RULE = {"priority": 150, "access": "allow", "sourceAddressPrefix": "*"}
BLOBS = {"accountName": "a", "containerName": "c", "relativeMountPath": "data/in", "accountKey": "secret"}
NFS = {"source": "10.0.0.1:/x", "relativeMountPath": "x"}


def network(*endpoints: dict[str, Any], **more: Any) -> dict[str, Any]:
    """A pool's network."""
    return {"networkConfiguration": {"endpointConfiguration": {"inboundNATPools": list(endpoints)}, **more}}


def endpoint(number: int = 0, **more: Any) -> dict[str, Any]:
    """One of several endpoints that go together."""
    first = 15000 + 40 * number
    ports = {"frontendPortRangeStart": first, "frontendPortRangeEnd": first + 39}
    return {**ENDPOINT, "name": f"e{number}", "backendPort": 1000 + number, **ports, **more}


def rules(*given: dict[str, Any]) -> dict[str, Any]:
    """A pool of one endpoint with these rules."""
    return network({**ENDPOINT, "networkSecurityGroupRules": list(given)})


def mount(**system: Any) -> dict[str, Any]:
    """A pool with one mount."""
    return {"mountConfiguration": [system]}


@pytest.mark.parametrize(
    "pool",
    [
        network(ENDPOINT),
        network(*(endpoint(number) for number in range(5))),
        network({**ENDPOINT, "name": "a" * 77}),
        network({**ENDPOINT, "name": "0.b-c_", "backendPort": 65535}),
        network({**ENDPOINT, "frontendPortRangeStart": 1, "frontendPortRangeEnd": 49999}),
        network({**ENDPOINT, "frontendPortRangeStart": 55001, "frontendPortRangeEnd": 65534}),
        rules(*({**RULE, "priority": 150 + number} for number in range(25))),
        rules({**RULE, "sourcePortRanges": ["22", "100-200", "0", "65535"]}),
        rules({**RULE, "sourcePortRanges": ["*"]}),
        mount(azureBlobFileSystemConfiguration=BLOBS),
        {"mountConfiguration": [{"nfsMountConfiguration": NFS}] * 10},
        {"userAccounts": [{"name": "Zoë d'Été.x"}]},
        {"userAccounts": [{"name": "u", "linuxUserConfiguration": {"uid": 1001, "gid": 1001}}]},
        {"virtualMachineConfiguration": {"dataDisks": [{"lun": 0}, {"lun": 63}]}},
    ],
)
def test_parts_that_can_be_are_taken(pool: dict[str, Any]) -> None:
    check_parts(pool)


@pytest.mark.parametrize(
    ("pool", "name", "value", "rule"),
    [
        (network({**ENDPOINT, "backendPort": 70000}), "backendPort", "70000", "1 to 65535"),
        (network({**ENDPOINT, "backendPort": 0}), "backendPort", "0", "1 to 65535"),
        (network({**ENDPOINT, "backendPort": 29876}), "backendPort", "29876", "29877 are reserved"),
        (
            network({**ENDPOINT, "frontendPortRangeStart": 1000, "frontendPortRangeEnd": 900}),
            "frontendPortRangeEnd",
            "900",
            "at least 40 ports; from 1000 it has 0",
        ),
        (
            network({**ENDPOINT, "frontendPortRangeEnd": 15038}),
            "frontendPortRangeEnd",
            "15038",
            "from 15000 it has 39",
        ),
        (network({**ENDPOINT, "frontendPortRangeStart": -1}), "frontendPortRangeStart", "-1", "1 to 65534"),
        (network({**ENDPOINT, "frontendPortRangeEnd": 65535}), "frontendPortRangeEnd", "65535", "1 to 65534"),
        (
            network({**ENDPOINT, "frontendPortRangeStart": 50000, "frontendPortRangeEnd": 50100}),
            "frontendPortRangeStart",
            "50000",
            "50000 to 55000 are reserved",
        ),
        (
            network({**ENDPOINT, "frontendPortRangeStart": 49000, "frontendPortRangeEnd": 60000}),
            "frontendPortRangeEnd",
            "60000",
            "50000 to 55000 are reserved",
        ),
        (network({**ENDPOINT, "name": "!!"}), "name", "!!", "begins with a letter or digit"),
        (network({**ENDPOINT, "name": "a-"}), "name", "a-", "ends with one or an underscore"),
        (network({**ENDPOINT, "name": "a" * 78}), "name", "a" * 78, "1 to 77"),
        (network(endpoint(0), endpoint(1, name="E0")), "name", "e0", "unique within the pool"),
        (network(endpoint(0), endpoint(1, backendPort=1000)), "backendPort", "1000", "unique within"),
        (
            network(endpoint(1, frontendPortRangeStart=15030), endpoint(0)),
            "frontendPortRangeStart",
            "15030",
            "overlap: one ends at 15039",
        ),
        (network(*(endpoint(number) for number in range(6))), "inboundNATPools", "6", "at most 5"),
        (
            network(ENDPOINT, publicIPAddressConfiguration={"provision": "nopublicipaddresses"}),
            "inboundNATPools",
            "1",
            "without public addresses",
        ),
        (
            rules(*({**RULE, "priority": 150 + number} for number in range(26))),
            "networkSecurityGroupRules",
            "26",
            "at most 25",
        ),
        (rules({**RULE, "priority": 149}), "priority", "149", "between 150 and 4096"),
        (rules(RULE, RULE), "priority", "150", "unique within the pool"),
        (rules({**RULE, "sourcePortRanges": ["x"]}), "sourcePortRanges", "x", "a range such as 100-200"),
        (rules({**RULE, "sourcePortRanges": ["9-8"]}), "sourcePortRanges", "9-8", "a range such as"),
        (rules({**RULE, "sourcePortRanges": ["65536"]}), "sourcePortRanges", "65536", "within 0 to 65535"),
        (rules({**RULE, "sourcePortRanges": ["5-9", "9"]}), "sourcePortRanges", "9", "overlaps"),
        (mount(), "mountConfiguration", HIDDEN, "Exactly one of azureBlobFileSystemConfiguration, nfs"),
        (
            mount(azureBlobFileSystemConfiguration=BLOBS, nfsMountConfiguration=NFS),
            "mountConfiguration",
            HIDDEN,
            "Exactly one of",
        ),
        (
            {"mountConfiguration": [{"nfsMountConfiguration": NFS}] * 11},
            "mountConfiguration",
            "11",
            "at most 10",
        ),
        (
            mount(azureBlobFileSystemConfiguration={**BLOBS, "sasKey": "other"}),
            "sasKey",
            HIDDEN,
            "Exactly one of accountKey, sasKey, identityReference",
        ),
        (
            mount(azureBlobFileSystemConfiguration={**BLOBS, "accountKey": None}),
            "azureBlobFileSystemConfiguration",
            HIDDEN,
            "Exactly one of accountKey",
        ),
        *(
            (
                mount(nfsMountConfiguration={**NFS, "relativeMountPath": path}),
                "relativeMountPath",
                HIDDEN,
                "below",
            )
            for path in ("", "/x", "../../x", "a/../../x", "\\x", "a\\..\\..\\x", "C:\\x")
        ),
        *(({"userAccounts": [{"name": name}]}, "name", HIDDEN, "20") for name in ("", "x" * 21)),
        *(
            ({"userAccounts": [{"name": name}]}, "name", HIDDEN, "no slash")
            for name in ("../x", "a\\b", "a:b", "a\nb")
        ),
        *(
            (
                {"userAccounts": [{"name": "u", "linuxUserConfiguration": {key: 1001}}]},
                key,
                HIDDEN,
                "together",
            )
            for key in ("uid", "gid")
        ),
        ({"virtualMachineConfiguration": {"dataDisks": [{"lun": 64}]}}, "lun", "64", "between 0 and 63"),
        (
            {"applicationPackageReferences": [{"applicationId": "a"}] * 11},
            "applicationPackageReferences",
            "11",
            "at most 10",
        ),
    ],
)
def test_parts_that_cannot_be_are_refused(pool: dict[str, Any], name: str, value: str, rule: str) -> None:
    with pytest.raises(BatchError) as caught:
        pools.check_new({"vmSize": "standard_d2s_v3", **pool})
    assert (caught.value.code, caught.value.status) == ("InvalidPropertyValue", 400)
    found = dict(caught.value.values)
    assert (found["PropertyName"], found["PropertyValue"]) == (name, value)
    assert rule in found["Reason"]


@pytest.mark.parametrize(
    ("size", "most"),
    [
        ("standard_d2s_v3", 8),
        ("STANDARD_D4S_V5", 16),
        ("standard_a1_v2", 4),
        ("standard_d3_v2", 16),
        ("standard_ds14_v2", 64),
        ("standard_a4", 32),
        ("standard_hb120rs_v3", 256),
    ],
)
def test_slots_are_at_most_four_for_each_core(size: str, most: int) -> None:
    pools.check_new({"vmSize": size, "taskSlotsPerNode": most})
    for slots in (0, most + 1):
        with pytest.raises(BatchError) as caught:
            pools.check_new({"vmSize": size, "taskSlotsPerNode": slots})
        found = dict(caught.value.values)
        assert (found["PropertyName"], found["PropertyValue"]) == ("taskSlotsPerNode", str(slots))
        assert found["Reason"].startswith(f"The value must be between 1 and {most}: ")


def test_no_size_has_more_cores_than_its_name_is_read_as() -> None:
    """Else a pool would be refused that the service takes; sizes with cores held back may be read as more."""
    assert {size.name for size in vm_sizes() if cores_of(size.name.lower()) < size.vcpus} == set()
    whole = [size for size in vm_sizes() if "-" not in size.name]
    assert {size.name for size in whole if cores_of(size.name.lower()) != size.vcpus} == set()


@pytest.mark.parametrize("change", [{"taskSlotsPerNode": 9}, {"vmSize": "standard_a1_v2"}])
def test_a_change_is_judged_with_what_stays(change: dict[str, Any]) -> None:
    kept = {"vmSize": "standard_d2s_v3", "taskSlotsPerNode": 8}
    with pytest.raises(BatchError) as caught:
        pools.check_fields(change, kept)
    assert dict(caught.value.values)["PropertyName"] == "taskSlotsPerNode"


def test_a_pool_of_an_earlier_version_can_still_be_changed() -> None:
    pools.check_fields({"metadata": []}, {"vmSize": "standard_d2s_v3", "taskSlotsPerNode": 100})
