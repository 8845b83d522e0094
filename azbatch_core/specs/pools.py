"""Pools: one that exists, one that azbatch keeps and reuses, or one that lives with the job."""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import timedelta
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Final, Literal

from pydantic import BeforeValidator, Field, field_validator, model_validator

from azbatch_core.specs.base import Spec
from azbatch_core.specs.command import Command, check_any_command
from azbatch_core.specs.containers import Container, RegistrySpec
from azbatch_core.specs.environment import Environment
from azbatch_core.specs.files import Identity, ResourceFile
from azbatch_core.specs.images import check_image
from azbatch_core.specs.metadata import Metadata
from azbatch_core.specs.names import check_id
from azbatch_core.specs.problems import nearest, problem, show
from azbatch_core.specs.task import MAX_SLOTS, Retry
from azbatch_core.specs.units import Duration, Whole

if TYPE_CHECKING:
    from typing_extensions import Self

_MAX_PREFIX: Final = 20
_MIN_RESIZE: Final = timedelta(minutes=5)
_MAX_NODES: Final = 2**31 - 1
_VM_SIZE: Final = re.compile(r"[A-Za-z0-9]+(?:[_-][A-Za-z0-9]+)*")
_SUBNET: Final = re.compile(
    r"(?i)/subscriptions/[^/]+/resourceGroups/[^/]+/providers/Microsoft\.Network/virtualNetworks/[^/]+/subnets/[^/]+"
)
_GALLERY_IMAGE: Final = re.compile(
    r"(?i)/subscriptions/[^/]+/resourceGroups/[^/]+/providers/Microsoft\.Compute/galleries/[^/]+/images/[^/]+(?:/versions/[^/]+)?"
)


class ImageSpec(Spec):
    """The nodes' operating system: a marketplace image, or one of a compute gallery."""

    publisher: str | None = Field(
        default=None, min_length=1, description="The marketplace publisher.", examples=["canonical"]
    )
    offer: str | None = Field(
        default=None, min_length=1, description="The marketplace offer.", examples=["ubuntu-24_04-lts"]
    )
    sku: str | None = Field(
        default=None, min_length=1, description="The marketplace SKU.", examples=["server"]
    )
    version: str = Field(default="latest", min_length=1, description="The version of the marketplace image.")
    image_id: str | None = Field(
        default=None,
        description="The resource id of a compute gallery image; needs node_agent and a login with Entra ID.",
    )
    node_agent: str | None = Field(
        default=None,
        description="The Batch node agent for this image. Left out for a marketplace image: looked up.",
        examples=["batch.node.ubuntu 24.04"],
    )

    @field_validator("image_id")
    @classmethod
    def _check_image_id(cls, value: str | None) -> str | None:
        if value is not None and not _GALLERY_IMAGE.fullmatch(value):
            raise problem(
                f"{show(value)} is not the resource id of a compute gallery image (other custom images are "
                "retired)",
                hint=(
                    "it reads /subscriptions/…/providers/Microsoft.Compute/galleries/…/images/…[/versions/…]"
                ),
            )
        return value

    @field_validator("node_agent")
    @classmethod
    def _check_agent(cls, value: str | None) -> str | None:
        if value is not None and not value.startswith("batch.node."):
            raise problem(
                f"{show(value)} is not a node agent", hint="it reads like 'batch.node.ubuntu 24.04'"
            )
        return value

    @model_validator(mode="after")
    def _check_kind(self) -> Self:
        marketplace = {"publisher": self.publisher, "offer": self.offer, "sku": self.sku}
        given = [name for name, value in marketplace.items() if value is not None]
        if self.image_id is not None:
            if given or "version" in self.model_fields_set:
                raise problem(
                    "stands alone: publisher, offer, sku and version belong to a marketplace image",
                    field="image_id",
                )
            if self.node_agent is None:
                raise problem(
                    "is missing: a gallery image needs it",
                    field="node_agent",
                    hint="such as 'batch.node.ubuntu 24.04'",
                )
        elif len(given) < len(marketplace):
            missing = next(name for name, value in marketplace.items() if value is None)
            raise problem("is missing: an image needs publisher, offer and sku, or image_id", field=missing)
        return self


class StartTask(Spec):
    """What every node runs when it joins the pool and at each boot; it must be safe to repeat."""

    command: Command = Field(description="The program and its arguments as a list, or {shell: script}.")
    environment: Environment = Field(default=(), description="Its variables.")
    resource_files: tuple[ResourceFile, ...] = Field(
        default=(), description="Files that are downloaded before it runs."
    )
    container: Container | None = Field(
        default=None, description="The container that it runs in. Left out: on the node itself."
    )
    retry: Retry | None = Field(default=None, description="Retries after a failure.")
    wait_for_success: bool = Field(
        default=True, description="Run no task on a node before its start task has succeeded."
    )
    elevated: bool = Field(
        default=False, description="Run as administrator (root), as installing software needs."
    )

    @model_validator(mode="after")
    def _check_command(self) -> Self:
        check_any_command(self.command, container=self.container)
        return self


class ExistingPool(Spec):
    """A pool of the account, by its id; azbatch does not change it."""

    kind: Literal["existing"] = Field(default="existing", description="The kind of pool.")
    id: str = Field(description="The pool's id.", examples=["my-pool"])

    _elsewhere: ClassVar[Mapping[str, str]] = dict.fromkeys(
        ("name", "vm_size", "nodes", "spot_nodes", "image", "start_task", "containers", "container_images"),
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
    nodes: Whole = Field(
        default=1,
        ge=0,
        le=_MAX_NODES,
        description="Dedicated nodes. Left out: 1, or 0 when spot_nodes is given.",
    )
    spot_nodes: Whole = Field(
        default=0,
        ge=0,
        le=_MAX_NODES,
        description="Spot nodes: cheaper, and taken away when Azure needs them.",
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

    @model_validator(mode="after")
    def _check_targets(self) -> Self:
        if self.nodes + self.spot_nodes == 0:
            raise problem(
                "the pool would have no node, and nothing would ever run",
                field="nodes",
                hint="set nodes or spot_nodes",
            )
        return self


class ManagedPool(_NewPool):
    """A pool that azbatch makes, keeps and reuses for every job that asks for the same."""

    kind: Literal["managed"] = Field(default="managed", description="The kind of pool.")
    name: str | None = Field(
        default=None,
        description="A name that sets this pool apart from others of the same make.",
        examples=["team-a"],
    )
    identities: tuple[Identity, ...] = Field(
        default=(),
        description="Resource ids of the user-assigned identities that the nodes get; needs azbatch[arm].",
    )

    @field_validator("name")
    @classmethod
    def _check_name(cls, value: str | None) -> str | None:
        return value if value is None else check_id("pool", value)


class AutoPool(_NewPool):
    """A pool that Batch makes for the job and deletes with it."""

    kind: Literal["auto"] = Field(default="auto", description="The kind of pool.")
    keep_alive: bool = Field(
        default=False, description="Keep the pool after the job; deleting it is then up to you."
    )
    id_prefix: str | None = Field(
        default=None,
        description="What the pool's id starts with: at most 20 characters.",
        examples=["nightly"],
    )
    lifetime: Literal["job"] = Field(default="job", description="The pool lives as long as the job.")

    @field_validator("id_prefix")
    @classmethod
    def _check_prefix(cls, value: str | None) -> str | None:
        return value if value is None else check_id("auto-pool prefix", value, max_length=_MAX_PREFIX)


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
