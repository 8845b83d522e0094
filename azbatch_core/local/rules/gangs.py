"""Multi-instance tasks: what is refused, where they fit, what their members see, how subtasks are shown.

Sources: SDK MultiInstanceSettings and BatchSubtask; "Use multi-instance tasks to run MPI applications";
"Task runtime environment variables".
"""

from __future__ import annotations

from dataclasses import replace
from ipaddress import ip_address
from typing import TYPE_CHECKING

from azbatch_core.local.rules.tasks import node_info
from azbatch_core.local.rules.times import moment

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from azbatch_core.local.runtime.base import Launch
    from azbatch_core.local.store.records import Doc, Job, Node
    from azbatch_core.local.store.subtasks import Subtask, SubtaskState

__all__ = ["as_member", "fits", "move", "order", "subtask_document", "variables"]

_MASTER_PORT = 6000


def fits(pool: Doc) -> bool:
    """Whether multi-instance tasks can run on a pool at all; on others they wait (documented)."""
    return bool(pool["enableInterNodeCommunication"]) and pool["taskSlotsPerNode"] == 1


def order(nodes: Iterable[Node]) -> list[Node]:
    """Members' nodes as `AZ_BATCH_HOST_LIST` has them: by address."""
    return sorted(nodes, key=lambda node: ip_address(node.address))


def variables(hosts: Sequence[str], master: str, own: str) -> dict[str, str]:
    """What only members of multi-instance tasks see; `hosts` are the same, in the same order, for all."""
    return {
        "AZ_BATCH_HOST_LIST": ",".join(hosts),
        "AZ_BATCH_NODE_LIST": ";".join(hosts),
        "AZ_BATCH_MASTER_NODE": f"{master}:{_MASTER_PORT}",
        "AZ_BATCH_IS_CURRENT_NODE_MASTER": "true" if own == master else "false",
        "CCP_NODES": " ".join([str(len(hosts)), *(f"{host} 1" for host in hosts)]),
        # Not Batch's: a node of Azure finds its own address on its interfaces, and all of ours share those.
        "AZBATCH_NODE_ADDRESS": own,
    }


def as_member(launch: Launch, settings: Doc, hosts: Sequence[str], master: str) -> Launch:
    """The launch of a member, made from that of its task.

    Subtasks run the coordination command alone. Their wall time is the primary's: it ends them all.
    """
    member = replace(
        launch,
        coordination_command_line=settings["coordinationCommandLine"],
        common_resource_files=tuple(settings.get("commonResourceFiles") or ()),
        extra_environment={**launch.extra_environment, **variables(hosts, master, launch.node.address)},
    )
    if launch.node.address == master:
        return member
    return replace(member, command_line="", resource_files=(), output_files=(), wall_time=None)


def move(subtask: Subtask, state: SubtaskState, now: int) -> None:
    """Move a subtask on."""
    subtask.previous, subtask.previous_since = subtask.state, subtask.since
    subtask.state, subtask.since = state, now


def subtask_document(subtask: Subtask, job: Job, task_id: str, base: str) -> Doc:
    """A member of `subtasksinfo` (recorded in 2016, `result` and `failureInfo` as declared today)."""
    doc: Doc = {
        "id": subtask.id,
        "state": subtask.state,
        "stateTransitionTime": moment(subtask.since),
        "nodeInfo": node_info(subtask.pool_id, subtask.node_id, job.id, task_id, base),
    }
    if subtask.previous is not None and subtask.previous_since is not None:
        doc["previousState"] = subtask.previous
        doc["previousStateTransitionTime"] = moment(subtask.previous_since)
    if subtask.started is not None:
        doc["startTime"] = moment(subtask.started)
    if subtask.state != "completed":
        return doc
    if subtask.ended is not None:
        doc["endTime"] = moment(subtask.ended)
    if subtask.exit_code is not None:
        doc["exitCode"] = subtask.exit_code
    if subtask.container is not None:
        doc["containerInfo"] = subtask.container
    if subtask.failure is not None:
        doc["failureInfo"] = subtask.failure
    doc["result"] = "success" if subtask.failure is None else "failure"
    return doc
