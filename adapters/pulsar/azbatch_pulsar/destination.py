"""What a destination says about Azure Batch: the parameters that start with ``azure_batch_``.

Whatever is about accounts, pools and containers is azbatch's own: a destination only names it.
"""

from __future__ import annotations

import json
import shlex
from datetime import timedelta
from typing import TYPE_CHECKING, Annotated, Any, Final, Literal

from pydantic import BeforeValidator, Field, field_validator, model_validator

from azbatch_core.errors import SpecError
from azbatch_core.specs import ExistingPool, ImageSpec, ManagedPool, RegistrySpec, Resources, Secret
from azbatch_core.specs.base import Spec
from azbatch_core.specs.files import check_container_name
from azbatch_core.specs.problems import problem, show
from azbatch_core.specs.units import Duration, Number, Size, Whole

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from typing_extensions import Self

PREFIX: Final = "azure_batch_"
_SLOTS: Final = "GALAXY_SLOTS"
_MEMORY: Final = "GALAXY_MEMORY_MB"


def _number(value: Any) -> Any:
    """Galaxy hands over text where a rule or a variable made the parameter."""
    try:
        number = float(value) if isinstance(value, str) else value
    except ValueError:
        return value
    return int(number) if isinstance(number, float) and number.is_integer() else number


def _truth(value: Any) -> Any:
    return {"true": True, "false": False}.get(value.lower(), value) if isinstance(value, str) else value


def _texts(value: Any) -> Any:
    """Galaxy's own ``docker_…`` parameters are lists in one text, with commas."""
    return (
        tuple(part.strip() for part in value.split(",") if part.strip()) if isinstance(value, str) else value
    )


def _document(value: Any) -> Any:
    """What has fields of its own may be JSON, where parameters can only be text."""
    if not isinstance(value, str):
        return value
    try:
        return json.loads(value)
    except ValueError:
        raise problem("must be a mapping of fields, or one as JSON") from None  # it may hold a password


Count = Annotated[Whole, BeforeValidator(_number)]
Flag = Annotated[bool, BeforeValidator(_truth)]
Texts = Annotated[tuple[str, ...], BeforeValidator(_texts)]


