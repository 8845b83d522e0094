"""Choosing a VM size, and the reason for each one that was not chosen."""

from __future__ import annotations

from datetime import date

import pytest

from azbatch_core.catalog.vm_sizes import VmSize, find_vm_size, vm_sizes
from azbatch_core.errors import SpecError
from azbatch_core.plan.vm_choice import GIB, NEAR_MISSES, Needs, biggest, caveat, choose, slots_needed


def size_of(name: str) -> VmSize:
    size = find_vm_size(name)
    assert size is not None
    return size


def test_the_choice_holds_the_needs_and_is_the_cheapest_that_does():
    needs = Needs(cpus=4, memory=16 * GIB)
    choice = choose(needs, region="westeurope")
    price = choice.size.price("westeurope")
    assert price is not None
    for size in vm_sizes():
        fits = size.vcpus >= 4 and size.memory_gib >= 16 and not size.gpus and size.architecture == "x64"
        theirs = size.price("westeurope")
        if fits and size.verified and not size.retirement and theirs is not None:
            assert price <= theirs
    assert choice.size.verified
    assert choice.size.retirement is None
    assert choice.caveat is None
    assert "westeurope" in choice.reason


def test_every_other_size_has_a_reason_and_the_reasons_are_counted():
    choice = choose(Needs(cpus=4, memory=16 * GIB))
    others = {size.name for size in vm_sizes()} - {choice.size.name}
    assert set(choice.rejected) == others
    assert sum(count for _, count in choice.counts) == len(others)
    assert choice.rejected["Standard_D2s_v5"] == "has 2 vCPUs, 4 needed"
    assert choice.rejected["Standard_F4s_v2"] == "has 8 GiB of memory, 16 needed"
    assert choice.rejected["Standard_D4ps_v5"] == "is arm64, not x64"
    assert choice.rejected["Standard_NC4as_T4_v3"] == "has a GPU that nobody asked for"
    assert choice.rejected["Standard_D13_v2"] == "fits, but retires on 2028-05-01"
    assert choice.rejected["Standard_E4s_v4"] == "fits, but was not seen to work with Batch"
    assert choice.rejected["Standard_E4_v3"].startswith("fits, but costs $")


def test_the_near_misses_fit_and_are_dearer_or_no_better():
    choice = choose(Needs(cpus=8))
    assert len(choice.near) == 3
    for name, why in choice.near:
        assert size_of(name).vcpus >= 8
        assert why.startswith("fits")


def test_a_job_without_needs_gets_a_small_current_size():
    choice = choose(Needs())
    assert choice.size.vcpus <= 2
    assert choice.size.retirement is None
    assert 2 in choice.size.generations


def test_a_gpu_request_gets_a_whole_nvidia_gpu():
    choice = choose(Needs(gpus=1), generations=(2,))
    assert choice.size.name == "Standard_NC4as_T4_v3"
    assert choice.rejected["Standard_NV6ads_A10_v5"] == "has 0.167 of a A10"
    assert choice.rejected["Standard_NG8ads_V620_v1"] == "has an AMD V620: name the model to get it"
    assert choice.rejected["Standard_D4s_v5"] == "has no GPUs, 1 needed"


@pytest.mark.parametrize("model", ["A100", "a100", "NVIDIA A100", "A100-80GB"])
def test_a_gpu_model_matches_its_variants_and_a_size_not_seen_on_batch_has_a_caveat(model: str):
    choice = choose(Needs(gpus=1, gpu_model=model))
    assert choice.size.gpu_model is not None
    assert choice.size.gpu_model.startswith("A100")
    assert choice.caveat == f"VM size {choice.size.name} was not seen to work with Batch"


def test_an_amd_gpu_is_given_to_who_names_it():
    assert choose(Needs(gpus=1, gpu_model="V620")).size.gpu_model == "V620"


def test_a_retiring_size_that_works_is_taken_where_nothing_better_fits():
    choice = choose(Needs(gpus=1, gpu_model="V100"), today=date(2025, 9, 29))
    assert choice.size.name == "Standard_NC6s_v3"
    assert choice.caveat == f"VM size {choice.size.name} retires on 2025-09-30"


