"""The one module that names what azbatch uses of the azure-batch SDK.

Requests go out by `request`, with a path and plain REST documents, through the client that `build_client`
makes, so that authentication, errors and connections are the SDK's: what a plan shows is what is sent, to the
letter. The SDK's own methods would rewrite durations through their models, take six times as long for a bulk
add, and over 100 ms instead of 9 ms for a page of 1,000 tasks. Each of its `begin_*` methods starts a thread
that keeps asking until the operation has ended, and without an options object some never send anything.

Importing this module imports azure.batch (about 170 ms); only `Connection` does so, when it is first used.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, cast
from urllib.parse import quote

from azure.batch import BatchClient
from azure.core.exceptions import AzureError, HttpResponseError
from azure.core.pipeline.policies import SansIOHTTPPolicy
from azure.core.pipeline.transport import RequestsTransport
from azure.core.rest import HttpRequest, HttpResponse

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from azure.core.pipeline import PipelineRequest, PipelineResponse

__all__ = [
    "AzureError",
    "BatchClient",
    "add_tasks",
    "build_client",
    "delete_job",
    "delete_pool",
    "list_page",
    "path",
    "request",
    "terminate_job",
]

API_VERSION = "2025-06-01"
_JSON = "application/json; odata=minimalmetadata"
_CONNECT_TIMEOUT = 20.0
# The service gives up on a request after 30 seconds by itself; a longer silence is a dead connection.
_READ_TIMEOUT = 65.0
_FIRST_ERROR = 400
_NOT_MODIFIED = 304


class _Verdict(SansIOHTTPPolicy):  # type: ignore[type-arg]
    """Stands where the SDK's retry policy stood: retries nothing, and raises on an answer that is an error.

    Raising here comes before the SDK's own policy, which logs a warning with a traceback for every error that
    has no JSON body, such as any HEAD of a file that is not there.
    """

    def on_response(self, request: PipelineRequest[Any], response: PipelineResponse[Any, Any]) -> None:
        del request
        answer = response.http_response
        if answer.status_code >= _FIRST_ERROR or answer.status_code == _NOT_MODIFIED:
            # A streamed answer must be read to be understood, and for its connection to be used again.
            answer.read()
            raise HttpResponseError(response=answer)


def build_client(
    endpoint: str, credential: Any, *, scope: str, user_agent: str, connections: int, loopback: bool
) -> BatchClient:
    """A client whose requests are sent once, and that many threads may share.

    Args:
        endpoint: URL of the account.
        credential: Token credential or named key.
        scope: What to ask a token for.
        user_agent: Put before the SDK's own.
        connections: How many requests can be under way at once, each on a kept connection.
        loopback: The endpoint is on this machine: proxies from the environment do not apply.
    """
    transport = RequestsTransport(
        connection_timeout=_CONNECT_TIMEOUT, read_timeout=_READ_TIMEOUT, use_env_settings=not loopback
    )
    # Opened before any thread can race to do it; the default pool would throw away all but ten connections.
    transport.open()
    session = cast("Any", transport.session)
    for scheme in ("http://", "https://"):
        session.get_adapter(scheme).init_poolmanager(2, connections)
    return BatchClient(
        endpoint,
        credential,
        credential_scopes=[scope],
        transport=transport,
        retry_policy=_Verdict(),
        user_agent=user_agent,
    )


def path(*segments: str) -> str:
    """A path of segments, each quoted whole: the slashes of a file's name travel as ``%2F``."""
    return "/" + "/".join(quote(segment, safe="") for segment in segments)


def request(
    client: BatchClient,
    method: str,
    where: str,
    *,
    query: Mapping[str, str] | None = None,
    body: Any = None,
    headers: Mapping[str, str] | None = None,
    stream: bool = False,
) -> HttpResponse:
    """Send one request and return its answer, which is not an error; raise `AzureError` otherwise.

    Args:
        client: From `build_client`.
        method: The HTTP method.
        where: A path made by `path`, or the absolute URL of a next page.
        query: Query parameters besides the API version.
        body: A document to send as JSON.
        headers: More headers.
        stream: Leave the body on the wire; the caller reads and closes it.
    """
    if where.startswith("/"):
        pairs = {"api-version": API_VERSION, **(query or {})}
        where = "{endpoint}" + where + "?" + "&".join(f"{k}={quote(v, safe='')}" for k, v in pairs.items())
    sent = {"Accept": "application/json", **(headers or {})}
    content = None
    if body is not None:
        content = json.dumps(body)
        sent["Content-Type"] = _JSON
    return client.send_request(HttpRequest(method, where, headers=sent, content=content), stream=stream)


def content(client: BatchClient, where: str, *, headers: Mapping[str, str] | None = None) -> bytes:
    """The body of a file, untouched: without streaming the SDK would decode it by its declared type."""
    with request(client, "GET", where, headers=headers, stream=True) as answer:
        return answer.read()


def add_tasks(client: BatchClient, job_id: str, tasks: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Add at most 100 tasks in one request; the result of each, in any order ("Add Task Collection").

    Each result has ``status`` (``success``, ``clienterror``, ``servererror``, in any case of letters),
    ``taskId`` and, for a failure, ``error``. The request as a whole succeeds even if every task fails.
    """
    answer = request(client, "POST", path("jobs", job_id, "addtaskcollection"), body={"value": tasks})
    return cast("list[dict[str, Any]]", answer.json()["value"])


def list_page(
    client: BatchClient,
    where: str,
    *,
    odata_filter: str | None = None,
    select: Iterable[str] | None = None,
    expand: str | None = None,
    page_size: int | None = None,
    recursive: bool = False,
) -> tuple[list[dict[str, Any]], str | None]:
    """One page of a list as plain documents, and the URL of the next page or None."""
    query = {
        "$filter": odata_filter,
        "$select": ",".join(select) if select else None,
        "$expand": expand,
        "maxresults": str(page_size) if page_size else None,
        "recursive": "true" if recursive else None,
    }
    given = {name: value for name, value in query.items() if value is not None}
    document = request(client, "GET", where, query=given).json()
    return document.get("value") or [], document.get("odata.nextLink")


def terminate_job(client: BatchClient, job_id: str, reason: str | None = None) -> None:
    """Ask for the end of a job; returns once the service has accepted ("Terminate Job", 202)."""
    body = {} if reason is None else {"terminateReason": reason}
    request(client, "POST", path("jobs", job_id, "terminate"), body=body)


def delete_job(client: BatchClient, job_id: str) -> None:
    """Ask for the deletion of a job with its tasks; returns once that is accepted ("Delete Job", 202)."""
    request(client, "DELETE", path("jobs", job_id))


def delete_pool(client: BatchClient, pool_id: str) -> None:
    """Ask for the deletion of a pool; returns once the service has accepted ("Delete Pool", 202)."""
    request(client, "DELETE", path("pools", pool_id))
