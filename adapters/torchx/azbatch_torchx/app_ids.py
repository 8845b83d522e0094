"""App ids: ``<account>:<job id>``, so that any later process finds an app by its id alone."""

from __future__ import annotations

from azbatch_core.errors import SpecError


def join(account: str, job_id: str) -> str:
    """The id of an app."""
    return f"{account}:{job_id}"


def split(app_id: str) -> tuple[str, str]:
    """The account and the job of an app.

    Raises:
        SpecError: It is no id of this scheduler.
    """
    account, _, job_id = app_id.partition(":")
    if not account or not job_id:
        raise SpecError(
            f"{app_id!r} is no app of azure_batch: its ids read ACCOUNT:JOB",
            hint="`torchx list -s azure_batch` shows them",
        )
    return account, job_id
