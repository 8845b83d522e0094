"""Accounts to plan for: made-up facts, always the same."""

from __future__ import annotations

from datetime import datetime, timezone

import pytest

from azbatch_core.plan import AccountFacts, PoolFacts


@pytest.fixture
def local() -> AccountFacts:
    """The local account."""
    return AccountFacts(
        account="local",
        endpoint="http://127.0.0.1:40001",
        is_local=True,
        user="ada",
        now=datetime(2026, 12, 1, 12, 0, tzinfo=timezone.utc),
        nonce="0a1b2c3d",
        key_auth=True,
        storage_endpoint="http://127.0.0.1:40001/localstore",
    )


@pytest.fixture
def cloud() -> AccountFacts:
    """An account on Azure, used with Entra ID."""
    return AccountFacts(
        account="prod",
        endpoint="https://prod.westeurope.batch.azure.com",
        is_local=False,
        user="ada",
        now=datetime(2026, 12, 1, 12, 0, tzinfo=timezone.utc),
        nonce="0a1b2c3d",
        storage_endpoint="https://prodstore.blob.core.windows.net",
    )


@pytest.fixture
def old_pool() -> PoolFacts:
    """An existing pool of one 4-core node with 4 slots, without containers."""
    return PoolFacts(
        id="mine", vm_size="standard_d4s_v5", task_slots_per_node=4, dedicated_nodes=1, target_nodes=1
    )
