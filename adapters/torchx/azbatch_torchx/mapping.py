"""From TorchX's AppDef to azbatch's `JobSpec`: a role of one replica is a task. Pure.

Macros are replaced before (compat.py), exactly once. Commands are lists of arguments, so no quoting is ever
added or taken away.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from azbatch_core import (
    ContainerSpec,
    ExistingPool,
    JobSpec,
    ManagedPool,
    OutputFile,
    RegistrySpec,
    Resources,
    RetryPolicy,
    Secret,
    SpecError,
    TaskSpec,
)
from azbatch_core.specs import slug
from azbatch_core.specs.known_sizes import check_vm_size
from azbatch_core.specs.problems import mask_text
from azbatch_torchx import checks, gangs, mounts, stamp, workspace
from azbatch_torchx.options import NO_LIMIT, REGISTRY_PASSWORD
from azbatch_torchx.roles import GPU_MODEL, INFINIBAND, VM_SIZE

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from azbatch_torchx.options import RunOptions
    from azbatch_torchx.roles import AppLike, ResourceLike, RoleLike

_MAX_DISPLAY_NAME: Final = 1024
_ONE_NODE: Final = 1
# Output into a file is followed line by line; TorchX's own schedulers (this machine's, Slurm's) set it, too.
_UNBUFFERED: Final = {"PYTHONUNBUFFERED": "1"}
_OUTPUT: Final = OutputFile(file_pattern="../std*.txt", container="azbatch-logs")


@dataclass(frozen=True)
class Mapped:
    """What an app became.

    Attributes:
        job: What will be planned.
        notes: What the user should know, one line each.
    """

    job: JobSpec
    notes: tuple[str, ...]


def job_id_of(app_name: str, nonce: str) -> str:
    """The id of an app's job: its name as far as an id can hold it, and what makes it unique."""
    return f"{slug(app_name or 'app', suffix_room=len(nonce) + 1)}-{nonce}"


def to_job(
    app: AppLike,
    roles: Sequence[RoleLike],
    job_id: str,
    options: RunOptions,
    version: str,
    *,
    storage: bool = False,
    local: bool = False,
) -> Mapped:
    """The job of an app.

    Args:
        app: TorchX's AppDef.
        roles: Its roles, macros replaced.
        job_id: The id that the job gets.
        options: The run options.
        version: TorchX's version, kept in the job's metadata.
        storage: The account has storage of its own, where output outlives its node.
        local: The account is this machine: no service refuses an unknown VM size, and mounts need Docker.

    Raises:
        SpecError: Something in it cannot run on Batch, or a run option is wrong.
    """
    checks.check(app, roles)
    pool = _pool(roles, options)
    if local:
        _check_size(pool)
    notes = _local_notes(roles, options) if local else []
    placed = list(zip(roles, _task_ids(role.name for role in roles), strict=True))
    tasks = [_task(role, task_id, roles, options, notes) for role, task_id in placed]
    stamps = tuple(_stamp(role, task_id) for role, task_id in placed)
    if storage and options.keep_logs:
        tasks = [task.replace(output_files=(_OUTPUT,)) for task in tasks]
    metadata = stamp.write(stamp.AppStamp(app.name, stamps), version, app.metadata)
    job = JobSpec(
        name=app.name.strip()[:_MAX_DISPLAY_NAME] or "app",
        id=job_id,
        tasks=tuple(tasks),
        pool=pool,
        priority=options.priority,
        on_task_failure="terminate" if len(roles) > 1 else "noaction",
        metadata=metadata,
        **_limits(options),
    )
    return Mapped(job, tuple(notes))


def _stamp(role: RoleLike, task_id: str) -> stamp.RoleStamp:
    """The role as `torchx describe` shows it later: the replica's number is a macro again."""
    words = [mask_text(word.replace(gangs.REPLICA_ID, "${replica_id}")) for word in role.args]
    return stamp.RoleStamp(
        role.name,
        task_id,
        role.num_replicas,
        role.image,
        entrypoint=mask_text(role.entrypoint),
        args=stamp.first_of(words),
        cpu=role.resource.cpu,
        gpu=role.resource.gpu,
        memory=role.resource.memMB,
        max_retries=role.max_retries,
        retry_policy=_policy(role),
    )


