"""Image references are read as container registries read them."""

from __future__ import annotations

import pytest
from specs_refusals import refusal

from azbatch_core.specs import ContainerSpec, ImageReference

DIGEST = "sha256:" + "0123456789abcdef" * 4


@pytest.mark.parametrize(
    ("text", "registry", "repository", "tag", "digest"),
    [
        ("a", None, "a", None, None),
        ("a:latest", None, "a", "latest", None),
        ("library/ubuntu:24.04", None, "library/ubuntu", "24.04", None),
        ("host:5000/a/b", "host:5000", "a/b", None, None),
        ("host:5000/a:1", "host:5000", "a", "1", None),
        (f"h/a@{DIGEST}", None, "h/a", None, DIGEST),
        (f"h.io/a:t@{DIGEST}", "h.io", "a", "t", DIGEST),
        ("localhost/a", "localhost", "a", None, None),
        ("[::1]:5000/a", "[::1]:5000", "a", None, None),
        (
            "myreg.azurecr.io/tools/bwa:0.7.17--h5bf99c6_8",
            "myreg.azurecr.io",
            "tools/bwa",
            "0.7.17--h5bf99c6_8",
            None,
        ),
        ("a__b/c.d-e--f", None, "a__b/c.d-e--f", None, None),
    ],
)
def test_the_parts_of_a_reference(
    text: str, registry: str | None, repository: str, tag: str | None, digest: str | None
):
    reference = ImageReference.parse(text)
    assert (reference.registry, reference.repository, reference.tag, reference.digest) == (
        registry,
        repository,
        tag,
        digest,
    )
    assert str(reference) == text
    assert ContainerSpec(image=text).reference == reference


@pytest.mark.parametrize(
    ("text", "moving"),
    [
        ("a", True),
        ("a:latest", True),
        ("a:1.2", False),
        (f"a@{DIGEST}", False),
        (f"a:latest@{DIGEST}", False),
    ],
)
def test_a_reference_that_can_change_its_meaning_is_told(text: str, moving: bool):  # noqa: FBT001  # a test's parameter
    assert ImageReference.parse(text).moving is moving


def test_a_name_without_registry_comes_from_docker_hub():
    assert ImageReference.parse("ubuntu").server == "docker.io"
    assert ImageReference.parse("x.io/ubuntu").server == "x.io"


@pytest.mark.parametrize(
    "text",
    [
        "",
        "a b",
        "a:",
        "a@",
        f"a@{DIGEST[:-1]}",
        "a@md5:zz",
        "-a",
        "a/",
        "/a",
        "a//b",
        "a/../b",
        "a::b",
        "a:" + "t" * 129,
        "h.io/" + "a" * 256,
        "héé",
        "a\n",
    ],
)
def test_what_is_not_a_reference_is_refused(text: str):
    assert refusal(ContainerSpec, image=text).field == "image"


def test_capital_letters_and_schemes_come_with_the_right_way_to_write_them():
    assert refusal(ImageReference.parse, "Ubuntu:24.04").hint == "write 'ubuntu:24.04'"
    assert refusal(ImageReference.parse, "https://x.io/a").hint == "write 'x.io/a'"
