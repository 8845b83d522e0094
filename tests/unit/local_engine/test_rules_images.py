"""Images that a pool may have, and how its users are echoed."""

from __future__ import annotations

from typing import Any

import pytest

from azbatch_core.catalog.images import images
from azbatch_core.local.errors import BatchError
from azbatch_core.local.rules import jobs, schedules
from azbatch_core.local.rules.images import check_machine, supported_images
from azbatch_core.local.rules.pools import check_fields, check_new, fill

IMAGE = "/subscriptions/s/resourceGroups/g/providers/Microsoft.Compute/galleries/y/images/i"

MANAGED = "/subscriptions/s/resourceGroups/g/providers/Microsoft.Compute/images/i"
SUBNET = "/subscriptions/s/resourceGroups/g/providers/Microsoft.Network/virtualNetworks/v/subnets/n"
UBUNTU = "batch.node.ubuntu 24.04"
CONTAINERS = {"containerConfiguration": {"type": "dockerCompatible"}}


def marketplace(publisher: str, offer: str, sku: str) -> dict[str, str]:
    return {"publisher": publisher, "offer": offer, "sku": sku}


def machine(publisher: str, offer: str, sku: str, agent: str = UBUNTU, **more: Any) -> dict[str, Any]:
    return {"imageReference": marketplace(publisher, offer, sku), "nodeAgentSKUId": agent, **more}


def by_id(**reference: str) -> dict[str, Any]:
    return {"imageReference": reference, "nodeAgentSKUId": UBUNTU}


@pytest.mark.parametrize("image", images(), ids=lambda image: image.name)
def test_every_image_that_plans_know_can_be_had_here(image: Any) -> None:
    plain = machine(image.publisher, image.offer, image.sku, image.agent)
    check_machine(plain)
    if image.docker:
        check_machine({**plain, **CONTAINERS})
    else:
        assert refusal({**plain, **CONTAINERS}) == ("InvalidPropertyValue", "containerConfiguration")


@pytest.mark.parametrize("image", supported_images(), ids=lambda image: image["imageReference"]["sku"])
def test_every_image_that_is_listed_can_be_had_with_its_agent_alone(image: dict[str, Any]) -> None:
    taken = {"imageReference": image["imageReference"], "nodeAgentSKUId": image["nodeAgentSKUId"]}
    check_machine(taken)
    for agent in {other["nodeAgentSKUId"] for other in supported_images()} - {image["nodeAgentSKUId"]}:
        assert refusal({**taken, "nodeAgentSKUId": agent}) == ("InvalidPropertyValue", "nodeAgentSKUId")
    assert refusal({**taken, "nodeAgentSKUId": "foo"}) == ("NodeAgentSKUNotFound", "")


def test_an_image_that_is_not_listed_and_can_be_had() -> None:
    check_machine(machine("Canonical", "UbuntuServer", "18.04-LTS", "batch.node.ubuntu 18.04"))


@pytest.mark.parametrize(
    "reference",
    [
        {"virtualMachineImageId": IMAGE},
        {"virtualMachineImageId": IMAGE.lower() + "/versions/1.2.3"},
        {"communityGalleryImageId": "/CommunityGalleries/c/Images/i/Versions/latest"},
        {"sharedGalleryImageId": "/SharedGalleries/s/Images/i/Versions/latest"},
    ],
)
def test_an_image_by_its_id_is_not_for_a_shared_key(reference: dict[str, str]) -> None:
    with pytest.raises(BatchError) as caught:
        check_machine(by_id(**reference))
    (name, value), *_ = reference.items()
    assert (caught.value.code, caught.value.status) == ("Forbidden", 403)
    assert dict(caught.value.values)["Reason"].startswith(f"Property {name} with value {value}")


@pytest.mark.parametrize("subnet", [SUBNET, "garbage"])
def test_a_subnet_is_not_for_a_shared_key(subnet: str) -> None:
    pool = {"id": "p", "vmSize": "standard_d2s_v3", "networkConfiguration": {"subnetId": subnet}}
    job = {"id": "j", "poolInfo": {"poolId": "p"}, "networkConfiguration": {"subnetId": subnet}}
    checks = [
        lambda: check_new(pool),
        lambda: check_fields(pool, {}),
        lambda: jobs.check_new(job),
        lambda: schedules.check_new({"id": "s", "schedule": {}, "jobSpecification": job}),
    ]
    for check in checks:
        with pytest.raises(BatchError) as caught:
            check()
        assert caught.value.code == "Forbidden"
        assert dict(caught.value.values)["Reason"].startswith(f"Property subnetId with value {subnet}")


@pytest.mark.parametrize(
    ("given", "name"),
    [
        (machine("a", "b", "c"), "imageReference"),
        (machine("canonical", "ubuntu-24_04-lts", "no such sku"), "imageReference"),
        (by_id(publisher="canonical"), "imageReference"),
        (by_id(), "imageReference"),
        (by_id(virtualMachineImageId=""), "virtualMachineImageId"),
        (by_id(virtualMachineImageId=IMAGE + "/"), "virtualMachineImageId"),
        # A managed image: retired.
        (by_id(virtualMachineImageId=MANAGED), "virtualMachineImageId"),
    ],
)
def test_images_that_no_pool_can_have(given: dict[str, Any], name: str) -> None:
    assert refusal(given) == ("InvalidPropertyValue", name)


def refusal(given: dict[str, Any]) -> tuple[str, str]:
    """The code and the property that it names."""
    with pytest.raises(BatchError) as caught:
        check_machine(given)
    return caught.value.code, dict(caught.value.values).get("PropertyName", "")


def test_the_ends_that_were_announced_are_listed() -> None:
    ends = {
        item["imageReference"]["sku"]: item.get("batchSupportEndOfLife", "")[:10]
        for item in supported_images()
    }
    assert ends["20_04-lts"] == "2025-04-23"
    assert ends["22_04-lts"] == ends["2204"] == "2027-06-30"
    assert ends["2016-datacenter"] == "2027-01-12"
    assert ends["server"] == ""


@pytest.mark.parametrize(
    ("agent", "given", "echoed"),
    [
        ("batch.node.windows amd64", {}, {"loginMode": "batch"}),
        ("batch.node.windows amd64", {"loginMode": "interactive"}, {"loginMode": "interactive"}),
        ("batch.node.ubuntu 24.04", {}, {}),
    ],
)
def test_how_users_log_in_is_spelt_out_on_windows(
    agent: str, given: dict[str, str], echoed: dict[str, str]
) -> None:
    user = {"name": "u", **({"windowsUserConfiguration": given} if given else {})}
    machine = {"imageReference": {"sku": "s"}, "nodeAgentSKUId": agent}
    spec = fill({"vmSize": "x", "virtualMachineConfiguration": machine, "userAccounts": [user]})
    assert spec["userAccounts"][0].get("windowsUserConfiguration", {}) == echoed
