"""What users do to nodes: reboot, reimage, deallocate and start them, and keep tasks away from them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from azbatch_core.local.engine import preparation
from azbatch_core.local.engine.nodes import (
    check_leaving,
    come_up,
    held,
    let_go,
    make_folders,
    open_node,
    rerun_start,
)
from azbatch_core.local.rules.nodes import GOING_DOWN, KEEPS_DISK, resting_state
from azbatch_core.local.wire.durations import TICKS_PER_SECOND

if TYPE_CHECKING:
    from azbatch_core.local.engine.account import Account
    from azbatch_core.local.store.records import Deallocation, Node, NodeState

__all__ = ["check", "disable", "enable", "go_down", "preempt", "resume", "start"]


def go_down(account: Account, node: Node, state: NodeState, option: Deallocation) -> None:
    """Have a node reboot, be reimaged or be deallocated, whichever `state` names, once nothing holds it."""
    node.waits = option
    account.set_node_state(node, state)
    account.touch(node)
    let_go(account, node, option, counts=False)


def check(account: Account, node: Node) -> None:
    """Take the next step of a node that leaves or goes down, if nothing holds it any more."""
    if node.leaving is not None:
        check_leaving(account, node)
    elif node.state in GOING_DOWN and node.waits is not None and not held(account, node, node.waits):
        node.waits = None
        account.touch(node)
        _halt(account, node)


def _halt(account: Account, node: Node) -> None:
    """Kill what its tasks left behind, then go on."""
    state, began = node.state, account.now()
    halted = account.runtime.halt_node(account.place(node), wipe=state not in KEEPS_DISK)

    def go_on(_: object) -> None:
        # Meanwhile it may have been told to leave its pool, or the service to stop.
        if not account.stopping and account.nodes.get(node.key) is node and node.state == state:
            with account.whole():
                _halted(account, node, began)
            account.wake()

    halted.add_done_callback(go_on)


def _halted(account: Account, node: Node, began: int) -> None:
    wiped = node.state not in KEEPS_DISK
    preparation.outlive(account, node, wiped=wiped)
    if wiped:
        account.store.tasks.lose_files(node.key)
    if node.state in {"reimaging", "preempted"}:
        node.users = {}
        account.touch(node)
    if node.state == "preempted":
        back = account.capacity_back.pop(node.key, began)
        wait = max(0.0, (back - account.now()) / TICKS_PER_SECOND)
        account.after("boot", node.key, wait, lambda: _come_back(account, node, back))
    elif node.state == "deallocating":
        account.set_node_state(node, "deallocated")
    else:
        come_up(account, node, began)


def preempt(account: Account, node: Node, seconds: float) -> None:
    """Take a spot node's machine away: it loses its disk, its tasks go back to the queue, no count moved.

    It stays in its pool and comes back with the same id (documented for spot nodes) when there is capacity
    again, `seconds` from now.
    """
    account.capacity_back[node.key] = account.now() + int(seconds * TICKS_PER_SECOND)
    go_down(account, node, "preempted", "requeue")


def _come_back(account: Account, node: Node, began: int) -> None:
    node.booted = node.start = None
    account.touch(node)
    account.set_node_state(node, "starting")
    come_up(account, node, began)


def start(account: Account, node: Node) -> None:
    """Bring a deallocated node up again."""
    account.set_node_state(node, "starting")
    come_up(account, node, account.now())


def disable(account: Account, node: Node, option: Deallocation) -> None:
    """Give a node no more tasks; it is offline when it runs none."""
    node.scheduling = "disabled"
    account.touch(node)
    account.free[node.pool].drop(node.key)
    running = [execution for execution in account.on_node[node.key] if execution.kind == "task"]
    if node.state == "idle":
        account.set_node_state(node, resting_state(node.scheduling))
    if option != "taskcompletion":
        for execution in running:
            account.stop(execution, "terminate" if option == "terminate" else "lost")


def enable(account: Account, node: Node) -> None:
    """Let a node take tasks again."""
    node.scheduling = "enabled"
    account.touch(node)
    if node.state in {"offline", "running"}:
        open_node(account, node)


def resume(account: Account, node: Node) -> None:
    """Go on with a node on which nothing runs after a start of the service."""
    if node.state in GOING_DOWN:
        node.waits = node.waits or "requeue"
        account.due_nodes[node.key] = None
    elif node.booted is not None and node.state in {"starting", "waitingforstarttask"}:
        account.set_node_state(node, "starting")
        come_up(account, node, account.now())
    elif node.state in {"idle", "running", "offline"} and make_folders(account, node):
        rerun_start(account, node)
        open_node(account, node)
