"""`azbatch cancel` and `azbatch delete`: two verbs, because the first keeps the evidence."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from azbatch_core.cli import exits, recent
from azbatch_core.cli.client import open_job
from azbatch_core.cli.lazy import command
from azbatch_core.cli.progress import info
from azbatch_core.errors import AzBatchError

if TYPE_CHECKING:
    from collections.abc import Callable

    from azbatch_core.client import JobHandle


@command("cancel")
@click.argument("jobs", metavar="JOB...", nargs=-1, required=True, shell_complete=recent.complete_job)
def cancel(*, jobs: tuple[str, ...]) -> None:
    """End jobs: running tasks are ended, the others never start. The record and the files stay.

    A job that is over already, or that is not there, is fine.
    """

    def end(job: JobHandle) -> None:
        job.cancel()
        info(f"cancelled {job.handle}; `azbatch delete {job.handle}` removes it")

    _each(jobs, end)


@command("delete")
@click.option("--wait", "waiting", is_flag=True, help="Return when they are gone, not when that has begun.")
@click.argument("jobs", metavar="JOB...", nargs=-1, required=True, shell_complete=recent.complete_job)
def delete(*, jobs: tuple[str, ...], waiting: bool) -> None:
    """Remove jobs: their tasks are ended, and the record and the files on the nodes go.

    A job that is not there is fine. Files that tasks uploaded stay where they are.
    """

    def remove(job: JobHandle) -> None:
        job.delete(wait=waiting)
        recent.forget(job.handle)
        info(f"{'deleted' if waiting else 'deleting'} {job.handle}")

    _each(jobs, remove)


def _each(references: tuple[str, ...], action: Callable[[JobHandle], None]) -> None:
    """Do it to every job: one that fails does not keep the others from their turn."""
    code = exits.OK
    for reference in references:
        try:
            with open_job(reference) as job:
                action(job)
        except AzBatchError as error:  # noqa: PERF203 - each job may fail by itself
            exits.complain(f"{reference}: {error}")
            code = exits.exit_code_of(error)
    exits.finish(code)
