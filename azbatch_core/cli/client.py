"""From what was typed to a client: which account, which job."""

from __future__ import annotations

import re
from contextlib import contextmanager
from typing import TYPE_CHECKING

from azbatch_core.cli import exits
from azbatch_core.cli.lazy import settings
from azbatch_core.cli.progress import warn
from azbatch_core.errors import LocalServiceStopped, NotFound
from azbatch_core.service.job_names import split_handle

if TYPE_CHECKING:
    from collections.abc import Iterator

    from azbatch_core.client import AzureBatch, JobHandle


@contextmanager
def open_batch(account: str | None = None) -> Iterator[AzureBatch]:
    """A client on the named account, else on the one that `--account` or AZBATCH_ACCOUNT chose."""
    from azbatch_core.client import AzureBatch

    show_warnings()
    with AzureBatch(account or settings().chosen_account()) as batch:
        yield batch


def show_warnings() -> None:
    """Print what azbatch logs as a warning (a retry, a file that others can read) as a line of its own.

    What the Azure libraries log is theirs: they raise what matters, and azbatch says it in one line.
    """
    import logging

    class Lines(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            warn(exits.redact(" ".join(record.getMessage().split())))

    logger = logging.getLogger("azbatch")
    if not logger.handlers:
        logger.addHandler(Lines(logging.WARNING))
        logging.getLogger("azure").addHandler(logging.NullHandler())


@contextmanager
def open_job(reference: str, task: str | None = None) -> Iterator[JobHandle]:
    """A handle on the job that `reference` names: ``<job id>`` or ``<account>:<job id>``.

    Args:
        reference: What was typed.
        task: What was typed for a task of it.

    Raises:
        click.UsageError: That cannot be a job or a task.
        NotFound: There is none; names it.
    """
    account, job_id = split_reference(reference)
    if task is not None:
        check_id("a task", task)
    with open_batch(account) as batch:
        # With its account: the id of a schedule's job holds a colon itself.
        job = batch.job(f"{batch.account.name}:{job_id}")
        try:
            yield job
        except NotFound as error:
            raise _named(error, job.handle, task) from error
        except LocalServiceStopped as error:
            raise gone(job.handle) from error


def _named(error: NotFound, handle: str, task: str | None) -> NotFound:
    """The service says only that "the specified job" is not there."""
    if error.code == "JobNotFound":
        return NotFound(f"there is no job {handle}", hint="`azbatch jobs` lists yours")
    if error.code == "TaskNotFound" and task is not None:
        return NotFound(f"there is no task {task} in {handle}", hint=f"`azbatch tasks {handle}` lists them")
    return error


@contextmanager
def naming_pool(pool: str) -> Iterator[None]:
    """Like `open_job`, for what is done with a pool."""
    check_id("a pool", pool)
    try:
        yield
    except NotFound as error:
        if error.code != "PoolNotFound":
            raise
        raise NotFound(f"there is no pool {pool}", hint="`azbatch pools` lists them") from error


def check_id(kind: str, text: str, *, also: str = "") -> None:
    """Refuse what no id can be ("Add Job" and its like: letters, digits, hyphens, underscores).

    Raises:
        click.UsageError: With the rule.
    """
    if not re.fullmatch(f"[A-Za-z0-9_{also}-]+", text):
        exits.usage(f"{text!r} is not the id of {kind}: ids are of letters, digits, - and _")


def gone(handle: str) -> LocalServiceStopped:
    """The local service was stopped while a job was followed: the job is still there."""
    return LocalServiceStopped(
        "the local service was stopped", hint=f"`azbatch wait {handle}` starts it again and goes on"
    )


def split_reference(reference: str) -> tuple[str | None, str]:
    """The account (None when not named) and the job id of what a person typed for a job.

    Raises:
        SpecError: It has no job id.
        click.UsageError: It can be no job, or its account contradicts `--account`.
    """
    account, job_id = split_handle(reference)
    asked = settings().account
    if account and asked and asked != account:
        exits.usage(f"{reference!r} is a job of account {account!r}, but --account says {asked!r}.")
    check_id("a job", job_id, also=":")  # a schedule's job has one
    return account, job_id
