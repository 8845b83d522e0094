"""Clients of a service that is killed: what each was told is true in the end, and no earlier than it may."""

from __future__ import annotations

import time
from collections import defaultdict
from dataclasses import dataclass
from typing import Any, ClassVar

from killed_service import WITHIN, Actor, Event

OK, CREATED, ACCEPTED, DONE = 200, 201, 202, 204
MACHINE = {
    "imageReference": {"publisher": "canonical", "offer": "ubuntu-24_04-lts", "sku": "server"},
    "nodeAgentSKUId": "batch.node.ubuntu 24.04",
}
Doc = dict[str, Any]


def last_starts(events: list[Event]) -> dict[str, int]:
    """The last life of the service that started each task."""
    found: dict[str, int] = defaultdict(int)
    for event in events:
        if event.what == "start":
            found[event.name] = max(found[event.name], event.life)
    return found


@dataclass
class Told:
    """What a client knows of a task.

    Attributes:
        code: How it ends by itself.
        etag: None if nobody knows.
        days: Of retention, None if nobody knows.
        over: Life of the service in which it was told, or seen, to be over.
        stopped: Its end may have been asked for.
        seen: Its `executionInfo` when it was seen completed.
    """

    code: int
    etag: str | None
    days: int | None = 7
    over: int | None = None
    stopped: bool = False
    deleted: bool = False
    seen: Doc | None = None


