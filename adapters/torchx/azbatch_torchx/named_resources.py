"""TorchX's named resources for VM sizes of Azure: ``-h azure_nc24ads_a100_v4`` asks for one whole node of it.

Sizes that are common in training. Any other is asked for by the run option `vm_size`, or by a resource of
your own with the capability ``azure_batch.vm_size``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from azbatch_torchx.roles import VM_SIZE

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from torchx.specs import Resource

MEMORY_SHARE: Final = 0.96
"""Of a node's memory, what a role asks for: the rest is the system's, as in TorchX's own resources of AWS."""
SIZES: Final[Mapping[str, tuple[int, float, int]]] = {
    "Standard_D2s_v5": (2, 8, 0),
    "Standard_D4s_v5": (4, 16, 0),
    "Standard_D8s_v5": (8, 32, 0),
    "Standard_D16s_v5": (16, 64, 0),
    "Standard_D32s_v5": (32, 128, 0),
    "Standard_D64s_v5": (64, 256, 0),
    "Standard_E4s_v5": (4, 32, 0),
    "Standard_E8s_v5": (8, 64, 0),
    "Standard_E16s_v5": (16, 128, 0),
    "Standard_E32s_v5": (32, 256, 0),
    "Standard_E64s_v5": (64, 512, 0),
    "Standard_NC4as_T4_v3": (4, 28, 1),
    "Standard_NC8as_T4_v3": (8, 56, 1),
    "Standard_NC16as_T4_v3": (16, 110, 1),
    "Standard_NC64as_T4_v3": (64, 440, 4),
    "Standard_NV36ads_A10_v5": (36, 440, 1),
    "Standard_NV72ads_A10_v5": (72, 880, 2),
    "Standard_NC24ads_A100_v4": (24, 220, 1),
    "Standard_NC48ads_A100_v4": (48, 440, 2),
    "Standard_NC96ads_A100_v4": (96, 880, 4),
    "Standard_ND96asr_v4": (96, 900, 8),
    "Standard_ND96amsr_A100_v4": (96, 1800, 8),
    "Standard_NC40ads_H100_v5": (40, 320, 1),
    "Standard_NC80adis_H100_v5": (80, 640, 2),
    "Standard_ND96isr_H100_v5": (96, 1900, 8),
    "Standard_ND96isr_H200_v5": (96, 1850, 8),
    "Standard_ND96isr_MI300X_v5": (96, 1850, 8),
    "Standard_HB120rs_v3": (120, 456, 0),
    "Standard_HB176rs_v4": (176, 768, 0),
}
"""vCPUs, memory in GiB and GPUs by VM size; a test holds them to azbatch's table of sizes."""


def name_of(size: str) -> str:
    """What a VM size is called in TorchX: ``azure_d4s_v5`` for ``Standard_D4s_v5``."""
    return size.replace("Standard_", "azure_").lower()


def _factory(size: str) -> Callable[[], Resource]:
    def make() -> Resource:
        from torchx.specs import Resource

        cpus, memory, gpus = SIZES[size]
        megabytes = int(memory * 1024 * MEMORY_SHARE)
        return Resource(cpu=cpus, gpu=gpus, memMB=megabytes, capabilities={VM_SIZE: size})

    return make


NAMED_RESOURCES: Final = {name_of(size): _factory(size) for size in SIZES}


def __getattr__(name: str) -> Callable[[], Resource]:
    """The factory of a named resource, for the entry points: one attribute each."""
    if name not in NAMED_RESOURCES:
        raise AttributeError(name)
    return NAMED_RESOURCES[name]
