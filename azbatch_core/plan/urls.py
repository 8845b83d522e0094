"""Signed URLs that end too soon: before the job can have used them."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING

from azbatch_core.errors import SpecError
from azbatch_core.specs import OutputFile, ResourceFile, UrlSecret, format_duration

if TYPE_CHECKING:
    from collections.abc import Iterable
    from datetime import datetime

    from azbatch_core.plan.notes import Notes

_LONGEST_TASK = timedelta(days=180)  # a task is ended this long after it was added, whatever its state


_SIGN_AGAIN = "sign the URL anew, until after the job's end; the account's own containers need no signature"


def check_urls(
    files: Iterable[ResourceFile | OutputFile],
    now: datetime,
    wall_time: timedelta | None,
    notes: Notes,
    task_id: str,
) -> None:
    """Refuse signatures that have ended, and warn of those that end before the job must.

    Args:
        files: Files with URLs.
        now: The time of submission.
        wall_time: How long the job may live; None = as long as a task may.
        notes: Takes the warnings.
        task_id: The task whose files they are.

    Raises:
        SpecError: A signature has ended already.
    """
    lifetime = min(wall_time or _LONGEST_TASK, _LONGEST_TASK)
    for file in files:
        for field, url in _urls(file):
            if url.expires is None:
                continue
            if url.expires <= now:
                raise SpecError(
                    f"the signature of {url} ended on {url.expires:%Y-%m-%d %H:%M} UTC",
                    field=field,
                    hint=_SIGN_AGAIN,
                )
            if url.expires < now + lifetime:
                notes.add(
                    f"the signature of {url} ends on {url.expires:%Y-%m-%d %H:%M} UTC, "
                    f"but the job may run for {format_duration(lifetime)}: what needs it later fails",
                    task_id,
                )


def check_start_task_urls(files: Iterable[ResourceFile], now: datetime, notes: Notes) -> None:
    """The same for a start task, which runs on every node that ever joins the pool.

    Raises:
        SpecError: A signature has ended already.
    """
    for file in files:
        for field, url in _urls(file):
            if url.expires is not None and url.expires <= now:
                raise SpecError(
                    f"the start task: the signature of {url} ended on {url.expires:%Y-%m-%d %H:%M} UTC",
                    field=f"pool.start_task.resource_files.{field}",
                    hint=_SIGN_AGAIN,
                )
            if url.signed:
                notes.add(
                    f"the start task reads {url} with a signature: nodes that join after its end fail; "
                    "auto_storage_container_name does not end"
                )


def _urls(file: ResourceFile | OutputFile) -> list[tuple[str, UrlSecret]]:
    if isinstance(file, OutputFile):
        found = {"container_url": file.container_url}
    else:
        found = {"http_url": file.http_url, "storage_container_url": file.storage_container_url}
    return [(field, url) for field, url in found.items() if url is not None]