class Work(Actor):
    """Tasks of a job, plain or multi-instance, added, changed, ended, deleted, run again and read."""

    job = "work"
    pool: ClassVar[Doc] = {"id": "work", "targetDedicatedNodes": 2, "taskSlotsPerNode": 4}
    most = 400

    def prepare(self) -> None:
        """Make the pool and the job."""
        self.tasks: dict[str, Told] = {}
        self.needed: set[str] = set()
        self.make_pool(self.pool)
        body = {"id": self.job, "poolInfo": {"poolId": self.pool["id"]}, "usesTaskDependencies": True}
        answer = self.ask("POST", "/jobs", body | self.special())
        self.expect(answer, CREATED, again=("JobExists",))

    def special(self) -> Doc:
        """Preparation and release."""
        command = self.service.command(how="node")
        return {
            "jobPreparationTask": {"id": "prepare", "commandLine": command},
            "jobReleaseTask": {"id": "release", "commandLine": command},
        }

    def make_pool(self, body: Doc) -> None:
        """Make a pool."""
        body = {"vmSize": "standard_d2s_v3", "virtualMachineConfiguration": MACHINE, **body}
        self.expect(self.ask("POST", "/pools", body), CREATED, again=("PoolExists",))

    def body(self) -> tuple[Doc, int]:
        """A new task, and its exit code."""
        code = self.dice.choice([0, 0, 0, 3])
        command = self.service.command(self.dice.choice([0, 0, 0.05, 0.3]), code)
        retries = self.dice.choice([0, 0, 1])
        body = {
            "id": self.name_of("t"),
            "commandLine": command,
            "constraints": {"maxTaskRetryCount": retries},
        }
        if self.tasks and self.dice.random() < 0.2:
            earlier = [
                name for name, told in self.tasks.items() if not (told.code or told.stopped or told.deleted)
            ]
            if earlier:
                name = self.dice.choice(earlier)
                self.needed.add(name)
                body["dependsOn"] = {"taskIds": [name]}
        return body, code

    def some(self) -> str | None:
        """A task that no other needs."""
        found = [name for name, told in self.tasks.items() if not told.deleted and name not in self.needed]
        return self.dice.choice(found) if found else None

    def do_add_many(self) -> None:
        """Add a collection."""
        if len(self.tasks) > self.most:
            return self.do_read()
        made = [self.body() for _ in range(self.dice.randint(1, 20))]
        answer = self.ask("POST", f"/jobs/{self.job}/addtaskcollection", {"value": [doc for doc, _ in made]})
        self.expect(answer, OK)
        for (doc, code), item in zip(made, answer.body["value"], strict=True):
            fine = item["status"].lower() == "success"
            if not fine and (answer.tries == 1 or item["error"]["code"] != "TaskExists"):
                raise AssertionError(item)
            self.tasks[doc["id"]] = Told(code, item["eTag"] if fine else None)
        return None

    def do_add(self) -> None:
        """Add one."""
        if len(self.tasks) > self.most:
            return
        doc, code = self.body()
        answer = self.ask("POST", f"/jobs/{self.job}/tasks", doc)
        self.expect(answer, CREATED, again=("TaskExists",) if answer.tries > 1 else ())
        self.tasks[doc["id"]] = Told(code, answer.etag)

    do_add_again = do_add

    def do_replace(self) -> None:
        """Give one another retention time."""
        if (name := self.some()) is None:
            return
        told, days = self.tasks[name], self.dice.randint(1, 9)
        answer = self.ask("PUT", self.path(name), {"constraints": {"retentionTime": f"P{days}D"}})
        if self.expect(answer, OK, again=("TaskCompleted",)):
            told.etag, told.days = answer.etag, days
        elif answer.tries > 1:
            told.etag = told.days = None

    def path(self, name: str) -> str:
        """Of a task."""
        return f"/jobs/{self.job}/tasks/{name}"

    def do_terminate(self) -> None:
        """End one."""
        if (name := self.some()) is None:
            return
        told = self.tasks[name]
        answer = self.ask("POST", self.path(name) + "/terminate")
        ended = self.expect(answer, DONE, again=("TaskCompleted",))
        if ended or answer.tries > 1:
            told.stopped, told.etag = True, None
        told.over = answer.life

    def do_reactivate(self) -> None:
        """Have one that failed run again."""
        if (name := self.some()) is None:
            return
        told = self.tasks[name]
        answer = self.ask("POST", self.path(name) + "/reactivate")
        if self.expect(answer, DONE, again=("TaskSucceeded", "TaskNotCompleted")) or answer.tries > 1:
            told.etag = told.over = told.seen = None
            told.stopped = told.stopped and answer.status != DONE

    def do_delete(self) -> None:
        """Delete one."""
        if (name := self.some()) is None or self.dice.random() < 0.5:
            return
        told = self.tasks[name]
        answer = self.ask("DELETE", self.path(name))
        self.expect(answer, OK, again=("TaskNotFound",) if answer.tries > 1 else ())
        told.deleted, told.over = True, answer.life

    def do_read(self) -> None:
        """See whether one is what it was told to be; it never changes once it is over."""
        if not self.tasks:
            return
        name = self.dice.choice(list(self.tasks))
        answer = self.ask("GET", self.path(name))
        self.compare(name, answer.body, answer.status, answer.life)

    do_read_again = do_read

    def compare(self, name: str, doc: Doc, status: int, life: int) -> None:
        """Compare a task as it is read with what was told of it."""
        told = self.tasks[name]
        assert (status != OK) == told.deleted, (name, told, doc)
        if told.deleted:
            return
        assert told.etag in {None, doc["eTag"]}, (name, told, doc)
        told.etag = doc["eTag"]
        assert told.days in {None, int(doc["constraints"]["retentionTime"][1:-1])}, (name, told, doc)
        if told.seen is not None:
            assert (doc["state"], doc["executionInfo"]) == ("completed", told.seen), (name, told, doc)
        if doc["state"] != "completed":
            return
        info = told.seen = doc["executionInfo"]
        told.over = told.over or life
        by_itself = info.get("exitCode") == told.code and (info["result"] == "success") == (told.code == 0)
        ended = told.stopped and info.get("failureInfo", {}).get("code") == "TaskEnded"
        assert by_itself or ended, (doc["commandLine"][-9:], told, info)

    def settle(self) -> None:
        """Wait until all tasks are over."""
        deadline = time.monotonic() + WITHIN
        while (counts := self.ask("GET", f"/jobs/{self.job}/taskcounts").body["taskCounts"])[
            "active"
        ] + counts["running"]:
            assert time.monotonic() < deadline, (self.job, counts, self.unfinished())
            time.sleep(0.05)

    def unfinished(self) -> list[Doc]:
        """Tasks that are not over."""
        found = self.caller.all(f"/jobs/{self.job}/tasks?$filter=state ne 'completed'".replace(" ", "%20"))
        return found[:3]

    def check(self, events: list[Event]) -> None:
        """Compare the end with what was told."""
        listed = {doc["id"]: doc for doc in self.caller.all(f"/jobs/{self.job}/tasks")}
        there = {name for name, told in self.tasks.items() if not told.deleted}
        assert listed.keys() == there
        for name in there:
            self.compare(name, listed[name], OK, self.service.life)
            assert listed[name]["state"] == "completed"
        counts = self.ask("GET", f"/jobs/{self.job}/taskcounts").body["taskCounts"]
        failed = sum(doc["executionInfo"]["result"] == "failure" for doc in listed.values())
        expected = {"active": 0, "running": 0, "completed": len(listed), "failed": failed}
        assert counts == {**expected, "succeeded": len(listed) - failed}
        folders = {
            path.name for path in self.service.state.path.glob(f"nodes/*/*/workitems/{self.job}/job-1/*")
        }
        assert folders <= there | {"prepare", "release"}, folders - there
        starts = last_starts(events)
        for name, told in self.tasks.items():
            last = starts[f"{self.job}.{name}"]
            assert told.over is None or last <= told.over, f"{name} ran in life {last}, but {told}"


class Gangs(Work):
    """Multi-instance tasks."""

    job = "gangs"
    pool: ClassVar[Doc] = {"id": "gangs", "targetDedicatedNodes": 3, "enableInterNodeCommunication": True}
    most = 60

    def special(self) -> Doc:
        """Nothing."""
        return {}

    def body(self) -> tuple[Doc, int]:
        """A new one."""
        body, code = super().body()
        body.pop("dependsOn", None)
        number = self.dice.randint(1, 3)
        coordination = self.service.command(how="node")
        body["multiInstanceSettings"] = {
            "numberOfInstances": number,
            "coordinationCommandLine": coordination,
        }
        return body, code

    def check(self, events: list[Event]) -> None:
        """Their subtasks are over, too."""
        super().check(events)
        for name, told in self.tasks.items():
            if not told.deleted:
                found = self.ask("GET", self.path(name) + "/subtasksinfo").body["value"]
                assert {doc["state"] for doc in found} <= {"completed"}, (name, found)
