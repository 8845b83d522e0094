"""The rig itself: what the cases of the adapter stand on."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kombu import Connection
from rig.batch_service import ACCOUNT
from rig.programs import until
from rig.user import WITHIN

from azbatch_core import AzureBatch, JobSpec, TaskSpec, shell

if TYPE_CHECKING:
    from pathlib import Path

    import pytest
    from rig.batch_service import BatchService
    from rig.broker import Broker
    from rig.user import Dataset, History


def test_galaxy_runs_a_tool(history: History, pasted: Dataset):
    job = history.run("cat_with_word", on="here", input=pasted, word="third")
    ended = job.wait()
    assert (ended.state, ended.exit_code) == ("ok", 0), ended
    assert job.outputs["output"].text() == "first\nsecond\nthird\n"
    assert (ended.stdout, ended.stderr) == ("slots 1\n", "all is well\n")


def test_tools_end_as_they_say(history: History):
    exits, killed, takes = (history.run(tool, on="here") for tool in ("exits", "is_killed", "takes_memory"))
    ended = exits.wait()
    assert (ended.state, ended.exit_code) == ("error", 3), ended
    assert (ended.stdout, ended.stderr) == ("before the end\n", "something is wrong\n")
    ended = killed.wait()
    assert (ended.state, ended.exit_code) == ("error", 137), ended
    ended = takes.wait()
    assert ended.state == "ok", ended
    assert takes.outputs["output"].text() == "had 256 MiB\n"


def test_cancelled_tool_ends(history: History, tmp_path: Path):
    told = tmp_path / "go"
    job = history.run("waits", on="here", file=str(told), seconds=600)
    until(tmp_path.joinpath("go.started").exists, WITHIN, lambda: "the tool runs")
    job.cancel()
    assert job.wait().state == "deleted"
    assert not tmp_path.joinpath("go.ended").exists()


def test_tool_waits_for_a_file(history: History, tmp_path: Path):
    told = tmp_path / "go"
    job = history.run("waits", on="here", file=str(told), seconds=600)
    job.wait_for("running")
    told.touch()
    ended = job.wait()
    assert (ended.state, ended.stdout) == ("ok", "waited\n"), ended


def test_nodes_have_pulsars_programs(batch: BatchService, monkeypatch: pytest.MonkeyPatch):
    for name, value in batch.variables.items():
        monkeypatch.setenv(name, value)
    task = TaskSpec(id="look", command=shell("command -v pulsar-submit pulsar-finish"))
    with AzureBatch(ACCOUNT) as client:
        job = client.submit(JobSpec(name="programs", tasks=(task,))).job
        assert job.wait(WITHIN).exit_code == 0
        said = "".join(chunk.text for chunk in job.logs("look"))
    assert [line.rpartition("/")[2] for line in said.split()] == ["pulsar-submit", "pulsar-finish"]


def test_batch_service_comes_back_after_it_was_killed(batch: BatchService):
    before = batch.place
    batch.kill()
    batch.start()
    assert batch.place.pid != before.pid
    assert (batch.place.endpoint, batch.place.account_key) == (before.endpoint, before.account_key)


def test_broker_keeps_messages_while_it_is_stopped(broker: Broker):
    with Connection(broker.url) as connection, connection.SimpleQueue("kept") as queue:
        queue.put("before", serializer="json")
    broker.stop()
    broker.start()
    with Connection(broker.url) as connection, connection.SimpleQueue("kept") as queue:
        message = queue.get(timeout=30)
        message.ack()
        assert message.payload == "before"
