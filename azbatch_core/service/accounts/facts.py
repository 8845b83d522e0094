"""What a plan must know of the account and of the pool that a job names."""

from __future__ import annotations

import getpass
import secrets
from typing import TYPE_CHECKING, Any

from azbatch_core.errors import NotFound
from azbatch_core.service.documents import requests

if TYPE_CHECKING:
    from azbatch_core.plan import AccountFacts, PoolFacts
    from azbatch_core.service.connect.connection import Connection
    from azbatch_core.specs import JobSpec

_NONCE_BYTES = 4
_UNKNOWN_USER = "unknown"


def current_user() -> str:
    """Who submits: the login name, as it stands in the metadata of jobs."""
    try:
        return getpass.getuser()
    except (KeyError, OSError, ImportError):
        # A container's user id may have no name.
        return _UNKNOWN_USER


def gather(connection: Connection, job: JobSpec) -> AccountFacts:
    """Read what planning this job needs: one request when it names a pool, none otherwise.

    Raises:
        NotFound: There is no pool of the name that the job gives.
    """
    from azbatch_core.plan import AccountFacts

    account = connection.account
    return AccountFacts(
        account=account.name,
        endpoint=connection.endpoint,
        is_local=connection.is_local,
        user=current_user(),
        now=connection.clock.now(),
        nonce=secrets.token_hex(_NONCE_BYTES),
        pool=_pool(connection, job),
        key_auth=connection.key_auth,
        storage_endpoint=account.storage.blob_endpoint if account.storage else None,
    )


def _pool(connection: Connection, job: JobSpec) -> PoolFacts | None:
    if job.pool is None or job.pool.kind != "existing":
        return None
    from azbatch_core.plan import PoolFacts
    from azbatch_core.plan.scaling import most_nodes

    try:
        pool: dict[str, Any] = requests.send(connection, "GET", "pools", job.pool.id)
    except NotFound as error:
        raise NotFound(
            f"the account {connection.account.name} has no pool {job.pool.id!r}",
            code=error.code,
            request_id=error.request_id,
            hint="`azbatch pools` lists them; without a pool in the job, azbatch makes one",
        ) from error
    targets = int(pool.get("targetDedicatedNodes") or 0) + int(pool.get("targetLowPriorityNodes") or 0)
    return PoolFacts(
        id=str(pool.get("id")),
        vm_size=str(pool.get("vmSize")),
        task_slots_per_node=int(pool.get("taskSlotsPerNode") or 1),
        has_containers=bool((pool.get("virtualMachineConfiguration") or {}).get("containerConfiguration")),
        state=str(pool.get("state", "active")).lower(),
        dedicated_nodes=int(pool.get("currentDedicatedNodes") or 0),
        spot_nodes=int(pool.get("currentLowPriorityNodes") or 0),
        target_nodes=None if pool.get("enableAutoScale") else targets,
        inter_node_communication=bool(pool.get("enableInterNodeCommunication")),
        formula_nodes=most_nodes(pool.get("autoScaleFormula")),
    )
