"""`azbatch jobs` and `azbatch show`."""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING

import click

from azbatch_core.cli.client import open_batch, open_job
from azbatch_core.cli.lazy import command, json_option
from azbatch_core.cli.output import (
    Column,
    ago,
    clock,
    job_document,
    jsonable,
    paint_state,
    print_fields,
    print_json,
    print_table,
    span,
)
from azbatch_core.cli.recent import complete_job
from azbatch_core.cli.tables import print_members, print_tasks

if TYPE_CHECKING:
    from datetime import datetime

    from azbatch_core.service.states import JobStatus
    from azbatch_core.service.summaries import JobSummary

_STATES = ["pending", "running", "succeeded", "failed", "cancelled", "stuck", "deleting"]

_COLUMNS = (
    Column("JOB"),
    Column("STATE", state=True),
    Column("DONE", right=True),
    Column("FAILED", right=True, drop=2),
    Column("AGE", right=True),
    Column("TIME", right=True, drop=1),
    Column("USER", drop=4),
    Column("POOL", drop=3, shrink=True),
)


@command("jobs")
@click.option("--all", "everyone", is_flag=True, help="Every job of the account, not only yours.")
@click.option(
    "--state",
    "states",
    multiple=True,
    type=click.Choice(_STATES),
    metavar="STATE",
    help=f"Only jobs in this state; may be repeated: {', '.join(_STATES)}.",
)
@click.option("-n", "--limit", type=click.IntRange(min=1), metavar="N", help="At most this many.")
@json_option
def jobs(*, everyone: bool, states: tuple[str, ...], limit: int | None, as_json: bool) -> None:
    """List the jobs that you submitted, the newest first."""
    with open_batch() as batch:
        now = None if as_json else batch.virtual_time()
        # A state is only known once a job's tasks have been counted, which costs a request for each job.
        newest = batch.jobs(mine=not everyone, limit=None if states else limit)
        listed = list(islice((job for job in newest if not states or job.state.value in states), limit))
        others = not (listed or everyone or as_json) and any(True for _ in batch.jobs(mine=False, limit=1))
    if as_json:
        print_json([{**jsonable(job), "total": job.total} for job in listed])
        return
    print_table(_COLUMNS, [_row(job, now) for job in listed], empty=_none(states, others=others))


def _none(states: tuple[str, ...], *, others: bool) -> str:
    """What is said where no job is listed; jobs that azbatch did not make for this user may be there."""
    if others:
        what = f"No job of yours is {' or '.join(states)}." if states else "No jobs of yours."
        return f"{what} `azbatch jobs --all` lists the account's other jobs, too."
    return (
        f"No job is {' or '.join(states)}." if states else "No jobs. `azbatch run -- echo hello` makes one."
    )


def _row(job: JobSummary, now: datetime | None) -> tuple[str, ...]:
    return (
        job.id,
        job.state.value,
        f"{job.succeeded + job.failed}/{job.total}",
        str(job.failed) if job.failed else "-",
        ago(job.created, now),
        span(job.ended - job.created) if job.ended and job.created else "-",
        job.user or "-",
        job.pool_id or "-",
    )


@command("show")
@json_option
@click.argument("job", metavar="JOB", shell_complete=complete_job)
def show(*, job: str, as_json: bool) -> None:
    """Show how a job stands: its state, how many tasks stand how, the first failures, gangs' members."""
    with open_job(job) as handle:
        status = handle.status()
        members = {task.id: handle.members(task.id) for task in status.gangs}
    if as_json:
        document = job_document(status)
        for gang in document["gangs"]:
            gang["members"] = [jsonable(member) for member in members[gang["id"]]]
        print_json(document)
        return
    print_fields(_fields(status))
    if status.failures:
        click.echo()
        print_tasks(status.failures)
    if members:
        click.echo()
        print_members(members)


def _fields(status: JobStatus) -> list[tuple[str, str | None]]:
    counts = ", ".join(
        f"{count} {paint_state(state.value)}" for state, count in status.counts.items() if count
    )
    return [
        ("Job", status.handle),
        ("Name", status.display_name),
        ("State", paint_state(status.state.value)),
        ("Reason", status.reason),
        ("Pool", status.pool_id),
        ("Tasks", f"{status.total} ({counts})" if counts else str(status.total)),
        ("Created", clock(status.created)),
        ("Started", clock(status.started)),
        ("Ended", clock(status.ended)),
    ]
