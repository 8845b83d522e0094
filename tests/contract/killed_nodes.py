"""A client of a service that is killed: it resizes a pool, and reboots, removes and changes its nodes."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, ClassVar

from killed_actors import ACCEPTED, CREATED, Doc, Work
from killed_service import WITHIN

if TYPE_CHECKING:
    from killed_service import Event


class Nodes(Work):
    """A pool that is resized, whose nodes are rebooted, removed, and so on, while tasks run there."""

    job = "nodes"
    pool: ClassVar[Doc] = {"id": "nodes", "targetDedicatedNodes": 3, "taskSlotsPerNode": 2}
    most = 150

    def prepare(self) -> None:
        """Make the pool and the job."""
        super().prepare()
        self.removed: set[str] = set()
        self.users: dict[str, str] = {}
        self.target: int | None = None

    def node(self, *states: str) -> str | None:
        """A node, in one of the states if some are given."""
        found = self.caller.all("/pools/nodes/nodes")
        assert not {doc["id"] for doc in found if doc["state"] != "leavingpool"} & self.removed
        names = [doc["id"] for doc in found if not states or doc["state"] in states]
        return self.dice.choice(names) if names else None

    def on_node(self, action: str, body: Doc | None, *states: str) -> tuple[str, bool] | None:
        """Do something to a node; what a race refuses does no harm."""
        if (node := self.node(*states)) is None:
            return None
        answer = self.ask("POST", f"/pools/nodes/nodes/{node}/{action}", body)
        if answer.status < 300:
            return node, True
        assert answer.status in {404, 409}, answer
        return node, False

    def do_go_down(self) -> None:
        """Reboot, reimage or deallocate one."""
        action, name = self.dice.choice(
            [("reboot", "Reboot"), ("reimage", "Reimage"), ("deallocate", "Deallocate")]
        )
        option = self.dice.choice(["requeue", "taskcompletion"])
        done = self.on_node(action, {f"node{name}Option": option}, "idle", "running")
        if done is not None and action == "reimage":
            self.users.pop(done[0], None)

    def do_start(self) -> None:
        """Start one."""
        self.on_node("start", None, "deallocated")

    def do_disable(self) -> None:
        """Take one offline."""
        self.on_node("disablescheduling", {"nodeDisableSchedulingOption": "requeue"}, "idle", "running")

    def do_enable(self) -> None:
        """Take one back."""
        self.on_node("enablescheduling", None, "offline")

    def do_user(self) -> None:
        """Make a user on one."""
        if (node := self.node("idle", "running")) is None or node in self.users:
            return
        name = self.name_of("u")
        answer = self.ask(
            "POST", f"/pools/nodes/nodes/{node}/users", {"name": name, "password": "Aa1-bcdefghij"}
        )
        if answer.status == CREATED:
            self.users[node] = name

    def do_resize(self) -> None:
        """Resize the pool."""
        target = self.dice.randint(1, 4)
        body = {
            "targetDedicatedNodes": target,
            "nodeDeallocationOption": self.dice.choice(["requeue", "taskcompletion"]),
        }
        answer = self.ask("POST", "/pools/nodes/resize", body)
        if self.expect(answer, ACCEPTED, again=("PoolBeingResized",)):
            self.target = target
        elif answer.tries > 1:
            self.target = None

    def do_stop_resize(self) -> None:
        """Stop a resize."""
        self.expect(self.ask("POST", "/pools/nodes/stopresize"), ACCEPTED)

    def do_remove(self) -> None:
        """Remove a node."""
        if (node := self.node()) is None or self.dice.random() < 0.5:
            return
        answer = self.ask("POST", "/pools/nodes/removenodes", {"nodeList": [node]})
        if self.expect(answer, ACCEPTED, again=("PoolBeingResized", "NodeNotFound")):
            self.removed.add(node)
            self.target = None
        elif answer.tries > 1:
            self.target = None

    def settle(self) -> None:
        """Bring the nodes up again."""
        pool = self.ask("GET", "/pools/nodes").body
        assert self.target in {None, pool["targetDedicatedNodes"]}, (self.target, pool)
        deadline = time.monotonic() + WITHIN
        while not self._resized():
            assert time.monotonic() < deadline
            time.sleep(0.05)
        while not self._all_up():
            assert time.monotonic() < deadline, self.caller.all("/pools/nodes/nodes")
            time.sleep(0.05)
        super().settle()

    def _resized(self) -> bool:
        return self.ask("POST", "/pools/nodes/resize", {"targetDedicatedNodes": 3}).status == ACCEPTED

    def _all_up(self) -> bool:
        found = self.caller.all("/pools/nodes/nodes")
        for doc in found:
            if doc["state"] == "deallocated":
                self.ask("POST", f"/pools/nodes/nodes/{doc['id']}/start")
            elif doc["state"] == "offline" or doc["schedulingState"] == "disabled":
                self.ask("POST", f"/pools/nodes/nodes/{doc['id']}/enablescheduling")
        return len(found) == 3 and {doc["state"] for doc in found} <= {"idle", "running"}

    def check(self, events: list[Event]) -> None:
        """Users are where they were made."""
        super().check(events)
        there = {doc["id"] for doc in self.caller.all("/pools/nodes/nodes")}
        assert not there & self.removed
        for node, name in self.users.items():
            if node in there:
                again = {"name": name, "password": "Aa1-bcdefghij"}
                answer = self.ask("POST", f"/pools/nodes/nodes/{node}/users", again)
                assert answer.code == "NodeUserExists", answer
