"""The members of a gang, from its task and Batch's subtasks. Pure.

Ranks are those that the nodes themselves work out (`plan.gang_prelude`): the main node, which is Batch's
primary and in no list of subtasks, is 0; the others follow by address. Where addresses are not known any
more, Batch's own numbers give the order.
"""

from __future__ import annotations

from dataclasses import replace
from ipaddress import ip_address
from typing import TYPE_CHECKING, Any

from azbatch_core.service.documents.wire import moment
from azbatch_core.service.states import FailureCategory, MemberStatus, TaskState
from azbatch_core.service.watch import task_failures
from azbatch_core.service.watch.status import TASK_STATES, succeeded

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from azbatch_core.service.states import TaskStatus


def members_of(
    task: TaskStatus, subtasks: Iterable[Mapping[str, Any]], addresses: Mapping[str, str]
) -> tuple[MemberStatus, ...]:
    """Every member, by rank: as many as the gang has nodes, whatever of them Batch lists already.

    Args:
        task: The gang, as its task alone tells.
        subtasks: What ``subtasksinfo`` lists.
        addresses: Those of nodes, by node id.
    """
    listed = {int(subtask.get("id") or 0): subtask for subtask in subtasks}
    others = [_member(task, number, listed.get(number), addresses) for number in range(1, task.nodes or 1)]
    order = _by_address(others, addresses)
    ranked = [replace(member, rank=rank) for rank, member in enumerate(order, start=1)]
    return (_primary(task, ranked), *ranked)


def culprit(members: Sequence[MemberStatus]) -> MemberStatus | None:
    """The member that failed first; None where none failed by itself."""
    failed = [member for member in members if member.state is TaskState.FAILED]
    return min(failed, key=_end, default=None)


def blame(task: TaskStatus, members: Sequence[MemberStatus]) -> TaskStatus:
    """The failed gang, with the failure of the member that failed first."""
    first = culprit(members)
    if first is None or len(members) == 1 or first.category is FailureCategory.WALLTIME:
        return task
    return replace(
        task,
        member=first.rank,
        exit_code=first.exit_code if first.exit_code is not None else task.exit_code,
        category=first.category,
        code=first.code or task.code,
        message=f"member {first.rank}: {first.message}",
    )


def node_file(member: MemberStatus, name: str) -> tuple[str, ...] | None:
    """A file in a subtask's folder, for a node-file call; None for the primary, and while it has no node."""
    if not (member.pool_id and member.node_id and member.folder):
        return None
    folder = member.folder.replace("\\", "/").strip("/")
    return ("pools", member.pool_id, "nodes", member.node_id, "files", f"{folder}/{name}")


def _member(
    task: TaskStatus, number: int, subtask: Mapping[str, Any] | None, addresses: Mapping[str, str]
) -> MemberStatus:
    if subtask is None:
        return _unlisted(task, number)
    node = subtask.get("nodeInfo") or {}
    failure = subtask.get("failureInfo") or {}
    known = MemberStatus(
        rank=number,
        subtask=number,
        state=TASK_STATES.get(str(subtask.get("state") or "").lower(), TaskState.RUNNING),
        exit_code=subtask.get("exitCode"),
        node_id=node.get("nodeId"),
        pool_id=node.get("poolId"),
        address=addresses.get(str(node.get("nodeId"))),
        started=moment(subtask.get("startTime")),
        ended=moment(subtask.get("endTime")),
        code=failure.get("code"),
        folder=node.get("taskRootDirectory"),
    )
    if str(subtask.get("state") or "").lower() != "completed":
        return known
    document = {"executionInfo": subtask}
    if succeeded(document):
        return replace(known, state=TaskState.SUCCEEDED)
    category = task_failures.categorise(document)
    if category is FailureCategory.CANCELLED:
        return replace(known, state=TaskState.CANCELLED, category=category, message="ended with the gang")
    message = task_failures.explain(document, category)
    return replace(known, state=TaskState.FAILED, category=category, message=message)


def _unlisted(task: TaskStatus, number: int) -> MemberStatus:
    """A member that Batch does not list: its list lags, and a task that has not started has none."""
    if task.state in {TaskState.PREPARING, TaskState.RUNNING}:
        return MemberStatus(rank=number, subtask=number, state=TaskState.QUEUED)
    if task.state is TaskState.FAILED:  # by another's fault, as far as anyone can tell
        cancelled, message = FailureCategory.CANCELLED, "ended with the gang"
        return MemberStatus(number, number, TaskState.CANCELLED, category=cancelled, message=message)
    return MemberStatus(number, number, task.state, category=task.category, message=task.message)


def _primary(task: TaskStatus, others: Sequence[MemberStatus]) -> MemberStatus:
    """The primary: its record is the task's, which also tells of the failure that another ended it by."""
    known = MemberStatus(
        rank=0,
        subtask=0,
        state=task.state,
        exit_code=task.exit_code,
        node_id=task.node_id,
        pool_id=task.pool_id,
        started=task.started,
        ended=task.ended,
        category=task.category,
        message=task.message,
        code=task.code,
    )
    first = culprit(others)
    if task.state is not TaskState.FAILED or first is None:
        return known
    before = first.ended is None or task.ended is None or first.ended <= task.ended
    if not before or task.exit_code not in {None, first.exit_code}:
        return known
    return replace(
        known,
        state=TaskState.CANCELLED,
        exit_code=None,
        category=FailureCategory.CANCELLED,
        code=None,
        message=f"ended because member {first.rank} failed",
    )


def _by_address(members: list[MemberStatus], addresses: Mapping[str, str]) -> list[MemberStatus]:
    try:
        return sorted(members, key=lambda member: int(ip_address(addresses[str(member.node_id)])))
    except (KeyError, ValueError):
        return members


def _end(member: MemberStatus) -> tuple[bool, float]:
    return member.ended is None, member.ended.timestamp() if member.ended else 0.0
