"""Images that a pool may have, and how its users are echoed."""

from __future__ import annotations

from typing import Any

import pytest

from azbatch_core.catalog.images import images
from azbatch_core.local.errors import BatchError
from azbatch_core.local.rules.images import check_image, supported_images
from azbatch_core.local.rules.pools import fill

IMAGE = "/subscriptions/s/resourceGroups/g/providers/Microsoft.Compute/galleries/y/images/i"


def marketplace(publisher: str, offer: str, sku: str) -> dict[str, str]:
    return {"publisher": publisher, "offer": offer, "sku": sku}


@pytest.mark.parametrize("image", images(), ids=lambda image: image.name)
def test_every_image_that_plans_know_can_be_had_here(image: Any) -> None:
    check_image(marketplace(image.publisher, image.offer, image.sku))


@pytest.mark.parametrize("image", supported_images(), ids=lambda image: image["imageReference"]["sku"])
def test_every_image_that_is_listed_can_be_had(image: dict[str, Any]) -> None:
    check_image(image["imageReference"])


@pytest.mark.parametrize(
    "reference",
    [
        marketplace("Canonical", "UbuntuServer", "18.04-LTS"),
        {"virtualMachineImageId": IMAGE},
        {"virtualMachineImageId": IMAGE.lower() + "/versions/1.2.3"},
        {"communityGalleryImageId": "/CommunityGalleries/c/Images/i/Versions/latest"},
        {"sharedGalleryImageId": "/SharedGalleries/s/Images/i/Versions/latest"},
    ],
)
def test_images_that_are_not_listed_and_can_be_had(reference: dict[str, str]) -> None:
    check_image(reference)


@pytest.mark.parametrize(
    ("reference", "name"),
    [
        (marketplace("a", "b", "c"), "imageReference"),
        (marketplace("canonical", "ubuntu-24_04-lts", "no such sku"), "imageReference"),
        ({"publisher": "canonical"}, "imageReference"),
        ({}, "imageReference"),
        ({"virtualMachineImageId": ""}, "virtualMachineImageId"),
        ({"virtualMachineImageId": IMAGE + "/"}, "virtualMachineImageId"),
        # A managed image: retired.
        (
            {
                "virtualMachineImageId": "/subscriptions/s/resourceGroups/g/providers"
                "/Microsoft.Compute/images/i"
            },
            "virtualMachineImageId",
        ),
    ],
)
def test_images_that_no_pool_can_have(reference: dict[str, str], name: str) -> None:
    with pytest.raises(BatchError) as caught:
        check_image(reference)
    assert caught.value.code == "InvalidPropertyValue"
    assert caught.value.values[0] == ("PropertyName", name)


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
