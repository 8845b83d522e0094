"""The table of VM sizes: complete, dated, and found by any spelling."""

from __future__ import annotations

import json
from datetime import date
from importlib import resources

import pytest

from azbatch_core.catalog.vm_sizes import (
    REFERENCE_REGION,
    VmSize,
    find_vm_size,
    gpu_models,
    nearest_vm_sizes,
    vm_sizes,
)


def test_the_table_says_where_it_comes_from_and_when():
    table = json.loads(resources.files("azbatch_core.catalog").joinpath("vm_sizes.json").read_text("utf-8"))
    assert "ga4gh-tes" in table["source"]
    assert date.fromisoformat(table["as_of"]).year >= 2026
    # The order in which rows are read.
    assert table["columns"][:7] == list(VmSize._fields[:7])
    assert table["columns"][7:] == ["generations", "flags", "retirement", "prices"]


def test_every_size_has_what_the_chooser_compares():
    sizes = vm_sizes()
    assert len(sizes) > 1300
    assert len({size.name.lower() for size in sizes}) == len(sizes)
    assert all(size.vcpus > 0 and size.memory_gib > 0 for size in sizes)
    assert all(bool(size.gpus) == bool(size.gpu_model) for size in sizes)


def test_a_known_size_has_its_documented_values():
    size = find_vm_size("Standard_D4s_v5")
    assert size is not None
    assert (size.vcpus, size.memory_gib, size.disk_gib, size.gpus) == (4, 16, 0, 0)
    assert size.generations == (1, 2)
    assert size.architecture == "x64"
    assert size.verified
    assert size.price(REFERENCE_REGION) == pytest.approx(0.192)
    assert size.price("atlantis") is None
    assert size.price(None) is None
    assert size.short_name == "d4s_v5"


def test_a_constrained_size_gives_only_the_cores_that_it_has():
    size = find_vm_size("Standard_DS12-1_v2")
    assert size is not None
    assert size.vcpus == 1


@pytest.mark.parametrize("name", ["standard_d4s_v5", "D4s_v5", "STANDARD_D4S_V5"])
def test_a_size_is_found_in_any_case_and_without_its_prefix(name: str):
    size = find_vm_size(name)
    assert size is not None
    assert size.name == "Standard_D4s_v5"


def test_an_unknown_size_is_none_and_has_near_names():
    assert find_vm_size("Basic_A0") is None
    assert "Standard_D4s_v5" in nearest_vm_sizes("Standard_D4ss_v5")
    assert nearest_vm_sizes("Nothing_Like_It_At_All") == []


def test_slots_follow_the_service_limit_of_four_a_core_and_256():
    small, large = find_vm_size("Standard_D2s_v5"), find_vm_size("Standard_M416ms_v2")
    assert small is not None
    assert large is not None
    assert (small.default_slots, small.max_slots) == (2, 8)
    assert (large.default_slots, large.max_slots) == (256, 256)


def test_retiring_and_arm_sizes_are_marked():
    old, arm = find_vm_size("Standard_A1_v2"), find_vm_size("Standard_D2ps_v5")
    assert old is not None
    assert old.retirement == "2028-11-15"
    assert arm is not None
    assert arm.architecture == "arm64"


def test_the_gpu_models_are_listed():
    assert {"T4", "A100", "H100"} <= set(gpu_models())
