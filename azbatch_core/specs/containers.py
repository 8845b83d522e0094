"""Container images that tasks run in, and the registries they come from."""

from __future__ import annotations

import base64
import json
import re
import shlex
from typing import TYPE_CHECKING, Annotated, Any, Final, Literal

from pydantic import BeforeValidator, Field, field_validator, model_validator

from azbatch_core.specs.base import Spec
from azbatch_core.specs.files import Identity
from azbatch_core.specs.images import DEFAULT_REGISTRY, ImageReference, check_image
from azbatch_core.specs.names import check_text
from azbatch_core.specs.problems import problem, show
from azbatch_core.specs.secrets import Secret

if TYPE_CHECKING:
    from typing_extensions import Self

_SERVER: Final = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9.-]*[A-Za-z0-9])?(?::\d{1,5})?(?:/[a-z0-9._/-]+)?")
_REFUSED: Final = {
    "--gpus": "Batch gives the container the node's GPUs by itself",
    "--runtime": "Batch chooses the container runtime by itself",
}


class RegistrySpec(Spec):
    """A private registry, and who reads it: a user name with a password, or an identity with AcrPull."""

    server: str = Field(
        default=DEFAULT_REGISTRY,
        description="The registry's host, without https://.",
        examples=["myregistry.azurecr.io"],
    )
    username: str | None = Field(default=None, min_length=1, description="The user name; goes with password.")
    password: Secret | None = Field(default=None, description="The password or access token.")
    identity: Identity | None = Field(
        default=None,
        description="The resource id of the user-assigned identity (one that the pool has) that may pull.",
    )

    @field_validator("server")
    @classmethod
    def _check_server(cls, value: str) -> str:
        if "://" in value:
            raise problem(
                f"{show(value)} has a scheme", hint=f"write {value.partition('://')[2].rstrip('/')!r}"
            )
        if not _SERVER.fullmatch(value):
            raise problem(
                f"{show(value)} is not a registry's host", hint="write it like 'myregistry.azurecr.io'"
            )
        return value

    @model_validator(mode="after")
    def _check_access(self) -> Self:
        if (self.username is None) != (self.password is None):
            missing = "password" if self.password is None else "username"
            raise problem("is missing: username and password go together", field=missing)
        if (self.username is None) == (self.identity is None):
            raise problem(f"the registry {self.server} needs either username and password, or identity")
        return self

    def docker_config(self) -> bytes:
        """Docker's own configuration with this login, a file so that no password is on a command line.

        Without a password nothing is in it. There is a secret in it.

        Raises:
            ConfigurationError: The password cannot be read.
        """
        if self.username is None or self.password is None:
            return b"{}"
        login = base64.b64encode(f"{self.username}:{self.password.reveal()}".encode()).decode()
        return json.dumps({"auths": {self.server: {"auth": login}}}).encode()


def _parse_options(value: object) -> str | tuple[str, ...]:
    if isinstance(value, str):
        options: str | tuple[str, ...] = check_text(value)
    elif isinstance(value, (list, tuple)) and all(isinstance(item, str) for item in value):
        options = tuple(check_text(item) for item in value)
    else:
        raise problem("must be text or a list of texts")
    for word in split_options(options):
        name = word.partition("=")[0]
        if name in _REFUSED:
            raise problem(f"{name} is refused by Batch: {_REFUSED[name]}", hint="remove it")
    return options


def split_options(options: str | tuple[str, ...]) -> tuple[str, ...]:
    """The single options.

    Raises:
        SpecError: A quote is not closed.
    """
    if isinstance(options, tuple):
        return options
    try:
        return tuple(shlex.split(options))
    except ValueError:
        raise problem(f"{show(options)} has a quote that is not closed") from None


class ContainerSpec(Spec):
    """The container that a task runs in. Its tasks need a pool that can run containers."""

    image: str = Field(
        description="The full image reference, as for docker pull. No tag means latest.",
        examples=["ubuntu:24.04", "myregistry.azurecr.io/tools/bwa:0.7"],
    )
    run_options: Annotated[
        str | tuple[str, ...],
        BeforeValidator(_parse_options, json_schema_input_type=str | tuple[str, ...]),
    ] = Field(
        default=(),
        description=(
            "More options for docker create. --gpus and --runtime are refused, because Batch sets them."
        ),
        examples=["--shm-size 8g", ["--ulimit", "memlock=-1"]],
    )
    registry: RegistrySpec | None = Field(
        default=None, description="The private registry, when the pool does not know it."
    )
    working_directory: Literal["taskWorkingDirectory", "containerImageDefault"] = Field(
        default="taskWorkingDirectory",
        description="Where the command starts: in the task's directory, or where the image says.",
    )

    @field_validator("image")
    @classmethod
    def _check_image(cls, value: str) -> str:
        return check_image(value)

    @property
    def reference(self) -> ImageReference:
        """The parts of the image's name."""
        return ImageReference.parse(self.image)

    @property
    def run_options_text(self) -> str:
        """The options as Batch wants them: one text, quoted."""
        return self.run_options if isinstance(self.run_options, str) else shlex.join(self.run_options)


def _from_image(value: Any) -> Any:
    return {"image": value} if isinstance(value, str) else value


Container = Annotated[ContainerSpec, BeforeValidator(_from_image, json_schema_input_type=str | ContainerSpec)]
"""A `ContainerSpec`; an image's name alone is enough."""
