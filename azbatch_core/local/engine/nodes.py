"""A node's life: it boots, runs its start task, takes tasks, leaves."""

from __future__ import annotations

import errno
from typing import TYPE_CHECKING

from azbatch_core.local.engine.launching import launch
from azbatch_core.local.engine.world import Execution
from azbatch_core.local.rules.times import moment, ticks_of

if TYPE_CHECKING:
    from azbatch_core.local.engine.world import World
    from azbatch_core.local.runtime.base import Outcome
    from azbatch_core.local.store.records import Doc, Node

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


def boot(world: World, node: Node) -> None:
    """Bring a node up: creating, starting, its start task, idle."""
    half = world.settings.boot_time / 2
    if not make_folders(world, node):
        return
    world.set_node_state(node, "creating")

    def start() -> None:
        world.set_node_state(node, "starting")
        world.after("boot", node.key, half, lambda: _up(world, node))

    world.after("boot", node.key, half, start)


def make_folders(world: World, node: Node) -> bool:
    """Make a node's folders; one that cannot have them is `unusable`, its errors tell why."""
    try:
        world.runtime.create_node(world.place(node))
    except OSError as error:
        code = "DiskFull" if error.errno == errno.ENOSPC else "Unknown"
        node.errors = [{"code": code, "message": f"The node's folders cannot be made: {error.strerror}"}]
        world.set_node_state(node, "unusable")
        return False
    return True


def _up(world: World, node: Node) -> None:
    node.booted = world.now()
    node.start_tries = 0
    node.start = None
    world.touch(node)
    task = world.pools[node.pool].spec.get("startTask")
    if task:
        _run_start(world, node, task)
        if task["waitForSuccess"]:
            world.set_node_state(node, "waitingforstarttask")
            return
    open_node(world, node)


def _run_start(world: World, node: Node, task: Doc) -> None:
    execution = Execution("start", node, None, "starttask", task, launches=node.start_tries)
    world.enter(execution)
    started = launch(world, execution)
    previous = node.start or {}
    node.start = {"state": "running", "startTime": moment(started), "retryCount": node.start_tries}
    if "lastRetryTime" in previous:
        node.start["lastRetryTime"] = previous["lastRetryTime"]
    world.touch(node)


def settle_start(world: World, execution: Execution, outcome: Outcome) -> None:
    """A try of the start task has ended."""
    node, task = execution.node, execution.spec
    world.leave(execution)
    info = node.start
    if info is None or node.leaving is not None or execution.fate is not None:
        return
    allowed = task["maxTaskRetryCount"]
    if not outcome.succeeded and (allowed == -1 or node.start_tries < allowed):
        node.start_tries += 1
        info["lastRetryTime"] = moment(world.now())
        _run_start(world, node, task)
        return
    put_outcome(info, outcome)
    world.touch(node)
    if not task["waitForSuccess"]:
        return
    if outcome.succeeded:
        open_node(world, node)
    else:
        world.set_node_state(node, "starttaskfailed")


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


def open_node(world: World, node: Node) -> None:
    """Let a node take tasks: what runs there (after a start task that is not waited for) counts."""
    slots = sum(execution.slots for execution in world.on_node[node.key])
    total = world.pools[node.pool].spec["taskSlotsPerNode"]
    world.free[node.pool].put(node.key, total - slots)
    world.set_node_state(node, "running" if slots else "idle")
    world.due_pools[node.pool] = None


def begin_leaving(world: World, node: Node, option: str) -> None:
    """Take a node out of service; it is removed once nothing holds it.

    `requeue` and `terminate` end its tasks, `taskcompletion` lets them finish, `retaineddata` lets also their
    retention pass (SDK BatchNodeDeallocationOption).
    """
    world.forget_timer("boot", node.key)
    world.free[node.pool].drop(node.key)
    node.leaving = option
    world.set_node_state(node, "leavingpool")
    world.touch(node)
    for execution in tuple(world.on_node[node.key]):
        if execution.kind != "task":
            world.stop(execution, "lost")
        elif option in {"requeue", "terminate"}:
            world.stop(execution, "terminate" if option == "terminate" else "requeue")
    world.due_nodes[node.key] = None


def stay(world: World, node: Node) -> None:
    """A stopped resize: a node that only waited for its tasks goes on taking some."""
    node.leaving = None
    open_node(world, node)
    world.touch(node)


def check_leaving(world: World, node: Node) -> None:
    """Remove a leaving node if nothing holds it any more."""
    if node.leaving is None or world.on_node[node.key]:
        return
    if node.leaving == "retaineddata" and world.store.tasks.retained_on(node.key):
        return
    world.runtime.remove_node(world.place(node))
    world.drop_node(node)
