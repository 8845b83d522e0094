"""The pool of a job: an existing one checked against what the job needs, or one of ours designed for it."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from azbatch_core.catalog import metadata_names
from azbatch_core.catalog.vm_sizes import VmSize, find_vm_size
from azbatch_core.errors import ConfigurationError, Conflict, SpecError
from azbatch_core.plan import gangs
from azbatch_core.plan.bodies import Body, metadata, program, registry
from azbatch_core.plan.demand import demand_of, plan_scaling
from azbatch_core.plan.model import PlannedPool
from azbatch_core.plan.nodes import Nodes, plan_nodes
from azbatch_core.plan.scaling import EVALUATION, formula
from azbatch_core.plan.secrets import StorageRef
from azbatch_core.plan.vm_choice import caveat
from azbatch_core.specs import AutoPool, ExistingPool, ManagedPool, iso_duration
from azbatch_core.specs.names import slug
from azbatch_core.specs.secrets import Secret
from azbatch_core.specs.urls import UrlSecret

if TYPE_CHECKING:
    from azbatch_core.plan.facts import AccountFacts, PoolFacts
    from azbatch_core.plan.notes import Notes
    from azbatch_core.plan.scaling import Scaling
    from azbatch_core.specs import JobSpec, StartTask
    from azbatch_core.specs.command import OperatingSystem

KEY_VERSION = 1  # part of every managed pool's key: raise it when the key's meaning changes
_KEY_DIGITS = 10
_AUTO_PREFIX = "azb"
_MOST_CONNECTED = 100  # nodes of a pool with inter-node communication (Batch service quotas and limits)
_MOST_LOCAL = 200  # the local service's quota of nodes
_MANY = 1000


@dataclass(frozen=True)
class PoolContext:
    """What tasks must know of their pool.

    Attributes:
        name: The pool for messages.
        slots: Task slots for each node; None where not known.
        vm: What a node holds; None where not known.
        containers: Whether the pool runs containers (then all tasks must, else none may); None where not
            known.
        registries: The registry servers that the pool can log in to; None where not known.
        connected: Whether nodes can reach each other; None where not known.
        nodes: Nodes that it has or may get; None where not known.
        scales: Whether a formula decides how many of them there are.
        os: What command lines are written for.
    """

    name: str
    slots: int | None
    vm: VmSize | None
    containers: bool | None
    registries: tuple[str, ...] | None
    connected: bool | None = None
    nodes: int | None = None
    scales: bool = False
    os: OperatingSystem = "linux"


def plan_pool(job: JobSpec, facts: AccountFacts, notes: Notes) -> tuple[PlannedPool, PoolContext]:
    """The pool of a job, and what its tasks must know of it. A job without a pool gets a managed one.

    Raises:
        SpecError: The pool cannot be made, or cannot run the job's tasks.
        ConfigurationError: The pool needs another credential, or the management plane.
        Conflict: The existing pool is being deleted.
    """
    pool = job.pool if job.pool is not None else ManagedPool()
    if isinstance(pool, ExistingPool):
        return _existing(pool, facts, notes)
    pool = gangs.pool_for(job, pool)
    docker = _wants_containers(job, pool)
    _check_powers(job, pool, facts, notes)
    nodes = plan_nodes(job, pool, facts, notes, docker=docker or pool.host_docker)
    fixed = _fixed_body(pool, nodes, docker=docker)
    if pool.subnet_id and not facts.is_local:
        fixed["networkConfiguration"] = {"subnetId": pool.subnet_id}
    if isinstance(pool, AutoPool):
        planned = _auto(pool, nodes, fixed)
    else:
        scaling = None if pool.is_fixed else plan_scaling(pool, job, nodes, demand_of(job))
        planned = _managed(pool, nodes, fixed, scaling, facts)
    _check_scale(pool, planned, facts, notes)
    _warn_of_cost(planned, facts, notes)
    if isinstance(pool, AutoPool) and job.priority:
        notes.add("a job's priority has no effect on an auto pool: no other job runs there")
    context = PoolContext(
        name="the job's auto pool" if planned.id is None else f"pool {planned.id!r}",
        slots=nodes.slots,
        vm=nodes.vm,
        containers=docker,
        registries=tuple(entry.server for entry in pool.registries),
        connected=pool.inter_node_communication,
        nodes=planned.nodes + planned.spot_nodes,
        scales=planned.scaling is not None,
        os=nodes.os,
    )
    return planned, context


def _existing(pool: ExistingPool, facts: AccountFacts, notes: Notes) -> tuple[PlannedPool, PoolContext]:
    found = facts.pool if facts.pool is not None and facts.pool.id.lower() == pool.id.lower() else None
    if found is None:
        notes.add(f"pool {pool.id!r} was not looked up: whether the tasks fit on its nodes is not checked")
    else:
        _check_existing(found, notes)
    vm = find_vm_size(found.vm_size) if found else None
    planned = PlannedPool(
        kind="existing",
        id=found.id if found else pool.id,
        action="use",
        body=None,
        vm_size=vm.name if vm else found.vm_size if found else None,
        task_slots_per_node=found.task_slots_per_node if found else None,
        nodes=found.dedicated_nodes if found else 0,
        spot_nodes=found.spot_nodes if found else 0,
        reasons=(f"pool {pool.id}: named in the job's spec",),
    )
    context = PoolContext(
        name=f"pool {pool.id!r}",
        slots=found.task_slots_per_node if found else None,
        vm=vm,
        containers=found.has_containers if found else None,
        registries=None,
        connected=found.inter_node_communication if found else None,
        nodes=found.most_nodes if found else None,
        scales=found is not None and found.target_nodes is None,
    )
    return planned, context


def _check_existing(pool: PoolFacts, notes: Notes) -> None:
    if pool.state.lower() == "deleting":
        raise Conflict(
            f"pool {pool.id!r} is being deleted", code="PoolBeingDeleted", hint="name another pool"
        )
    vm = find_vm_size(pool.vm_size)
    if vm is None:
        notes.add(
            f"the catalog does not know the VM size {pool.vm_size!r} of pool {pool.id!r}: "
            "whether tasks fit is not checked"
        )
    elif warning := caveat(vm):
        notes.add(f"pool {pool.id!r}: {warning}")
    if pool.target_nodes == 0 and not pool.dedicated_nodes and not pool.spot_nodes:
        notes.add(f"pool {pool.id!r} has no nodes and is to have none: tasks wait until it is resized")


def _wants_containers(job: JobSpec, pool: ManagedPool | AutoPool) -> bool:
    """Whether anything in the job or its pool calls for a container configuration."""
    parts = (pool.start_task, job.preparation, job.release, *job.tasks)
    asked = job.container is not None or any(
        part is not None and part.container is not None for part in parts
    )
    return bool(pool.containers or pool.container_images or pool.registries or asked)


def _check_powers(job: JobSpec, pool: ManagedPool | AutoPool, facts: AccountFacts, notes: Notes) -> None:
    """Refuse what the account's credential, or the data plane, cannot create."""
    if isinstance(pool, ManagedPool) and pool.identities:
        raise ConfigurationError(
            "a pool's identities can only be set on the management plane, where this version makes no pools",
            hint="create the pool there (pip install 'azbatch[arm]'), then name it: pool: ITS-ID",
        )
    if _uses_identity(job, pool):
        raise ConfigurationError(
            "a file or registry is opened with an identity, but a pool made by this version has none",
            hint="create a pool with that identity on the management plane, then name it: pool: ITS-ID",
        )
    gallery = pool.image is not None and pool.image.image_id is not None
    for present, what, instead in (
        (pool.subnet_id, "a subnet", "it is left out"),
        (gallery, "an image by id", "a marketplace image stands for it"),
    ):
        if not present:
            continue
        if facts.is_local:
            notes.add(f"a pool with {what} needs Entra ID, which the local service has not: {instead}")
        elif facts.key_auth:
            raise ConfigurationError(
                f"a pool with {what} needs Entra ID: Batch refuses it with the account's shared key",
                hint="set the account's credential to 'default' (az login, managed identity …)",
            )


