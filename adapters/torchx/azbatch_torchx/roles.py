"""The parts of TorchX's AppDef that are mapped, as both lines have them; so the mapping needs no TorchX."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, Protocol

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

VM_SIZE: Final = "azure_batch.vm_size"
GPU_MODEL: Final = "azure_batch.gpu_model"
"""Capabilities of a TorchX resource that this scheduler reads."""
INFINIBAND: Final = "infiniband"
"""The one device of a TorchX resource that nodes of Batch have: whole, whatever the number."""


class ResourceLike(Protocol):
    """``torchx.specs.Resource``."""

    cpu: int
    gpu: int
    memMB: int  # noqa: N815  # TorchX's name
    capabilities: Mapping[str, Any]
    devices: Mapping[str, int]


class RoleLike(Protocol):
    """``torchx.specs.Role``, macros already replaced."""

    name: str
    image: str
    entrypoint: str
    args: Sequence[str]
    env: Mapping[str, str]
    num_replicas: int
    min_replicas: int | None
    max_retries: int
    retry_policy: Any
    resource: ResourceLike
    mounts: Sequence[Any]
    metadata: Mapping[str, Any]


class AppLike(Protocol):
    """``torchx.specs.AppDef``."""

    name: str
    roles: Sequence[Any]
    metadata: Mapping[str, str]
