"""A tool's run on Azure Batch as its user sees it: how it ends, and what is told of it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from rig.programs import until
from rig.user import WITHIN, ends, starts

if TYPE_CHECKING:
    from pathlib import Path

    from rig.user import Dataset, GalaxyUser, Job

ALL_WAYS = pytest.mark.parametrize("on", ["queue", "relay", "poll"])
EVERYWHERE = pytest.mark.parametrize("on", ["queue", "relay", "poll", "unheard", "tus"])


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("told")


@pytest.fixture(scope="module")
def jobs(user: GalaxyUser, pasted: Dataset, folder: Path) -> dict[str, Job]:
    """All jobs of this module, which run at the same time."""
    history = user.history("runs")
    found = {
        on: history.run("cat_with_word", on=on, input=pasted)
        for on in ("refused", "no_pool", "typo", "no_account")
    }
    for on in ("queue", "relay", "poll", "unheard", "tus"):
        found[f"ok {on}"] = history.run("cat_with_word", on=on, input=pasted, word="third")
    for on in ("queue", "relay", "poll"):
        found[f"exits {on}"] = history.run("exits", on=on)
        found[f"killed {on}"] = history.run("is_killed", on=on)
    found["short"] = history.run("waits", on="short", file=str(folder / "go"), seconds=600)
    return found


@EVERYWHERE
def test_a_tool_reads_its_input_and_writes_its_output(jobs: dict[str, Job], on: str):
    job = jobs[f"ok {on}"]
    ended = job.wait()
    assert (ended.state, ended.exit_code) == ("ok", 0), ended
    assert job.outputs["output"].text() == "first\nsecond\nthird\n"
    assert ended.stderr == "all is well\n"


@ALL_WAYS
def test_the_exit_code_is_the_tools(jobs: dict[str, Job], on: str):
    ended = jobs[f"exits {on}"].wait()
    assert (ended.state, ended.exit_code) == ("error", 3), ended
    assert (ended.stdout, ended.stderr) == ("before the end\n", "something is wrong\n")


@ALL_WAYS
def test_a_killed_tool_is_an_error(jobs: dict[str, Job], on: str):
    ended = jobs[f"killed {on}"].wait()
    assert (ended.state, ended.exit_code) == ("error", 137), ended


def test_an_input_that_is_refused_is_an_error_with_its_reason(jobs: dict[str, Job]):
    ended = jobs["refused"].wait()
    assert ended.state == "error", ended
    assert "could not bring the job's inputs to the node" in ended.info, ended
    assert "403" in ended.info, ended
    assert "job_key=" not in ended.info.replace("job_key=...", ""), ended


@pytest.mark.parametrize(
    ("on", "said"),
    [
        ("no_pool", "not-there"),
        ("typo", "did you mean 'azure_batch_memory'?"),
        ("no_account", "nobodys"),
    ],
)
def test_what_is_never_sent_is_an_error_with_its_reason(jobs: dict[str, Job], on: str, said: str):
    ended = jobs[on].wait()
    assert (ended.state, ended.details["external_id"]) == ("error", None), ended
    assert said in ended.info, ended
    assert "\n" not in ended.info.strip(), ended


def test_galaxy_submits_again_what_reached_its_wall_time(jobs: dict[str, Job], folder: Path):
    job = jobs["short"]
    until(lambda: starts(folder / "go") == 2, WITHIN, lambda: "the tool runs again, with another wall time")
    (folder / "go").touch()
    ended = job.wait()
    assert (ended.state, ended.exit_code, ended.stdout) == ("ok", 0, "waited\n"), ended
    assert ends(folder / "go") == 1
    assert ended.details["external_id"].endswith("-2"), ended
