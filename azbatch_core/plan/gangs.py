"""Gangs: what each node runs, and what the pool must be.

`settings` is the one place that decides how a command comes to run on every node. Batch itself runs only a
coordination command everywhere, and waits for it to return ("Use multi-instance tasks to run MPI
applications"). So the command *is* the coordination command: any member that fails fails the whole, each has
its own exit code and its own output, and retries are Batch's. The application command, which Batch starts on
the main node when all have ended with 0, has nothing left to do.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from azbatch_core.errors import SpecError
from azbatch_core.plan.bodies import Body, resource_files
from azbatch_core.plan.gang_prelude import with_prelude
from azbatch_core.specs import AutoPool, ManagedPool, ResourceFile, command_line

if TYPE_CHECKING:
    from azbatch_core.plan.notes import Notes
    from azbatch_core.plan.pools import PoolContext
    from azbatch_core.specs import Command, GangSpec, JobSpec, TaskSpec
    from azbatch_core.specs.command import OperatingSystem

_FIT = (
    "use a pool with inter_node_communication: true and task_slots_per_node: 1; azbatch makes one for gangs"
    " that are in the job's spec"
)
_NOTHING = {"linux": ("/bin/sh", "-c", ":"), "windows": ("cmd.exe", "/c", "exit 0")}


def settings(spec: TaskSpec, gang: GangSpec, *, os: OperatingSystem, job_id: str, mark: str = "") -> Body:
    """What makes a task's body that of a gang: command line, files and ``multiInstanceSettings``.

    Args:
        spec: The task.
        gang: Its gang.
        os: What the nodes run.
        job_id: The job's id.
        mark: A line of shell for every node (`member_logs.marked`).
    """
    common = [*gang.common_resource_files]
    own = [*spec.resource_files]
    if gang.coordination is None:
        on_all, then = _line(spec.command, os, mark), command_line(_NOTHING[os], os)
        common, own = [_below_working_directory(file) for file in own], []
    else:
        on_all, then = _line(gang.coordination, os, mark), _line(spec.command, os)
    instances: Body = {"numberOfInstances": gang.nodes, "coordinationCommandLine": on_all}
    if common:
        instances["commonResourceFiles"] = resource_files(common, job_id)
    body: Body = {"commandLine": then, "multiInstanceSettings": instances}
    return {**body, "resourceFiles": resource_files(own, job_id)} if own else body


def _line(command: Command, os: OperatingSystem, mark: str = "") -> str:
    return command_line(with_prelude(command, mark) if os == "linux" else command, os)


def _below_working_directory(file: ResourceFile) -> ResourceFile:
    """The same file where a task's own would be: common ones count from the folder above (documented)."""
    return file.replace(file_path=f"wd/{file.file_path}" if file.file_path else "wd")


def largest(job: JobSpec) -> int:
    """The nodes of the largest gang among the job's tasks; 0 without any."""
    return max((task.gang.nodes for task in job.tasks if task.gang is not None), default=0)


def pool_for(job: JobSpec, pool: ManagedPool | AutoPool) -> ManagedPool | AutoPool:
    """A pool of ours as the job's gangs need it: connected, a task for each node, and large enough.

    How far a pool grows that has no fixed size is planned with the rest of its scale.

    Raises:
        SpecError: The pool's own fields say that it cannot be so.
    """
    nodes = largest(job)
    if not nodes:
        return pool
    given = pool.model_fields_set
    if pool.task_slots_per_node not in {None, 1}:
        raise SpecError(
            f"pool.task_slots_per_node: {pool.task_slots_per_node}: Batch runs gangs only where a node has"
            " one task slot",
            field="pool.task_slots_per_node",
            hint="leave it out; tasks that share nodes belong into another job",
        )
    if "inter_node_communication" in given and not pool.inter_node_communication:
        raise SpecError(
            "pool.inter_node_communication: false: Batch runs gangs only where nodes reach each other",
            field="pool.inter_node_communication",
            hint="leave it out",
        )
    changes = {"inter_node_communication": True, "task_slots_per_node": 1}
    grows = isinstance(pool, ManagedPool) and not pool.is_fixed
    count = (pool.nodes or 0) + pool.spot_nodes
    if not grows and count < nodes:
        if given & {"nodes", "spot_nodes"}:
            raise SpecError(
                f"pool.nodes: {count}: the job has a gang of {nodes} nodes, which would wait for ever",
                field="pool.nodes",
                hint="leave it out, or ask for as many nodes as the largest gang has",
            )
        changes["nodes"] = nodes
    return pool.replace(**changes)


def check_pool(gang: GangSpec, pool: PoolContext, notes: Notes, task_id: str) -> None:
    """Refuse a gang on a pool that can never run it: Batch would let it wait without a word.

    Raises:
        SpecError: Nodes of the pool cannot reach each other, or take several tasks, or are too few. One that
            has none, and is to have none, waits for somebody who resizes it anyway.
    """
    if pool.connected is False:
        raise SpecError(
            f"{pool.name} has no inter-node communication, so a gang never runs there",
            field="gang",
            hint=_FIT,
        )
    if pool.slots not in {None, 1}:
        raise SpecError(
            f"a node of {pool.name} has {pool.slots} task slots, and gangs run only where it has one",
            field="gang",
            hint=_FIT,
        )
    if pool.nodes is None or gang.nodes <= pool.nodes:
        return
    if not pool.nodes:
        notes.add(f"waits until {pool.name} has {gang.nodes} nodes", task_id)
        return
    grows = "grows to at most" if pool.scales else "has, or is to have,"
    larger = f"with pool: {{max_nodes: {gang.nodes}}} azbatch makes one that is large enough"
    raise SpecError(
        f"a gang of {gang.nodes} nodes never starts on {pool.name}, which {grows} {pool.nodes}",
        field="gang",
        hint=larger if pool.scales else f"resize it first, or {larger}",
    )


def warn(
    spec: TaskSpec, gang: GangSpec, os: OperatingSystem, notes: Notes, task_id: str, *, kept: bool
) -> None:
    """What people expect of a gang and Batch does otherwise; `kept`: all that it uploads is kept of all."""
    if spec.output_files and gang.nodes > 1 and not kept:
        notes.add("its output files are uploaded from the main node only (Batch, OutputFile)", task_id)
    if os == "windows":
        notes.add("AZBATCH_NODE_RANK and its like are set on Linux nodes only", task_id)
