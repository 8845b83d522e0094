"""What scripted faults change where the engine decides: boot times, quotas, resizes, tries."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from azbatch_core.local.faults.kinds import LAUNCH_STEPS
from azbatch_core.local.rules.limits import cores_of
from azbatch_core.local.rules.pools import allocation_error, quota_error
from azbatch_core.local.runtime.base import LaunchFault
from azbatch_core.local.store.records import Job, Pool

if TYPE_CHECKING:
    from typing import Any

    from azbatch_core.local.engine.account import Account
    from azbatch_core.local.engine.execution import Execution
    from azbatch_core.local.engine.timing import TimerName
    from azbatch_core.local.runtime.base import Launch
    from azbatch_core.local.store.records import Doc, Node, Schedule

__all__ = ["Grant", "boot_time", "goes_slowly", "grant", "launch_fault", "linger", "notice"]

_CODES = {
    "disk-full": "DiskFull",
    "download-failure": "BlobNotFound",
    "image-pull": "ContainerInvalidImage",
    "upload-failure": "FileUploadMiscError",
}


def notice(account: Account, node: Node) -> None:
    """A node has come up, or a task has begun on it: faults of nodes may strike it in the next turn."""
    if account.faults.of_nodes:
        account.after("notice", node.key, 0.0, lambda: account.befall(node))


def boot_time(account: Account, node: Node) -> float:
    """Seconds that a node takes to start this time."""
    fault = account.faults.strike("slow-boot", pool=node.pool_id, node=node.id)
    return account.settings.boot_time + (0.0 if fault is None else float(fault.values["seconds"]))


def linger(account: Account, record: Pool | Job | Schedule) -> None:
    """Something begins to go or to end; that may take longer this time, though not over a restart."""
    name, places, due = _of_its_kind(account, record)
    fault = account.faults.strike("slow-delete", **places)
    if fault is not None:
        account.after(name, record.key, float(fault.values["seconds"]), lambda: due.setdefault(record.key))


def goes_slowly(account: Account, record: Pool | Job | Schedule) -> bool:
    """Whether what could go now is to stay on for a while."""
    return (_of_its_kind(account, record)[0], record.key) in account.timers


def _of_its_kind(
    account: Account, record: Pool | Job | Schedule
) -> tuple[TimerName, dict[str, str], dict[int, None]]:
    if isinstance(record, Pool):
        return "slow pool", {"pool": record.id}, account.due_pools
    if isinstance(record, Job):
        return "slow job", {"job": record.id}, account.due_jobs
    return "slow schedule", {"schedule": record.id}, account.due_schedules


class Grant(NamedTuple):
    """What a resize gets of the nodes that it wants.

    Attributes:
        nodes: How many.
        errors: Why it is fewer than it wants.
        late: Those of them that are told only when the resize's time is over.
    """

    nodes: int
    errors: list[Doc]
    late: list[Doc]


def grant(account: Account, pool: Pool, wanted: int, *, dedicated: bool) -> Grant:
    """What a pool gets of `wanted` more nodes of a kind."""
    if wanted <= 0:
        return Grant(0, [], [])
    kind = "dedicated" if dedicated else "low priority"
    room, reason = _room(account, pool, dedicated=dedicated)
    errors = [quota_error(kind, reason)] if wanted > room else []
    wanted = max(0, min(wanted, room))
    fault = account.faults.strike("allocation-failure", pool=pool.id) if wanted else None
    if fault is None:
        return Grant(wanted, errors, [])
    code = fault.values.get("code", "AllocationFailed")
    error = allocation_error(code, kind, fault.values.get("message"))
    wanted -= min(wanted, fault.values.get("short", wanted))
    return (
        Grant(wanted, errors, [error])
        if code == "AllocationTimedout"
        else Grant(wanted, [*errors, error], [])
    )


def _room(account: Account, pool: Pool, *, dedicated: bool) -> tuple[int, str]:
    """How many more nodes the account may hold, and what says so."""
    most = account.faults.quota("nodes", account.settings.node_quota)
    rooms = [(most - len(account.nodes), f"This local service holds at most {most} nodes")]
    limit = account.faults.quota("cores" if dedicated else "spot-cores", -1)
    if limit >= 0:
        alike = (node for node in account.nodes.values() if node.dedicated == dedicated)
        used = sum(cores_of(account.pools[node.pool].spec["vmSize"]) for node in alike)
        rooms.append(((limit - used) // cores_of(pool.spec["vmSize"]), f"{used} of {limit} cores are in use"))
    return min(rooms)


def launch_fault(account: Account, execution: Execution, made: Launch) -> LaunchFault | None:
    """What is to go wrong with a try, if anything is."""
    where = {"pool": made.node.pool_id, "node": made.node.node_id}
    if execution.job is not None:
        where |= {"job": execution.job.id, "task": execution.task_id}
    for kind, step in LAUNCH_STEPS.items():
        if not _can_befall(step, execution, made):
            continue
        fault = account.faults.strike(kind, **where)
        if fault is not None:
            return _broken(step, kind, fault.values)
    return None


def _can_befall(step: str, execution: Execution, made: Launch) -> bool:
    if step == "command":
        return execution.kind == "start"
    if step == "download":
        return bool(made.resource_files or made.common_resource_files)
    if step == "image":
        return made.container is not None
    return step == "folder" or bool(made.output_files)


def _broken(step: Any, kind: str, values: Any) -> LaunchFault:
    if kind == "start-task-failure":
        return LaunchFault(step, exit_code=values.get("exit-code", 1))
    return LaunchFault(step, values.get("code") or _CODES[kind], values.get("message"))
