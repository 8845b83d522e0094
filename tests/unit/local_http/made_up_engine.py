"""An engine that knows a few pools by heart."""

from __future__ import annotations

import contextlib

from azbatch_core.local.errors import BatchError

ETAG = "0x8DD365DD6AC9F42"


def document(name):
    return {
        "id": name,
        "state": "active",
        "eTag": ETAG,
        "lastModified": "2025-01-16T18:44:41.7974082Z",
        "taskSchedulingPolicy": {"nodeFillType": "spread"},
    }


class Nothing:
    """Of this there is none."""

    def __getattr__(self, name):
        def refuse(*_arguments, **_options):
            raise BatchError("ResourceNotFound")

        return refuse


class MadeUpPools(Nothing):
    """Knows a few pools by heart, and notes what it is asked."""

    def __init__(self):
        self.asked = []

    def get(self, pool_id):
        if pool_id == "broken":
            raise RuntimeError("this engine is broken")
        if not pool_id.startswith("pool"):
            raise BatchError("PoolNotFound")
        return document(pool_id)

    def create(self, body):
        self.asked.append(body)
        return document(body["id"])

    def patch(self, pool_id, body):
        self.asked.append((pool_id, body))
        return document(pool_id)

    replace = patch

    def delete(self, pool_id):
        self.asked.append(pool_id)
        return document(pool_id)

    def page(self, match, after, limit, hints):
        self.asked.append(hints)
        pools = [document(f"pool{number}") for number in range(int(after or 0), 5)]
        found = [pool for pool in pools if match is None or match(pool)]
        return found[:limit], str(int(after or 0) + limit) if len(found) > limit else None


class MadeUpTasks(Nothing):
    """Takes every task."""

    def add_collection(self, _job_id, bodies):
        return [{"taskId": body["id"], "status": "Success"} for body in bodies]

    def reactivate(self, _job_id, task_id):
        return document(task_id)


class MadeUpEngine:
    """Has pools, and jobs that take tasks."""

    guard = contextlib.nullcontext

    def __init__(self):
        self.pools = MadeUpPools()
        self.nodes = self.jobs = Nothing()
        self.tasks = MadeUpTasks()
        self.asked = self.pools.asked
