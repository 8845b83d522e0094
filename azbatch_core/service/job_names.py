"""How a job is named from anywhere: ``<account>:<job id>``. Pure, and cheap to import."""

from __future__ import annotations

from azbatch_core.errors import SpecError


def split_handle(text: str) -> tuple[str | None, str]:
    """The account and the job's id of ``<account>:<job id>``; no account of a bare ``<job id>``.

    The account is what stands before the first colon: no account's name holds one, while the ids of the jobs
    of a schedule do (``nightly:job-1``). These need the account in front.

    Raises:
        SpecError: The account or the id is empty.
    """
    account, colon, job_id = text.partition(":")
    if not colon:
        account, job_id = "", text
    if not job_id or (colon and not account):
        raise SpecError(f"{text!r} is not a job", hint="write JOB or ACCOUNT:JOB")
    return account or None, job_id
