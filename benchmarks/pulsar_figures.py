"""Figures of the Pulsar adapter, in an environment with Pulsar: what Batch adds to Pulsar's own time."""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import tempfile
import time
from importlib.util import find_spec
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["FIGURES"]

BIN = Path(sys.executable).parent
PARAMS = {"azure_batch_runtime": "host", "azure_batch_path": str(BIN)}


def _client(manager: Any, number: str) -> Any:
    return manager.get_client({**PARAMS, "files_endpoint": "http://127.0.0.1:1/api/jobs/1/files"}, number)


def _launch(client: Any, mark: Path) -> None:
    """Launch a tool whose first line makes the mark."""
    config = client.setup("tool", "1")
    client.launch(
        f"date +%s.%N > '{mark}'",
        job_config=config,
        remote_staging={"setup": [], "action_mapper": {}, "client_outputs": {}},
        container_info={"container_id": "tool:1"},
    )


def _until(mark: Path) -> float:
    """When the tool's first line ran, in seconds of the wall clock."""
    while not (mark.exists() and mark.read_text().strip()):
        time.sleep(0.005)
    return float(mark.read_text())


def _by_hand(launch: Any, mark: Path) -> float:
    """Seconds from the start of `pulsar-submit` to the tool's first line, with no Batch in between."""
    from azbatch_pulsar.jobs import files_of

    with tempfile.TemporaryDirectory() as folder:
        for name, content in files_of(launch).items():
            path = Path(folder) / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content)
        Path(launch.staging).mkdir(parents=True)
        environment = {**os.environ, "PATH": f"{BIN}:{os.environ['PATH']}"}
        began = time.time()
        for step in ("submit", "tool"):
            command = ["/bin/sh", f"{folder}/steps/steps.sh", step]
            subprocess.run(command, check=True, capture_output=True, env=environment)
        return _until(mark) - began


def first_line(runs: int) -> None:
    """From a launch to the tool's first line on a warm pool, beside the same steps by hand, in turns."""
    if find_spec("pulsar") is None:
        print(f"{'pulsar':32} Pulsar is not installed beside this Python")
        return
    from azbatch_pulsar import build_client_manager

    manager = build_client_manager(azure_batch_account="local")
    ours, hands = [], []
    with tempfile.TemporaryDirectory() as folder:
        for turn in range(runs + 1):
            mark = Path(folder) / f"batch-{turn}"
            client = _client(manager, f"{os.getpid()}{turn}")
            began = time.time()
            _launch(client, mark)
            ours.append(_until(mark) - began)
            while client.look()["complete"] != "true":
                time.sleep(0.1)
            client.clean()
            captured: list[Any] = []
            other = _client(manager, f"{os.getpid()}{turn}h")
            other.runs = SimpleNamespace(choose=lambda first, _: first, launch=captured.append)
            mark = Path(folder) / f"hand-{turn}"
            _launch(other, mark)
            hands.append(_by_hand(captured[0], mark))
    manager.shutdown()
    ours, hands = ours[1:], hands[1:]  # the first one makes the pool
    more = statistics.median(mine - hand for mine, hand in zip(ours, hands, strict=True))
    print(
        f"{'launch to the first line':32} {statistics.median(ours):8.2f} s   by hand:"
        f" {statistics.median(hands):.2f} s   more, pair by pair: {more:.2f} s"
    )


def handler(runs: int) -> None:
    """What our runner adds to the start of a Galaxy handler, where Galaxy is installed."""
    if find_spec("galaxy.jobs") is None:
        print(f"{'galaxy handler':32} Galaxy is not installed beside this Python")
        return
    code = (
        "import time, galaxy.jobs.runners.pulsar; began = time.perf_counter(); import azbatch_pulsar.galaxy;"
        " from azbatch_pulsar.managers import azure_manager; azure_manager({'azure_batch_account': 'local'});"
        " print(time.perf_counter() - began)"
    )
    command = [sys.executable, "-W", "ignore", "-c", code]
    times = [float(subprocess.run(command, check=True, capture_output=True).stdout) for _ in range(runs)]
    print(f"{'added to a Galaxy handler':32} {statistics.median(times):8.2f} s")


FIGURES: dict[str, Callable[[int], None]] = {"pulsar": first_line, "handler": handler}
"""What `run.py` prints, by name."""
