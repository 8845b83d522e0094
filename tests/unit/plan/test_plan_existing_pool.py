"""A pool that is there already: what the job needs of it is checked before anything is sent."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from azbatch_core.errors import Conflict, SpecError
from azbatch_core.plan import AccountFacts, Plan, PoolFacts, plan
from azbatch_core.specs import JobSpec, TaskSpec


def on_pool(
    facts: AccountFacts, pool: PoolFacts | None, job: dict[str, Any] | None = None, **task: Any
) -> Plan:
    """A plan of one task on the pool ``mine``."""
    spec = TaskSpec(**{"command": ["true"], **task})
    return plan(
        JobSpec(**{"name": "j", "pool": "mine", "tasks": [spec], **(job or {})}), replace(facts, pool=pool)
    )


def test_the_pool_is_used_as_it_is(cloud: AccountFacts, old_pool: PoolFacts):
    planned = on_pool(cloud, old_pool)
    pool = planned.pool
    assert (pool.kind, pool.action, pool.id, pool.body) == ("existing", "use", "mine", None)
    assert (pool.vm_size, pool.task_slots_per_node, pool.nodes) == ("Standard_D4s_v5", 4, 1)
    assert planned.job_body["poolInfo"] == {"poolId": "mine"}
    assert planned.warnings == ()
    assert planned.hourly_price_usd == pytest.approx(0.23)


def test_a_pool_is_found_in_any_case(cloud: AccountFacts, old_pool: PoolFacts):
    planned = on_pool(cloud, old_pool, {"pool": "MINE"})
    assert planned.pool.id == "mine"
    assert planned.warnings == ()


def test_a_task_that_needs_more_slots_than_a_node_has_never_runs(cloud: AccountFacts, old_pool: PoolFacts):
    with pytest.raises(SpecError, match="takes 8 task slots, but a node of pool 'mine' has 4") as caught:
        on_pool(cloud, old_pool, required_slots=8)
    assert caught.value.field == "required_slots"


def test_a_task_larger_than_the_node_is_refused(cloud: AccountFacts, old_pool: PoolFacts):
    with pytest.raises(SpecError, match="needs 32GiB memory, but a node of size Standard_D4s_v5 has 16"):
        on_pool(cloud, old_pool, resources={"memory": "32GiB"})


def test_slots_are_counted_by_the_slots_that_the_pool_has(cloud: AccountFacts, old_pool: PoolFacts):
    half = {"memory": "8GiB"}
    assert on_pool(cloud, old_pool, resources=half).tasks[0].body["requiredSlots"] == 2
    single = replace(old_pool, task_slots_per_node=1)
    assert "requiredSlots" not in on_pool(cloud, single, resources=half).tasks[0].body


def test_a_pool_that_runs_containers_takes_no_task_without_one(cloud: AccountFacts, old_pool: PoolFacts):
    docker = replace(old_pool, has_containers=True)
    with pytest.raises(
        SpecError, match="pool 'mine' runs every task in a container, and this task names none"
    ):
        on_pool(cloud, docker)
    assert on_pool(cloud, docker, {"container": "ubuntu:24.04"}).tasks[0].body["containerSettings"]


def test_a_pool_without_containers_takes_no_task_with_one(cloud: AccountFacts, old_pool: PoolFacts):
    with pytest.raises(SpecError, match="has no container configuration"):
        on_pool(cloud, old_pool, container="ubuntu:24.04")
    with pytest.raises(SpecError, match="the job's preparation runs in a container"):
        on_pool(cloud, old_pool, {"preparation": {"command": ["true"], "container": "ubuntu:24.04"}})


def test_a_pool_that_is_being_deleted_takes_no_job(cloud: AccountFacts, old_pool: PoolFacts):
    with pytest.raises(Conflict, match="being deleted") as caught:
        on_pool(cloud, replace(old_pool, state="deleting"))
    assert caught.value.code == "PoolBeingDeleted"


def test_a_pool_without_nodes_is_a_warning(cloud: AccountFacts, old_pool: PoolFacts):
    empty = replace(old_pool, dedicated_nodes=0, target_nodes=0)
    assert any("has no nodes and is to have none" in text for text in on_pool(cloud, empty).warnings)
    autoscaled = replace(empty, target_nodes=None)
    assert on_pool(cloud, autoscaled).warnings == ()


def test_a_pool_of_a_size_that_nobody_knows_is_used_with_a_warning(cloud: AccountFacts, old_pool: PoolFacts):
    strange = replace(old_pool, vm_size="basic_a0")
    planned = on_pool(cloud, strange, resources={"cpus": 2})
    assert any("does not know the VM size 'basic_a0'" in text for text in planned.warnings)
    assert "requiredSlots" not in planned.tasks[0].body
    assert planned.hourly_price_usd is None


def test_a_pool_that_was_not_looked_up_is_used_unchecked(cloud: AccountFacts):
    planned = on_pool(cloud, None, required_slots=200, container="ubuntu:24.04")
    assert planned.pool.id == "mine"
    assert planned.pool.task_slots_per_node is None
    assert planned.tasks[0].body["requiredSlots"] == 200
    assert any("pool 'mine' was not looked up" in text for text in planned.warnings)


def test_a_private_image_on_a_pool_whose_registries_nobody_knows_is_a_warning(
    cloud: AccountFacts, old_pool: PoolFacts
):
    docker = replace(old_pool, has_containers=True)
    (text,) = on_pool(cloud, docker, container="mine.azurecr.io/a:1").warnings
    assert "pool 'mine' must know that registry" in text
    assert on_pool(cloud, docker, container="mcr.microsoft.com/a:1").warnings == ()


def test_a_pool_of_a_size_that_retires_is_a_warning(cloud: AccountFacts, old_pool: PoolFacts):
    (text,) = on_pool(cloud, replace(old_pool, vm_size="standard_a2_v2")).warnings
    assert text == "pool 'mine': VM size Standard_A2_v2 retires on 2028-11-15"
