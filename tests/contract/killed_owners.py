"""Clients of a service that is killed: they make, change and end jobs and schedules."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from killed_actors import ACCEPTED, CREATED, DONE, OK, Doc, last_starts
from killed_service import WITHIN, Actor

if TYPE_CHECKING:
    from collections.abc import Callable

    from killed_service import Answer, Event

GONE = 404


@dataclass
class Owned:
    """What a client knows of a job or schedule: its priority or mark, its ETag if known, how it was ended."""

    mark: int | None = 0
    etag: str | None = None
    ended: int | None = None
    deleted: bool = False
    disabled: bool = False
    tasks: set[str] = field(default_factory=set)


class Owner(Actor):
    """Makes, changes and ends documents of one kind."""

    kind = "jobs"
    most = 10
    races: tuple[str, ...] = ()

    def prepare(self) -> None:
        """Have nothing yet."""
        self.owned: dict[str, Owned] = {}

    def some(self) -> str | None:
        """One that was not ended."""
        found = [name for name, owned in self.owned.items() if not owned.ended and not owned.deleted]
        return self.dice.choice(found) if found else None

    def path(self, name: str) -> str:
        """Of one."""
        return f"/{self.kind}/{name}"

    def act(self, method: str, action: str, body: Any = None) -> tuple[str, Owned, Answer, bool] | None:
        """Do something to one; whether it was done for certain. Its ETag is unknown from then on."""
        if (name := self.some()) is None:
            return None
        owned = self.owned[name]
        answer = self.ask(method, self.path(name) + action, body)
        races = self.races
        done = self.expect(answer, OK, ACCEPTED, DONE, again=races)
        if done or answer.tries > 1:
            owned.etag = None
        return name, owned, answer, done

    def do_read(self) -> None:
        """Look at one."""
        if not self.owned:
            return
        name = self.dice.choice(list(self.owned))
        self.compare(name, self.ask("GET", self.path(name)))

    def compare(self, name: str, answer: Answer) -> None:
        """Compare one with what was told."""
        owned, doc = self.owned[name], answer.body
        if owned.deleted:
            assert answer.status == GONE or doc["state"] == "deleting", doc
            return
        assert answer.status == OK, (name, owned, answer)
        assert owned.etag in {None, doc["eTag"]}, (owned, doc)
        owned.etag = doc["eTag"]
        assert owned.mark in {None, self.mark_of(doc)}, (owned, doc)
        if owned.ended:
            assert doc["state"] in {"terminating", "completed"}, (owned, doc)
        if owned.disabled and not owned.ended:
            assert doc["state"] in {"disabled", "disabling"}, (owned, doc)

    def mark_of(self, doc: Doc) -> int:
        """What `do_change` changed."""
        return int(doc["priority"])

    def do_disable(self) -> None:
        """Disable one."""
        done = self.act("POST", "/disable", self.disabling())
        if done is not None and (done[3] or done[2].code == "JobScheduleDisabled"):
            done[1].disabled = True

    def disabling(self) -> Doc | None:
        """The body for it."""
        return {"disableTasks": self.dice.choice(["requeue", "terminate", "wait"])}

    def do_enable(self) -> None:
        """Enable one."""
        done = self.act("POST", "/enable")
        if done is not None and (done[3] or done[2].tries > 1):
            done[1].disabled = False

    def do_change(self) -> None:
        """Change one."""
        mark = self.dice.randint(1, 900)
        done = self.act("PATCH", "", self.changed(mark))
        if done is not None:
            done[1].mark = mark if done[3] else None if done[2].tries > 1 else done[1].mark

    def changed(self, mark: int) -> Doc:
        """The body for it."""
        return {"priority": mark}

    def do_terminate(self) -> None:
        """End one."""
        done = self.act("POST", "/terminate")
        if done is not None and (done[3] or done[2].tries > 1):
            done[1].ended = done[2].life

    def do_delete(self) -> None:
        """Delete one."""
        if (name := self.some()) is None:
            return
        answer = self.ask("DELETE", self.path(name))
        self.expect(answer, ACCEPTED, again=self.races if answer.tries > 1 else ())
        self.owned[name].deleted, self.owned[name].ended = True, answer.life

    def until(self, what: Callable[[], Any]) -> None:
        """Wait."""
        deadline = time.monotonic() + WITHIN
        while not what():
            assert time.monotonic() < deadline, (type(self).__name__, self.owned)
            time.sleep(0.05)

    def settle(self) -> None:
        """Let all go on."""
        for name, owned in self.owned.items():
            if owned.disabled and not owned.ended:
                self.expect(self.ask("POST", self.path(name) + "/enable"), ACCEPTED, DONE)
                owned.disabled, owned.etag = False, None


class Jobs(Owner):
    """Jobs with few tasks, a preparation and a release."""

    races = (
        "JobBeingTerminated",
        "JobCompleted",
        "JobNotFound",
        "JobBeingDeleted",
        "OperationInvalidForCurrentState",
    )

    def do_add(self) -> None:
        """A new one with tasks."""
        if sum(not owned.ended for owned in self.owned.values()) >= self.most:
            return
        name, command = self.name_of("j"), self.service.command(how="node")
        body = {
            "id": name,
            "poolInfo": {"poolId": "work"},
            "jobPreparationTask": {"id": "p", "commandLine": command},
        }
        body["jobReleaseTask"] = {"id": "r", "commandLine": command}
        answer = self.ask("POST", "/jobs", body)
        self.expect(answer, CREATED, again=("JobExists",) if answer.tries > 1 else ())
        owned = self.owned[name] = Owned(etag=answer.etag)
        for number in range(self.dice.randint(0, 4)):
            task = {"id": f"t{number}", "commandLine": self.service.command(self.dice.choice([0, 0.2, 1]))}
            answer = self.ask("POST", f"/jobs/{name}/tasks", task)
            self.expect(answer, CREATED, again=("TaskExists",) if answer.tries > 1 else ())
            owned.tasks.add(task["id"])

    do_add_again = do_add

    def settle(self) -> None:
        """Let all tasks end."""
        super().settle()
        for name, owned in self.owned.items():
            if owned.deleted:
                self.until(lambda name=name: self.ask("GET", self.path(name)).status == GONE)
            elif owned.ended:
                self.until(lambda name=name: self.ask("GET", self.path(name)).body["state"] == "completed")
            else:
                counts = f"{self.path(name)}/taskcounts"
                self.until(
                    lambda counts=counts, owned=owned: (
                        self.ask("GET", counts).body["taskCounts"]["completed"] == len(owned.tasks)
                    )
                )

    def check(self, events: list[Event]) -> None:
        """No task ran after its job was told to end; releases are over."""
        starts = last_starts(events)
        for name, owned in self.owned.items():
            self.compare(name, self.ask("GET", self.path(name)))
            for task in owned.tasks:
                last = starts[f"{name}.{task}"]
                assert owned.ended is None or last <= owned.ended, (name, task, last, owned)
            if owned.deleted:
                continue
            tasks = self.caller.all(f"{self.path(name)}/tasks")
            assert {doc["id"] for doc in tasks} == owned.tasks
            assert {doc["state"] for doc in tasks} <= (
                {"active", "completed"} if owned.ended else {"completed"}
            )
            status = self.caller.all(f"{self.path(name)}/jobpreparationandreleasetaskstatus")
            for doc in status:
                assert doc["jobPreparationTaskExecutionInfo"]["state"] == "completed", (name, doc)
                release = doc.get("jobReleaseTaskExecutionInfo", {"state": "completed"})
                assert release["state"] == "completed", (name, doc)


class Schedules(Owner):
    """Job schedules whose jobs end with their managers."""

    kind = "jobschedules"
    most = 5
    races = (
        "JobScheduleCompleted",
        "JobScheduleDisabled",
        "JobScheduleBeingTerminated",
        "JobScheduleNotFound",
        "JobScheduleBeingDeleted",
        "OperationInvalidForCurrentState",
    )

    def disabling(self) -> None:
        """Nothing to say."""

    def mark_of(self, doc: Doc) -> int:
        """Of the metadata."""
        return int((doc.get("metadata") or [{"value": "0"}])[0]["value"])

    def changed(self, mark: int) -> Doc:
        """The metadata."""
        return {"metadata": [{"name": "mark", "value": str(mark)}]}

    def do_add(self) -> None:
        """A new one."""
        if sum(not owned.ended for owned in self.owned.values()) >= self.most or len(self.owned) > 15:
            return
        name = self.name_of("s")
        manager = {"id": "m", "commandLine": self.service.command(self.dice.choice([0, 0.5]), 0)}
        body: Doc = {"id": name, "schedule": {"recurrenceInterval": "PT1M"}}
        body["jobSpecification"] = {"poolInfo": {"poolId": "work"}, "jobManagerTask": manager}
        answer = self.ask("POST", "/jobschedules", body)
        self.expect(answer, CREATED, again=("JobScheduleExists",) if answer.tries > 1 else ())
        self.owned[name] = Owned(etag=answer.etag)

    def settle(self) -> None:
        """Let all jobs end; new ones may come."""
        super().settle()
        for name, owned in self.owned.items():
            if owned.deleted:
                self.until(lambda name=name: self.ask("GET", self.path(name)).status == GONE)
            elif owned.ended:
                self.until(lambda name=name: self.ask("GET", self.path(name)).body["state"] == "completed")
            else:
                self.until(lambda name=name: "completed" in self.states(name))

    def states(self, name: str) -> list[str]:
        """Those of its jobs."""
        return [doc["state"] for doc in self.caller.all(f"{self.path(name)}/jobs")]

    def check(self, events: list[Event]) -> None:
        """Each has the jobs that it made, one after the other; none ran after the end that was asked for."""
        starts = last_starts(events)
        for name, owned in self.owned.items():
            last = max((life for job, life in starts.items() if job.startswith(f"{name}:")), default=0)
            assert not owned.ended or last <= owned.ended, (name, last, owned)
            self.compare(name, self.ask("GET", self.path(name)))
            if owned.deleted:
                continue
            found = self.caller.all(f"{self.path(name)}/jobs")
            names = sorted(doc["id"] for doc in found)
            assert names == [f"{name}:job-{number}" for number in range(1, len(names) + 1)]
            assert [doc["state"] for doc in found].count("completed") >= len(found) - (not owned.ended)
            info = self.ask("GET", self.path(name)).body["executionInfo"]
            assert info["recentJob"]["id"] in names
