"""A node's life: it boots, runs its start task, takes tasks, leaves."""

from __future__ import annotations

import errno
from typing import TYPE_CHECKING

from azbatch_core.local.engine.execution import Execution
from azbatch_core.local.engine.launching import launch
from azbatch_core.local.engine.packages import resolve
from azbatch_core.local.engine.trouble import boot_time, notice
from azbatch_core.local.rules.nodes import resting_state
from azbatch_core.local.rules.pools import container_configuration
from azbatch_core.local.rules.times import moment, ticks_of
from azbatch_core.local.wire.durations import TICKS_PER_SECOND

if TYPE_CHECKING:
    import asyncio
    from collections.abc import Callable

    from azbatch_core.local.engine.account import Account
    from azbatch_core.local.engine.execution import StopReason
    from azbatch_core.local.runtime.base import Outcome
    from azbatch_core.local.store.records import Deallocation, Doc, Node

__all__ = [
    "begin_leaving",
    "boot",
    "check_leaving",
    "come_up",
    "evict",
    "held",
    "let_go",
    "make_folders",
    "open_node",
    "put_outcome",
    "rerun_start",
    "settle_start",
    "stay",
]


def boot(account: Account, node: Node) -> None:
    """Bring a node up: creating, starting, its start task, idle."""
    if not make_folders(account, node):
        return
    half = boot_time(account, node) / 2
    account.set_node_state(node, "creating")

    def start() -> None:
        account.set_node_state(node, "starting")
        account.after("boot", node.key, half, lambda: _up(account, node))

    account.after("boot", node.key, half, start)


def come_up(account: Account, node: Node, began: int) -> None:
    """Bring a node up that was up before, in the state it is in; its boot `began` then (in ticks)."""

    def up() -> None:
        if make_folders(account, node):
            _up(account, node)

    elapsed = (account.now() - began) / TICKS_PER_SECOND
    account.after("boot", node.key, max(0.0, boot_time(account, node) - elapsed), up)


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
    node.errors = []
    account.touch(node)
    packages, node.packages = resolve(
        account, account.pools[node.pool].spec.get("applicationPackageReferences") or ()
    )
    if packages:
        fetch = account.runtime.install_packages(account.place(node), packages)
        _wait_for(account, node, fetch, _fetch_images)
    else:
        _fetch_images(account, node)


def _fetch_images(account: Account, node: Node) -> None:
    containers = container_configuration(account.pools[node.pool].spec)
    images = containers.get("containerImageNames")
    if images:
        fetch = account.runtime.fetch_images(images, containers.get("containerRegistries") or ())
        _wait_for(account, node, fetch, _begin_work)
    else:
        _begin_work(account, node)


def _wait_for(
    account: Account, node: Node, fetch: asyncio.Future[Doc | None], go_on: Callable[[Account, Node], None]
) -> None:
    """Look at a fetch when it is over. Whatever calls a boot off cancels it, like a timer."""

    def over(_: object) -> None:
        if not fetch.cancelled():
            account.after("boot", node.key, 0.0, lambda: _fetched(account, node, fetch.result(), go_on))

    account.forget_timer("boot", node.key)
    account.timers["boot", node.key] = fetch
    fetch.add_done_callback(over)


def _fetched(
    account: Account, node: Node, failed: Doc | None, go_on: Callable[[Account, Node], None]
) -> None:
    """Go on with its start, or be unusable: nothing is fetched twice ("Pool and node errors")."""
    if failed is None:
        go_on(account, node)
        return
    error = {"code": failed["code"], "message": failed["message"]}
    node.errors = [{**error, "errorDetails": failed.get("details", [])}]
    account.set_node_state(node, "unusable")


def _begin_work(account: Account, node: Node) -> None:
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


def rerun_start(account: Account, node: Node) -> None:
    """Run again a start task that nobody waits for and that died with the service."""
    if node.start is not None and node.start["state"] == "running":
        _run_start(account, node, account.pools[node.pool].spec["startTask"])


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
    if outcome.container is not None:
        info["containerInfo"] = outcome.container
    if outcome.failure is not None:
        info["failureInfo"] = outcome.failure
    info["result"] = "success" if outcome.succeeded else "failure"


def open_node(account: Account, node: Node) -> None:
    """Let a node take tasks, unless it is not to: what runs there already counts."""
    slots = sum(execution.taken for execution in account.on_node[node.key])
    if node.scheduling == "enabled":
        total = account.pools[node.pool].spec["taskSlotsPerNode"]
        account.free[node.pool].put(node.key, total - slots)
    account.set_node_state(node, "running" if slots else resting_state(node.scheduling))
    account.due_pools[node.pool] = None
    notice(account, node)


def evict(account: Account, node: Node, reason: StopReason) -> None:
    """Throw off a node all that runs there: tasks for that reason, all else as lost.

    It takes effect in later turns: when the last of it has ended, `account.on_node[node.key]` is empty.
    """
    for execution in tuple(account.on_node[node.key]):
        account.stop(execution, reason if execution.kind == "task" else "lost")


def let_go(account: Account, node: Node, option: Deallocation, *, counts: bool) -> None:
    """Have a node take no more tasks and get rid of those it has; then a turn looks at the node.

    `requeue` and `terminate` end its tasks, `taskcompletion` and `retaineddata` let them finish, with the
    preparations that they wait for (SDK BatchNodeDeallocationOption). `counts` tells whether a requeue moves
    `requeueCount`: it does so only for nodes that leave their pool (SDK BatchTaskExecutionInfo).
    """
    account.forget_timer("boot", node.key)
    account.free[node.pool].drop(node.key)
    if option in {"requeue", "terminate"}:
        evict(account, node, "terminate" if option == "terminate" else "requeue" if counts else "lost")
    else:
        for execution in tuple(account.on_node[node.key]):
            if execution.kind == "start":
                account.stop(execution, "lost")
    account.due_nodes[node.key] = None


def held(account: Account, node: Node, option: Deallocation) -> bool:
    """Whether a node still holds what is to be over before it goes down."""
    if account.on_node[node.key]:
        return True
    if option != "retaineddata":
        return False
    store = account.store
    return store.tasks.retained_on(node.key) or store.subtasks.retained_on(node.key)


def begin_leaving(account: Account, node: Node, option: Deallocation) -> None:
    """Take a node out of service (see `let_go`); it is removed once nothing holds it."""
    node.leaving, node.waits = option, None
    account.set_node_state(node, "leavingpool")
    account.touch(node)
    let_go(account, node, option, counts=True)


def stay(account: Account, node: Node) -> None:
    """A stopped resize: a node that only waited for its tasks goes on taking some."""
    node.leaving = None
    account.touch(node)
    task = account.pools[node.pool].spec.get("startTask") or {}
    started = node.start is None or node.start.get("result") == "success"
    if node.booted is not None and (started or not task.get("waitForSuccess")):
        open_node(account, node)
    else:
        account.set_node_state(node, "starting")
        come_up(account, node, account.now())


def check_leaving(account: Account, node: Node) -> None:
    """Remove a leaving node if nothing holds it any more."""
    if node.leaving is None or held(account, node, node.leaving):
        return
    account.runtime.remove_node(account.place(node))
    account.drop_node(node)
