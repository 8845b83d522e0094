"""Formulas of pools that grow: what they come to, by the local service's evaluator; when they are changed."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime, timedelta, timezone
from typing import Any

import pytest

from azbatch_core.errors import SpecError
from azbatch_core.local.autoscale import PoolTargets, SampleSeries, evaluate
from azbatch_core.plan import AccountFacts, plan
from azbatch_core.plan.demand import Demand, plan_scaling
from azbatch_core.plan.nodes import Nodes
from azbatch_core.plan.scaling import PoolNow, Scaling, change, formula, read_formula, words
from azbatch_core.specs import JobSpec, ManagedPool, TaskSpec

NOW = datetime(2026, 12, 1, 12, 0, tzinfo=timezone.utc)
OLD = [0] * 200
"""Samples of a pool on which nothing has happened for long."""


def targets(scaling: Scaling, pending: list[int], present: int = 0) -> tuple[int, int]:
    """Dedicated and spot nodes that the formula comes to after these samples, the newest last."""
    samples = {"$PendingTasks": SampleSeries.ending(NOW - timedelta(seconds=30), pending)}
    result = evaluate(formula(scaling), samples, NOW, present=PoolTargets(present, present))
    assert result.error is None
    assert result.node_deallocation_option == "taskcompletion"
    return result.target_dedicated_nodes, result.target_low_priority_nodes


@pytest.mark.parametrize(
    ("pending", "nodes"),
    [([0], 0), ([1], 1), ([2], 1), ([3], 2), ([7], 4), ([8], 4), ([1000], 5)],
)
def test_one_node_for_so_many_tasks_as_far_as_allowed(pending: list[int], nodes: int):
    assert targets(Scaling(max_nodes=5, tasks_per_node=2), OLD + pending) == (nodes, 0)


def test_spot_nodes_instead_of_dedicated_ones():
    assert targets(Scaling(max_nodes=5, spot=True), [*OLD, 3], present=2) == (0, 3)


def test_a_new_pool_has_its_first_nodes_before_any_sample():
    scaling = Scaling(max_nodes=5, start_nodes=3)
    assert targets(scaling, []) == (3, 0)
    assert targets(scaling, [0] * 10) == (3, 0)  # five minutes later, and nothing was seen yet
    assert targets(scaling, [0] * 29) == (3, 0)
    assert targets(scaling, [0] * 31) == (0, 0)


def test_nodes_stay_for_the_idle_time_after_they_were_needed():
    scaling = Scaling(max_nodes=9, idle_time=timedelta(minutes=10))
    assert targets(scaling, [*OLD, 6, *[0] * 19]) == (6, 0)
    assert targets(scaling, [*OLD, 6, *[0] * 20]) == (0, 0)


def test_the_least_stay_for_ever():
    assert targets(Scaling(max_nodes=9, min_nodes=2), OLD) == (2, 0)


def test_a_submission_holds_nodes_until_a_moment():
    scaling = Scaling(max_nodes=9, start_nodes=4, start_until=NOW + timedelta(seconds=1))
    assert targets(scaling, OLD) == (4, 0)
    assert targets(replace(scaling, start_until=NOW), OLD) == (0, 0)


@pytest.mark.parametrize(
    "scaling",
    [
        Scaling(max_nodes=1),
        Scaling(7, 3, 2, 1, timedelta(minutes=5), spot=True),
        Scaling(7, 3, 2, 1, timedelta(hours=1), start_until=NOW),
    ],
)
def test_a_formula_tells_what_it_was_made_from(scaling: Scaling):
    assert read_formula(formula(scaling)) == scaling


@pytest.mark.parametrize("text", [None, "", "$TargetDedicatedNodes = 3;", formula(Scaling(2)) + "// mine"])
def test_somebody_elses_formula_tells_nothing(text: str | None):
    assert read_formula(text) is None


def pool(scaling: Scaling | None, **more: Any) -> PoolNow:
    """A pool of that formula, just made, with one node that has room for two tasks."""
    return PoolNow(
        **{"as_of": NOW, "created": NOW, "target_nodes": 1, "free_tasks": 2, "scaling": scaling, **more}
    )


HAS = Scaling(max_nodes=4, tasks_per_node=2)


def test_a_pool_with_room_stays_as_it_is():
    assert change(HAS, pool(HAS)) is None


def test_an_empty_pool_gets_nodes_at_once():
    wish = change(replace(HAS, start_nodes=3), pool(HAS, target_nodes=0, free_tasks=0))
    assert wish is not None
    assert (wish.at_once, wish.must, wish.scaling.start_nodes) == (True, True, 3)
    assert wish.scaling.start_until == NOW + timedelta(minutes=20)
    assert targets(wish.scaling, OLD) == (3, 0)


def test_nodes_that_others_use_do_not_count():
    wish = change(HAS, pool(HAS, target_nodes=2, free_tasks=1))
    assert wish is not None
    assert (wish.at_once, wish.must, wish.scaling.start_nodes) == (True, False, 3)


def test_a_pool_at_its_limit_grows_no_further():
    assert change(HAS, pool(HAS, target_nodes=4, free_tasks=0)) is None


@pytest.mark.parametrize(
    "more", [{"max_nodes": 9}, {"max_nodes": 2}, {"min_nodes": 1}, {"idle_time": timedelta(0)}]
)
def test_what_the_user_decides_is_changed_in_place(more: dict[str, Any]):
    wish = change(replace(HAS, **more), pool(HAS))
    assert wish is not None
    assert (wish.must, wish.at_once) == (True, False)
    assert replace(wish.scaling, start_until=None) == replace(HAS, **more)


def test_a_limit_that_nobody_gave_leaves_the_pools_own():
    assert change(replace(HAS, max_nodes=4, max_given=False), pool(replace(HAS, max_nodes=9))) is None


def test_a_formula_that_somebody_changed_is_put_right():
    wish = change(HAS, pool(None))
    assert wish is not None
    assert wish.must


def test_a_pool_in_use_goes_on_counting_by_its_largest_tasks():
    large, small = replace(HAS, tasks_per_node=1), replace(HAS, tasks_per_node=4)
    assert change(small, pool(large)) is None
    wish = change(small, pool(large, target_nodes=0, free_tasks=0))
    assert wish is not None
    assert wish.scaling.tasks_per_node == 4
    wish = change(large, pool(small))
    assert wish is not None
    assert wish.scaling.tasks_per_node == 1


def test_a_pool_that_is_soon_idle_is_told_that_it_is_used():
    late = NOW + timedelta(minutes=8)
    assert change(HAS, pool(HAS, as_of=NOW + timedelta(minutes=7))) is None
    wish = change(HAS, pool(HAS, as_of=late))
    assert wish is not None
    assert (wish.at_once, wish.must) == (False, False)
    again = pool(wish.scaling, as_of=late + timedelta(minutes=7))
    assert change(HAS, again) is None


def test_a_gang_is_counted_whole():
    nodes = Nodes("Standard_D4s_v5", None, 1, "image", {}, "agent", "linux")
    job = JobSpec(name="j", tasks=[TaskSpec(command=["true"])])
    demand = Demand(tasks=6, nodes=6, inter_node=True)
    scaling = plan_scaling(ManagedPool(), job, nodes, demand)
    assert (scaling.max_nodes, scaling.start_nodes, scaling.tasks_per_node) == (6, 6, 1)
    assert targets(scaling, [*OLD, 6]) == (6, 0)
    with pytest.raises(SpecError, match="gang of 6 nodes never runs on a pool of at most 5") as caught:
        plan_scaling(ManagedPool(max_nodes=5), job, nodes, demand)
    assert caught.value.field == "pool.max_nodes"


def scaling_of(facts: AccountFacts, **job: Any) -> Scaling:
    """How the pool of a job of ten tasks grows."""
    spec = JobSpec(**{"name": "j", "tasks": [TaskSpec(command=["true"])] * 10, **job})
    found = plan(spec, facts).pool.scaling
    assert found is not None
    return found


def test_the_tasks_say_how_many_nodes_there_are_at_first(local: AccountFacts):
    size = {"vm_size": "Standard_D4s_v5", "max_nodes": 20}
    assert scaling_of(local, pool=size).start_nodes == 3
    large = {"cpus": 3}
    assert scaling_of(local, pool=size, resources=large).start_nodes == 10
    assert scaling_of(local, pool=size, max_parallel_tasks=4).start_nodes == 1
    first, *rest = [TaskSpec(id=f"t{n}", command=["true"], depends_on=["t0"] if n else []) for n in range(9)]
    assert scaling_of(local, pool=size, tasks=[first, *rest]).start_nodes == 1


def test_the_words():
    assert words(Scaling(max_nodes=1)) == (
        "1 at once, then one for each task, up to 1 node; down to none 15m after they were needed"
    )
    text = words(Scaling(8, 4, 2, 1, spot=True, max_given=False))
    assert "up to 8 spot nodes (a pool that is there keeps its own limit); down to 1 15m" in text