@pytest.mark.parametrize(
    ("needs", "retired"),
    [
        (Needs(cpus=4, gpus=2), "Standard_NV24s_v3"),
        (Needs(gpus=1, gpu_model="V100"), "Standard_NC6s_v3"),
    ],
)
def test_a_retired_size_is_never_taken(needs: Needs, retired: str):
    assert size_of(retired).retirement in {"2025-09-30", "2026-09-30"}
    day = date.fromisoformat(str(size_of(retired).retirement))
    choice = choose(needs, today=day)
    assert choice.size.name != retired
    assert choice.rejected[retired] == f"was retired on {day}"
    assert choice.size.retirement is None


def test_a_model_of_retired_sizes_only_is_refused():
    with pytest.raises(SpecError, match="1 retired"):
        choose(Needs(gpus=1, gpu_model="MI25"), today=date(2026, 9, 30))


def test_an_unknown_gpu_model_names_the_nearest():
    with pytest.raises(SpecError, match=r"no VM size has the GPU model 'H10'.*did you mean H100") as caught:
        choose(Needs(gpus=1, gpu_model="H10"))
    assert caught.value.field == "resources.gpu_model"


def test_a_request_that_nothing_meets_counts_the_reasons():
    with pytest.raises(SpecError, match=r"no VM size has 5000 vCPUs \(\d+ with too little CPU"):
        choose(Needs(cpus=5000))


@pytest.mark.parametrize(
    ("needs", "words"),
    [
        (Needs(gpus=99), "no VM size has 99 GPUs ("),
        (Needs(gpus=99, gpu_model="A100"), "no VM size has 99 A100 GPUs ("),
        (Needs(memory=900 * 1024**5), "no VM size has 900PiB memory ("),
        (Needs(cpus=10**7, memory=GIB), "no VM size has 10000000 vCPUs, 1GiB memory ("),
    ],
)
def test_what_nothing_meets_is_told_as_it_was_written(needs: Needs, words: str):
    with pytest.raises(SpecError) as caught:
        choose(needs)
    assert words in caught.value.message
    assert caught.value.hint


def test_a_task_larger_than_the_node_is_told_the_next_step():
    with pytest.raises(SpecError) as caught:
        slots_needed(Needs(cpus=8), size_of("Standard_D2s_v5"), 2)
    assert caught.value.message == "needs 8 vCPUs, but a node of size Standard_D2s_v5 has 2"
    assert caught.value.hint == "ask for less, or for a pool with a larger vm_size"


def test_an_unknown_region_is_priced_as_the_reference_region():
    assert "eastus" in choose(Needs(cpus=2), region="atlantis").reason


def test_sizes_that_boot_no_image_of_the_generation_are_not_taken():
    choice = choose(Needs(cpus=2), generations=(2,))
    assert choice.size.boots(2)
    assert choice.rejected["Standard_D2_v3"] == "boots generation 1 images only"


def test_local_disk_counts():
    choice = choose(Needs(cpus=1, disk=100 * GIB))
    assert choice.size.disk_gib is not None
    assert choice.size.disk_gib >= 100
    assert choice.rejected["Standard_D4s_v5"] == "has 0 GiB of local disk, 100 needed"


def test_slots_are_the_largest_share_of_any_resource_rounded_up():
    size = size_of("Standard_D16ds_v5")  # 16 vCPUs, 64 GiB, 600 GiB
    assert slots_needed(Needs(cpus=1), size, 16) == 1
    assert slots_needed(Needs(cpus=1, memory=9 * GIB), size, 16) == 3
    assert slots_needed(Needs(cpus=1, disk=300 * GIB), size, 16) == 8
    assert slots_needed(Needs(cpus=0.5), size, 16) == 1
    assert slots_needed(Needs(cpus=16), size, 1) == 1
    assert slots_needed(Needs(cpus=5), size, 64) == 20


