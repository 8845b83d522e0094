"""Thousands of random requests in the service's own loop: no crash, no hang, and a refusal changes nothing.

`AZBATCH_FUZZ` says how many (1,000 without it), `AZBATCH_FUZZ_SEED` where to begin; a failure names its seed.
"""

from __future__ import annotations

import asyncio
import json
import os
import time
from random import Random
from typing import TYPE_CHECKING, Any

import pytest
from fuzz_requests import FuzzRequest, fuzz_request

from azbatch_core.local import LocalBatch
from azbatch_core.local.auth import SharedKey
from azbatch_core.local.errors import ERRORS
from azbatch_core.local.http.dispatch import BatchApplication
from azbatch_core.local.routes.table import OPERATIONS

if TYPE_CHECKING:
    from collections.abc import Iterator

COUNT = int(os.environ.get("AZBATCH_FUZZ", "1000"))
SEED = int(os.environ.get("AZBATCH_FUZZ_SEED", "1"))
SLOWEST = 10.0
"""Seconds for one answer, on a machine that does other things too."""
WITHIN = 600.0

MEANT = {"NotImplemented", "TooManyEnableAutoScaleRequests"}
"""The codes whose status is 5xx by the service's own table."""
POOL = {
    "id": "pool",
    "vmSize": "standard_d2s_v3",
    "virtualMachineConfiguration": {
        "imageReference": {"publisher": "canonical", "offer": "ubuntu-24_04-lts", "sku": "server"},
        "nodeAgentSKUId": "batch.node.ubuntu 24.04",
    },
    "targetDedicatedNodes": 1,
}
JOB = {"id": "job", "poolInfo": {"poolId": "pool"}}
SCHEDULE = {"id": "schedule", "schedule": {}, "jobSpecification": {"poolInfo": {"poolId": "nowhere"}}}
TASK = {"id": "task", "commandLine": "/bin/true"}
STANDING = (("/pools", POOL), ("/jobs", JOB), ("/jobschedules", SCHEDULE), ("/jobs/job/tasks", TASK))


class _Everybody:
    def verify(self, *_: Any) -> None:
        """Nobody is asked who they are."""


class Fuzz:
    """One run against one service; `ask` and all that follow run in the service's loop."""

    def __init__(self, batch: LocalBatch) -> None:
        assert batch._service is not None
        assert batch._service.engine is not None
        engine = batch._service.engine
        self.open = BatchApplication(engine, _Everybody(), OPERATIONS, batch.endpoint)
        keys = SharedKey(batch.account_name, batch.account_key)
        self.closed = BatchApplication(engine, keys, OPERATIONS, batch.endpoint)
        self.answered: set[str] = set()

    async def ask(self, request: FuzzRequest, application: BatchApplication) -> tuple[int, bytes]:
        """Status and body of the answer."""
        scope = {
            "type": "http",
            "method": request.method,
            "path": request.path,
            "raw_path": request.path.encode("latin-1"),
            "query_string": request.query.encode("latin-1"),
            "headers": [(name.encode(), value.encode("latin-1")) for name, value in request.headers.items()],
        }
        sent: list[Any] = []

        async def receive() -> Any:
            return {"type": "http.request", "body": request.body}

        async def send(message: Any) -> None:
            sent.append(message)

        await application(scope, receive, send)
        return sent[0]["status"], b"".join(message.get("body", b"") for message in sent[1:])

    async def plain(self, method: str, target: str, body: Any = None) -> Any:
        """A right request; the body of its answer."""
        path, _, query = target.partition("?")
        raw = b"" if body is None else json.dumps(body).encode()
        headers = {"host": "127.0.0.1", "content-type": "application/json", "content-length": str(len(raw))}
        query = f"api-version=2025-06-01&{query}".rstrip("&")
        _, found = await self.ask(FuzzRequest(OPERATIONS[0], method, path, query, headers, raw), self.open)
        return json.loads(found) if found else {}

    async def state(self) -> dict[str, Any]:
        """All that users have made."""
        found: dict[str, Any] = {}
        lists = ["/pools", "/jobs", "/jobschedules"]
        for target in lists:
            for item in (await self.plain("GET", target)).get("value", ()):
                place = f"{target}/{item['id']}"
                found[place] = item
                below = {"/pools": ["nodes"], "/jobs": ["tasks"]}.get(target, [])
                lists += [f"{place}/{name}" for name in below]
        return found

    async def run(self, first: int, count: int) -> None:
        """Ask `count` times."""
        for seed in range(first, first + count):
            if not seed % 100:  # begin anew: what has ended is of no use
                await self.plain("DELETE", "/jobs/job")
                await self.plain("DELETE", "/jobschedules/schedule")
            if not seed % 10:
                for target, body in STANDING:
                    await self.plain("POST", target, body)
            await asyncio.sleep(0)  # the engine's turn; from here to the comparison it has none
            before = await self.state()
            rng = Random(seed)  # noqa: S311 - no secrets are made of it
            request = fuzz_request(rng, [place.rpartition("/")[2] for place in before if "/nodes/" in place])
            application = self.closed if rng.random() < 0.05 else self.open
            begun = time.monotonic()
            status, raw = await self.ask(request, application)
            told = f"seed {seed}: {request} -> {status} {raw[:500]!r}"
            assert time.monotonic() - begun < SLOWEST, told
            self._check(request, status, raw, told)
            assert application is self.open or status >= 400, told
            if status >= 400:
                assert await self.state() == before, told

    def _check(self, request: FuzzRequest, status: int, raw: bytes, told: str) -> None:
        if status < 400:
            self.answered.add(request.operation.name)
            return
        if request.method == "HEAD":
            assert raw == b"", told
            return
        refusal = json.loads(raw)
        assert ERRORS[refusal["code"]].status == status, told
        assert status < 500 or refusal["code"] in MEANT, told


@pytest.fixture
def batch() -> Iterator[LocalBatch]:
    with LocalBatch() as batch:
        yield batch


def test_random_requests_are_answered_and_refusals_change_nothing(batch: LocalBatch) -> None:
    fuzz = Fuzz(batch)
    assert batch._loop is not None
    asyncio.run_coroutine_threadsafe(fuzz.run(SEED, COUNT), batch._loop).result(WITHIN)
    # Many get through: it is not all turned away at the door.
    assert len(fuzz.answered) > min(COUNT, 1000) / 20
