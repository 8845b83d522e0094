"""What a job's tasks stand on: the pool, its nodes, the preparation task; and whether that carries them.

`judge` is pure. A verdict means that no queued task can ever start unless somebody changes something.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from azbatch_core.errors import AzBatchError, Conflict, NotFound
from azbatch_core.service.documents import requests
from azbatch_core.service.watch import task_failures

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from azbatch_core.service.connect.connection import Connection
    from azbatch_core.service.states import TaskStatus

DEAD = frozenset({"unusable", "starttaskfailed"})
"""Node states that last until somebody reboots, reimages or removes the node."""
READY = frozenset({"idle", "running"})
POOL_SELECT = (
    "id",
    "state",
    "allocationState",
    "allocationStateTransitionTime",
    "vmSize",
    "currentDedicatedNodes",
    "currentLowPriorityNodes",
    "targetDedicatedNodes",
    "targetLowPriorityNodes",
    "enableAutoScale",
    "autoScaleFormula",
    "autoScaleRun",
    "resizeErrors",
    "taskSlotsPerNode",
    "enableInterNodeCommunication",
    "startTask",
    "metadata",
    "creationTime",
)
NODE_SELECT = (
    "id",
    "state",
    "schedulingState",
    "isDedicated",
    "ipAddress",
    "errors",
    "startTaskInfo",
    "runningTasksCount",
    "runningTaskSlotsCount",
)
_TAIL_BYTES = 2048


@dataclass(frozen=True)
class Ground:
    """The pool and nodes under a job, as read at one moment.

    Attributes:
        pool_id: None while the service has not made the job's auto pool.
        pool: None when there is no such pool.
        preparation: The preparation task's record on each node that ran it.
    """

    pool_id: str | None
    pool: Mapping[str, Any] | None
    nodes: Sequence[Mapping[str, Any]] = ()
    preparation: Sequence[Mapping[str, Any]] = ()
    own_pool: bool = False

    @property
    def gone(self) -> bool:
        """Whether the pool was there, or should be, and is not or not for long."""
        if self.pool is None:
            return self.pool_id is not None
        return str(self.pool.get("state", "")).lower() == "deleting"

    @property
    def targets(self) -> int:
        """Nodes of both kinds that the pool is to have."""
        pool = self.pool or {}
        return int(pool.get("targetDedicatedNodes") or 0) + int(pool.get("targetLowPriorityNodes") or 0)

    @property
    def steady(self) -> bool:
        """Whether the pool is not changing its size right now."""
        return str((self.pool or {}).get("allocationState", "")).lower() == "steady"

    @property
    def autoscales(self) -> bool:
        """Whether a formula decides on the pool's size."""
        return bool((self.pool or {}).get("enableAutoScale"))

    @property
    def slots(self) -> int:
        """Task slots of each node."""
        return int((self.pool or {}).get("taskSlotsPerNode") or 1)


def look(connection: Connection, job: Mapping[str, Any]) -> Ground:
    """Read the pool, its nodes and the preparation task's records."""
    info = job.get("poolInfo") or {}
    pool_id = (job.get("executionInfo") or {}).get("poolId") or info.get("poolId")
    own_pool = bool(info.get("autoPoolSpecification"))
    if not pool_id:
        return Ground(None, None, own_pool=own_pool)
    try:
        pool = requests.send(connection, "GET", "pools", pool_id, query={"$select": ",".join(POOL_SELECT)})
        nodes = list(requests.listing(connection, "pools", pool_id, "nodes", select=NODE_SELECT))
    except NotFound:
        return Ground(pool_id, None, own_pool=own_pool)
    return Ground(pool_id, pool, nodes, _preparation(connection, job), own_pool)


def _preparation(connection: Connection, job: Mapping[str, Any]) -> list[dict[str, Any]]:
    if not job.get("jobPreparationTask"):
        return []
    path = ("jobs", str(job["id"]), "jobpreparationandreleasetaskstatus")
    try:
        return list(requests.listing(connection, *path))
    except (Conflict, NotFound):
        return []