def test_a_gpu_task_takes_its_share_of_the_slots():
    size = size_of("Standard_NC64as_T4_v3")
    assert slots_needed(Needs(cpus=1, gpus=1), size, 64) == 16


def test_float_noise_does_not_cost_a_slot():
    size = size_of("Standard_D2s_v5")
    assert slots_needed(Needs(cpus=0.1 + 0.1 + 0.1 + 0.1 + 0.1 + 0.1 + 0.1 + 0.3), size, 2) == 1
    assert slots_needed(Needs(cpus=(0.1 + 0.2) * 10 / 3), size, 2) == 1


@pytest.mark.parametrize(
    ("needs", "text"),
    [
        (Needs(cpus=8), "needs 8 vCPUs, but a node of size Standard_D4s_v5 has 4"),
        (Needs(memory=20 * GIB), "needs 20GiB memory, but a node of size Standard_D4s_v5 has 16GiB"),
        (Needs(disk=GIB), "needs 1GiB local disk, but a node of size Standard_D4s_v5 has none"),
        (Needs(gpus=1), "needs 1 GPU, but a node of size Standard_D4s_v5 has 0"),
        (Needs(gpus=1, gpu_model="T4"), "needs a GPU of model T4, but Standard_D4s_v5 has no GPU"),
    ],
)
def test_a_task_larger_than_the_node_is_refused(needs: Needs, text: str):
    with pytest.raises(SpecError, match=text):
        slots_needed(needs, size_of("Standard_D4s_v5"), 4)


def test_the_biggest_task_is_the_biggest_in_each_respect():
    tasks = [Needs(cpus=4, memory=GIB), Needs(cpus=1, memory=8 * GIB), Needs(gpus=1, gpu_model="T4")]
    assert biggest(tasks) == Needs(cpus=4, memory=8 * GIB, gpus=1, gpu_model="T4")


def test_tasks_with_different_gpu_models_do_not_share_a_pool():
    with pytest.raises(SpecError, match="A100 and T4"):
        biggest([Needs(gpus=1, gpu_model="T4"), Needs(gpus=1, gpu_model="A100")])


def test_a_named_size_that_retires_has_a_caveat():
    assert caveat(size_of("Standard_A1_v2")) == "VM size Standard_A1_v2 retires on 2028-11-15"
    assert caveat(size_of("Standard_NV12s_v3")) == "VM size Standard_NV12s_v3 was retired on 2026-09-30"
    assert caveat(size_of("Standard_D4s_v5")) is None


def test_near_misses_are_cheaper_and_come_before_those_that_fit():
    choice = choose(Needs(cpus=3, memory=17 * GIB), region="westeurope")
    assert choice.size.name == "Standard_E4a_v4"
    assert choice.near[0] == ("Standard_D4a_v4", "has 16 GiB of memory, 17 needed")
    prices = {size.name: size.price("westeurope") or 0 for size in vm_sizes()}
    misses = [name for name, why in choice.near if "needed" in why]
    assert len(misses) == NEAR_MISSES
    assert all(prices[name] < prices[choice.size.name] for name in misses)
    assert any("fits" in why for _, why in choice.near[NEAR_MISSES:])


def test_a_size_that_lacks_much_or_two_things_is_no_near_miss():
    near = dict(choose(Needs(cpus=8, memory=64 * GIB), region="westeurope").near)
    assert "Standard_D4a_v4" not in near
    assert all("vCPUs, 8 needed" not in why or float(why.split()[1]) * 1.5 >= 8 for why in near.values())


@pytest.mark.parametrize(
    ("needs", "nearest"),
    [
        (Needs(cpus=1000), "which has 832 vCPUs, 1000 needed"),
        (Needs(gpus=9), "which has 8 GPUs, 9 needed"),
    ],
)
def test_where_nothing_fits_the_nearest_size_is_named(needs: Needs, nearest: str):
    with pytest.raises(SpecError, match="the nearest is Standard_") as caught:
        choose(needs)
    assert nearest in caught.value.message