def _uses_identity(job: JobSpec, pool: ManagedPool | AutoPool) -> bool:
    parts = [
        *job.tasks,
        *(part for part in (job.preparation, job.release, pool.start_task) if part is not None),
    ]
    common = [file for task in job.tasks if task.gang for file in task.gang.common_resource_files]
    files = any(file.identity for part in parts for file in part.resource_files)
    files = files or any(file.identity for file in common)
    outputs = any(output.identity for task in job.tasks for output in task.output_files)
    containers = [part.container for part in parts if part.container] + (
        [job.container] if job.container else []
    )
    registries = [*pool.registries, *(one.registry for one in containers if one.registry)]
    return files or outputs or any(entry.identity for entry in registries)


def _fixed_body(pool: ManagedPool | AutoPool, nodes: Nodes, *, docker: bool) -> Body:
    """Everything that Batch fixes when it creates a pool, or applies to new nodes only."""
    machine: Body = {"imageReference": nodes.image_reference, "nodeAgentSKUId": nodes.agent}
    if docker:
        machine["containerConfiguration"] = _container_configuration(pool)
    body: Body = {
        "vmSize": nodes.vm_name,
        "virtualMachineConfiguration": machine,
        "taskSlotsPerNode": nodes.slots,
        "taskSchedulingPolicy": {"nodeFillType": pool.node_fill},
        "enableInterNodeCommunication": pool.inter_node_communication,
    }
    if pool.start_task is not None:
        body["startTask"] = _start_task(pool.start_task, nodes.os)
    return body


