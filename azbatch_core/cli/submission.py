"""From a plan to a submitted job, and what is said about it: shared by `run` and `submit`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from azbatch_core.cli import exits, recent
from azbatch_core.cli.output import jsonable, print_json
from azbatch_core.cli.paint import is_terminal
from azbatch_core.cli.progress import Progress, count_line, info, warn
from azbatch_core.errors import SubmissionError

if TYPE_CHECKING:
    from azbatch_core.client import AzureBatch
    from azbatch_core.plan import Plan
    from azbatch_core.service.states import Submission

_MOST_NAMED = 10
_COUNT_FROM = 200
"""Fewer tasks than this are in before a count could be read."""


def show_plan(plan: Plan, *, as_json: bool) -> None:
    """Print what would be sent, secrets masked."""
    if as_json:
        print_json(plan.to_json())
        return
    if is_terminal():
        from rich.console import Console

        from azbatch_core.plan.render import rich_plan

        Console().print(rich_plan(plan))
    else:
        click.echo(plan.to_table())
    for text in plan.warnings:
        warn(text)


def submit_plan(
    batch: AzureBatch, plan: Plan, *, detach: bool, quiet: bool, as_json: bool, recreate: bool = False
) -> Submission:
    """Carry the plan out and say so. On return every task is in the job.

    With `detach` the job's handle is the result: on stdout, alone (or as a document). Otherwise the tasks'
    output will come there, and the handle is a remark.

    Raises:
        click.exceptions.Exit: Ctrl-C while submitting; what may exist has been said.
    """
    handle = f"{plan.account}:{plan.job_id}"
    if not quiet:
        for text in plan.warnings:
            warn(text)
    total = len(plan.tasks)
    try:
        with Progress(quiet=quiet or total < _COUNT_FROM) as progress:
            submission = batch.submit(
                plan,
                recreate=recreate,
                on_progress=lambda done: progress.show(count_line("adding tasks", done, total)),
            )
    except KeyboardInterrupt as error:
        if is_terminal(err=True):
            click.echo(err=True)
        # It says what is there. Without a word, nothing had begun.
        info(str(error) or "interrupted: nothing was submitted")
        raise click.exceptions.Exit(exits.INTERRUPTED) from None
    except SubmissionError as error:
        _name_failed_tasks(error)
        recent.remember(handle)
        raise
    recent.remember(submission.job.handle)
    _announce(plan, submission, detach=detach, quiet=quiet, as_json=as_json)
    return submission


def _announce(plan: Plan, submission: Submission, *, detach: bool, quiet: bool, as_json: bool) -> None:
    count = f"{submission.added} task{'' if submission.added == 1 else 's'}"
    handle = submission.job.handle
    pool = f"pool {plan.pool.id}" if plan.pool.id else "a pool of its own"
    if detach and as_json:
        print_json(submission_document(plan, submission))
    elif detach:
        if not quiet:
            info(f"submitted {count} to {pool}; `azbatch logs -f {handle}` follows")
        click.echo(handle)
    elif not quiet:
        info(f"submitted {handle}: {count}, {pool}")


def submission_document(plan: Plan, submission: Submission) -> dict[str, Any]:
    """A submission for `--json`."""
    return {
        "handle": submission.job.handle,
        "job_id": submission.job.id,
        "pool_id": plan.pool.id,
        "added": submission.added,
        "failed": [jsonable(result) for result in submission.failed],
        "warnings": list(plan.warnings),
    }


def _name_failed_tasks(error: SubmissionError) -> None:
    """One line on stderr for each of the first tasks that are not in the job."""
    failed = error.submission.failed
    for result in failed[:_MOST_NAMED]:
        reason = exits.redact(result.error or result.code or "no reason given")
        info(f"task {result.id} was not added: {reason}")
    if len(failed) > _MOST_NAMED:
        info(f"… and {len(failed) - _MOST_NAMED} more")
