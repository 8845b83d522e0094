"""Figures of the local service itself: what its process spends on a request, holds in memory, simulates."""

from __future__ import annotations

import base64
import hashlib
import hmac
import http.client
import json
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from datetime import datetime
from email.utils import formatdate
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import psutil

from azbatch_core.local.auth import strings_to_sign

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

__all__ = ["FIGURES"]

COLLECTION = 100
MANY = 1_000_000
VERSION = "api-version=2025-06-01"
POOL = {
    "id": "pool",
    "vmSize": "STANDARD_D2S_V3",
    "virtualMachineConfiguration": {
        "imageReference": {"publisher": "canonical", "offer": "ubuntu-24_04-lts", "sku": "server"},
        "nodeAgentSKUId": "batch.node.ubuntu 24.04",
    },
}


class Service:
    """A local service in a process of its own, on a state directory of its own."""

    def __init__(self, folder: str, *words: str) -> None:
        self._folder = folder
        self._run("start", *words)
        found = json.loads((Path(folder) / "endpoint.json").read_text(encoding="utf-8"))
        self._account, self._key = found["account_name"], base64.b64decode(found["account_key"])
        self.process = psutil.Process(found["pid"])
        self._place = urlsplit(found["endpoint"])
        self._connections = threading.local()

    def _run(self, verb: str, *words: str) -> None:
        command = [sys.executable, "-m", "azbatch_core.local", verb, "--state-dir", self._folder, *words]
        subprocess.run(command, check=True, capture_output=True)

    @property
    def _connection(self) -> http.client.HTTPConnection:
        """The calling thread's own."""
        if not hasattr(self._connections, "made"):
            made = http.client.HTTPConnection(str(self._place.hostname), self._place.port, timeout=3600)
            self._connections.made = made
        found: http.client.HTTPConnection = self._connections.made
        return found

    def ask(self, method: str, path: str, body: Any = None, query: str = "") -> dict[str, Any]:
        """The answer to one request."""
        query = "" if path.startswith("/_local") else VERSION + query
        raw = b"" if body is None else json.dumps(body).encode()
        headers = {"ocp-date": formatdate(usegmt=True)}
        if method != "GET":
            headers["content-length"] = str(len(raw))
        if raw:
            headers["content-type"] = "application/json; odata=minimalmetadata"
        text = next(strings_to_sign(method, f"/{self._account}{path}", query, headers))
        signature = base64.b64encode(hmac.digest(self._key, text.encode(), hashlib.sha256)).decode()
        headers["authorization"] = f"SharedKey {self._account}:{signature}"
        target = f"{path}?{query}" if query else path
        self._connection.request(method, target, raw or None, headers)
        response = self._connection.getresponse()
        answer = response.read()
        if response.status >= http.client.BAD_REQUEST:
            sys.exit(f"{method} {path}: {answer.decode()}")
        found: dict[str, Any] = json.loads(answer) if answer else {}
        return found

    def pool(self, nodes: int, **more: Any) -> None:
        """Make a pool."""
        self.ask("POST", "/pools", {**POOL, "targetDedicatedNodes": nodes, **more})

    def job(self, job_id: str, **more: Any) -> None:
        """Make a job on the pool."""
        self.ask("POST", "/jobs", {"id": job_id, "poolInfo": {"poolId": "pool"}, **more})

    def add(self, job_id: str, ids: range, command: str = "true") -> None:
        """Add tasks in collections of 100."""
        for at in range(ids.start, ids.stop, COLLECTION):
            tasks = [
                {"id": f"t{number:07}", "commandLine": command.format(number % 60)}
                for number in range(at, min(at + COLLECTION, ids.stop))
            ]
            self.ask("POST", f"/jobs/{job_id}/addtaskcollection", {"value": tasks})

    def cpu(self, action: Callable[[], object]) -> float:
        """Seconds of processor time that the service spends on what `action` asks of it."""
        before = sum(self.process.cpu_times()[:2])
        action()
        return sum(self.process.cpu_times()[:2]) - before

    def megabytes(self) -> float:
        """Its resident memory."""
        return float(self.process.memory_info().rss / 2**20)

    def stop(self) -> None:
        """End it."""
        self._connection.close()
        self._run("stop")


@contextmanager
def _service(*words: str) -> Iterator[Service]:
    with tempfile.TemporaryDirectory() as folder:
        service = Service(folder, "--idle-timeout", "0", *words)
        try:
            yield service
        finally:
            service.stop()


def _line(name: str, times: list[float], unit: float, suffix: str) -> None:
    """Print the median and the best of some figures, each `unit` over a time or, without, the time in ms."""
    shown = [unit / taken for taken in times] if unit else [taken * 1e3 for taken in times]
    digits = 0 if unit else 1
    best = max(shown) if unit else min(shown)
    print(
        f"{name:32} {statistics.median(shown):8,.{digits}f} {suffix}   (best {best:,.{digits}f})", flush=True
    )


