"""Faults of nodes: they strike when they are set or when their time comes, then nodes that come to match."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING

from azbatch_core.local.engine import node_actions
from azbatch_core.local.engine.nodes import let_go
from azbatch_core.local.faults.kinds import NODE_KINDS
from azbatch_core.local.rules.nodes import GOING_DOWN

if TYPE_CHECKING:
    from collections.abc import Iterator

    from azbatch_core.local.engine.account import Account
    from azbatch_core.local.faults import Fault
    from azbatch_core.local.store.records import Doc, Node

__all__ = ["arm", "befall", "make_unusable"]

_BACK_AFTER = 10.0


def arm(account: Account, fault: Fault) -> None:
    """Have a fault of nodes strike at its time; without effect on other faults."""
    if fault.kind not in NODE_KINDS:
        return
    now = account.clock.now()
    fault.live_from = fault.at or now + timedelta(seconds=fault.after)
    wait = (fault.live_from - now).total_seconds()
    account.after("fault", fault.number, max(0.0, wait), lambda: _strike(account, fault))


def _strike(account: Account, fault: Fault) -> None:
    if fault in account.faults:
        for node in tuple(account.nodes.values()):
            _befall(account, fault, node)


def befall(account: Account, node: Node) -> None:
    """A node has come up or got a task: the faults that are live may strike it."""
    if account.nodes.get(node.key) is not node:
        return
    for fault in account.faults.of_nodes:
        if fault.live_from is not None and fault.live_from <= account.clock.now():
            _befall(account, fault, node)


def _befall(account: Account, fault: Fault, node: Node) -> None:
    if node.leaving is not None or node.state in GOING_DOWN | {"deallocated", "unusable"}:
        return
    if fault.kind == "preempt" and node.dedicated:
        return
    if fault.count is None and node.key in fault.struck:
        return  # or a node that comes back would be struck again for ever
    if not any(fault.befalls(where) for where in _names(account, node)) or not fault.hit():
        return
    fault.struck.add(node.key)
    if fault.kind == "preempt":
        node_actions.preempt(account, node, fault.values.get("lasts", _BACK_AFTER))
        return
    code = fault.values.get("code")
    message = fault.values.get("message") or f"The node has failed: {code}"
    make_unusable(account, node, [{"code": code, "message": message}] if code else [])


def _names(account: Account, node: Node) -> Iterator[dict[str, str]]:
    """What a fault may know a node by: alone, and with each task that runs on it."""
    names = {"pool": node.pool_id, "node": node.id}
    yield names
    for execution in account.on_node[node.key]:
        if execution.kind == "task" and execution.job is not None:
            yield {**names, "job": execution.job.id, "task": execution.task_id}


def make_unusable(account: Account, node: Node, errors: list[Doc]) -> None:
    """A node fails: its tasks go back to the queue, no count moved, and it takes none until it is restarted.

    Without errors the service has lost touch with it ("Pool and node errors").
    """
    node.errors = errors
    account.set_node_state(node, "unusable")
    account.touch(node)
    let_go(account, node, "requeue", counts=False)
