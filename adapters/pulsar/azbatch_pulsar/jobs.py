"""The Batch job that runs a Pulsar job: azbatch's specs, and the files that its nodes read. Pure.

The two strategies differ in where the three steps run: one after the other in one task on the node itself,
which starts a container for each, or as three container tasks in a pool of one node that is made for the job.
"""

from __future__ import annotations

import json
import shlex
from dataclasses import dataclass, field
from datetime import timedelta
from importlib import resources
from typing import TYPE_CHECKING, Any, Final

from azbatch_core.specs import (
    AutoPool,
    ContainerSpec,
    JobPreparation,
    JobRelease,
    JobSpec,
    OutputFile,
    ResourceFile,
    TaskSpec,
    shell,
)

if TYPE_CHECKING:
    from azbatch_pulsar.destination import Destination

TASK: Final = "pulsar"
STEPS: Final = ("submit", "tool", "finish")
DEFAULT_WALLTIME: Final = timedelta(days=7)
_MARGIN: Final = timedelta(minutes=1)
"""What a staging step may take beyond its timeout, to end by itself and say so."""
_NOT_ON_PATH: Final = "on the node's PATH: set azure_batch_path to the folder that has it"
_MIB: Final = 1024**2
_REMOVE_CONTAINERS: Final = (
    'docker ps -aq --filter "label=azbatch.job=$AZ_BATCH_JOB_ID" | xargs -r docker rm -f >/dev/null; '
)
_REMOVE_FILES: Final = (
    f'for wd in "$AZ_BATCH_NODE_ROOT_DIR/workitems/$AZ_BATCH_JOB_ID"/*/{TASK}/wd; do'
    ' rm -rf "$wd/$AZ_BATCH_JOB_ID/secret" "$wd/staging"; done'
)


@dataclass(frozen=True)
class Launch:
    """One run of a Pulsar job.

    Attributes:
        batch_id: The id of the Batch job.
        staging: The job's own folder, in the containers.
        job_directory: Pulsar's folder below it.
        pulsar_image: The image with Pulsar in it.
        tool_image: The one that the tool runs in: Pulsar's where it has none of its own.
        arguments: Pulsar's own, for submit and finish alike.
        message: What Pulsar shall do. There are keys in it.
        app_config: How Pulsar is set up. There are passwords in it.
    """

    batch_id: str
    staging: str
    job_directory: str
    destination: Destination
    pulsar_image: str
    tool_image: str
    arguments: tuple[str, ...]
    message: dict[str, Any] = field(repr=False)
    app_config: dict[str, Any] = field(repr=False)


def files_of(launch: Launch) -> dict[str, bytes]:
    """The files that the nodes read, by name: what holds a secret is below ``secret/``.

    Raises:
        ConfigurationError: The registry's password cannot be read.
    """
    scripts = resources.files("azbatch_pulsar") / "node"
    names = ("steps.sh", "single_task.sh", "container_step.sh", "pulsar_step.py")
    files = {f"steps/{name}": (scripts / name).read_bytes() for name in names}
    files["steps/settings.sh"] = _settings(launch).encode()
    files["secret/message.json"] = json.dumps(launch.message).encode()
    files["secret/app.json"] = json.dumps(launch.app_config).encode()
    registry = launch.destination.registry
    files["secret/docker/config.json"] = registry.docker_config() if registry else b"{}"
    return files


def _settings(launch: Launch) -> str:
    """What the scripts know of the job, as variables of the shell."""
    wanted = launch.destination
    memory = wanted.memory or 0
    own = [f"--memory={memory}"] if memory else []
    host = wanted.runtime == "host"
    values = {
        "RUNTIME": wanted.runtime,
        "LABEL": launch.batch_id,
        "STAGING": launch.staging,
        "JOB_DIRECTORY": launch.job_directory,
        "PULSAR_IMAGE": launch.pulsar_image,
        "TOOL_IMAGE": launch.tool_image,
        "PULSAR_ARGUMENTS": " ".join(launch.arguments),
        "WHERE_PULSAR": _NOT_ON_PATH if host else f"in the image {launch.pulsar_image}",
        "STAGE_SECONDS": int(wanted.stage_timeout.total_seconds()),
        "STAGE_LIMIT": int((wanted.stage_timeout + _MARGIN).total_seconds()),
        "TOOL_SECONDS": int(_tool_time(wanted).total_seconds()),
        "SLOTS": max(1, int(wanted.cores)) if wanted.cores else "",
        "MEMORY_MB": memory // _MIB or "",
        "OPTIONS": shlex.join(_run_options(wanted)),
        "TOOL_OPTIONS": shlex.join([*own, "--gpus=all"] if wanted.gpus else own),
    }
    return "".join(f"{name}={shlex.quote(str(value))}\n" for name, value in values.items())


