"""`azbatch wait`."""

from __future__ import annotations

import re

import click

from azbatch_core.cli import exits
from azbatch_core.cli.client import open_job
from azbatch_core.cli.follow import follow
from azbatch_core.cli.lazy import command, json_option
from azbatch_core.cli.output import job_document, print_json
from azbatch_core.cli.recent import complete_job
from azbatch_core.cli.tables import print_end
from azbatch_core.errors import SpecError


@command("wait")
@click.option(
    "--timeout", metavar="TIME", help="Give up after this time, such as 90s, 15m or 1h30m, and exit with 124."
)
@click.option("-q", "--quiet", is_flag=True, help="No progress.")
@json_option
@click.argument("job", metavar="JOB", shell_complete=complete_job)
def wait(*, job: str, timeout: str | None, quiet: bool, as_json: bool) -> None:
    """Wait until a job is over, show how each task went, and exit with 0 if it succeeded, else with 1.

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


def _seconds(text: str) -> float:
    """A time in seconds, in the forms of every other duration; a bare figure is seconds."""
    from azbatch_core.specs import parse_duration

    figure = re.fullmatch(r"\d+(?:\.\d+)?", text)
    try:
        return parse_duration(float(text) if figure else text).total_seconds()
    except SpecError as error:
        raise SpecError(f"--timeout: {error.message}", field="timeout", hint=error.hint) from None
