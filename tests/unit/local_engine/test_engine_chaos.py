"""Random requests, time and kills: whatever happens, the books are right and everything ends."""

from __future__ import annotations

import random
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import pytest
from engine_fakes import Service

from azbatch_core.local.engine.counts import Counts
from azbatch_core.local.errors import BatchError

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

pytestmark = pytest.mark.asyncio

COMMANDS = ("exit 0", "exit 1", "sleep 3", "sleep 7; exit 2", "missing", "upload", "sleep 20")


def check_books(service: Service) -> None:
    """What is held in memory is what would be counted from the tables."""
    account = service.engine.account
    recount = {key: Counts() for key in account.jobs}
    for key, state, waits, failed, tasks, slots in account.store.tasks.tally():
        kind = ("failed" if failed else "succeeded") if state == "completed" else state
        recount[key].add("running" if kind == "preparing" else kind, tasks, slots)
        recount[key].ready += tasks if state == "active" and not waits else 0
    assert account.counts == recount
    live = {task.seq for task in account.store.tasks.live()}
    assert live == {seq for seq, execution in account.live.items() if execution.stop_reason != "delete"}
    running = {execution.seq for run in account.on_node.values() for execution in run}
    assert set(account.dying.values()) <= running
    assert all(item.task in running for item in account.store.subtasks.unfinished())
    for node in account.nodes.values():
        executions = account.on_node[node.key]
        used = sum(execution.slots for execution in executions)
        total = account.pools[node.pool].spec["taskSlotsPerNode"]
        free = account.free[node.pool]
        takes = node.state in {"idle", "running"} and node.scheduling == "enabled"
        assert (node.key in free) == takes
        if node.key in free:
            assert free._free[node.key] == total - used
        if node.state in {"idle", "running"}:
            assert (node.state == "running") == any(item.kind == "task" for item in executions)


def pool_fields(gangs: bool) -> dict[str, Any]:  # noqa: FBT001 - one of two kinds
    return {"taskSlotsPerNode": 1 if gangs else 2, "enableInterNodeCommunication": gangs}


