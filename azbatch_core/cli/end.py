"""`azbatch cancel` and `azbatch delete`: two verbs, because the first keeps the evidence."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from azbatch_core.cli import recent
from azbatch_core.cli.client import open_job, split_reference
from azbatch_core.cli.each import each
from azbatch_core.cli.lazy import command, json_option
from azbatch_core.cli.output import paint_state

if TYPE_CHECKING:
    from azbatch_core.service.handle import JobHandle


@command("cancel")
@json_option
@click.argument("jobs", metavar="JOB...", nargs=-1, required=True, shell_complete=recent.complete_job)
def cancel(*, jobs: tuple[str, ...], as_json: bool) -> None:
    """End jobs: running tasks are ended, the others never start. The record and the files stay.

    A job that is over already, or that is not there, is fine.
    """

    def end(reference: str) -> str:
        with open_job(reference) as job:
            ended = job.cancel()
            if not ended and not job.exists():
                return f"there is no job {job.handle}; nothing to cancel"
            remark = f"cancelled {job.handle}" if ended else _as_it_is(job)
            return f"{remark}; `azbatch delete {job.handle}` removes it"

    _check(jobs)
    each(jobs, end, as_json=as_json)


@command("delete")
@click.option("--wait", "waiting", is_flag=True, help="Return when they are gone, not when that has begun.")
@json_option
@click.argument("jobs", metavar="JOB...", nargs=-1, required=True, shell_complete=recent.complete_job)
def delete(*, jobs: tuple[str, ...], waiting: bool, as_json: bool) -> None:
    """Remove jobs: their tasks are ended, and the record and the files on the nodes go.

    A job that is not there is fine. Files that tasks uploaded stay where they are.
    """

    def remove(reference: str) -> str:
        with open_job(reference) as job:
            recent.forget(job.handle)
            if not job.exists():
                return f"there is no job {job.handle}; nothing to delete"
            job.delete(wait=waiting)
            return f"{'deleted' if waiting else 'deleting'} {job.handle}"

    _check(jobs)
    each(jobs, remove, as_json=as_json)


def _as_it_is(job: JobHandle) -> str:
    """What became of a job that could not be cancelled any more."""
    state = job.status().state
    if state == "cancelled":
        return f"cancelled {job.handle}"  # before, or just now by a request whose answer was lost
    if state.final:
        return f"{job.handle} was over already: {paint_state(state.value, err=True)}"
    return f"{job.handle} is being ended already"


def _check(jobs: tuple[str, ...]) -> None:
    """Nothing is sent while one of them cannot be a job."""
    for reference in jobs:
        split_reference(reference)
