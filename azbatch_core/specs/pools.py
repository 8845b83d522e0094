"""Pools: one that exists, one that azbatch keeps and reuses, or one that lives with the job."""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import timedelta
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Final, Literal

from pydantic import BeforeValidator, Field, field_validator, model_validator

from azbatch_core.specs.base import Spec
from azbatch_core.specs.containers import RegistrySpec
from azbatch_core.specs.files import Identity
from azbatch_core.specs.images import check_image
from azbatch_core.specs.metadata import Metadata
from azbatch_core.specs.names import check_id
from azbatch_core.specs.pool_nodes import ImageSpec, StartTask
from azbatch_core.specs.problems import nearest, problem, show
from azbatch_core.specs.task import MAX_SLOTS
from azbatch_core.specs.units import Duration, Whole, format_duration

if TYPE_CHECKING:
    from typing_extensions import Self

_MAX_PREFIX: Final = 20
_MIN_RESIZE: Final = timedelta(minutes=5)
_MIN_IDLE: Final = timedelta(minutes=5)
_MAX_IDLE: Final = timedelta(hours=1)
_MAX_NODES: Final = 2**31 - 1
DEFAULT_MAX_NODES: Final = 4
"""The most nodes of a managed pool that nobody gave a limit."""
_VM_SIZE: Final = re.compile(r"[A-Za-z0-9]+(?:[_-][A-Za-z0-9]+)*")
_SUBNET: Final = re.compile(
    r"(?i)/subscriptions/[^/]+/resourceGroups/[^/]+/providers/Microsoft\.Network/virtualNetworks/[^/]+/subnets/[^/]+"
)


class ExistingPool(Spec):
    """A pool of the account, by its id; azbatch does not change it."""

    kind: Literal["existing"] = Field(default="existing", description="The kind of pool.")
    id: str = Field(description="The pool's id.", examples=["my-pool"])

    _elsewhere: ClassVar[Mapping[str, str]] = dict.fromkeys(
        (
            *("name", "vm_size", "nodes", "spot_nodes", "max_nodes", "min_nodes", "idle_time", "spot"),
            *("image", "start_task", "containers", "container_images"),
        ),
        "an existing pool is used as it is; leave out its id to have azbatch make a pool",
    )

    @field_validator("id")
    @classmethod
    def _check_id(cls, value: str) -> str:
        return check_id("pool", value)


