"""From an execution to a launch of the runtime."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from azbatch_core.local.engine.packages import resolve
from azbatch_core.local.engine.trouble import launch_fault
from azbatch_core.local.rules.gangs import as_member
from azbatch_core.local.rules.identity import launch_identity
from azbatch_core.local.rules.pools import container_configuration
from azbatch_core.local.rules.tasks import environment
from azbatch_core.local.rules.times import limit_seconds, ticks_of
from azbatch_core.local.runtime.base import Launch, LaunchFault

if TYPE_CHECKING:
    from azbatch_core.local.engine.account import Account
    from azbatch_core.local.engine.execution import Execution
    from azbatch_core.local.store.records import Doc

__all__ = ["launch"]


def launch(account: Account, execution: Execution) -> int:
    """Begin a try; its start in ticks."""
    spec, job = execution.spec, execution.job
    job_spec = job.spec if job is not None else {}
    pool = account.pools[execution.node.pool]
    wall_time = (spec.get("constraints") or {}).get("maxWallClockTime") or spec.get("maxWallClockTime")
    place = account.place(execution.node)
    identity = launch_identity(pool.spec, spec.get("userIdentity"))
    packages, names = resolve(account, spec.get("applicationPackageReferences") or ())
    variables = execution.node.packages | names
    containers = container_configuration(pool.spec)
    made = Launch(
        node=place,
        kind=execution.kind,
        job_id=None if job is None else job.id,
        task_id=execution.task_id,
        command_line=spec.get("commandLine") or "",
        environment=environment(
            job_spec.get("commonEnvironmentSettings") or (), spec.get("environmentSettings") or ()
        ),
        resource_files=tuple(spec.get("resourceFiles") or ()),
        output_files=tuple(spec.get("outputFiles") or ()),
        wall_time=limit_seconds(wall_time),
        attempt=execution.launches,
        container=spec.get("containerSettings"),
        registries=tuple(containers.get("containerRegistries") or ()),
        user_identity=identity,
        fault=_no_such_user(spec) if identity is None else _wrong_pool(execution, bool(containers)),
        packages=packages,
        extra_environment={name: f"{place.root}/applications/{folder}" for name, folder in variables.items()},
        job_prep_id=(job_spec.get("jobPreparationTask") or {}).get("id"),
    )
    gang = execution.gang
    if gang is not None:
        made = as_member(made, spec["multiInstanceSettings"], gang.hosts, gang.primary.node.address)
    if account.faults.of_launches and made.fault is None:
        made = replace(made, fault=launch_fault(account, execution, made))
    running = account.runtime.launch(made)
    account.watch(execution, running)
    return ticks_of(running.started)


def _no_such_user(spec: Doc) -> LaunchFault:
    name = spec["userIdentity"]["username"]
    return LaunchFault("folder", "CommandLaunchFailed", f"The pool has no user account {name}")


def _wrong_pool(execution: Execution, containers: bool) -> LaunchFault | None:  # noqa: FBT001 - private
    """Whether the task's container settings and the pool's do not go together.

    SDK BatchTaskCreateOptions.container_settings: both have them or neither; start, preparation and release
    tasks need none.
    """
    if "containerSettings" in execution.spec:
        return None if containers else LaunchFault("folder", "ContainerPoolNotSupported")
    if containers and execution.kind == "task":
        return LaunchFault("folder", "ContainerTaskSettingsNotFound")
    return None
