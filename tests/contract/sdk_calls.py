"""Both clients of the SDK behind one set of calls, so that a scenario is written once.

Lists come back whole, downloads as bytes, pollers when they are done. Every answer's status and headers are
compared with those that the real service gives.
"""

from __future__ import annotations

import asyncio
import inspect
from http import HTTPStatus
from typing import TYPE_CHECKING, Any

from azure.batch import BatchClient
from azure.batch import aio as azure_aio
from azure.core.credentials import AzureNamedKeyCredential
from azure.core.exceptions import HttpResponseError
from azure.core.pipeline.policies import SansIOHTTPPolicy

from azbatch_core.local.routes.table import OPERATIONS

if TYPE_CHECKING:
    from collections.abc import Callable

    from azbatch_core.local import LocalBatch
    from azbatch_core.local.http.operation import Operation

TABLE = {operation.name: operation for operation in OPERATIONS}
NAMELESS = {"create_task_collection", "reactivate_task"}
"""Writes whose answer has no `DataServiceId`; recorded."""
CREATED = {"create_pool", "create_job", "create_job_schedule", "create_task"}
TAGGED_ACTIONS = {"disable_pool_auto_scale", "replace_pool_properties"}
"""Actions that leave a new tag though they take no condition."""


class _Answers(SansIOHTTPPolicy[Any, Any]):
    """Keeps the first answer to a call."""

    first: Any = None

    def on_response(self, _request: Any, response: Any) -> None:
        self.first = self.first or response.http_response


class Sdk:
    """One client; `kind` is `sync` or `aio`.

    Attributes:
        headers: those of the latest call's first answer, names in lower case.
    """

    def __init__(self, batch: LocalBatch, kind: str) -> None:
        self.kind = kind
        self.headers: dict[str, str] = {}
        self._loop = asyncio.new_event_loop()
        key = AzureNamedKeyCredential(batch.account_name, batch.account_key)
        make = BatchClient if kind == "sync" else azure_aio.BatchClient
        self._answers = _Answers()
        self._client: Any = make(batch.endpoint, key, retry_total=0, per_call_policies=[self._answers])

    def close(self) -> None:
        """Let go of the connections."""
        self._settle(self._client.close())
        self._loop.close()

    def name(self, text: str) -> str:
        """An id that the other client's run of the same scenario does not use."""
        return f"{self.kind}-{text}"

    def __getattr__(self, name: str) -> Callable[..., Any]:
        method = getattr(self._client, name)

        def call(*args: Any, **more: Any) -> Any:
            self._answers.first = None
            if name.startswith("begin_"):
                more["polling_interval"] = 0
            try:
                result = self._settle(self._finished(self._settle(method(*args, **more))))
            except HttpResponseError as error:
                # The SDK raises before it has read a download's body, and lets go of the connection.
                if error.response is not None:
                    self._settle(error.response.close())
                raise
            first = self._answers.first
            self.headers = {key.lower(): value for key, value in first.headers.items()}
            check_answer(TABLE[name], first.status_code, self.headers)
            return result

        return call

    def _settle(self, result: Any) -> Any:
        return self._loop.run_until_complete(result) if inspect.iscoroutine(result) else result

    def _finished(self, result: Any) -> Any:
        if hasattr(result, "polling_method"):
            return result.result()
        if hasattr(result, "by_page"):
            return list(result) if self.kind == "sync" else _listed(result)
        if hasattr(result, "__aiter__"):
            return _joined(result)
        return b"".join(result) if hasattr(result, "__next__") else result


def check_answer(operation: Operation, status: int, headers: dict[str, str]) -> None:
    """Status and headers are those that the real service gives to such an operation; recorded for most."""
    name, method = operation.name, operation.method
    assert status == operation.status
    named = (method in {"POST", "PUT", "PATCH"} and name not in NAMELESS) or (
        name == "get_node_remote_login_settings"
    )
    assert ("dataserviceid" in headers) == named
    assert ("location" in headers) == (status == HTTPStatus.CREATED)
    tagged = name in CREATED | TAGGED_ACTIONS or (operation.subject is not None and method != "DELETE")
    assert ("etag" in headers) == tagged
    of_a_file = operation.path.endswith("{filePath}") and method != "DELETE"
    assert ("last-modified" in headers) == (tagged or of_a_file)
    assert ("ocp-batch-file-url" in headers) == of_a_file
    assert headers["dataserviceversion"] == "3.0"


async def _listed(items: Any) -> list[Any]:
    return [item async for item in items]


async def _joined(parts: Any) -> bytes:
    return b"".join([part async for part in parts])
