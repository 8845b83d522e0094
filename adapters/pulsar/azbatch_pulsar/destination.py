"""What a destination says about Azure Batch: the parameters that start with ``azure_batch_``.

Whatever is about accounts, pools and containers is azbatch's own: a destination only names it.
"""

from __future__ import annotations

import json
import shlex
from contextlib import suppress
from datetime import timedelta
from typing import TYPE_CHECKING, Annotated, Any, Final, Literal

from pydantic import AfterValidator, BeforeValidator, ConfigDict, Field, field_validator, model_validator

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


def _plain(value: Any) -> Any:
    """Galaxy hands over text where a rule or a variable made the parameter: what it would be in JSON."""
    if isinstance(value, str):
        with suppress(ValueError):
            value = json.loads(value.lower() if value.lower() in {"true", "false"} else value)
    return int(value) if isinstance(value, float) and value.is_integer() else value


def _texts(value: Any) -> Any:
    """Galaxy's own ``docker_…`` parameters are lists in one text, with commas."""
    return [part.strip() for part in value.split(",") if part.strip()] if isinstance(value, str) else value


Count = Annotated[Whole, BeforeValidator(_plain)]
Flag = Annotated[bool, BeforeValidator(_plain)]
Texts = Annotated[tuple[str, ...], BeforeValidator(_texts)]


class Destination(Spec):
    """The parameters of a destination, without their prefix. Each is optional."""

    model_config = ConfigDict(use_attribute_docstrings=True)

    account: str | None = None
    """The account: a name from `azbatch account list`, such as local."""
    pool: str | None = None
    """The id of a pool that exists. Left out: one that fits is made, kept and reused."""
    vm_size: str | None = None
    """The VM size of a pool that is made. Left out: chosen by what a job needs."""
    node_image: Annotated[ImageSpec | None, BeforeValidator(_plain)] = None
    """The nodes' operating system, in a pool that is made; it has Docker."""
    cores: Annotated[Number | None, BeforeValidator(_plain)] = Field(default=None, gt=0)
    """Cores of a job. Left out: $GALAXY_SLOTS of the destination's env, if any."""
    memory: Size | None = None
    """Memory of a job, such as 8GiB. Left out: $GALAXY_MEMORY_MB of the destination's env, if any."""
    disk: Size | None = None
    """Disk space on the node, such as 100GiB."""
    gpus: Count = Field(default=0, ge=0)
    """GPUs of a job."""
    gpu_model: str | None = None
    """The GPU's model, such as T4; goes with gpus."""
    walltime: Duration | None = None
    """The longest that the tool may run, such as 12h; staging is not counted."""
    stage_timeout: Duration = timedelta(hours=6)
    """The longest that bringing inputs (or outputs) may take."""
    spot: Flag = False
    """Grow by spot nodes: cheaper, and may be taken away."""
    max_nodes: Annotated[Whole | None, BeforeValidator(_plain)] = Field(default=None, ge=1)
    """The most nodes that a pool that is made grows to."""
    min_nodes: Count = Field(default=0, ge=0)
    """Nodes that it keeps with nothing to do, billed."""
    idle_time: Duration | None = None
    """How long a node stays with nothing to do."""
    strategy: Literal["single_task", "dependent_tasks"] = "single_task"
    """single_task: one task runs Pulsar, tool and Pulsar by the node's Docker, as administrator.
    dependent_tasks: three container tasks in a pool of one node that is made for the job."""
    runtime: Literal["docker", "host"] = "docker"
    """With single_task. docker: each step in its container. host: on the node itself, for nodes (or your own
    machine) that have Pulsar and the tools."""
    path: str | None = None
    """With runtime host: folders that come first on PATH, with colons between."""
    registry: Annotated[RegistrySpec | None, BeforeValidator(_plain)] = None
    """The private registry of the images: server, username and password ('env:NAME')."""
    identity: str | None = None
    """The resource id of the user-assigned identity that the pool's nodes have."""
    volumes: Texts = ()
    """More mounts of all containers, as for docker run -v: /cvmfs:/cvmfs:ro"""
    docker_options: str = ""
    """More options for docker run, of all containers."""
    staging: str = "/tmp/pulsar_staging"  # noqa: S108  # a path on the nodes, in containers of one job each
    """The folder, in the containers, below which each job has its own."""
    storage_container: Annotated[str, AfterValidator(check_container_name)] = "pulsar"
    """The blob container, in the account's own storage, for what they and Galaxy exchange."""
    priority: Count = Field(default=0, ge=-1000, le=1000)
    """Jobs with a higher one go first on a shared pool."""
    retention: Duration | None = None
    """How long a job's files stay on its node."""
    cleanup: Literal["galaxy", "never"] = "galaxy"
    """galaxy: remove the Batch job where Galaxy's cleanup_job says so. never: keep it."""
    instance: str | None = Field(default=None, pattern=r"^[a-z0-9]{1,16}$")
    """A name for this Galaxy in jobs' ids. Left out: made of its address."""
    message_queue_url: Secret | None = None
    """The queue as nodes reach it, where that differs from the runner's amqp_url; 'env:NAME'."""

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
        SpecError: Parameters are unknown or wrong; names each with its prefix, and the nearest right name.
    """
    own = {key[len(PREFIX) :]: value for key, value in params.items() if key.startswith(PREFIX)}
    given = {key: value for key, value in own.items() if value is not None and value != ""}
    try:
        return Destination(**{**_from_galaxy(params, env), **given})
    except SpecError as error:
        told = [_named(found) for found in (error, *error.others)]
    if len(told) == 1:
        raise told[0]
    # Outside of the handler, and of no chained exception: what was given may hold a secret.
    raise SpecError(f"{len(told)} parameters are wrong: {'; '.join(map(str, told))}", field=told[0].field)


def queue_params(runner: Mapping[str, Any]) -> dict[str, Any]:
    """What a runner's parameters say of the message queue: Pulsar's own, for a client manager."""
    names = ("amqp_", "transport_", "relay_")
    return {name: value for name, value in runner.items() if name.startswith(names)}


def is_queue(params: Mapping[str, Any]) -> bool:
    """Whether there is a message queue: a broker or a relay."""
    return bool(params.get("amqp_url") or params.get("relay_url"))


def _from_galaxy(params: Mapping[str, Any], env: Iterable[Mapping[str, Any]]) -> dict[str, Any]:
    """What Galaxy's own parameters and variables say already."""
    variables = {str(item.get("name")): str(item.get("value")) for item in env}
    slots, megabytes = (variables.get(name, "") for name in ("GALAXY_SLOTS", "GALAXY_MEMORY_MB"))
    found = {
        "cores": int(slots) if slots.isdecimal() else None,
        "memory": f"{megabytes}MiB" if megabytes.isdecimal() else None,
        "volumes": params.get("docker_extra_volumes"),
    }
    return {name: value for name, value in found.items() if value}


def _named(error: SpecError) -> SpecError:
    """The same problem, with the names that the destination has."""
    field, hint = error.field or "", error.hint or ""
    text = error.message.removeprefix(f"{field}: ")
    for name in Destination.model_fields:
        hint = hint.replace(f"'{name}'", f"'{PREFIX}{name}'")
    if hint.startswith("the fields here are") and "." not in field:
        hint = "the parameters are " + ", ".join(PREFIX + name for name in Destination.model_fields)
    return SpecError(f"{PREFIX}{field}: {text}", field=PREFIX + field, hint=hint or None)
