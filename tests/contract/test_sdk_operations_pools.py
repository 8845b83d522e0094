"""Every operation on pools, by both clients of the SDK."""

from __future__ import annotations

from contextlib import closing
from datetime import timedelta
from typing import TYPE_CHECKING

import pytest
import sdk_bodies as bodies
from azure.batch import models
from azure.core.exceptions import ResourceNotFoundError
from waiting import until
from wire_client import Wire

if TYPE_CHECKING:
    from sdk_calls import Sdk

    from azbatch_core.local import LocalBatch


def test_a_pool_from_its_creation_to_its_deletion(sdk: Sdk) -> None:
    pool_id = sdk.name("life")
    sdk.create_pool(bodies.pool(pool_id, metadata=[models.BatchMetadataItem(name="a", value="1")]))
    assert sdk.headers["location"].endswith(f"/pools/{pool_id}")
    assert sdk.pool_exists(pool_id) is True
    assert bodies.shown(sdk.get_pool(pool_id, select=["id", "state"])) == {"id": pool_id, "state": "active"}
    assert [found.id for found in sdk.list_pools(filter=f"id eq '{pool_id}'")] == [pool_id]
    start = models.BatchStartTask(command_line="/bin/true")
    sdk.update_pool(pool_id, models.BatchPoolUpdateOptions(start_task=start))
    assert sdk.get_pool(pool_id).start_task.wait_for_success is True
    replacement = models.BatchPoolReplaceOptions(application_package_references=[], metadata=[])
    sdk.replace_pool_properties(pool_id, replacement)
    pool = sdk.get_pool(pool_id)
    assert (pool.start_task, pool.metadata) == (None, None)
    sdk.begin_delete_pool(pool_id)
    with pytest.raises(ResourceNotFoundError):
        sdk.get_pool(pool_id)


def test_a_pool_grows_stops_and_loses_nodes(sdk: Sdk) -> None:
    pool_id = sdk.name("size")
    sdk.create_pool(bodies.pool(pool_id))
    until(lambda: sdk.get_pool(pool_id).allocation_state == "steady")
    sdk.begin_resize_pool(pool_id, models.BatchPoolResizeOptions(target_dedicated_nodes=2))
    nodes = until(lambda: [node for node in sdk.list_nodes(pool_id) if node.state == "idle"][1:] or None)
    sdk.begin_remove_nodes(pool_id, models.BatchNodeRemoveOptions(node_ids=[nodes[0].id]))
    pool = sdk.get_pool(pool_id)
    assert (pool.target_dedicated_nodes, pool.current_dedicated_nodes) == (1, 1)
    [counts] = sdk.list_pool_node_counts(filter=f"poolId eq '{pool_id}'")
    assert (counts.dedicated.idle, counts.dedicated.total) == (1, 1)
    sdk.begin_delete_pool(pool_id)


def test_a_resize_is_stopped(sdk: Sdk, local: LocalBatch) -> None:
    pool_id = sdk.name("stop")
    sdk.create_pool(bodies.pool(pool_id, 1))
    sdk.create_job(bodies.job(pool_id, pool_id))
    sdk.create_task(pool_id, bodies.task("t", "sleep 300"))
    until(lambda: sdk.get_task(pool_id, "t").state == "running")
    # By hand: the SDK's poller would go on asking meanwhile.
    less = {"targetDedicatedNodes": 0, "nodeDeallocationOption": "taskcompletion"}
    with closing((wire := Wire(local)).connection):
        assert wire.ask("POST", f"/pools/{pool_id}/resize", less)[0].status == 202
    sdk.begin_stop_pool_resize(pool_id)
    pool = sdk.get_pool(pool_id)
    assert (pool.allocation_state, pool.current_dedicated_nodes) == ("steady", 1)
    sdk.begin_delete_job(pool_id)
    sdk.begin_delete_pool(pool_id)


def test_a_pool_scales_itself_by_a_formula(sdk: Sdk) -> None:
    pool_id = sdk.name("scale")
    sdk.create_pool(bodies.pool(pool_id))
    until(lambda: sdk.get_pool(pool_id).allocation_state == "steady")
    formula, interval = "$TargetDedicatedNodes=0;", timedelta(minutes=6)
    enabling = models.BatchPoolEnableAutoScaleOptions(
        auto_scale_formula=formula, auto_scale_evaluation_interval=interval
    )
    sdk.enable_pool_auto_scale(pool_id, enabling)
    pool = sdk.get_pool(pool_id)
    assert (pool.enable_auto_scale, pool.auto_scale_evaluation_interval) == (True, interval)
    trying = models.BatchPoolEvaluateAutoScaleOptions(auto_scale_formula="$TargetDedicatedNodes=3;")
    run = sdk.evaluate_pool_auto_scale(pool_id, trying)
    assert run.results == (
        "$TargetDedicatedNodes=3;$TargetLowPriorityNodes=0;$NodeDeallocationOption=requeue"
    )
    sdk.disable_pool_auto_scale(pool_id)
    assert sdk.get_pool(pool_id).enable_auto_scale is False
    sdk.begin_delete_pool(pool_id)