class Destination(Spec):
    """The parameters of a destination, without their prefix. Each is optional."""

    account: str | None = Field(
        default=None, description="The account: a name from `azbatch account list`, such as local."
    )
    pool: str | None = Field(
        default=None,
        description="The id of a pool that exists. Left out: one that fits is made, kept and reused.",
    )
    vm_size: str | None = Field(
        default=None, description="The VM size of a pool that is made. Left out: chosen by what a job needs."
    )
    node_image: Annotated[ImageSpec | None, BeforeValidator(_document)] = Field(
        default=None, description="The nodes' operating system, in a pool that is made; it has Docker."
    )
    cores: Annotated[Number | None, BeforeValidator(_number)] = Field(
        default=None,
        gt=0,
        description=f"Cores of a job. Left out: ${_SLOTS} of the destination's env, if any.",
    )
    memory: Size | None = Field(
        default=None,
        description=f"Memory of a job, such as 8GiB. Left out: ${_MEMORY} of the destination's env, if any.",
    )
    disk: Size | None = Field(default=None, description="Disk space on the node, such as 100GiB.")
    gpus: Count = Field(default=0, ge=0, description="GPUs of a job.")
    gpu_model: str | None = Field(default=None, description="The GPU's model, such as T4; goes with gpus.")
    walltime: Duration | None = Field(
        default=None, description="The longest that the tool may run, such as 12h; staging is not counted."
    )
    stage_timeout: Duration = Field(
        default=timedelta(hours=6), description="The longest that bringing inputs (or outputs) may take."
    )
    spot: Flag = Field(default=False, description="Grow by spot nodes: cheaper, and may be taken away.")
    max_nodes: Annotated[Whole | None, BeforeValidator(_number)] = Field(
        default=None, ge=1, description="The most nodes that a pool that is made grows to."
    )
    min_nodes: Count = Field(default=0, ge=0, description="Nodes that it keeps with nothing to do, billed.")
    idle_time: Duration | None = Field(default=None, description="How long a node stays with nothing to do.")
    strategy: Literal["single_task", "dependent_tasks"] = Field(
        default="single_task",
        description=(
            "single_task: one task runs Pulsar, tool and Pulsar by the node's Docker, as administrator."
            " dependent_tasks: three container tasks in a pool of one node that is made for the job."
        ),
    )
    runtime: Literal["docker", "host"] = Field(
        default="docker",
        description=(
            "With single_task. docker: each step in its container. host: on the node itself, for nodes (or"
            " your own machine) that have Pulsar and the tools."
        ),
    )
    path: str | None = Field(
        default=None, description="With runtime host: folders that come first on PATH, with colons between."
    )
    registry: Annotated[RegistrySpec | None, BeforeValidator(_document)] = Field(
        default=None,
        description="The private registry of the images: server, username and password ('env:NAME').",
    )
    identity: str | None = Field(
        default=None,
        description="The resource id of the user-assigned identity that the pool's nodes have.",
    )
    volumes: Texts = Field(
        default=(), description="More mounts of all containers, as for docker run -v: /cvmfs:/cvmfs:ro"
    )
    docker_options: str = Field(default="", description="More options for docker run, of all containers.")
    staging: str = Field(
        default="/tmp/pulsar_staging",  # noqa: S108  # a path on the nodes, in containers of one job each
        description="The folder, in the containers, below which each job has its own.",
    )
    storage_container: str = Field(
        default="pulsar",
        description="The blob container, in the account's own storage, for what they and Galaxy exchange.",
    )
    priority: Annotated[Whole, BeforeValidator(_number)] = Field(
        default=0, ge=-1000, le=1000, description="Jobs with a higher one go first on a shared pool."
    )
    retention: Duration | None = Field(default=None, description="How long a job's files stay on its node.")
    cleanup: Literal["galaxy", "never"] = Field(
        default="galaxy",
        description="galaxy: remove the Batch job where Galaxy's cleanup_job says so. never: keep it.",
    )
    instance: str | None = Field(
        default=None,
        pattern=r"^[a-z0-9]{1,16}$",
        description="A name for this Galaxy in jobs' ids. Left out: made of its address.",
    )
    message_queue_url: Secret | None = Field(
        default=None,
        description="The queue as nodes reach it, where that differs from the runner's amqp_url; 'env:NAME'.",
    )

    @field_validator("staging")
    @classmethod
    def _check_staging(cls, value: str) -> str:
        if not value.startswith("/") or any(sign in value for sign in "'\" \\\n:"):
            raise problem(f"{show(value)} must be an absolute path without spaces, quotes and colons")
        return value.rstrip("/")

    @field_validator("docker_options")
    @classmethod
    def _check_options(cls, value: str) -> str:
        try:
            shlex.split(value)
        except ValueError as error:
            raise problem(f"{show(value)} cannot be read as words: {error}") from None
        return value

    @field_validator("storage_container")
    @classmethod
    def _check_container(cls, value: str) -> str:
        return check_container_name(value)

    @model_validator(mode="after")
    def _check_login(self) -> Self:
        if self.strategy == "single_task" and self.registry is not None and self.registry.username is None:
            raise problem(
                "the node's own Docker cannot log in with an identity",
                field="registry",
                hint="give username and password ('env:NAME'), or take the strategy dependent_tasks",
            )
        return self

    @property
    def resources(self) -> Resources:
        """What the job needs of a node."""
        return Resources(
            cpus=self.cores, memory=self.memory, gpus=self.gpus, gpu_model=self.gpu_model, disk=self.disk
        )

    def shared_pool(self) -> ExistingPool | ManagedPool:
        """The pool that jobs of this destination share."""
        if self.pool is not None:
            return ExistingPool(id=self.pool)
        wanted = {"max_nodes": self.max_nodes, "idle_time": self.idle_time, "image": self.node_image}
        return ManagedPool(
            vm_size=self.vm_size,
            min_nodes=self.min_nodes,
            spot=self.spot,
            identities=(self.identity,) if self.identity else (),
            host_docker=self.runtime == "docker",
            **{name: value for name, value in wanted.items() if value is not None},
        )


def parse(params: Mapping[str, Any], env: Iterable[Mapping[str, Any]] = ()) -> Destination:
    """The destination that parameters describe; those without the prefix are Pulsar's and left alone.

    Args:
        params: A destination's parameters.
        env: Its variables, as Galaxy has them: ``[{"name": …, "value": …}, …]``.

    Raises:
        SpecError: A parameter is unknown or wrong; names it with its prefix, and the nearest right name.
    """
    own = {key[len(PREFIX) :]: value for key, value in params.items() if key.startswith(PREFIX)}
    given = {key: value for key, value in own.items() if value is not None and value != ""}
    given = {**_from_galaxy(params, env), **given}
    try:
        return Destination(**given)
    except SpecError as error:
        failure = _named(error)
    raise failure


def _from_galaxy(params: Mapping[str, Any], env: Iterable[Mapping[str, Any]]) -> dict[str, Any]:
    """What Galaxy's own parameters and variables say already."""
    found: dict[str, Any] = {}
    variables = {str(item.get("name")): str(item.get("value")) for item in env}
    if variables.get(_SLOTS, "").isdecimal():
        found["cores"] = int(variables[_SLOTS])
    if variables.get(_MEMORY, "").isdecimal():
        found["memory"] = f"{variables[_MEMORY]}MiB"
    if params.get("docker_extra_volumes"):
        found["volumes"] = params["docker_extra_volumes"]
    return found


def _named(error: SpecError) -> SpecError:
    """The same problem, with the names that the destination has."""
    field = error.field or ""
    text = error.message.removeprefix(f"{error.field}: ") if error.field else error.message
    hint = error.hint
    for name in Destination.model_fields:
        hint = hint and hint.replace(f"'{name}'", f"'{PREFIX}{name}'")
    if hint and hint.startswith("the fields here are") and "." not in field:
        hint = "the parameters are " + ", ".join(PREFIX + name for name in Destination.model_fields)
    return SpecError(f"{PREFIX}{field}: {text}", field=PREFIX + field, hint=hint)