def with_images(job: JobSpec, places: Mapping[str, str]) -> JobSpec:
    """The job with images named otherwise."""
    tasks = [
        task.replace(container=task.container.replace(image=places[task.container.image]))
        if task.container is not None and task.container.image in places
        else task
        for task in job.tasks
    ]
    return job.replace(tasks=tuple(tasks))


def _task_ids(names: Iterable[str]) -> list[str]:
    """An id for each role's task: its name where that is an id, unique whatever the case."""
    ids: list[str] = []
    for place, name in enumerate(names):
        candidate = slug(name or "role", suffix_room=4)
        taken = {given.lower() for given in ids}
        ids.append(f"{candidate}-{place}" if candidate.lower() in taken else candidate)
    return ids


def _task(
    role: RoleLike, task_id: str, roles: Sequence[RoleLike], options: RunOptions, notes: list[str]
) -> TaskSpec:
    try:
        checks.check_role(role)
        checks.check_replicas(role, notes)
        return TaskSpec(id=task_id, **_fields(role, options, notes), retry=_retry(role, len(roles)))
    except SpecError as error:
        failure = SpecError(f"role {role.name!r}: {error.message}", field=error.field, hint=error.hint)
    raise failure


def _fields(role: RoleLike, options: RunOptions, notes: list[str]) -> dict[str, Any]:
    wanted = mounts.of_role(role.mounts, options.mounts)
    if wanted and not options.containers:
        raise SpecError("has mounts, and containers=false", hint="mounts are of containers: leave one out")
    if wanted.volumes and options.pool is None:
        raise SpecError(
            f"mounts {wanted.volumes[0][0]!r} of the pool, and a pool that is made for an app has no mounts",
            field="mounts",
            hint="name a pool that has it: pool=…",
        )
    return {
        "display_name": role.name[:_MAX_DISPLAY_NAME],
        "command": mounts.linked(_command(role), wanted.volumes),
        "resource_files": tuple(workspace.resource_file(name) for name in _archives(role)),
        "container": _container(role, options, wanted.options) if options.containers else None,
        "resources": _resources(role.resource, options, notes),
        "environment": _environment(role),
        "elevated": bool(wanted.volumes),
        "gang": {"nodes": role.num_replicas} if role.num_replicas > _ONE_NODE else None,
    }


def _command(role: RoleLike) -> tuple[str, ...]:
    command = (role.entrypoint, *role.args)
    if role.num_replicas > _ONE_NODE:
        command = gangs.command(role.entrypoint, role.args, role.env)
    for name in _archives(role):
        command = workspace.unpacked(command, name)
    return command


def _archives(role: RoleLike) -> tuple[str, ...]:
    """The archive of the role's workspace, if it has one."""
    name = role.metadata.get(workspace.METADATA)
    return (str(name),) if name else ()


def _container(role: RoleLike, options: RunOptions, extra: Sequence[str]) -> ContainerSpec:
    if not role.image:
        raise SpecError("names no image", field="image", hint="give one, or containers=false")
    shared = [f"--shm-size={role.resource.memMB}m"] if role.resource.memMB > 0 else []
    devices = ["--device=/dev/infiniband", "--ulimit=memlock=-1"] if role.resource.devices else []
    run_options = (*shared, *devices, *extra)
    return ContainerSpec(image=role.image, run_options=run_options, registry=_registry(options))


def _registry(options: RunOptions) -> RegistrySpec | None:
    if options.registry is None:
        return None
    user, at, host = options.registry.rpartition("@")
    if at:
        return RegistrySpec(server=host, username=user, password=Secret(f"env:{REGISTRY_PASSWORD}"))
    if options.identity is None:
        raise SpecError(
            f"the registry {host} needs identity, or a user: USER@HOST with ${REGISTRY_PASSWORD}",
            field="registry",
        )
    return RegistrySpec(server=host, identity=options.identity)