def _container_configuration(pool: ManagedPool | AutoPool) -> Body:
    body: Body = {"type": "dockerCompatible"}
    if pool.container_images:
        body["containerImageNames"] = list(pool.container_images)
    if pool.registries:
        body["containerRegistries"] = [registry(entry) for entry in pool.registries]
    return body


def _start_task(start: StartTask, os: OperatingSystem) -> Body:
    body = program(
        start.command,
        os=os,
        variables=start.environment,
        files=start.resource_files,
        in_container=start.container,
        elevated=start.elevated,
    )
    if start.retry is not None and start.retry.max_retries:
        body["maxTaskRetryCount"] = start.retry.max_retries
    body["waitForSuccess"] = start.wait_for_success
    return body


def _scale(pool: ManagedPool | AutoPool, scaling: Scaling | None = None) -> Body:
    if scaling is None:
        body: Body = {"targetDedicatedNodes": pool.nodes or 0, "targetLowPriorityNodes": pool.spot_nodes}
    else:
        body = {
            "enableAutoScale": True,
            "autoScaleFormula": formula(scaling),
            "autoScaleEvaluationInterval": iso_duration(EVALUATION),
        }
    if pool.resize_timeout is not None:
        body["resizeTimeout"] = iso_duration(pool.resize_timeout)
    return body


def _managed(
    pool: ManagedPool, nodes: Nodes, fixed: Body, scaling: Scaling | None, facts: AccountFacts
) -> PlannedPool:
    most = (pool.nodes or 0, pool.spot_nodes)
    kind = None
    if scaling is not None:
        most, kind = ((0, scaling.max_nodes), "spot") if scaling.spot else ((scaling.max_nodes, 0), "grows")
    key = pool_key(fixed, kind)
    short = nodes.vm.short_name if nodes.vm else nodes.vm_name.lower()
    pool_id = f"azb-{slug(pool.name or short, suffix_room=len('azb-') + 1 + _KEY_DIGITS)}-{key}"
    own = [(metadata_names.FINGERPRINT, key), (metadata_names.USER, facts.user)]
    scale = _scale(pool, scaling)
    return PlannedPool(
        kind="managed",
        id=pool_id,
        action="ensure",
        body={"id": pool_id, **fixed, **scale, "metadata": metadata([*own, *pool.metadata.items()])},
        vm_size=nodes.vm_name,
        task_slots_per_node=nodes.slots,
        nodes=most[0],
        spot_nodes=most[1],
        scaling=scaling,
        fixed=fixed,
        image=nodes.image,
        reasons=nodes.reasons,
    )


