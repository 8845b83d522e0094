"""`azbatch submit`: a job described in a file."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import click

from azbatch_core.cli import exits
from azbatch_core.cli.client import open_batch
from azbatch_core.cli.follow import follow, too_many_to_follow
from azbatch_core.cli.lazy import command, json_option
from azbatch_core.cli.output import job_document, print_json
from azbatch_core.cli.paint import is_terminal
from azbatch_core.cli.progress import info
from azbatch_core.cli.submission import show_plan, submit_plan
from azbatch_core.cli.tables import print_end
from azbatch_core.errors import SpecError

if TYPE_CHECKING:
    from azbatch_core.client import JobHandle
    from azbatch_core.specs import JobSpec


@command("submit")
@click.option("--dry-run", is_flag=True, help="Print what would be sent, and why; send nothing.")
@click.option(
    "-f",
    "--follow",
    "following",
    is_flag=True,
    help="Show the output, wait, and exit with 0 if the job succeeded, else with 1.",
)
@click.option("--logs/--no-logs", default=None, help="With --follow: show output [default: up to 200 tasks].")
@click.option(
    "--recreate", is_flag=True, help="Delete a job of the same id first, and wait until it is gone."
)
@click.option("-q", "--quiet", is_flag=True, help="No remarks of azbatch's own, errors excepted.")
@json_option
@click.argument("file", metavar="FILE", type=click.Path(dir_okay=False, allow_dash=True))
def submit(
    *,
    file: str,
    dry_run: bool,
    following: bool,
    logs: bool | None,
    recreate: bool,
    quiet: bool,
    as_json: bool,
) -> None:
    """Submit the job that FILE (YAML or JSON; - is stdin) describes, and print its handle.

    Without --follow it returns as soon as every task is in; `azbatch logs -f` or `azbatch wait` come later.

    The smallest job file:

    \b
      name: hello
      tasks: [{command: [echo, hi]}]
    """  # noqa: D301 - \b is click's mark for lines that stay as they are
    job = read_job(file)
    with open_batch() as batch:
        plan = batch.plan(job)
        if dry_run:
            show_plan(plan, as_json=as_json)
            return
        submission = submit_plan(
            batch, plan, detach=not following, quiet=quiet, as_json=as_json, recreate=recreate
        )
        if not following:
            return
        code = _follow(submission.job, len(plan.tasks), logs=logs, quiet=quiet, as_json=as_json)
    exits.finish(code)


def read_job(file: str) -> JobSpec:
    """The spec in a file, or on stdin for ``-``.

    Raises:
        SpecError: It cannot be read, or describes no valid job; names the file and the line.
    """
    from azbatch_core.specs import load_job, parse_job

    if file != "-":
        return load_job(file)
    if sys.stdin is None:
        raise exits.StreamError("stdin is closed, and the job was to come from there")
    try:
        return parse_job(sys.stdin.read(), name="stdin")
    except UnicodeDecodeError as error:
        raise SpecError(f"stdin is not UTF-8 text: {error.reason}") from error


def _follow(job: JobHandle, tasks: int, *, logs: bool | None, quiet: bool, as_json: bool) -> int:
    show_logs = not as_json and (logs if logs is not None else not too_many_to_follow(tasks))
    if logs is None and not show_logs and not as_json and not quiet:
        info(
            f"{tasks} tasks: output is not followed (--logs does); `azbatch logs {job.handle} TASK` shows it"
        )
    status = follow(job, tasks=tasks, logs=show_logs, quiet=quiet)
    if as_json:
        print_json(job_document(status))
    else:
        if show_logs and is_terminal():
            click.echo()
        print_end(job, status)
    return status.exit_code