class Chaos:
    """Makes one random request after the other; refusals are fine."""

    def __init__(self, service: Service, dice: random.Random, *, gangs: bool = False) -> None:
        self.service = service
        self.dice = dice
        self.gangs = gangs
        self.made = 0

    def act(self) -> None:
        names = [name for name in dir(self) if name.startswith("do_")]
        action: Callable[[], Any] = getattr(self, self.dice.choice(names))
        with suppress(BatchError):
            action()

    def job_id(self) -> str:
        return self.dice.choice(["one", "two", "three"])

    def task_id(self) -> str:
        return str(self.dice.randint(1, 30))

    def do_create_job(self) -> None:
        special: dict[str, Any] = {}
        if self.dice.random() < 0.4:
            special["jobPreparationTask"] = {"commandLine": self.dice.choice(COMMANDS)}
            special["jobReleaseTask"] = {"commandLine": self.dice.choice(COMMANDS)}
        self.service.job(
            self.job_id(),
            self.dice.choice(["pool", "other"]),
            usesTaskDependencies=True,
            onTaskFailure=self.dice.choice(["noaction", "performexitoptionsjobaction"]),
            maxParallelTasks=self.dice.choice([-1, 1, 3]),
            **special,
        )

    def do_add_tasks(self) -> None:
        bodies = []
        for _ in range(self.dice.randint(1, 8)):
            body: dict[str, Any] = {"id": self.task_id(), "commandLine": self.dice.choice(COMMANDS)}
            body["requiredSlots"] = 1 if self.gangs else self.dice.choice([1, 1, 2])
            if self.gangs and self.dice.random() < 0.4:
                body["multiInstanceSettings"] = {
                    "numberOfInstances": self.dice.choice([1, 2, 2]),
                    "coordinationCommandLine": self.dice.choice(COMMANDS[:5]),
                }
            body["constraints"] = {"maxTaskRetryCount": self.dice.choice([0, 2])}
            if self.dice.random() < 0.3:
                first = self.dice.randint(1, 27)
                ranges = [{"start": first, "end": first + self.dice.randint(0, 2)}]
                body["dependsOn"] = {"taskIds": [self.task_id()], "taskIdRanges": ranges}
            bodies.append(body)
        self.service.engine.tasks.add_collection(self.job_id(), bodies)

    do_add_more_tasks = do_add_even_more_tasks = do_add_tasks

    def do_terminate_task(self) -> None:
        self.service.engine.tasks.terminate(self.job_id(), self.task_id())

    def do_delete_task(self) -> None:
        self.service.engine.tasks.delete(self.job_id(), self.task_id())

    def do_reactivate_task(self) -> None:
        self.service.engine.tasks.reactivate(self.job_id(), self.task_id())

    def do_replace_task(self) -> None:
        self.service.engine.tasks.replace(
            self.job_id(), self.task_id(), {"constraints": {"maxTaskRetryCount": 1}}
        )

    def do_disable_job(self) -> None:
        option = self.dice.choice(["requeue", "terminate", "wait"])
        self.service.engine.jobs.disable(self.job_id(), {"disableTasks": option})

    def do_enable_job(self) -> None:
        self.service.engine.jobs.enable(self.job_id())

    do_enable_again = do_enable_job

    def do_terminate_job(self) -> None:
        if self.dice.random() < 0.15:
            self.service.engine.jobs.terminate(self.job_id())

    def do_delete_job(self) -> None:
        if self.dice.random() < 0.15:
            self.service.engine.jobs.delete(self.job_id())

    def do_patch_job(self) -> None:
        pool_id = self.dice.choice(["pool", "other"])
        self.service.engine.jobs.patch(self.job_id(), {"priority": 3, "poolInfo": {"poolId": pool_id}})

    def do_create_pool(self) -> None:
        body = {"id": self.dice.choice(["pool", "other"]), "vmSize": "standard_d2"}
        body |= {"targetDedicatedNodes": self.dice.randint(1, 3), **pool_fields(self.gangs)}
        body["targetLowPriorityNodes"] = self.dice.randint(0, 2)
        if self.dice.random() < 0.3:
            body["startTask"] = {"commandLine": self.dice.choice(COMMANDS[:4])}
        self.service.engine.pools.create(body)

    def do_resize(self) -> None:
        option = self.dice.choice(["requeue", "terminate", "taskcompletion"])
        body = {"targetDedicatedNodes": self.dice.randint(0, 4), "nodeDeallocationOption": option}
        body["targetLowPriorityNodes"] = self.dice.randint(0, 2)
        self.service.engine.pools.resize(self.dice.choice(["pool", "other"]), body)

    def do_stop_resize(self) -> None:
        self.service.engine.pools.stop_resize(self.dice.choice(["pool", "other"]))

    def node(self) -> tuple[str, str]:
        pool_id = self.dice.choice(["pool", "other"])
        nodes = self.service.nodes(pool_id)
        return pool_id, self.dice.choice(nodes)["id"] if nodes else "none"

    def do_take_node_down(self) -> None:
        state = self.dice.choice(["rebooting", "reimaging", "deallocating"])
        option = self.dice.choice(["requeue", "terminate", "taskcompletion", "retaineddata"])
        self.service.engine.nodes.go_down(*self.node(), state, option)

    def do_start_node(self) -> None:
        self.service.engine.nodes.start(*self.node())

    def do_disable_scheduling(self) -> None:
        option = self.dice.choice(["requeue", "terminate", "taskcompletion"])
        self.service.engine.nodes.disable_scheduling(*self.node(), option)

    def do_enable_scheduling(self) -> None:
        self.service.engine.nodes.enable_scheduling(*self.node())

    def do_remove_node(self) -> None:
        pool_id, node = self.node()
        option = self.dice.choice(["requeue", "terminate", "taskcompletion"])
        body = {"nodeList": [node], "nodeDeallocationOption": option}
        self.service.engine.pools.remove_nodes(pool_id, body)

    def do_fault(self) -> None:
        fault: dict[str, Any] = self.dice.choice(
            [
                {
                    "kind": "preempt",
                    "lasts": self.dice.choice([0, 3, 20]),
                    "after": self.dice.choice([0, 0, 4]),
                },
                {"kind": "preempt", "task": self.task_id(), "lasts": 2},
                {"kind": "unusable", "after": self.dice.choice([0, 4])},
                {"kind": "start-task-failure"},
                {"kind": "disk-full", "task": "1*"},
                {"kind": "slow-boot", "seconds": 9},
                {"kind": "allocation-failure", "short": 1},
                {"kind": "allocation-failure", "code": "AllocationTimedout"},
            ]
        )
        self.service.engine.faults.add({**fault, "count": self.dice.randint(1, 2)})

    do_another_fault = do_fault

    def do_clear_faults(self) -> None:
        self.service.engine.faults.clear()

    def do_delete_pool(self) -> None:
        if self.dice.random() < 0.3:
            self.service.engine.pools.delete(self.dice.choice(["pool", "other"]))


