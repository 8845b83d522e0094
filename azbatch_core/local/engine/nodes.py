"""A node's life: it boots, runs its start task, takes tasks, leaves."""

from __future__ import annotations

import errno
from typing import TYPE_CHECKING

from azbatch_core.local.engine.account import Execution
from azbatch_core.local.engine.launching import launch
from azbatch_core.local.rules.times import moment, ticks_of

if TYPE_CHECKING:
    from azbatch_core.local.engine.account import Account
    from azbatch_core.local.runtime.base import Outcome
    from azbatch_core.local.store.records import Deallocation, Doc, Node

__all__ = [
    "begin_leaving",
    "boot",
    "check_leaving",
    "make_folders",
    "open_node",
    "put_outcome",
    "settle_start",
    "stay",
]


def boot(account: Account, node: Node) -> None:
    """Bring a node up: creating, starting, its start task, idle."""
    half = account.settings.boot_time / 2
    if not make_folders(account, node):
        return
    account.set_node_state(node, "creating")

    def start() -> None:
        account.set_node_state(node, "starting")
        account.after("boot", node.key, half, lambda: _up(account, node))

    account.after("boot", node.key, half, start)


def make_folders(account: Account, node: Node) -> bool:
    """Make a node's folders; one that cannot have them is `unusable`, its errors tell why."""
    try:
        account.runtime.create_node(account.place(node))
    except OSError as error:
        code = "DiskFull" if error.errno == errno.ENOSPC else "Unknown"
        node.errors = [{"code": code, "message": f"The node's folders cannot be made: {error.strerror}"}]
        account.set_node_state(node, "unusable")
        return False
    return True


def _up(account: Account, node: Node) -> None:
    node.booted = account.now()
    node.start_tries = 0
    node.start = None
    account.touch(node)
    task = account.pools[node.pool].spec.get("startTask")
    if task:
        _run_start(account, node, task)
        if task["waitForSuccess"]:
            account.set_node_state(node, "waitingforstarttask")
            return
    open_node(account, node)


def _run_start(account: Account, node: Node, task: Doc) -> None:
    execution = Execution("start", node, None, "starttask", task, launches=node.start_tries)
    account.enter(execution)
    started = launch(account, execution)
    previous = node.start or {}
    node.start = {"state": "running", "startTime": moment(started), "retryCount": node.start_tries}
    if "lastRetryTime" in previous:
        node.start["lastRetryTime"] = previous["lastRetryTime"]
    account.touch(node)


def settle_start(account: Account, execution: Execution, outcome: Outcome) -> None:
    """A try of the start task has ended."""
    node, task = execution.node, execution.spec
    account.leave(execution)
    info = node.start
    if info is None or node.leaving is not None or execution.stop_reason is not None:
        return
    allowed = task["maxTaskRetryCount"]
    if not outcome.succeeded and (allowed == -1 or node.start_tries < allowed):
        node.start_tries += 1
        info["lastRetryTime"] = moment(account.now())
        _run_start(account, node, task)
        return
    put_outcome(info, outcome)
    account.touch(node)
    if not task["waitForSuccess"]:
        return
    if outcome.succeeded:
        open_node(account, node)
    else:
        account.set_node_state(node, "starttaskfailed")


def put_outcome(info: Doc, outcome: Outcome) -> None:
    """Complete the record of a start, preparation or release task."""
    info["state"] = "completed"
    info["startTime"] = moment(ticks_of(outcome.started))
    info["endTime"] = moment(ticks_of(outcome.ended))
    if outcome.exit_code is not None:
        info["exitCode"] = outcome.exit_code
    if outcome.failure is not None:
        info["failureInfo"] = outcome.failure
    info["result"] = "success" if outcome.succeeded else "failure"


def open_node(account: Account, node: Node) -> None:
    """Let a node take tasks: what runs there (after a start task that is not waited for) counts."""
    slots = sum(execution.slots for execution in account.on_node[node.key])
    total = account.pools[node.pool].spec["taskSlotsPerNode"]
    account.free[node.pool].put(node.key, total - slots)
    account.set_node_state(node, "running" if slots else "idle")
    account.due_pools[node.pool] = None


def begin_leaving(account: Account, node: Node, option: Deallocation) -> None:
    """Take a node out of service; it is removed once nothing holds it.

    `requeue` and `terminate` end its tasks, `taskcompletion` lets them finish, `retaineddata` lets also their
    retention pass (SDK BatchNodeDeallocationOption).
    """
    account.forget_timer("boot", node.key)
    account.free[node.pool].drop(node.key)
    node.leaving = option
    account.set_node_state(node, "leavingpool")
    account.touch(node)
    for execution in tuple(account.on_node[node.key]):
        if execution.kind != "task":
            account.stop(execution, "lost")
        elif option in {"requeue", "terminate"}:
            account.stop(execution, "terminate" if option == "terminate" else "requeue")
    account.due_nodes[node.key] = None


def stay(account: Account, node: Node) -> None:
    """A stopped resize: a node that only waited for its tasks goes on taking some."""
    node.leaving = None
    open_node(account, node)
    account.touch(node)


def check_leaving(account: Account, node: Node) -> None:
    """Remove a leaving node if nothing holds it any more."""
    if node.leaving is None or account.on_node[node.key]:
        return
    if node.leaving == "retaineddata" and account.store.tasks.retained_on(node.key):
        return
    account.runtime.remove_node(account.place(node))
    account.drop_node(node)
