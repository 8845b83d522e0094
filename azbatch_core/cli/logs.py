"""`azbatch logs`."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

import click

from azbatch_core.cli import exits
from azbatch_core.cli.client import open_job
from azbatch_core.cli.follow import LogWriter, say_if_time_stands, say_way_back
from azbatch_core.cli.lazy import command
from azbatch_core.cli.progress import Progress
from azbatch_core.cli.recent import complete_job

if TYPE_CHECKING:
    from azbatch_core.service.summaries import LogStream


@command("logs")
@click.option("-f", "--follow", "following", is_flag=True, help="Go on until the task (the job) is over.")
@click.option(
    "--stream",
    type=click.Choice(["stdout", "stderr", "both"]),
    default="both",
    show_default=True,
    help="Which output. Each arrives on its own stream here too.",
)
@click.option(
    "--member", type=click.IntRange(min=0), metavar="N", help="Only member N of a gang; 0 is the main node."
)
@click.argument("job", metavar="JOB", shell_complete=complete_job)
@click.argument("task", metavar="[TASK]", required=False)
def logs(*, job: str, task: str | None, member: int | None, following: bool, stream: str) -> None:
    """Print what a task wrote. Without TASK: every task of the job, its name before each line.

    Of a gang, every member's lines with its number before each, or one member's as they are.
    """
    with open_job(job, task) as handle:
        prefix = task is None and handle.status().total > 1
        if following:
            say_if_time_stands(handle)
        with Progress(quiet=True) as progress:
            writer = LogWriter(progress, prefix=prefix, members=member is None)
            try:
                wanted = cast("LogStream", stream)
                for chunk in handle.logs(task, wanted, follow=following, member=member):
                    writer.write(chunk)
                writer.close()
            except KeyboardInterrupt:
                if following:
                    say_way_back(handle.handle)
                exits.finish(exits.INTERRUPTED)