class _NewPool(Spec):
    """What a pool that azbatch makes consists of."""

    vm_size: str | None = Field(
        default=None,
        description="The VM size. Left out: chosen from the resources.",
        examples=["Standard_D4s_v5"],
    )
    spot_nodes: Whole = Field(
        default=0,
        ge=0,
        le=_MAX_NODES,
        description="A fixed number of spot nodes: cheaper, and taken away when Azure needs them.",
    )
    task_slots_per_node: Whole | None = Field(
        default=None,
        ge=1,
        le=MAX_SLOTS,
        description="Slots per node, at most 4 per vCPU and 256. Left out: one per vCPU.",
    )
    node_fill: Literal["spread", "pack"] = Field(
        default="pack", description="Fill one node after the other (pack), or all alike (spread)."
    )
    image: ImageSpec | None = Field(
        default=None, description="The operating system. Left out: a current Ubuntu."
    )
    start_task: StartTask | None = Field(default=None, description="What every node runs first.")
    registries: tuple[RegistrySpec, ...] = Field(
        default=(), description="Private registries that the nodes can read."
    )
    container_images: tuple[str, ...] = Field(
        default=(), description="Images that every node pulls when it starts.", examples=[["ubuntu:24.04"]]
    )
    containers: bool = Field(
        default=False,
        description="Whether tasks run in containers. Implied by container_images, registries and tasks.",
    )
    host_docker: bool = Field(
        default=False,
        description=(
            "Whether tasks start containers themselves, by the node's Docker: picks an image that has it, "
            "and leaves the pool's tasks outside containers."
        ),
    )
    inter_node_communication: bool = Field(
        default=False, description="Whether nodes can reach each other, as gangs need."
    )
    subnet_id: str | None = Field(
        default=None, description="The resource id of the subnet; needs a login with Entra ID."
    )
    resize_timeout: Duration | None = Field(
        default=None, description="How long Batch tries to get nodes: 5 minutes or more."
    )
    metadata: Metadata = Field(default_factory=dict, description="Names and values for your own use.")

    _elsewhere: ClassVar[Mapping[str, str]] = {
        "identities": "identities go on a pool of kind: managed; Batch gives none to an auto pool",
        "size": "did you mean 'vm_size' (the kind of VM) or 'nodes' (how many)?",
        "target_dedicated_nodes": "did you mean 'nodes'?",
        "target_low_priority_nodes": "did you mean 'spot_nodes'?",
        "publisher": "write image: {publisher: …}",
    }

    @model_validator(mode="before")
    @classmethod
    def _spot_only(cls, data: Any) -> Any:
        if isinstance(data, dict) and data.get("spot_nodes") and "nodes" not in data:
            return {**data, "nodes": 0}
        return data

    @field_validator("vm_size")
    @classmethod
    def _check_vm_size(cls, value: str | None) -> str | None:
        if value is not None and not _VM_SIZE.fullmatch(value):
            raise problem(f"{show(value)} is not a VM size", hint="it reads like 'Standard_D4s_v5'")
        return value

    @field_validator("container_images")
    @classmethod
    def _check_images(cls, value: tuple[str, ...]) -> tuple[str, ...]:
        return tuple(check_image(image) for image in value)

    @field_validator("registries")
    @classmethod
    def _check_registries(cls, value: tuple[RegistrySpec, ...]) -> tuple[RegistrySpec, ...]:
        seen: set[str] = set()
        for registry in value:
            if registry.server.lower() in seen:
                raise problem(f"the registry {registry.server} is given twice")
            seen.add(registry.server.lower())
        return value

    @field_validator("subnet_id")
    @classmethod
    def _check_subnet(cls, value: str | None) -> str | None:
        if value is not None and not _SUBNET.fullmatch(value):
            raise problem(
                f"{show(value)} is not the resource id of a subnet",
                hint="it reads /subscriptions/…/resourceGroups/…/providers/Microsoft.Network/"
                "virtualNetworks/…/subnets/…",
            )
        return value

    @field_validator("resize_timeout")
    @classmethod
    def _check_resize_timeout(cls, value: timedelta | None) -> timedelta | None:
        if value is not None and value < _MIN_RESIZE:
            raise problem("is too short: Batch takes 5 minutes or more", hint="write '15m'")
        return value


class ManagedPool(_NewPool):
    """A pool that azbatch makes, keeps and reuses for every job that asks for the same.

    It grows with the tasks that wait, and shrinks when they are done; with nodes or spot_nodes it has a fixed
    size instead.
    """

    kind: Literal["managed"] = Field(default="managed", description="The kind of pool.")
    name: str | None = Field(
        default=None,
        description="A name that sets this pool apart from others of the same make.",
        examples=["team-a"],
    )
    max_nodes: Whole | None = Field(
        default=None,
        ge=1,
        le=_MAX_NODES,
        description=f"The most nodes that it grows to. Left out: {DEFAULT_MAX_NODES}, or what it has now.",
    )
    min_nodes: Whole = Field(
        default=0, ge=0, le=_MAX_NODES, description="Nodes that it keeps when there is nothing to do, billed."
    )
    idle_time: Duration = Field(
        default=timedelta(minutes=15),
        description="How long a node stays that nothing has needed: 5 minutes to 1 hour.",
        json_schema_extra={"default": "15m"},
    )
    spot: bool = Field(
        default=False,
        description="Grow by spot nodes: cheaper, and taken away when Azure needs them.",
    )
    nodes: Whole | None = Field(
        default=None,
        ge=0,
        le=_MAX_NODES,
        description="A fixed number of dedicated nodes, billed until the pool is deleted, instead of growth.",
    )
    identities: tuple[Identity, ...] = Field(
        default=(),
        description="Resource ids of the user-assigned identities that the nodes get; needs azbatch[arm].",
    )

    @property
    def is_fixed(self) -> bool:
        """Whether the pool has a fixed size."""
        return self.nodes is not None or self.spot_nodes > 0

    @field_validator("name")
    @classmethod
    def _check_name(cls, value: str | None) -> str | None:
        return value if value is None else check_id("pool", value)

    @field_validator("idle_time")
    @classmethod
    def _check_idle_time(cls, value: timedelta) -> timedelta:
        if not _MIN_IDLE <= value <= _MAX_IDLE:
            raise problem(
                f"{format_duration(value)} is not between 5 minutes and 1 hour: Batch looks every 5 minutes, "
                "and remembers what was needed for about an hour",
                hint="for nodes that stay longer, set min_nodes",
            )
        return value

    @model_validator(mode="after")
    def _check_size(self) -> Self:
        if self.is_fixed:
            scales = sorted({"max_nodes", "min_nodes", "idle_time", "spot"} & self.model_fields_set)
            if scales:
                raise problem(
                    "is for a pool that grows and shrinks, and nodes or spot_nodes make it a fixed size",
                    field=scales[0],
                    hint="leave out nodes and spot_nodes, or this",
                )
            _check_some_node(self.nodes or 0, self.spot_nodes)
        if self.max_nodes is not None and self.min_nodes > self.max_nodes:
            raise problem(f"{self.min_nodes:,} is more than max_nodes, {self.max_nodes:,}", field="min_nodes")
        return self


