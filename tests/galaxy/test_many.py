"""Many jobs at the same time."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rig.user import ends, starts

if TYPE_CHECKING:
    from pathlib import Path

    from rig.user import History

JOBS = 30


def test_thirty_jobs_at_once_end_well_each_once(history: History, tmp_path: Path):
    jobs = {}
    for number in range(JOBS):
        on = "queue" if number % 2 else "poll"
        file = tmp_path / str(number)
        file.touch()
        jobs[file] = history.run("waits", on=on, file=str(file), seconds=number)
    for number, (file, job) in enumerate(jobs.items()):
        ended = job.wait()
        assert (ended.state, ended.exit_code) == ("ok", 0), ended
        assert job.outputs["output"].text() == f"seconds left: {number}\n"
        assert (starts(file), ends(file)) == (1, 1)
