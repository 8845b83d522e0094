"""The nodes of a pool: their operating system, and what each one runs first."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from pydantic import Field, field_validator, model_validator

from azbatch_core.specs.base import Spec
from azbatch_core.specs.command import Command, check_any_command
from azbatch_core.specs.containers import Container
from azbatch_core.specs.environment import Environment
from azbatch_core.specs.files import ResourceFile
from azbatch_core.specs.problems import problem, show
from azbatch_core.specs.task import Retry

if TYPE_CHECKING:
    from typing_extensions import Self

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
