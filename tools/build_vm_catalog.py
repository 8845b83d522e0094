"""Write `azbatch_core/catalog/vm_sizes.json` from a list of VM sizes in long form.

    python tools/build_vm_catalog.py SIZES.json --as-of 2026-12-01

SIZES.json is a list of objects with the keys that `row` reads, one object per VM size: the public size lists
of ga4gh-tes, the Kubernetes autoscaler, Nextflow and Karpenter, merged by name. The short form names each
column once, so that the file is small enough to ship and to read at the first use.
"""

from __future__ import annotations

import argparse
import json
import re
from pathlib import Path
from typing import Any

TARGET = Path(__file__).parent.parent / "azbatch_core" / "catalog" / "vm_sizes.json"
SOURCE = (
    "Public VM size lists of ga4gh-tes (sizes that Batch was seen to allocate: flag v), the Kubernetes "
    "autoscaler, Nextflow and Karpenter (prices: pay as you go, Linux, US dollars an hour), merged by name; "
    "retirement of NCv3, NVv3 and NVv4: Microsoft's retired sizes list, read on 2026-12-01"
)
# Microsoft's retired sizes list: dates that the merged lists lack.
RETIREMENTS = {
    r"Standard_NC\d+r?s_v3": "2025-09-30",
    r"Standard_NV\d+s_v3": "2026-09-30",
    r"Standard_NV\d+as_v4": "2026-09-30",
}
COLUMNS = (
    "name",
    "vcpus",
    "memory_gib",
    "disk_gib",
    "gpus",
    "gpu_model",
    "gpu_fraction",
    "generations",
    "flags",
    "retirement",
    "prices",
)


def flags(size: dict[str, Any]) -> str:
    """The yes-or-no facts as letters: a = arm64, v = allocated by Batch, r = RDMA."""
    return (
        ("a" if size["arch"] == "arm64" else "")
        + ("v" if size["batch_verified"] else "")
        + ("r" if size["rdma"] else "")
    )


def tidy(number: float | None) -> float | None:
    """A number without a useless fraction."""
    return number if number is None or number != int(number) else int(number)


def retirement(size: dict[str, Any]) -> str | None:
    """The date of Microsoft's list; else what the merged lists say."""
    dates = (date for pattern, date in RETIREMENTS.items() if re.fullmatch(pattern, size["name"]))
    return next(dates, size["retirement"])


def row(size: dict[str, Any], regions: list[str]) -> list[Any]:
    """One size, in the order of `COLUMNS`."""
    disks = [disk for disk in (size["temp_disk_gib"], size["nvme_disk_gib"]) if disk is not None]
    prices = [size["usd_per_hour"].get(region) for region in regions]
    while prices and prices[-1] is None:
        prices.pop()
    return [
        size["name"],
        size["vcpus_available"],  # what a constrained size (such as Standard_E8-2s_v5) really gives
        tidy(size["memory_gib"]),
        tidy(max(disks)) if disks else None,
        size["gpus"],
        size["gpu_model"],
        size["gpu_fraction"],
        "".join(generation[1:] for generation in size["hyper_v_generations"] or ()),
        flags(size),
        retirement(size),
        prices,
    ]


def main() -> None:
    """Read the long form, write the short one."""
    parser = argparse.ArgumentParser(description="Write the VM size catalog from its long form.")
    parser.add_argument("sizes", type=Path)
    parser.add_argument("--as-of", required=True, help="the date of the data, YYYY-MM-DD")
    arguments = parser.parse_args()
    given = json.loads(arguments.sizes.read_text(encoding="utf-8"))
    sizes = [size for size in given if size["memory_gib"]]  # half a GiB, told as 0, runs no node agent
    sizes.sort(key=lambda size: str(size["name"]).lower())
    regions = sorted({region for size in sizes for region in size["usd_per_hour"]})
    head = {"source": SOURCE, "as_of": arguments.as_of, "regions": regions, "columns": COLUMNS}
    lines = [json.dumps(row(size, regions), separators=(",", ":")) for size in sizes]
    text = json.dumps(head, indent=1)[:-2] + ',\n "sizes": [\n' + ",\n".join(lines) + "\n ]\n}\n"
    TARGET.write_text(text, encoding="utf-8")
    print(f"{len(sizes)} sizes, {len(regions)} regions, {len(text) // 1024} KiB: {TARGET}")


if __name__ == "__main__":
    main()
