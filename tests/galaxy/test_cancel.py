"""Jobs that the user does away with."""

from __future__ import annotations

import contextlib
from pathlib import Path
from typing import TYPE_CHECKING

from rig.programs import until
from rig.user import WITHIN, ends, starts

if TYPE_CHECKING:
    from rig.user import History

    from azbatch_core import AzureBatch


def test_a_cancelled_job_is_ended_on_batch_and_no_process_is_left(
    history: History, tmp_path: Path, client: AzureBatch
):
    files = {on: tmp_path / on for on in ("queue", "poll")}
    jobs = {on: history.run("waits", on=on, file=str(file), seconds=600) for on, file in files.items()}
    for on, file in files.items():
        until(lambda file=file: starts(file) == 1, WITHIN, lambda on=on: f"the tool runs on {on}")
    runs = [job.wait_for("running")["external_id"] for job in jobs.values()]
    assert all(processes(run) for run in runs)
    for job in jobs.values():
        job.cancel()
    for job, run in zip(jobs.values(), runs, strict=True):
        assert job.wait().state == "deleted"
        until(lambda run=run: not is_open(client, run), WITHIN, lambda run=run: f"{run} is over on Batch")
        until(lambda run=run: not processes(run), WITHIN, lambda run=run: f"no process of {run} is left")
    assert not any(ends(file) for file in files.values())


def is_open(client: AzureBatch, run: str) -> bool:
    phase = client.job_phases(run).get(run)
    return phase is not None and phase.open


def processes(run: str) -> list[str]:
    """Those that have a Batch job's id in their command line or in the folder that they are in."""
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):  # it has just ended
            if run in (process / "cmdline").read_text() + str((process / "cwd").readlink()):
                found.append(process.name)
    return found
