"""Both clients of the SDK behind one set of calls, so that a scenario is written once.

Lists come back whole, downloads as bytes, pollers when they are done. Every answer's status is compared with
the one that the local service's table of operations promises.
"""

from __future__ import annotations

import asyncio
import inspect
import time
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

WITHIN = 60.0
STATUS = {operation.name: operation.status for operation in OPERATIONS}


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

    def until(self, condition: Callable[[], Any]) -> Any:
        """The condition's first true value."""
        deadline = time.monotonic() + WITHIN
        while time.monotonic() < deadline:
            found = condition()
            if found:
                return found
        raise AssertionError("it did not come to that in time")

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
            assert first.status_code == STATUS[name]
            self.headers = {key.lower(): value for key, value in first.headers.items()}
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


async def _listed(items: Any) -> list[Any]:
    return [item async for item in items]


async def _joined(parts: Any) -> bytes:
    return b"".join([part async for part in parts])
