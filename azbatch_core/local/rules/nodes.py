"""Nodes: their ids, addresses and documents."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

from azbatch_core.local.errors import BatchError
from azbatch_core.local.rules.documents import without_secrets
from azbatch_core.local.rules.node_access import endpoints, ipv6_address
from azbatch_core.local.rules.recent import recent_document
from azbatch_core.local.rules.times import moment

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from azbatch_core.local.store.records import Doc, Node, NodeState, Pool, Scheduling

__all__ = [
    "COMING",
    "GOING_DOWN",
    "KEEPS_DISK",
    "UP",
    "USABLE",
    "Action",
    "GoingDown",
    "address_of",
    "node_counts",
    "node_document",
    "node_id",
    "refuse_unless",
    "resting_state",
]

USABLE: frozenset[NodeState] = frozenset({"idle", "running"})
"""States in which a node takes tasks."""

COMING: frozenset[NodeState] = frozenset(
    {"creating", "starting", "waitingforstarttask", "rebooting", "reimaging", "preempted"}
)
"""States that end in a usable node if all goes well."""

GoingDown = Literal["rebooting", "reimaging", "deallocating"]
GOING_DOWN: frozenset[NodeState] = frozenset({"rebooting", "reimaging", "deallocating", "preempted"})
"""States in which a node gets rid of its tasks and then goes down."""

KEEPS_DISK: frozenset[NodeState] = frozenset({"rebooting"})
"""Those of them after which the node's files are still there: the root lies on the temporary disk."""

Action = Literal[
    "rebooting", "reimaging", "deallocating", "starting", "disabled", "enabled", "users", "files"
]
"""What may be asked of a node: a state to go to, a scheduling state, or access to its users or files."""

UP: frozenset[NodeState] = frozenset({"idle", "running", "offline", "waitingforstarttask", "starttaskfailed"})
"""States of a node that runs and answers."""

_ALLOWED: dict[Action, frozenset[NodeState]] = {
    "rebooting": UP | {"creating", "starting", "unusable"},
    "reimaging": UP | {"creating", "starting", "unusable"},
    "deallocating": frozenset({"idle", "running", "offline"}),
    "starting": frozenset({"deallocated"}),
    "disabled": UP,
    "enabled": UP,
    "users": UP,
    "files": UP | {"unusable", "leavingpool"},
}
_STATE_CODES: dict[NodeState, str] = {
    "creating": "NodeBeingCreated",
    "starting": "NodeBeingStarted",
    "rebooting": "NodeBeingRebooted",
    "reimaging": "NodeBeingReimaged",
    "unusable": "NodeStateUnusable",
}
_COUNTS = (
    "creating",
    "deallocated",
    "deallocating",
    "idle",
    "leavingPool",
    "offline",
    "preempted",
    "rebooting",
    "reimaging",
    "running",
    "startTaskFailed",
    "starting",
    "unknown",
    "unusable",
    "upgradingOS",
    "waitingForStartTask",
)
_COUNT_OF = {name.lower(): name for name in _COUNTS}
_PER_NET = 254
_NETS = 256


def node_id(digest: str, *, dedicated: bool) -> str:
    """The id of a node; `digest` is 64 hexadecimal digits."""
    return f"tvmps_{digest}_{'d' if dedicated else 'p'}"


def address_of(number: int) -> str:
    """The `number`th loopback address that is a node's own: 127.1.0.1 upwards, no .0 and no .255."""
    net, host = divmod(number, _PER_NET)
    high, low = divmod(net, _NETS)
    return f"127.{1 + high % _PER_NET}.{low}.{host + 1}"


def refuse_unless(node: Node, action: Action) -> None:
    """Raise the service's error if a node's state does not allow an action.

    Documented is "only idle or running" for all of them but starting; a reboot was recorded to be accepted
    from `creating` on, and reboots are the documented cure of nodes that failed to start or are unusable.
    """
    if action == node.scheduling:
        raise BatchError("NodeAlreadyInTargetSchedulingState")
    if node.state in _ALLOWED[action]:
        return
    code = _STATE_CODES.get(node.state)
    if code is not None:
        raise BatchError(code)
    raise BatchError("OperationInvalidForCurrentState", Reason=f"The node is in state {node.state}.")


def resting_state(scheduling: Scheduling) -> NodeState:
    """The state of a node that is up and runs no task (SDK BatchNodeState)."""
    return "idle" if scheduling == "enabled" else "offline"


def node_document(
    node: Node,
    pool: Pool,
    base: str,
    version: str,
    running: tuple[int, int],
    *,
    recent: Sequence[Sequence[Any]] = (),
) -> Doc:
    """A node as GET shows it; `running` counts its tasks and the slots they take.

    `recent` is as `rules.recent` has it.
    """
    spec = pool.spec
    vm = spec.get("virtualMachineConfiguration") or {}
    image = vm.get("imageReference") or {}
    doc: Doc = {
        "id": node.id,
        "url": f"{base}/pools/{pool.id}/nodes/{node.id}",
        "state": node.state,
        "schedulingState": node.scheduling,
        "stateTransitionTime": moment(node.since),
        "allocationTime": moment(node.allocated),
        "ipAddress": node.address,
        "affinityId": f"TVM:{node.id}",
        "vmSize": spec["vmSize"],
        "totalTasksRun": node.tasks_run,
        "totalTasksSucceeded": node.tasks_succeeded,
        "runningTasksCount": running[0],
        "runningTaskSlotsCount": running[1],
        "isDedicated": node.dedicated,
        "endpointConfiguration": {"inboundEndpoints": endpoints(node, spec)},
        "virtualMachineInfo": {
            "imageReference": {**image, "exactVersion": image.get("version", "latest")},
        },
    }
    if (ipv6 := ipv6_address(spec)) is not None:
        doc["ipv6Address"] = ipv6
    if node.booted is not None:
        doc["lastBootTime"] = moment(node.booted)
        doc["nodeAgentInfo"] = {"version": version, "lastUpdateTime": moment(node.booted)}
        if spec.get("startTask"):
            doc["startTask"] = without_secrets(spec["startTask"])
        if node.start is not None:
            doc["startTaskInfo"] = node.start
    if recent:
        doc["recentTasks"] = [recent_document(row, base) for row in recent]
    if node.errors:
        doc["errors"] = node.errors
    return doc


def node_counts(pool: Pool, nodes: Iterable[Node]) -> Doc:
    """A pool's entry in the list of node counts."""
    kinds = {True: dict.fromkeys(_COUNTS, 0), False: dict.fromkeys(_COUNTS, 0)}
    for node in nodes:
        kinds[node.dedicated][_COUNT_OF[node.state]] += 1
    return {
        "poolId": pool.id,
        "dedicated": {**kinds[True], "total": sum(kinds[True].values())},
        "lowPriority": {**kinds[False], "total": sum(kinds[False].values())},
    }