def verdict(connection: Connection, job: Mapping[str, Any], queued: Sequence[TaskStatus]) -> str | None:
    """Look, and judge; a broken start task is quoted with its last words."""
    found = look(connection, job)
    text = judge(found, queued)
    broken = [node for node in found.nodes if state_of(node) == "starttaskfailed"]
    if text and broken and len(broken) == len(found.nodes):
        lines = start_task_tail(connection, str(found.pool_id), str(broken[0]["id"])).split("\n")
        last = next((line.strip() for line in reversed(lines) if line.strip()), "")
        return f"{text}: {last}" if last else text
    return text


def judge(ground: Ground, queued: Sequence[TaskStatus]) -> str | None:
    """Why none of the queued tasks can ever start; None while one still may."""
    if ground.pool is None or ground.gone:
        return _gone_words(ground.pool_id, own_pool=ground.own_pool, deleting=ground.pool is not None)
    if queued and all(task.required_slots > ground.slots for task in queued):
        return (
            f"the tasks need {min(task.required_slots for task in queued)} task slots,"
            f" and a node of the pool {ground.pool_id} has {ground.slots}"
        )
    hopeless = [gang_trouble(ground, task) for task in queued]
    if hopeless and hopeless[0] and all(hopeless):
        return f"the pool {ground.pool_id} {hopeless[0]}"
    return _judge_nodes(ground) if ground.steady else None


def unfit_for_gangs(ground: Ground) -> str | None:
    """What the pool is not, and cannot become, so that no gang starts there; None if one may."""
    if not (ground.pool or {}).get("enableInterNodeCommunication"):
        return "has no inter-node communication, which gangs need"
    if ground.slots != 1:
        return f"has {ground.slots} task slots on a node, and gangs need nodes with one"
    return None


def gang_trouble(ground: Ground, task: TaskStatus) -> str | None:
    """What the pool is not, so that a gang never starts there (Batch itself says nothing); None if it may."""
    from azbatch_core.plan.scaling import most_nodes

    if not task.nodes or ground.pool is None:
        return None
    unfit = unfit_for_gangs(ground)
    if unfit:
        return unfit
    most = most_nodes(ground.pool.get("autoScaleFormula")) if ground.autoscales else ground.targets
    if most is None or not ground.steady or max(most, len(ground.nodes)) >= task.nodes:
        return None
    have = max(most, len(ground.nodes))
    grows = "grows to at most" if ground.autoscales else "has"
    return f"{grows} {have} {'node' if have == 1 else 'nodes'}, and a gang needs {task.nodes} at once"


def gone(connection: Connection, job: Mapping[str, Any]) -> str | None:
    """That the job's pool is not there, or on its way out; None while it stands. Costs one small request.

    A job's own pool gets its id on the job's record when it is made, so that one which is missing then was
    deleted: when the job itself ends it, the job does not go on.
    """
    info = job.get("poolInfo") or {}
    pool_id = (job.get("executionInfo") or {}).get("poolId") or info.get("poolId")
    own_pool = bool(info.get("autoPoolSpecification"))
    if not pool_id:
        return None
    try:
        state = requests.send(connection, "GET", "pools", pool_id, query={"$select": "id,state"}).get("state")
    except NotFound:
        return _gone_words(pool_id, own_pool=own_pool)
    deleting = str(state).lower() == "deleting"
    return _gone_words(pool_id, own_pool=own_pool, deleting=True) if deleting else None


def _gone_words(pool_id: str | None, *, own_pool: bool, deleting: bool = False) -> str | None:
    if pool_id is None:
        return None  # The service has still to make the job's own pool.
    if own_pool:
        return "the job's own pool is being deleted" if deleting else "the job's own pool was deleted"
    return f"the pool {pool_id} is being deleted" if deleting else f"the pool {pool_id} does not exist"


