"""`azbatch wait`."""

from __future__ import annotations

import click

from azbatch_core.cli import exits
from azbatch_core.cli.client import open_job
from azbatch_core.cli.follow import follow
from azbatch_core.cli.lazy import command, json_option
from azbatch_core.cli.output import job_document, print_json
from azbatch_core.cli.recent import complete_job
from azbatch_core.cli.tables import print_end


@command("wait")
@click.option(
    "--timeout", metavar="TIME", help="Give up after this time, such as 90s, 15m or 2h, and exit with 124."
)
@click.option("-q", "--quiet", is_flag=True, help="No progress.")
@json_option
@click.argument("job", metavar="JOB", shell_complete=complete_job)
def wait(*, job: str, timeout: str | None, quiet: bool, as_json: bool) -> None:
    """Wait until a job is over, show how each task went, and exit as the job did.

    It also returns when no task can run any more, and says why. Ctrl-C stops the waiting, not the job.
    """
    seconds = _seconds(timeout) if timeout is not None else None
    with open_job(job) as handle:
        status = follow(handle, tasks=2, logs=False, quiet=quiet, timeout=seconds)
        if as_json:
            print_json(job_document(status))
        else:
            print_end(handle, status)
    exits.finish(status.exit_code)


_UNITS = {"s": 1.0, "m": 60.0, "h": 3600.0, "d": 86_400.0}


def _seconds(text: str) -> float:
    """A time such as ``90``, ``90s``, ``15m``, ``2h`` or ``7d`` in seconds."""
    figure, unit = (text[:-1], text[-1]) if text[-1:] in _UNITS else (text, "s")
    try:
        seconds = float(figure) * _UNITS[unit]
    except ValueError:
        seconds = -1.0
    if not 0 <= seconds < float("inf"):
        exits.usage(f"--timeout {text!r} is not a time: expected seconds, or a figure with s, m, h or d.")
    return seconds