def _auto(pool: AutoPool, nodes: Nodes, fixed: Body) -> PlannedPool:
    specification = {**fixed, **_scale(pool)}
    if pool.metadata:
        specification["metadata"] = metadata(pool.metadata.items())
    return PlannedPool(
        kind="auto",
        id=None,
        action="auto",
        body={
            "autoPoolIdPrefix": pool.id_prefix or _AUTO_PREFIX,
            "poolLifetimeOption": "job",
            "keepAlive": pool.keep_alive,
            "pool": specification,
        },
        vm_size=nodes.vm_name,
        task_slots_per_node=nodes.slots,
        nodes=pool.nodes,
        spot_nodes=pool.spot_nodes,
        image=nodes.image,
        reasons=nodes.reasons,
    )


def pool_key(fixed: Body, kind: str | None = None) -> str:
    """Ten hexadecimal digits for everything that Batch fixes at creation: equal pools have equal keys.

    A secret counts as its reference, and a literal one not at all, so that changing a password makes no new
    pool. Scale is not part of it, but its kind is: a pool that shrinks would take nodes from a job that asked
    for a fixed size, and spot nodes are not what a job expects that pays for dedicated ones.
    """
    material = [KEY_VERSION, fixed, *([kind] if kind else [])]
    text = json.dumps(material, sort_keys=True, separators=(",", ":"), default=_without_secret)
    return hashlib.sha256(text.encode()).hexdigest()[:_KEY_DIGITS]


def _without_secret(leaf: object) -> Any:
    if isinstance(leaf, Secret):
        return leaf.reference or "***"
    if isinstance(leaf, (UrlSecret, StorageRef)):
        return str(leaf)
    raise TypeError(f"{type(leaf).__name__} in a request body")


def _check_scale(
    pool: ManagedPool | AutoPool, planned: PlannedPool, facts: AccountFacts, notes: Notes
) -> None:
    """Numbers of nodes that Batch refuses, and those that an account seldom gets."""
    count = planned.nodes + planned.spot_nodes
    if pool.inter_node_communication and count > _MOST_CONNECTED:
        raise SpecError(
            f"{count:,} nodes with inter-node communication: Batch makes such pools of at most"
            f" {_MOST_CONNECTED} nodes",
            field="pool.max_nodes" if planned.scaling else "pool.nodes",
            hint="ask for fewer nodes, or leave inter_node_communication out",
        )
    if facts.is_local and count > _MOST_LOCAL:
        notes.add(
            f"the pool asks for {count:,} nodes: on the local service it gets at most {_MOST_LOCAL},"
            " all of them on this machine"
        )
    elif not facts.is_local and count > _MANY:
        notes.add(
            f"the pool asks for {count:,} nodes: more than most accounts' quota of cores allows, and"
            " without that it gets fewer, or none"
        )


def _warn_of_cost(pool: PlannedPool, facts: AccountFacts, notes: Notes) -> None:
    if facts.is_local:
        return
    count = pool.nodes + pool.spot_nodes if pool.scaling is None else pool.scaling.min_nodes
    nodes = f"{count:,} node{'' if count == 1 else 's'}"
    if pool.kind == "managed" and count:
        notes.add(f"pool {pool.id} keeps {nodes} running, billed, until `azbatch pools delete {pool.id}`")
    elif pool.body is not None and pool.kind == "auto" and pool.body["keepAlive"]:
        notes.add(f"the auto pool outlives the job: its {nodes} stay, billed, until you delete the pool")