def _tool_time(wanted: Destination) -> timedelta:
    return wanted.walltime or DEFAULT_WALLTIME


def _run_options(wanted: Destination) -> list[str]:
    mounts = [word for volume in wanted.volumes for word in ("-v", volume)]
    return [*mounts, *shlex.split(wanted.docker_options)]


def job_of(launch: Launch) -> JobSpec:
    """The job as azbatch takes it.

    Raises:
        SpecError: The destination asks for what cannot be.
    """
    wanted = launch.destination
    shared: dict[str, Any] = {
        "name": launch.batch_id,
        "id": launch.batch_id,
        "resources": wanted.resources,
        "priority": wanted.priority,
        "retention": wanted.retention,
        "wall_time": None,  # Galaxy decides how long a job may wait; what runs is bounded step by step
    }
    if wanted.strategy == "dependent_tasks":
        return JobSpec(**shared, pool=_own_pool(wanted), tasks=_dependent_tasks(launch))
    docker = wanted.runtime == "docker"
    # A task that is ended can do nothing more: its containers would go on, its keys lie on the node.
    remove = shell((_REMOVE_CONTAINERS if docker else "") + _REMOVE_FILES)
    shared["preparation"] = JobPreparation(command=remove, elevated=docker)
    shared["release"] = JobRelease(command=remove, elevated=docker)
    return JobSpec(**shared, pool=wanted.shared_pool(), tasks=(_single_task(launch, elevated=docker),))


def _single_task(launch: Launch, *, elevated: bool) -> TaskSpec:
    path = launch.destination.path
    return TaskSpec(
        id=TASK,
        command=["/bin/sh", f"{launch.batch_id}/steps/single_task.sh"],
        environment={"PATH": f"{path}:/usr/local/bin:/usr/bin:/bin"} if path else {},
        resource_files=(_files(launch, ""),),
        output_files=_results(launch),
        elevated=elevated,
    )


def _dependent_tasks(launch: Launch) -> tuple[TaskSpec, ...]:
    """Each starts whatever became of the one before: outputs are always brought away."""
    wanted = launch.destination
    tasks: list[TaskSpec] = []
    for step in STEPS:
        tool = step == "tool"
        tasks.append(
            TaskSpec(
                id=step,
                command=["/bin/sh", f"{launch.batch_id}/steps/container_step.sh", step],
                container=_container(launch, launch.tool_image if tool else launch.pulsar_image),
                resource_files=(_files(launch, "steps/"), *(() if tool else (_files(launch, "secret/"),))),
                output_files=_results(launch) if step == "finish" else (),
                depends_on=(tasks[-1].id,) if tasks else (),
                on_failure="satisfy",
                wall_time=_tool_time(wanted) if tool else wanted.stage_timeout + _MARGIN,
            )
        )
    return tuple(tasks)


def _container(launch: Launch, image: str) -> ContainerSpec:
    wanted = launch.destination
    return ContainerSpec(image=image, run_options=tuple(_run_options(wanted)), registry=wanted.registry)


def _own_pool(wanted: Destination) -> AutoPool:
    nodes: dict[str, Any] = {"spot_nodes": 1} if wanted.spot else {"nodes": 1}
    if wanted.node_image is not None:
        nodes["image"] = wanted.node_image
    return AutoPool(vm_size=wanted.vm_size, **nodes)


def _files(launch: Launch, below: str) -> ResourceFile:
    return ResourceFile(
        container=launch.destination.storage_container,
        blob_prefix=f"{launch.batch_id}/{below}",
        file_mode="0700",
    )


def _results(launch: Launch) -> tuple[OutputFile, ...]:
    container = launch.destination.storage_container
    return tuple(
        OutputFile(file_pattern=pattern, container=container, path=result_folder(launch.batch_id))
        for pattern in ("out/*", "../std*.txt")
    )


def result_folder(batch_id: str) -> str:
    """Where, in the storage container, a job leaves what it has to say."""
    return f"results/{batch_id}"
