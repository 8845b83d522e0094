"""Figures of the TorchX scheduler, in an environment with TorchX; beside TorchX's own `local_cwd`."""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["FIGURES"]

REPLICAS = 64
HELLO = ("utils.echo", "--msg", "hi")
TORCHX = Path(sys.executable).with_name("torchx")
AZBATCH = Path(sys.executable).with_name("azbatch")


def _is_there() -> bool:
    """Whether there is a TorchX; with the local service up, if so."""
    if not TORCHX.exists():
        print(f"{'torchx':32} TorchX is not installed beside this Python")
        return False
    subprocess.run([AZBATCH, "local", "start"], check=True, capture_output=True)
    return True


def _children() -> float:
    """The processor time of the processes that were waited for, in seconds."""
    spent = os.times()
    return spent.children_user + spent.children_system


def _tell(name: str, ours: Sequence[float], theirs: Sequence[float]) -> None:
    """Medians and least times, and the median of the ratios pair by pair, which other work changes least."""
    ratio = statistics.median(mine / other for mine, other in zip(ours, theirs, strict=True))
    print(
        f"{name:36} {statistics.median(ours):4.2f} s ({min(ours):.2f})   local_cwd:"
        f" {statistics.median(theirs):.2f} s ({min(theirs):.2f})   ratio {ratio:.2f}"
    )


def run(runs: int) -> None:
    """`torchx run` of a hello on the local service, beside `local_cwd`, which also waits for it, in turns."""
    if not _is_there():
        return
    beside = (TORCHX, "run", "-s", "local_cwd", *HELLO)
    ours = (TORCHX, "run", "-s", "azure_batch", "-cfg", "account=local", *HELLO)
    walls: dict[tuple[object, ...], list[float]] = {ours: [], beside: []}
    processors: dict[tuple[object, ...], list[float]] = {ours: [], beside: []}
    with tempfile.TemporaryDirectory() as empty:
        for turn, command in [(turn, command) for turn in range(runs + 1) for command in (beside, ours)]:
            spent, began = _children(), time.perf_counter()
            subprocess.run(command, check=True, capture_output=True, cwd=empty)
            if turn:
                walls[command].append(time.perf_counter() - began)
                processors[command].append(_children() - spent)
    _tell("torchx run, by the clock", walls[ours], walls[beside])
    _tell("torchx run, processor time", processors[ours], processors[beside])
    print(f"load: {os.getloadavg()[0]:.1f}")


def replicas(runs: int) -> None:
    """A request with 64 replicas: planned and submitted in a process that is up, and how large it is."""
    if not _is_there():
        return
    from torchx.specs import AppDef, Resource, Role

    from azbatch_torchx.scheduler import create_scheduler

    role = Role(
        name="trainer",
        image="ghcr.io/pytorch/torchx:0.7.0",
        entrypoint="python",
        args=["train.py"],
        num_replicas=REPLICAS,
        resource=Resource(cpu=2, gpu=0, memMB=1024),
    )
    # A pool of its own: one that is there may have to grow first, and the service takes its time for that.
    cfg = {"account": "local", "max_nodes": REPLICAS, "vm_size": "Standard_D4s_v5"}
    scheduler = create_scheduler("bench")
    planned, submitted, sizes = [], [], []
    try:
        for turn in range(runs + 1):
            began = time.perf_counter()
            info = scheduler.submit_dryrun(AppDef(name="app", roles=[role]), cfg)
            between = time.perf_counter()
            app_id = scheduler.schedule(info)
            ended = time.perf_counter()
            scheduler.delete(app_id)
            if turn:
                planned.append(between - began)
                submitted.append(ended - between)
                sizes.append(sum(task.size for task in info.request.plan.tasks))
    finally:
        scheduler.close()
    print(f"{f'{REPLICAS} replicas, planned':32} {statistics.median(planned) * 1e3:8.0f} ms")
    print(f"{f'{REPLICAS} replicas, submitted':32} {statistics.median(submitted) * 1e3:8.0f} ms")
    print(f"{f'{REPLICAS} replicas, the task in JSON':32} {max(sizes):8,} bytes")


FIGURES = {"torchx": run, "torchx-replicas": replicas}