def _judge_nodes(ground: Ground) -> str | None:
    if not ground.nodes:
        return _no_nodes(ground)
    dead = [node for node in ground.nodes if state_of(node) in DEAD]
    if len(dead) == len(ground.nodes):
        return f"every node of the pool {ground.pool_id} is broken: {node_trouble(dead[0])}"
    failed = {entry["nodeId"]: entry for entry in ground.preparation if preparation_failed(entry)}
    alive = [node for node in ground.nodes if state_of(node) not in DEAD]
    if failed and all(state_of(node) in READY and node["id"] in failed for node in alive):
        entry = next(iter(failed.values()))
        return f"the job's preparation task failed on every node: {preparation_words(entry)}"
    return None


def _no_nodes(ground: Ground) -> str | None:
    """Why there are none and none will come. A formula tries again, but no quota changes by itself."""
    errors = resize_errors(ground.pool or {})
    raw = (ground.pool or {}).get("resizeErrors") or ()
    refused = ground.targets and any("Quota" in str(error.get("code")) for error in raw)
    if ground.autoscales and not refused:
        return None
    if errors:
        return f"the pool {ground.pool_id} got no nodes: {errors[0]}"
    if not ground.targets:
        return f"the pool {ground.pool_id} has no nodes, and none are asked for"
    return None


def state_of(node: Mapping[str, Any]) -> str:
    """A node's state, in lower case."""
    return str(node.get("state", "unknown")).lower()


def node_trouble(node: Mapping[str, Any]) -> str:
    """What is wrong with a broken node, on one line; a start task's failure is called that."""
    name = short_id(str(node.get("id")))
    if state_of(node) == "starttaskfailed":
        return f"the start task failed on node {name} ({_said(node.get('startTaskInfo') or {})})"
    errors = [task_failures.describe(error) for error in node.get("errors") or ()]
    return f"node {name} is {state_of(node)}" + (f" ({errors[0]})" if errors else "")


def short_id(node_id: str) -> str:
    """A node's id for a sentence: those of live pools are over 70 characters long."""
    longest = 24
    return node_id if len(node_id) <= longest else f"{node_id[:12]}…{node_id[-6:]}"


def resize_errors(pool: Mapping[str, Any]) -> list[str]:
    """The pool's resize errors, one line each. The service keeps them until the next resize."""
    return [task_failures.describe(error) for error in pool.get("resizeErrors") or ()]


def preparation_failed(entry: Mapping[str, Any]) -> bool:
    """Whether a node's preparation record says that the node will take no task of the job."""
    info = entry.get("jobPreparationTaskExecutionInfo") or {}
    return (
        str(info.get("state", "")).lower() == "completed" and str(info.get("result", "")).lower() == "failure"
    )


def preparation_words(entry: Mapping[str, Any]) -> str:
    """How a preparation task failed, on one line."""
    info = entry.get("jobPreparationTaskExecutionInfo") or {}
    return f"{_said(info)} on node {short_id(str(entry.get('nodeId')))}"


def _said(info: Mapping[str, Any]) -> str:
    """What a start or preparation task's record says of its failure."""
    return (
        task_failures.exit_words(info.get("exitCode"))
        or task_failures.describe(info.get("failureInfo"))
        or "no reason given"
    )


def start_task_tail(connection: Connection, pool_id: str, node_id: str) -> str:
    """The end of what a node's start task wrote to stderr, or else to stdout; "" when it is gone."""
    for name in ("startup/stderr.txt", "startup/stdout.txt"):
        text = tail(connection, "pools", pool_id, "nodes", node_id, "files", name)
        if text:
            return text
    return ""


def tail(connection: Connection, *segments: str, size: int = _TAIL_BYTES) -> str:
    """The last bytes of a file on a node as text, whole lines; "" when it is empty or not there."""
    from azbatch_core.service.documents import files

    try:
        length = files.size(connection, *segments)
        if not length:
            return ""
        data = files.read(connection, *segments, start=max(0, length - size), end=length)
    except AzBatchError:
        return ""
    text = data.decode("utf-8", "replace")
    return text if length <= size else text.partition("\n")[2] or text
