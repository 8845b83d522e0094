"""VM sizes that the catalog knows, for whoever must refuse the others: a service may know newer ones."""

from __future__ import annotations

from azbatch_core.errors import SpecError


def check_vm_size(name: str) -> None:
    """Refuse a VM size that the catalog does not know.

    Raises:
        SpecError: It is none; the hint names those that look like it.
    """
    from azbatch_core.catalog.vm_sizes import find_vm_size, nearest_vm_sizes  # the table takes time to read

    if find_vm_size(name):
        return
    near = nearest_vm_sizes(name)
    hint = f"did you mean {', '.join(near)}?" if near else "such as Standard_D4s_v5, or leave it out"
    raise SpecError(f"there is no VM size {name!r}", field="vm_size", hint=hint)
