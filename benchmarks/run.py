"""Print the figures that the documentation quotes: starts, tasks, what the local service takes.

    python benchmarks/run.py [--runs 5] [NAME ...]

Nothing is asserted. Each figure is a median over several runs; what a request or a simulation takes is the
service's processor time, on which other work on the machine has little influence. The throughput stands
beside a peer measured in the same run: bare ``asyncio`` subprocesses.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING

import psutil
import pulsar_figures
import service_figures
import torchx_figures

if TYPE_CHECKING:
    from collections.abc import Callable

AZBATCH = str(Path(sys.executable).with_name("azbatch"))
TASKS = 1000


def _median(action: Callable[[], object], runs: int) -> float:
    """The median wall time of `action`, in seconds, after one run that is not counted."""
    action()
    times = []
    for _ in range(runs):
        began = time.perf_counter()
        action()
        times.append(time.perf_counter() - began)
    return statistics.median(times)


def _run(*command: str) -> Callable[[], object]:
    return lambda: subprocess.run(command, check=True, capture_output=True)


def _local(*words: str) -> str:
    command = [AZBATCH, "local", *words]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def startup(runs: int) -> None:
    """What a person waits for before anything happens."""
    python = _median(_run(sys.executable, "-c", "pass"), runs)
    for name, command in {
        "azbatch --help": (AZBATCH, "--help"),
        "import azbatch_core": (sys.executable, "-c", "import azbatch_core"),
        "import azure.batch": (sys.executable, "-c", "import azure.batch"),
    }.items():
        taken = _median(_run(*command), runs)
        print(f"{name:32} {taken * 1e3:8.0f} ms   ({(taken - python) * 1e3:.0f} ms over an empty Python)")


def one_task(runs: int) -> None:
    """`azbatch run -- true`, with the service up and with its start included."""
    _local("start")
    print(f"{'azbatch run -- true, warm':32} {_median(_run(AZBATCH, 'run', '--', 'true'), runs):8.2f} s")
    times = []
    for _ in range(runs):
        _local("stop")
        began = time.perf_counter()
        _run(AZBATCH, "run", "--", "true")()
        times.append(time.perf_counter() - began)
    print(f"{'azbatch run -- true, cold':32} {statistics.median(times):8.2f} s")


def throughput(runs: int) -> None:
    """A thousand `true` tasks on 4 nodes of 4 slots, beside bare subprocesses, sixteen at a time."""
    from azbatch_core import AzureBatch, JobSpec, ManagedPool, TaskSpec

    _local("start")
    pool = ManagedPool(nodes=4, task_slots_per_node=4, vm_size="Standard_D4s_v5")
    ours, peers = [], []
    with AzureBatch("local") as batch:
        batch.submit(JobSpec(name="warm-up", pool=pool, tasks=(TaskSpec(command=("true",)),))).job.wait()
        for _ in range(runs):
            tasks = (TaskSpec(command=("true",)) for _ in range(TASKS))
            began = time.perf_counter()
            status = batch.submit(JobSpec(name="bench", pool=pool), tasks=tasks).job.wait()
            ours.append(TASKS / (time.perf_counter() - began))
            if status.exit_code:
                sys.exit(f"the job failed: {status}")
            peers.append(TASKS / asyncio.run(_bare_subprocesses()))
    rate, peer = statistics.median(ours), statistics.median(peers)
    print(f"{'1,000 tasks, submit and wait':32} {rate:8.0f} tasks/s")
    print(f"{'bare asyncio subprocesses':32} {peer:8.0f} tasks/s   (ratio {rate / peer:.2f})")


async def _bare_subprocesses() -> float:
    gate = asyncio.Semaphore(16)

    async def one() -> None:
        async with gate:
            await (await asyncio.create_subprocess_exec("true")).wait()

    began = time.perf_counter()
    await asyncio.gather(*(one() for _ in range(TASKS)))
    return time.perf_counter() - began


def memory(_runs: int) -> None:
    """The resident memory of an idle service that has run the jobs above."""
    pid = json.loads(_local("status", "--json"))["pid"]
    print(f"{'idle service':32} {psutil.Process(pid).memory_info().rss / 2**20:8.0f} MB")


FIGURES = {
    "startup": startup,
    "one-task": one_task,
    "throughput": throughput,
    "memory": memory,
    **torchx_figures.FIGURES,
    **pulsar_figures.FIGURES,
    **service_figures.FIGURES,
}


def main() -> None:
    """Measure what the command line names, or everything."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--runs", type=int, default=5, help="counted runs of each figure (default 5)")
    parser.add_argument("names", nargs="*", choices=[[], *FIGURES], help="the figures wanted (default all)")
    options = parser.parse_args()
    print(f"Python {sys.version.split()[0]}, {os.cpu_count()} cores")
    with tempfile.TemporaryDirectory() as state:
        os.environ["AZBATCH_LOCAL_DIR"] = str(Path(state) / "local")
        os.environ["AZBATCH_CONFIG"] = str(Path(state) / "config.toml")
        try:
            for name in options.names or FIGURES:
                FIGURES[name](options.runs)
        finally:
            _local("stop")


if __name__ == "__main__":
    main()
