"""The table of node images: agents, generations, ends of support."""

from __future__ import annotations

import json
from datetime import date
from importlib import resources

from azbatch_core.catalog.images import default_image, default_images, find_image, images


def test_the_table_says_where_it_comes_from_and_when():
    table = json.loads(resources.files("azbatch_core.catalog").joinpath("images.json").read_text("utf-8"))
    assert "supported images" in table["source"]
    assert date.fromisoformat(table["as_of"]).year >= 2026


def test_each_image_has_an_agent_of_its_own_system():
    for image in images():
        assert image.agent.startswith("batch.node.")
        for version in ("20.04", "22.04", "24.04"):
            if version.replace(".", "") in image.sku.replace("_", "").replace("-", ""):
                assert version in image.agent


def test_an_image_is_found_in_any_case():
    image = find_image("Canonical", "0001-COM-ubuntu-server-jammy", "22_04-LTS")
    assert image is not None
    assert image.agent == "batch.node.ubuntu 22.04"
    assert image.end_of_support == date(2027, 6, 30)
    assert find_image("canonical", "ubuntu-server", "26.04") is None


def test_the_default_is_plain_ubuntu_of_the_right_generation():
    modern, old = default_image(), default_image(generations=(1,))
    assert modern is not None
    assert (modern.name, modern.agent) == ("canonical ubuntu-24_04-lts server", "batch.node.ubuntu 24.04")
    assert old is not None
    assert old.sku == "server-gen1"


def test_containers_and_gpus_get_an_image_that_can_do_them():
    for wish in ({"docker": True}, {"nvidia": True}, {"docker": True, "nvidia": True}):
        image = default_image(**wish)
        assert image is not None
        assert image.name == "microsoft-dsvm ubuntu-hpc 2404"
        assert image.docker
        assert image.nvidia


def test_a_default_never_changes_the_system_to_suit_a_vm_size():
    assert default_image(docker=True, generations=(1,)) is None


def test_arm_sizes_get_an_arm_image():
    image = default_image(architecture="arm64")
    assert image is not None
    assert image.agent == "batch.node.ubuntu 24.04-arm64"


def test_no_default_is_at_the_end_of_its_support():
    for docker in (False, True):
        assert all(image.end_of_support is None for image in default_images(docker=docker))
