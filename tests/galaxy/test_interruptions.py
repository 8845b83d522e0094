"""What else goes away while a tool runs, and comes back: each time the job ends well, and once."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from rig.programs import until
from rig.user import WITHIN, ends, starts

from azbatch_core.local.control.asking import ask

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from rig.batch_service import BatchService
    from rig.broker import Broker
    from rig.galaxy_server import GalaxyServer
    from rig.user import History, Job

AWAY_SECONDS = 30.0
"""Longer than Pulsar on a node tries to reach a broker at once."""


class Waiting:
    """Jobs whose tools run, on the queue and by polling, and wait to be told to end."""

    def __init__(self, history: History, folder: Path, *names: str) -> None:
        self._files = {name: folder / name for name in names}
        self.jobs: Mapping[str, Job] = {
            name: history.run("waits", on=name.partition("-")[0], file=str(file), seconds=600)
            for name, file in self._files.items()
        }
        for name, file in self._files.items():
            until(lambda file=file: starts(file) == 1, WITHIN, lambda name=name: f"the tool runs, {name}")

    def tell(self, *names: str) -> None:
        """Have these, or all, end; on return their tools have."""
        for name in names or self._files:
            self._files[name].touch()
        for name in names or self._files:
            file = self._files[name]
            until(lambda file=file: ends(file) == 1, WITHIN, lambda name=name: f"the tool ends, {name}")

    def check(self, most: int = 1) -> None:
        """All ended well and once; their tools began at most so many times."""
        for name, job in self.jobs.items():
            ended = job.wait()
            assert (ended.state, ended.exit_code, ended.stdout) == ("ok", 0, "waited\n"), (name, ended)
            assert job.outputs["output"].text().startswith("seconds left: ")
            assert ends(self._files[name]) == 1, name
            assert starts(self._files[name]) <= most, name


def test_galaxy_is_killed_and_started_while_tools_run_and_end(
    history: History, tmp_path: Path, galaxy: GalaxyServer
):
    waiting = Waiting(history, tmp_path, "queue-over", "poll-over", "queue-then", "poll-then")
    for job in waiting.jobs.values():
        job.wait_for("running")
    galaxy.kill()
    try:
        waiting.tell("queue-then", "poll-then")
    finally:
        galaxy.start()
    waiting.tell("queue-over", "poll-over")
    waiting.check()


def test_the_batch_service_is_killed_and_started(history: History, tmp_path: Path, batch: BatchService):
    waiting = Waiting(history, tmp_path, "queue", "poll")
    batch.kill()
    batch.start()
    waiting.tell()
    waiting.check(most=2)  # the nodes of the local service end with it, and begin again what they ran


def test_the_broker_is_away_when_a_tool_ends(history: History, tmp_path: Path, broker: Broker):
    waiting = Waiting(history, tmp_path, "queue-then", "queue-over", "poll")
    away = time.monotonic()
    broker.stop()
    try:
        waiting.tell("queue-then", "poll")
        time.sleep(max(0.0, AWAY_SECONDS - (time.monotonic() - away)))  # as long as a restart of one takes
    finally:
        broker.start()
    waiting.tell("queue-over")
    waiting.check()


def test_a_node_is_taken_away_while_the_tool_runs(history: History, tmp_path: Path, batch: BatchService):
    file = tmp_path / "go"
    job = history.run("waits", on="spot", file=str(file), seconds=600)
    until(lambda: starts(file) == 1, WITHIN, lambda: "the tool runs")
    run = job.wait_for("running")["external_id"]
    ask(batch.place, "POST", "/_local/faults", {"kind": "preempt", "job": run, "count": 1, "lasts": 1})
    until(lambda: starts(file) == 2, WITHIN, lambda: "the tool runs on another node")
    file.touch()
    ended = job.wait()
    assert (ended.state, ended.exit_code, ended.stdout) == ("ok", 0, "waited\n"), ended
    assert ends(file) == 1
