"""The table of VM sizes: what each one holds, whether it has a future, what it costs.

The figures carry their source and date in the file; they are good for choosing, not for an invoice.
"""

from __future__ import annotations

import difflib
import json
from datetime import date
from functools import lru_cache
from importlib import resources
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Sequence

Architecture = Literal["x64", "arm64"]

MAX_SLOTS_PER_NODE = 256  # BatchPoolCreateOptions.task_slots_per_node: at most 256 and four for each core
SLOTS_PER_VCPU = 4
REFERENCE_REGION = "eastus"  # orders sizes by price where the account's own region is unknown
ANNOUNCED = "announced"  # a retirement without a date
_AMD_GPUS = frozenset({"MI25", "MI300X", "V620", "V710"})


class VmSize(NamedTuple):
    """One VM size: a row of the table, as there are too many for objects that take longer to make.

    Attributes:
        name: As Azure spells it, such as ``Standard_D4s_v5``.
        vcpus: The vCPUs that a task can use (fewer than the physical size's in constrained sizes).
        memory_gib: GiB.
        disk_gib: The larger of the temporary and the NVMe disk in GiB; 0 without one; None where unknown.
        gpus: The GPUs that it has, whole or as a share.
        gpu_model: Such as ``T4``; None without a GPU.
        gpu_fraction: The share of one GPU (0.5 = half); None for whole ones.
        generations: The hypervisor generations it boots, such as (1, 2); empty where unknown.
        architecture: ``x64`` or ``arm64``.
        verified: Whether Batch was seen to allocate it.
        retirement: None, an ISO date, or ``announced``.
        prices: US dollars an hour, in the order of the table's regions; those at the end may be missing.
    """

    name: str
    vcpus: int
    memory_gib: float
    disk_gib: float | None
    gpus: int
    gpu_model: str | None
    gpu_fraction: float | None
    generations: tuple[int, ...]
    architecture: Architecture
    verified: bool
    retirement: str | None
    prices: Sequence[float | None]

    @property
    def default_slots(self) -> int:
        """One task slot for each vCPU, within the service's limit."""
        return min(self.vcpus, MAX_SLOTS_PER_NODE)

    @property
    def max_slots(self) -> int:
        """The most task slots that the service lets a node of this size have."""
        return min(self.vcpus * SLOTS_PER_VCPU, MAX_SLOTS_PER_NODE)

    @property
    def short_name(self) -> str:
        """The name without its prefix, in lower case, such as ``d4s_v5``."""
        return self.name.removeprefix("Standard_").lower()

    @property
    def has_amd_gpu(self) -> bool:
        """Whether its GPUs need AMD's drivers (the marketplace images carry NVIDIA's)."""
        return self.gpu_model in _AMD_GPUS

    def is_retired(self, today: date) -> bool:
        """Whether the day of its retirement has come."""
        return self.retirement not in {None, ANNOUNCED} and date.fromisoformat(str(self.retirement)) <= today

    def price(self, region: str | None) -> float | None:
        """US dollars an hour in a region; None where the table has no figure."""
        place = _places().get(region or "", len(self.prices))
        return self.prices[place] if place < len(self.prices) else None

    def boots(self, generation: int) -> bool:
        """Whether an image of that hypervisor generation starts on it; sizes without a figure boot both."""
        return not self.generations or generation in self.generations


@lru_cache(maxsize=1)
def _table() -> dict[str, Any]:
    text = resources.files("azbatch_core.catalog").joinpath("vm_sizes.json").read_text(encoding="utf-8")
    table: dict[str, Any] = json.loads(text)
    return table


@lru_cache(maxsize=1)
def _places() -> dict[str, int]:
    """Where each region's price is in a row's prices."""
    return {region: place for place, region in enumerate(_table()["regions"])}


@lru_cache
def _digits(text: str) -> tuple[int, ...]:
    return tuple(map(int, text))


@lru_cache(maxsize=1)
def vm_sizes() -> tuple[VmSize, ...]:
    """All sizes, by name."""
    return tuple(
        VmSize._make(
            (*held, _digits(boots), "arm64" if "a" in flags else "x64", "v" in flags, retirement, prices)
        )
        for *held, boots, flags, retirement, prices in _table()["sizes"]
    )


@lru_cache(maxsize=1)
def _by_name() -> dict[str, VmSize]:
    return {size.name.lower(): size for size in vm_sizes()}


def find_vm_size(name: str) -> VmSize | None:
    """The size of that name, in any case and with or without ``Standard_``; None where the table has none."""
    sizes = _by_name()
    return sizes.get(name.lower()) or sizes.get(f"standard_{name.lower()}")


def nearest_vm_sizes(name: str) -> list[str]:
    """Up to three names that look like the given one."""
    lowered = name.lower() if name.lower().startswith(("standard_", "basic_")) else f"standard_{name.lower()}"
    return [
        _by_name()[match].name for match in difflib.get_close_matches(lowered, _by_name(), n=3, cutoff=0.8)
    ]


def price_terms() -> str:
    """What kind of price the table has, and as of when."""
    return f"pay as you go, Linux, as of {_table()['as_of']}"


def gpu_models() -> list[str]:
    """Every GPU model in the table."""
    return sorted({size.gpu_model for size in vm_sizes() if size.gpu_model})
