"""`azbatch tasks`."""

from __future__ import annotations

import click

from azbatch_core.cli.client import open_job
from azbatch_core.cli.lazy import command, json_option
from azbatch_core.cli.output import print_json, task_document
from azbatch_core.cli.recent import complete_job
from azbatch_core.cli.tables import print_tasks

_STATES = ["waiting", "blocked", "queued", "preparing", "running", "succeeded", "failed", "cancelled"]


@command("tasks")
@click.option(
    "--state",
    "states",
    multiple=True,
    type=click.Choice(_STATES),
    metavar="STATE",
    help=f"Only tasks in this state; may be repeated: {', '.join(_STATES)}.",
)
@json_option
@click.argument("job", metavar="JOB", shell_complete=complete_job)
def tasks(*, job: str, states: tuple[str, ...], as_json: bool) -> None:
    """List the tasks of a job: state, exit code, node, time, and what went wrong."""
    from azbatch_core.service.states import TaskState

    with open_job(job) as handle:
        found = list(handle.tasks({TaskState(state) for state in states} if states else None))
    if as_json:
        print_json([task_document(task) for task in found])
    else:
        print_tasks(found)