def requests(runs: int) -> None:
    """Adding, listing and filtering a hundred thousand tasks, in processor time; then their memory."""
    with _service() as service:
        service.pool(0)
        service.job("job")
        step = 100_000 // max(runs, 1)
        ranges = [range(at, at + step) for at in range(0, step * runs, step)]
        times = [service.cpu(lambda ids=ids: service.add("job", ids)) / len(ids) for ids in ranges]
        _line("addtaskcollection, 100 a time", times, 1.0, "tasks per second of processor time")
        pages = [
            service.cpu(lambda: [service.ask("GET", "/jobs/job/tasks") for _ in range(20)]) / 20
            for _ in range(runs)
        ]
        _line("page of 1,000 tasks", pages, 0.0, "ms of processor time")
        query = "&$filter=executionInfo/exitCode%20eq%207"
        looks = [service.cpu(lambda: service.ask("GET", "/jobs/job/tasks", query=query)) for _ in range(runs)]
        _line(f"$filter over {step * runs:,}, no match", looks, 0.0, "ms of processor time")
        print(f"{'service with that job':32} {service.megabytes():8.0f} MB", flush=True)


def dependents(runs: int) -> None:
    """From a task's end to the start of the one that waits for it."""
    with _service() as service:
        service.pool(1)
        gaps = []
        for run in range(runs):
            service.job(f"job{run}", usesTaskDependencies=True)
            chain: list[dict[str, Any]] = [{"id": "0", "commandLine": "true"}]
            chain += [
                {"id": str(link), "commandLine": "true", "dependsOn": {"taskIds": [str(link - 1)]}}
                for link in range(1, 20)
            ]
            service.ask("POST", f"/jobs/job{run}/addtaskcollection", {"value": chain})
            deadline = time.monotonic() + 60
            while service.ask("GET", f"/jobs/job{run}/taskcounts")["taskCounts"]["completed"] < len(chain):
                if time.monotonic() > deadline:
                    sys.exit("a chain of 20 tasks takes longer than a minute")
                time.sleep(0.02)
            tasks = service.ask("GET", f"/jobs/job{run}/tasks")["value"]
            tasks.sort(key=lambda task: int(task["id"]))
            infos = [task["executionInfo"] for task in tasks]
            gaps += [
                (_time(later["startTime"]) - _time(info["endTime"])).total_seconds()
                for info, later in pairwise(infos)
            ]
        _line("task's end to dependent's start", gaps, 0.0, "ms")


def _time(text: str) -> datetime:
    return datetime.fromisoformat(text[:26].rstrip("Z").ljust(26, "0") if "." in text else text.rstrip("Z"))


def simulation(_runs: int) -> None:
    """A million tasks that only last, on ten thousand nodes; once."""
    with _service("--model", "--clock", "virtual", "--node-quota", "10000") as service:
        began = time.perf_counter()
        service.pool(10_000)
        service.job("job")
        halves = range(MANY // 2), range(MANY // 2, MANY)
        with ThreadPoolExecutor() as pool:  # a client, too, makes its next request while one is answered
            add = partial(service.add, "job", command="sleep 6{:02}")
            adding = service.cpu(lambda: list(pool.map(add, halves)))
        move = {"advance": 10 * 86_400, "untilIdle": True}
        passing = service.cpu(lambda: service.ask("POST", "/_local/clock", move))
        taken = time.perf_counter() - began
        counts = service.ask("GET", "/jobs/job/taskcounts")["taskCounts"]
        if counts["succeeded"] != MANY:
            sys.exit(f"the simulation did not finish: {counts}")
        print(
            f"{'1,000,000 model tasks':32} {adding + passing:8.0f} s of processor time (adding {adding:.0f})"
        )
        print(f"{'':32} {taken:8.0f} s by the clock on the wall, {service.megabytes():.0f} MB at the end")


def week(runs: int) -> None:
    """A week of a pool that scales itself by its queue, evaluated every 15 minutes, sampled every 30 s."""
    times = []
    for _ in range(runs):
        with _service("--model", "--clock", "virtual") as service:
            service.ask(
                "POST",
                "/pools",
                {
                    **POOL,
                    "enableAutoScale": True,
                    "autoScaleEvaluationInterval": "PT15M",
                    "autoScaleFormula": "$TargetDedicatedNodes = min(100, $PendingTasks.GetSample(1));",
                },
            )
            service.job("job")
            service.add("job", range(500), "sleep 1{:02}m")
            taken = service.cpu(lambda: service.ask("POST", "/_local/clock", {"advance": 7 * 86_400}))
            times.append(taken)
    _line("a week of scaling", times, 0.0, "ms of processor time")


FIGURES = {"requests": requests, "dependents": dependents, "week": week, "simulation": simulation}
