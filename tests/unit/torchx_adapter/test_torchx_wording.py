"""Errors of azbatch's plan in the words of TorchX's options."""

from __future__ import annotations

from datetime import datetime, timezone
from typing import Any

import pytest
from torchx_fakes import App, Resource, Role

from azbatch_core import AzBatchError
from azbatch_core.plan import AccountFacts, PoolFacts, plan
from azbatch_torchx import mapping, wording
from azbatch_torchx.options import RunOptions

ACCOUNT: dict[str, Any] = {
    "account": "prod",
    "endpoint": "https://prod.westeurope.batch.azure.com",
    "is_local": False,
    "user": "ada",
    "now": datetime(2026, 12, 1, tzinfo=timezone.utc),
    "nonce": "0a1b2c3d",
}
FILE_WORDS = ("pool.", ": true", "pool: ", "inter_node_communication", "[0]", "task_slots", "max_nodes: ")


def said(role: Role, pool: dict[str, Any] | None = None, **options: Any) -> str:
    """What is wrong with a role, by its own plan."""
    known = {"id": "p", "vm_size": "standard_d4s_v5", "dedicated_nodes": 2, "target_nodes": 2}
    facts = AccountFacts(**ACCOUNT, pool=PoolFacts(**{**known, **pool}) if pool is not None else None)
    if pool is not None:
        options["pool"] = "p"
    with pytest.raises(AzBatchError) as caught:
        plan(mapping.to_job(App(), [role], "j", RunOptions(**options), "0.7.0").job, facts)
    return wording.in_options(str(caught.value))


GANG = Role(num_replicas=3)
FIT = {"inter_node_communication": True, "has_containers": True}


@pytest.mark.parametrize(
    ("text", "hint"),
    [
        (said(Role(resource=Resource(memMB=99_000_000))), "ask for less for each role"),
        (said(Role(), identity="nonsense"), "identity: "),
        (said(GANG, {"has_containers": True}), "- leave pool out, and one that fits is made"),
        (said(GANG, {**FIT, "task_slots_per_node": 4}), "- leave pool out, and one that fits is made"),
        (said(GANG, FIT), "- resize it first (azbatch pools resize), or leave pool out, and"),
        (said(GANG, {**FIT, "target_nodes": None, "formula_nodes": 2}), "at most 2 - leave pool out, and"),
        (said(GANG, max_nodes=2), "- max_nodes=3 or more"),
        (said(GANG, max_nodes=101), "- a smaller max_nodes"),
        (said(Role(num_replicas=101)), "num_replicas: 101 is out of range"),
        (said(Role(), {}), "- name another pool, or containers=false"),
        (said(Role(), {"has_containers": True}, containers=False), "- leave containers=false out"),
        (said(Role(resource=Resource(cpu=64)), {"has_containers": True}), "standard_d4s_v5"),
        (said(Role(), vm_size="big size"), "vm_size: 'big size' is not a VM size"),
    ],
)
def test_hints_name_what_a_run_can_change(text: str, hint: str) -> None:
    assert hint.lower() in text.lower()
    assert not [word for word in FILE_WORDS if word in text], text