class AutoPool(_NewPool):
    """A pool that Batch makes for the job and deletes with it."""

    kind: Literal["auto"] = Field(default="auto", description="The kind of pool.")
    nodes: Whole = Field(
        default=1,
        ge=0,
        le=_MAX_NODES,
        description="Dedicated nodes. Left out: 1, or 0 when spot_nodes is given.",
    )
    keep_alive: bool = Field(
        default=False, description="Keep the pool after the job; deleting it is then up to you."
    )
    id_prefix: str | None = Field(
        default=None,
        description="What the pool's id starts with: at most 20 characters.",
        examples=["nightly"],
    )
    lifetime: Literal["job"] = Field(default="job", description="The pool lives as long as the job.")

    _elsewhere: ClassVar[Mapping[str, str]] = {
        **_NewPool._elsewhere,  # noqa: SLF001 - of its own parent
        **dict.fromkeys(
            ("max_nodes", "min_nodes", "idle_time", "spot"),
            "a pool of kind: managed grows and shrinks; an auto pool has nodes and spot_nodes",
        ),
    }

    @field_validator("id_prefix")
    @classmethod
    def _check_prefix(cls, value: str | None) -> str | None:
        return value if value is None else check_id("auto-pool prefix", value, max_length=_MAX_PREFIX)

    @model_validator(mode="after")
    def _check_size(self) -> Self:
        _check_some_node(self.nodes, self.spot_nodes)
        return self


def _check_some_node(nodes: int, spot_nodes: int) -> None:
    if nodes + spot_nodes == 0:
        raise problem(
            "the pool would have no node, and nothing would ever run",
            field="nodes",
            hint="set nodes or spot_nodes",
        )


_KINDS: Final[dict[str, type[ExistingPool | ManagedPool | AutoPool]]] = {
    "existing": ExistingPool,
    "managed": ManagedPool,
    "auto": AutoPool,
}


def parse_pool(value: Any) -> Any:
    """A pool from its id, or from a mapping with a ``kind``.

    Without a kind, a mapping with an ``id`` means an existing pool, any other one a managed pool.

    Raises:
        SpecError: The kind is unknown, or the pool breaks a rule of its kind.
    """
    if isinstance(value, str):
        return ExistingPool(id=value)
    if isinstance(value, ExistingPool | ManagedPool | AutoPool):
        return value
    if not isinstance(value, dict):
        raise problem(f"must be a pool's id or a mapping of fields, not {show(value)}")
    kind = value.get("kind", "existing" if "id" in value else "managed")
    if not isinstance(kind, str) or kind not in _KINDS:
        meant = nearest(kind, _KINDS) if isinstance(kind, str) else None
        hint = f"did you mean {meant!r}?" if meant else None
        raise problem(f"{show(kind)} is not one of 'existing', 'managed', 'auto'", field="kind", hint=hint)
    return _KINDS[kind](**value)


PoolSpec = Annotated[
    ExistingPool | ManagedPool | AutoPool,
    BeforeValidator(parse_pool, json_schema_input_type=str | ExistingPool | ManagedPool | AutoPool),
]
"""One of the three kinds of pool; a pool's id alone is enough."""