@pytest.mark.parametrize(("seed", "gangs"), [(seed, seed >= 12) for seed in range(20)])
async def test_the_books_are_right_whatever_happens(tmp_path: Path, seed: int, *, gangs: bool) -> None:
    dice = random.Random(seed)  # noqa: S311 - a game, no secret
    service = await Service(
        tmp_path, boot_time=dice.choice([0.0, 4.0]), resize_time=dice.choice([0.0, 2.0])
    ).start()
    chaos = Chaos(service, dice, gangs=gangs)
    for _ in range(150):
        for _ in range(dice.randint(1, 6)):
            chaos.act()
        if dice.random() < 0.03:
            before = told(service)
            chaos.service = service = await service.killed()
            check_told(before, service)
        else:
            await service.pass_time(dice.choice([0, 0, 1, 2, 5]))
        check_books(service)
    await finish(service, pool_fields(gangs))
    await service.engine.stop()


def told(service: Service) -> dict[str, Any]:
    """What clients can have been told so far, by URL."""
    engine, found = service.engine, {}
    for doc in engine.jobs.page()[0]:
        found[doc["url"]] = doc
        found |= {task["url"]: task for task in engine.tasks.page(doc["id"])[0]}
    for doc in engine.pools.page()[0]:
        found[doc["url"]] = doc
        found |= {node["url"]: node for node in engine.nodes.page(doc["id"])[0]}
    return found


def check_told(before: dict[str, Any], service: Service) -> None:
    """What was there is as it was, or has moved on by itself."""
    after = told(service)
    assert all("/nodes/" in url for url in after.keys() - before.keys())
    for url, old in before.items():
        new = after.get(url)
        if new is None:
            above = [doc for part, doc in before.items() if url.startswith(part)]
            ends = {doc["state"] for doc in above} & {"deleting", "leavingpool"}
            assert ends or any(doc.get("allocationState") == "resizing" for doc in above), f"{url} is lost"
            continue
        assert new.get("eTag") == old.get("eTag")
        assert new["id"] == old["id"]
        if "/tasks/" in url and old["state"] == "completed":
            assert new == old
        elif "/tasks/" in url:
            counts = ("retryCount", "requeueCount")
            assert all(new["executionInfo"][name] >= old["executionInfo"][name] for name in counts)
        elif "/jobs/" in url:
            same = ("priority", "poolInfo", "creationTime")
            assert [new.get(name) for name in same] == [old.get(name) for name in same]
        elif "/nodes/" in url:
            same = ("ipAddress", "allocationTime", "schedulingState")
            assert [new.get(name) for name in same] == [old.get(name) for name in same]


async def finish(service: Service, fields: dict[str, Any]) -> None:
    """Make pools that work, and let all that can run, run: no ready task is left behind."""
    engine = service.engine
    engine.faults.clear()
    await service.pass_time(100)
    for doc in engine.pools.page()[0]:
        engine.pools.delete(doc["id"])
    await service.pass_time(100)
    assert engine.pools.page() == ([], None)
    for name in ("pool", "other"):
        engine.pools.create({"id": name, "vmSize": "standard_d2", "targetDedicatedNodes": 2, **fields})
    for doc in engine.jobs.page()[0]:
        with suppress(BatchError):
            engine.jobs.enable(doc["id"])
    await service.pass_time(5000)
    check_books(service)
    account = service.engine.account
    for job in account.jobs.values():
        assert job.state in {"active", "disabled", "completed"}
        barred = "jobPreparationTask" in job.spec
        assert job.state != "active" or barred or account.counts[job.key].ready == 0
    assert not account.live
    for doc in engine.jobs.page()[0]:
        engine.jobs.delete(doc["id"])
    for doc in engine.pools.page()[0]:
        engine.pools.delete(doc["id"])
    await service.pass_time(100)
    assert engine.jobs.page() == ([], None)
    assert engine.pools.page() == ([], None)
    run = account.store.connection.execute
    for table in ("tasks", "subtasks", "needs", "ranges", "nodes", "preparations", "jobs", "pools"):
        assert run(f"SELECT COUNT(*) FROM {table}").fetchone() == (0,)  # noqa: S608 - names above
    assert not any(path.name.startswith("n") for path in service.folder.glob("nodes/*/*"))
