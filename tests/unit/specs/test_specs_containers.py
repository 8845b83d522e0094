"""Containers and registries."""

from __future__ import annotations

from typing import Any

import pytest
from specs_refusals import refusal

from azbatch_core.specs import ContainerSpec, RegistrySpec, Secret, TaskSpec

IDENTITY = (
    "/subscriptions/s/resourceGroups/g/providers/Microsoft.ManagedIdentity/userAssignedIdentities/puller"
)


@pytest.mark.parametrize(
    "options", ["--gpus all", "--rm --gpus=all", "'--gpus' 1", ["--gpus", "all"], ["--gpus=2"]]
)
def test_gpus_are_refused_because_batch_gives_them(options: Any):
    error = refusal(ContainerSpec, image="a", run_options=options)
    assert error.field == "run_options"
    assert "GPUs by itself" in error.message


@pytest.mark.parametrize("options", ["--runtime nvidia", "--runtime=nvidia", ("--runtime", "runc")])
def test_the_runtime_is_refused_because_batch_chooses_it(options: Any):
    assert "runtime by itself" in refusal(ContainerSpec, image="a", run_options=options).message


@pytest.mark.parametrize("options", ["--rm 'x", 5, ["a", 5], {"a": 1}, "a\0"])
def test_malformed_options_are_refused(options: Any):
    assert refusal(ContainerSpec, image="a", run_options=options).field == "run_options"


def test_options_that_merely_look_like_the_refused_ones_pass():
    assert (
        ContainerSpec(image="a", run_options="--rm -e X=--gpus --shm-size 8g").run_options_text
        == "--rm -e X=--gpus --shm-size 8g"
    )


def test_options_in_a_list_are_quoted_for_batch():
    container = ContainerSpec(image="a", run_options=["-e", "A=it's b", "--rm"])
    assert container.run_options == ("-e", "A=it's b", "--rm")
    assert container.run_options_text == "-e 'A=it'\"'\"'s b' --rm"
    assert ContainerSpec(image="a").run_options_text == ""


def test_an_image_alone_is_a_container():
    assert TaskSpec(command=["x"], container="ubuntu:24.04").container == ContainerSpec(image="ubuntu:24.04")
    assert refusal(TaskSpec, command=["x"], container=5).field == "container"
    assert refusal(TaskSpec, command=["x"], container="Ubuntu").field == "container.image"


def test_a_registry_is_read_by_a_user_or_an_identity():
    assert RegistrySpec(username="u", password="p").server == "docker.io"
    assert RegistrySpec(server="r.azurecr.io", username="u", password="env:ACR").password == Secret("env:ACR")
    assert RegistrySpec(server="r.azurecr.io:443", identity=IDENTITY).identity == IDENTITY


@pytest.mark.parametrize(
    ("fields", "field"),
    [
        ({"server": "r.azurecr.io"}, None),
        ({"username": "u"}, "password"),
        ({"password": "p"}, "username"),
        ({"username": "", "password": "p"}, "username"),
        ({"username": "u", "password": "p", "identity": IDENTITY}, None),
        ({"server": "https://r.azurecr.io/", "username": "u", "password": "p"}, "server"),
        ({"server": "", "username": "u", "password": "p"}, "server"),
        ({"identity": "x"}, "identity"),
    ],
)
def test_wrong_registries(fields: dict[str, Any], field: str | None):
    assert refusal(RegistrySpec, **fields).field == field


def test_a_scheme_in_a_registry_comes_with_the_right_way_to_write_it():
    assert (
        refusal(RegistrySpec, server="https://r.azurecr.io/", identity=IDENTITY).hint
        == "write 'r.azurecr.io'"
    )