def _resources(resource: ResourceLike, options: RunOptions, notes: list[str]) -> Resources:
    sized = options.pool or options.vm_size or resource.capabilities.get(VM_SIZE)
    for device in resource.devices:
        if device != INFINIBAND:
            raise SpecError(f"no VM size of Batch has the device {device!r}", hint=f"known: {INFINIBAND}")
        if not sized:
            raise SpecError(f"asks for {device}: name a vm_size with it", hint="such as Standard_HB120rs_v3")
    foreign = sorted(name for name in resource.capabilities if not str(name).startswith("azure_batch."))
    if foreign:
        notes.append(f"capabilities that mean nothing on Batch are left out: {', '.join(foreign)}")
    model = resource.capabilities.get(GPU_MODEL)
    fields: dict[str, Any] = {"gpus": max(resource.gpu, 0)}
    if resource.cpu > 0:
        fields["cpus"] = resource.cpu
    if resource.memMB > 0:
        fields["memory"] = f"{resource.memMB}MiB"
    if model is not None:
        fields["gpu_model"] = str(model)
    return Resources(**fields)


def _environment(role: RoleLike) -> dict[str, str]:
    env = {**_UNBUFFERED, **role.env}
    if role.num_replicas > _ONE_NODE:
        return gangs.environment(env)
    return {gangs.REPLICA_ENV: "0", gangs.RANK0_ENV: "localhost", **env}


def _retry(role: RoleLike, roles: int) -> RetryPolicy:
    """Tries after the first, where Batch can do what the policy says: it starts one task again, alone."""
    policy = _policy(role)
    if role.max_retries <= 0:
        return RetryPolicy()
    if policy == "APPLICATION" and roles > 1:
        raise SpecError(
            "retry policy APPLICATION restarts all roles together, and Batch restarts a task alone",
            field="retry_policy",
            hint="use REPLICA, or one role",
        )
    if role.num_replicas > _ONE_NODE and policy not in {"APPLICATION", "ROLE"}:
        raise SpecError(
            f"retry policy {policy} restarts one replica, and Batch restarts all nodes of a gang together",
            field="retry_policy",
            hint="use APPLICATION, or max_retries=0",
        )
    if policy not in {"APPLICATION", "REPLICA", "ROLE"}:
        raise SpecError(
            f"retry policy {policy} has no meaning on Batch", field="retry_policy", hint="use REPLICA"
        )
    return RetryPolicy(max_retries=role.max_retries)


def _policy(role: RoleLike) -> str:
    return str(getattr(role.retry_policy, "value", role.retry_policy))


def _pool(roles: Sequence[RoleLike], options: RunOptions) -> ExistingPool | ManagedPool:
    if options.pool is not None:
        if options.vm_size is not None:
            text = f"pool {options.pool!r} has its VM size already"
            raise SpecError(text, field="vm_size", hint="leave one of them out")
        return ExistingPool(id=options.pool)
    asked = (role.resource.capabilities.get(VM_SIZE) for role in roles)
    named = {str(size) for size in asked if size is not None}
    if options.vm_size is None and len(named) > 1:
        raise SpecError(
            f"roles name different VM sizes ({', '.join(sorted(named))}), and an app runs on one pool",
            hint="say which: vm_size=…",
        )
    grows = {} if options.max_nodes is None else {"max_nodes": options.max_nodes}
    return ManagedPool(
        vm_size=options.vm_size or next(iter(named), None),
        spot=options.spot,
        identities=(options.identity,) if options.identity else (),
        **grows,
    )


def _check_size(pool: ExistingPool | ManagedPool) -> None:
    """Refuse a VM size that the catalog does not know; on a real account the service knows newer ones."""
    if isinstance(pool, ManagedPool) and pool.vm_size is not None:
        check_vm_size(pool.vm_size)


def _local_notes(roles: Sequence[RoleLike], options: RunOptions) -> list[str]:
    more = [text.split(":")[0] for text in options.mounts]
    mounted = {
        role.name: [*(str(getattr(one, "src_path", None) or one.src) for one in role.mounts), *more]
        for role in roles
    }
    return [
        f"role {name!r}: without Docker here its mounts are left out: {', '.join(sources)}"
        for name, sources in mounted.items()
        if sources
    ]


def _limits(options: RunOptions) -> dict[str, Any]:
    limits: dict[str, Any] = {}
    limits["wall_time"] = None if options.wall_time.lower() == NO_LIMIT else options.wall_time
    if options.retention is not None:
        limits["retention"] = options.retention
    return limits
