"""From what was typed to a client: which account, which job."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

from azbatch_core.cli import exits
from azbatch_core.cli.lazy import settings
from azbatch_core.cli.progress import warn
from azbatch_core.errors import ServiceUnavailable
from azbatch_core.service.accounts.local import was_stopped
from azbatch_core.service.states import split_handle

if TYPE_CHECKING:
    from collections.abc import Iterator

    from azbatch_core.client import AzureBatch, JobHandle


@contextmanager
def open_batch(account: str | None = None) -> Iterator[AzureBatch]:
    """A client on the named account, else on the one that `--account` or AZBATCH_ACCOUNT chose."""
    from azbatch_core.client import AzureBatch  # noqa: PLC0415 - not needed for help

    show_warnings()
    with AzureBatch(account or settings().chosen_account()) as batch:
        yield batch


def show_warnings() -> None:
    """Print what azbatch logs as a warning (a retry, a file that others can read) as a line of its own.

    What the Azure libraries log is theirs: they raise what matters, and azbatch says it in one line.
    """
    import logging  # noqa: PLC0415 - not needed for help

    class Lines(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            warn(exits.redact(" ".join(record.getMessage().split())))

    logger = logging.getLogger("azbatch")
    if not logger.handlers:
        logger.addHandler(Lines(logging.WARNING))
        logging.getLogger("azure").addHandler(logging.NullHandler())


@contextmanager
def open_job(reference: str) -> Iterator[JobHandle]:
    """A handle on the job that `reference` names: ``<job id>`` or ``<account>:<job id>``."""
    account, job_id = split_reference(reference)
    with open_batch(account) as batch:
        # With its account: the id of a schedule's job holds a colon itself.
        handle = batch.job(f"{batch.account.name}:{job_id}")
        try:
            yield handle
        except ServiceUnavailable as error:
            if was_stopped(error):
                raise gone(handle.handle) from error
            raise


def gone(handle: str) -> ServiceUnavailable:
    """The local service was stopped while a job was followed: the job is still there."""
    return ServiceUnavailable(
        "the local service was stopped", hint=f"`azbatch wait {handle}` starts it again and goes on"
    )


def split_reference(reference: str) -> tuple[str | None, str]:
    """The account (None when not named) and the job id of what a person typed for a job.

    Raises:
        SpecError: It has no job id.
        click.UsageError: Its account contradicts `--account`.
    """
    account, job_id = split_handle(reference)
    asked = settings().account
    if account and asked and asked != account:
        exits.usage(f"{reference!r} is a job of account {account!r}, but --account says {asked!r}.")
    return account, job_id
