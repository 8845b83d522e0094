"""TorchX's own records, as far as the mapping looks at them: these tests need no TorchX."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any


@dataclass
class Resource:
    """``torchx.specs.Resource``."""

    cpu: int = 1
    gpu: int = 0
    memMB: int = 1024  # noqa: N815  # TorchX's name
    capabilities: dict[str, Any] = field(default_factory=dict)
    devices: dict[str, int] = field(default_factory=dict)


@dataclass
class Role:
    """``torchx.specs.Role``."""

    name: str = "trainer"
    image: str = "alpine:3.20"
    entrypoint: str = "echo"
    args: list[str] = field(default_factory=list)
    env: dict[str, str] = field(default_factory=dict)
    num_replicas: int = 1
    min_replicas: int | None = None
    max_retries: int = 0
    retry_policy: str = "APPLICATION"
    resource: Resource = field(default_factory=Resource)
    mounts: list[Any] = field(default_factory=list)
    metadata: dict[str, Any] = field(default_factory=dict)


@dataclass
class App:
    """``torchx.specs.AppDef``."""

    name: str = "train"
    roles: list[Role] = field(default_factory=list)
    metadata: dict[str, str] = field(default_factory=dict)


@dataclass
class BindMount:
    """``torchx.specs.BindMount``."""

    src_path: str
    dst_path: str
    read_only: bool = False


@dataclass
class VolumeMount:
    """``torchx.specs.VolumeMount``."""

    src: str
    dst_path: str
    read_only: bool = False


@dataclass
class DeviceMount:
    """``torchx.specs.DeviceMount``."""

    src_path: str
    dst_path: str
    permissions: str = "rwm"
