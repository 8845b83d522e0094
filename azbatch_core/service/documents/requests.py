"""Single requests to the service, with plain REST documents in and out.

The SDK is imported on the first request, not with this module.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from azbatch_core.service.connect.connection import Connection

Method = Literal["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE"]
JOB_SELECT = (
    "id",
    "displayName",
    "state",
    "stateTransitionTime",
    "creationTime",
    "executionInfo",
    "poolInfo",
    "metadata",
    "onAllTasksComplete",
    "jobPreparationTask",
)
PAGE = 1000


def send(
    connection: Connection,
    method: Method,
    *segments: str,
    query: Mapping[str, str] | None = None,
    body: Any = None,
) -> Any:
    """Send one request, retried where that can help. Gives the answer's JSON; None when it has no body.

    Raises:
        AzBatchError: After all retries.
    """
    from azbatch_core.service.connect import sdk

    answer = connection.call(
        sdk.request, connection.client, method, sdk.path(*segments), query=query, body=body
    )
    return answer.json() if answer.text() else None


def listing(
    connection: Connection,
    *segments: str,
    select: Sequence[str] | None = None,
    odata_filter: str | None = None,
    recursive: bool = False,
) -> Iterator[dict[str, Any]]:
    """The items of a list, page by page as they are taken."""
    from azbatch_core.service.connect import sdk

    return connection.documents(
        sdk.path(*segments), select=select, odata_filter=odata_filter, page_size=PAGE, recursive=recursive
    )


def get_job(connection: Connection, job_id: str) -> dict[str, Any]:
    """What the status of a job needs to know of the job itself.

    Raises:
        NotFound: There is no such job.
    """
    document: dict[str, Any] = send(
        connection, "GET", "jobs", job_id, query={"$select": ",".join(JOB_SELECT)}
    )
    return document


def get_task(connection: Connection, job_id: str, task_id: str, select: Sequence[str]) -> dict[str, Any]:
    """Some properties of one task.

    Raises:
        NotFound: There is no such job or task.
    """
    document: dict[str, Any] = send(
        connection, "GET", "jobs", job_id, "tasks", task_id, query={"$select": ",".join(select)}
    )
    return document
