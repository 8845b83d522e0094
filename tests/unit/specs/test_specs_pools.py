"""The three kinds of pool."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from specs_refusals import refusal

from azbatch_core.specs import AutoPool, ExistingPool, ImageSpec, JobSpec, ManagedPool, StartTask, shell

IDENTITY = "/subscriptions/s/resourceGroups/g/providers/Microsoft.ManagedIdentity/userAssignedIdentities/i"
SUBNET = "/subscriptions/s/resourceGroups/g/providers/Microsoft.Network/virtualNetworks/v/subnets/n"
GALLERY = "/subscriptions/s/resourceGroups/g/providers/Microsoft.Compute/galleries/g/images/i"
MARKETPLACE = {"publisher": "canonical", "offer": "ubuntu-24_04-lts", "sku": "server"}


def pool(given_value: Any) -> Any:
    return JobSpec(name="x", pool=given_value).pool


@pytest.mark.parametrize(
    ("given_value", "expected"),
    [
        ("my-pool", ExistingPool(id="my-pool")),
        ({"id": "my-pool"}, ExistingPool(id="my-pool")),
        ({"kind": "existing", "id": "my-pool"}, ExistingPool(id="my-pool")),
        ({}, ManagedPool()),
        ({"nodes": 3}, ManagedPool(nodes=3)),
        ({"kind": "auto", "nodes": 3}, AutoPool(nodes=3)),
        (AutoPool(keep_alive=True), AutoPool(keep_alive=True)),
        (None, None),
    ],
)
def test_forms_of_pools(given_value: Any, expected: Any):
    assert pool(given_value) == expected


def test_defaults():
    managed = ManagedPool()
    assert (managed.nodes, managed.spot_nodes, managed.node_fill, managed.containers) == (
        None,
        0,
        "pack",
        False,
    )
    assert (managed.max_nodes, managed.min_nodes, managed.spot, managed.is_fixed) == (None, 0, False, False)
    assert managed.idle_time == timedelta(minutes=15)
    assert AutoPool().nodes == 1
    assert (AutoPool().keep_alive, AutoPool().lifetime) == (False, "job")


def test_spot_nodes_alone_bring_no_dedicated_node():
    assert (ManagedPool(spot_nodes=4).nodes, ManagedPool(spot_nodes=4).spot_nodes) == (0, 4)
    assert (ManagedPool(spot_nodes=4, nodes=1).nodes, AutoPool(spot_nodes=1).nodes) == (1, 0)


def test_a_whole_pool():
    made = pool(
        {
            "kind": "managed",
            "name": "team-a",
            "vm_size": "Standard_D4s_v5",
            "task_slots_per_node": 4,
            "node_fill": "spread",
            "image": MARKETPLACE,
            "start_task": {"command": {"shell": "apt-get update && apt-get install -y x"}, "elevated": True},
            "registries": [{"server": "r.azurecr.io", "identity": IDENTITY}],
            "container_images": ["ubuntu:24.04"],
            "subnet_id": SUBNET,
            "identities": [IDENTITY],
            "resize_timeout": "30m",
        }
    )
    assert made.start_task == StartTask(
        command=shell("apt-get update && apt-get install -y x"), elevated=True
    )
    assert made.start_task.wait_for_success
    assert made.image == ImageSpec(**MARKETPLACE, version="latest")
    assert made.resize_timeout == timedelta(minutes=30)


@pytest.mark.parametrize(
    ("given_value", "field", "reason"),
    [
        (5, "pool", "id or a mapping"),
        ([], "pool", "id or a mapping"),
        ("a b", "pool.id", "has ' '"),
        ("", "pool.id", "empty"),
        ({"kind": "manged"}, "pool.kind", "'existing', 'managed', 'auto'"),
        ({"kind": 5}, "pool.kind", "not one of"),
        ({"kind": "existing"}, "pool.id", "missing"),
        ({"id": "x", "nodes": 3}, "pool.nodes", "unknown field"),
        ({"nodes": 0}, "pool.nodes", "no node"),
        ({"nodes": 0, "spot_nodes": 0}, "pool.nodes", "no node"),
        ({"kind": "auto", "nodes": 0}, "pool.nodes", "no node"),
        ({"nodes": -1}, "pool.nodes", "at least 0"),
        ({"nodes": 2, "max_nodes": 4}, "pool.max_nodes", "fixed size"),
        ({"spot_nodes": 2, "spot": True}, "pool.spot", "fixed size"),
        ({"max_nodes": 0}, "pool.max_nodes", "at least 1"),
        ({"max_nodes": 2, "min_nodes": 3}, "pool.min_nodes", "more than max_nodes"),
        ({"idle_time": "4m"}, "pool.idle_time", "5 minutes"),
        ({"idle_time": "2h"}, "pool.idle_time", "1 hour"),
        ({"kind": "auto", "max_nodes": 4}, "pool.max_nodes", "unknown field"),
        ({"nodes": True}, "pool.nodes", "whole number"),
        ({"spot_nodes": "2"}, "pool.spot_nodes", "whole number"),
        ({"task_slots_per_node": 0}, "pool.task_slots_per_node", "at least 1"),
        ({"task_slots_per_node": 257}, "pool.task_slots_per_node", "at most 256"),
        ({"node_fill": "packed"}, "pool.node_fill", "'spread', 'pack'"),
        ({"vm_size": "Standard D4"}, "pool.vm_size", "not a VM size"),
        ({"resize_timeout": "4m59s"}, "pool.resize_timeout", "5 minutes"),
        ({"subnet_id": "default"}, "pool.subnet_id", "not the resource id of a subnet"),
        ({"identities": ["me"]}, "pool.identities[0]", "not the resource id"),
        ({"kind": "auto", "identities": [IDENTITY]}, "pool.identities", "unknown field"),
        ({"kind": "auto", "id_prefix": "x" * 21}, "pool.id_prefix", "1 to 20"),
        ({"kind": "auto", "id_prefix": "a.b"}, "pool.id_prefix", "has '.'"),
        ({"kind": "auto", "lifetime": "jobschedule"}, "pool.lifetime", "'job'"),
        ({"name": "a b"}, "pool.name", "has ' '"),
        ({"container_images": "ubuntu"}, "pool.container_images", "list"),
        ({"container_images": ["Ubuntu"]}, "pool.container_images", "capital"),
        (
            {"registries": [{"identity": IDENTITY}, {"server": "Docker.io", "identity": IDENTITY}]},
            "pool.registries",
            "twice",
        ),
        ({"start_task": {"command": "a; b"}}, "pool.start_task.command", "plain string"),
        ({"start_task": {"command": []}}, "pool.start_task.command", "empty"),
        ({"start_task": {}}, "pool.start_task.command", "missing"),
        ({"image": "ubuntu"}, "pool.image", "mapping"),
        ({"image": {}}, "pool.image.publisher", "missing"),
        ({"image": {"publisher": "a", "sku": "b"}}, "pool.image.offer", "missing"),
        (
            {"image": {"image_id": "my-image", "node_agent": "batch.node.el 9"}},
            "pool.image.image_id",
            "gallery",
        ),
        ({"image": {"image_id": GALLERY}}, "pool.image.node_agent", "missing"),
        (
            {"image": {"image_id": GALLERY, "node_agent": "batch.node.el 9", "sku": "x"}},
            "pool.image.image_id",
            "alone",
        ),
        (
            {"image": {"image_id": GALLERY, "node_agent": "batch.node.el 9", "version": "1"}},
            "pool.image.image_id",
            "alone",
        ),
        ({"image": {**MARKETPLACE, "node_agent": "ubuntu"}}, "pool.image.node_agent", "not a node agent"),
        ({"metadata": {"azbatch:x": "1"}}, 'pool.metadata["azbatch:x"]', "azbatch itself"),
    ],
)
def test_wrong_pools(given_value: Any, field: str, reason: str):
    error = refusal(pool, given_value)
    assert error.field == field
    assert reason in error.message


def test_a_gallery_image_passes_with_and_without_version():
    for image_id in (GALLERY, GALLERY + "/versions/1.0.0"):
        assert ImageSpec(image_id=image_id, node_agent="batch.node.ubuntu 24.04").image_id == image_id


def test_why_an_auto_pool_takes_no_identities_is_told():
    hint = refusal(AutoPool, identities=[IDENTITY]).hint
    assert hint
    assert "kind: managed" in hint
