"""The named resources are azbatch's own sizes, each with an entry point; and the help's figures."""

from __future__ import annotations

import dataclasses
import sys
from pathlib import Path

import pytest

from azbatch_core.catalog.vm_sizes import find_vm_size
from azbatch_core.specs.pools import DEFAULT_MAX_NODES
from azbatch_torchx import named_resources
from azbatch_torchx.options import RunOptions

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib


@pytest.mark.parametrize("size", named_resources.SIZES)
def test_sizes_are_those_of_the_catalog(size: str) -> None:
    known = find_vm_size(size)
    assert known is not None
    assert named_resources.SIZES[size] == (known.vcpus, known.memory_gib, known.gpus)
    assert known.retirement is None


def test_every_size_has_its_entry_point() -> None:
    project = tomllib.loads((Path(__file__).parents[3] / "pyproject.toml").read_text())["project"]
    assert project["entry-points"]["torchx.named_resources"] == {
        name: f"azbatch_torchx.named_resources:{name}" for name in named_resources.NAMED_RESOURCES
    }


def test_the_help_tells_the_default_of_the_core() -> None:
    help_of = {option.name: option.metadata["help"] for option in dataclasses.fields(RunOptions)}
    assert f"Left out: {DEFAULT_MAX_NODES}," in help_of["max_nodes"]


def test_other_names_are_none_of_it() -> None:
    with pytest.raises(AttributeError):
        _ = named_resources.azure_none
