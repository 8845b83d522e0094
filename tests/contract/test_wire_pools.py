"""Pools and nodes through the SDK."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING, Any

import pytest
import sdk_bodies as bodies
from azure.batch import BatchClient, models
from azure.core import MatchConditions
from azure.core.exceptions import HttpResponseError, ResourceModifiedError, ResourceNotFoundError
from sdk_client import code, connect
from waiting import until

from azbatch_core.local import LocalBatch

if TYPE_CHECKING:
    from collections.abc import Iterator


@pytest.fixture(scope="module")
def client() -> Iterator[BatchClient]:
    with LocalBatch() as batch, connect(batch) as client:
        yield client


def steady(client: BatchClient, pool_id: str) -> models.BatchPool:
    """The pool once it is steady."""
    until(lambda: client.get_pool(pool_id).allocation_state == "steady")
    return client.get_pool(pool_id)


def test_a_pool_is_made_shown_listed_and_deleted(client: BatchClient) -> None:
    client.create_pool(bodies.pool("made", 2, task_slots_per_node=2, resize_timeout=timedelta(minutes=20)))
    pool = client.get_pool("made")
    assert (pool.id, pool.state, pool.target_dedicated_nodes) == ("made", "active", 2)
    assert pool.resize_timeout == timedelta(minutes=20)
    assert pool.task_scheduling_policy is not None
    assert pool.task_scheduling_policy.node_fill_type == "Spread"
    assert pool.etag
    assert '"' not in pool.etag
    assert "made" in [item.id for item in client.list_pools()]
    client.begin_delete_pool("made").wait()
    with pytest.raises(ResourceNotFoundError) as error:
        client.get_pool("made")
    assert code(error) == "PoolNotFound"
    assert "(PoolNotFound) The specified pool does not exist." in str(error.value)


def test_a_pool_has_nodes_with_files_and_counts(client: BatchClient) -> None:
    client.create_pool(bodies.pool("noded", 1))
    client.begin_resize_pool("noded", models.BatchPoolResizeOptions(target_dedicated_nodes=2)).wait()
    nodes = list(client.list_nodes("noded"))
    assert len(nodes) == 2
    node = client.get_node("noded", nodes[0].id)
    assert node.affinity_id == f"TVM:{node.id}"
    assert node.is_dedicated
    names = {item.name for item in client.list_node_files("noded", node.id)}
    assert {"shared", "startup", "workitems"} <= names
    [counts] = client.list_pool_node_counts(filter="poolId eq 'noded'")
    assert counts.dedicated is not None
    assert counts.dedicated.total == 2
    with pytest.raises(ResourceNotFoundError) as error:
        client.get_node("noded", "tvmps_nobody")
    assert code(error) == "NodeNotFound"


def test_pools_are_changed_and_conditions_hold(client: BatchClient) -> None:
    client.create_pool(bodies.pool("changed", metadata=[models.BatchMetadataItem(name="a", value="1")]))
    tag = client.get_pool("changed").etag
    start = models.BatchStartTask(command_line="/bin/true")
    client.update_pool("changed", models.BatchPoolUpdateOptions(start_task=start))
    pool = client.get_pool("changed")
    assert pool.start_task is not None
    assert pool.start_task.wait_for_success
    assert pool.metadata is not None
    assert pool.metadata[0].value == "1"
    with pytest.raises(ResourceModifiedError) as error:
        client.update_pool(
            "changed",
            models.BatchPoolUpdateOptions(metadata=[]),
            etag=tag,
            match_condition=MatchConditions.IfNotModified,
        )
    assert code(error) == "ConditionNotMet"
    client.replace_pool_properties(
        "changed", models.BatchPoolReplaceOptions(application_package_references=[], metadata=[])
    )
    assert client.get_pool("changed").start_task is None


def test_existence_is_a_head_request(client: BatchClient) -> None:
    client.create_pool(bodies.pool("there"))
    assert client.pool_exists("there") is True
    with pytest.raises(ResourceNotFoundError):  # the SDK raises before it looks at the status
        client.pool_exists("nowhere")


def test_lists_are_paged_filtered_and_narrowed(client: BatchClient) -> None:
    for number in range(5):
        client.create_pool(bodies.pool(f"page-{number}"))
    pages = list(client.list_pools(max_results=2, filter="startswith(id,'page-')", select=["id"]).by_page())
    assert [[item.id for item in page] for page in pages] == [
        ["page-0", "page-1"],
        ["page-2", "page-3"],
        ["page-4"],
    ]
    [only] = client.list_pools(filter="id eq 'page-3'", select=["id", "state"])
    assert set(only.as_dict()) == {"id", "state"}


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        ({"max_results": -5}, "MaxResults cannot be less than 1"),
        ({"filter": "colour eq 'red'"}, "colour is not a property"),
        ({"filter": "state ne 'active'"}, "state cannot be filtered by ne"),
        ({"select": ["colour"]}, "colour is not a property"),
    ],
)
def test_wrong_query_options_are_named(client: BatchClient, arguments: dict[str, Any], reason: str) -> None:
    with pytest.raises(HttpResponseError) as error:
        list(client.list_pools(**arguments))
    assert code(error) == "InvalidQueryParameterValue"
    assert error.value.error is not None
    assert reason in " ".join(str(detail.message) for detail in error.value.error.details)


def test_what_cannot_be_is_refused_by_the_services_codes(client: BatchClient) -> None:
    client.create_pool(bodies.pool("taken"))
    refused = [
        (bodies.pool("taken"), "PoolExists"),
        (bodies.pool("no spaces"), "InvalidPropertyValue"),
        (bodies.pool("slots", task_slots_per_node=1000), "InvalidPropertyValue"),
        (bodies.pool("short", resize_timeout=timedelta(minutes=1)), "InvalidPropertyValue"),
    ]
    for body, expected in refused:
        with pytest.raises(HttpResponseError) as error:
            client.create_pool(body)
        assert code(error) == expected


def test_a_retired_operation_says_so(client: BatchClient) -> None:
    with pytest.raises(HttpResponseError) as error:
        list(client.list_pool_usage_metrics())
    assert code(error) == "PoolUsageMetricAPIRetired"


def test_supported_images_can_be_filtered(client: BatchClient) -> None:
    images = list(client.list_supported_images(filter="osType eq 'linux' and verificationType eq 'verified'"))
    agents = {image.node_agent_sku_id for image in images}
    assert "batch.node.ubuntu 24.04" in agents
    assert all(image.os_type == "linux" for image in images)


def test_stopping_a_resize_that_has_ended_is_no_error(client: BatchClient) -> None:
    client.create_pool(bodies.pool("stopped"))
    client.begin_resize_pool("stopped", models.BatchPoolResizeOptions(target_dedicated_nodes=1)).wait()
    client.begin_stop_pool_resize("stopped").wait()
    client.disable_pool_auto_scale("stopped")
    pool = client.get_pool("stopped")
    assert (pool.allocation_state, pool.target_dedicated_nodes, pool.resize_errors) == ("steady", 1, None)


def test_a_pool_scales_by_a_formula(client: BatchClient) -> None:
    client.create_pool(bodies.pool("scales", 1))
    before = steady(client, "scales")
    formula = "$TargetDedicatedNodes=2;$NodeDeallocationOption=taskcompletion"
    enable = models.BatchPoolEnableAutoScaleOptions(
        auto_scale_formula=formula, auto_scale_evaluation_interval=timedelta(minutes=6)
    )
    client.enable_pool_auto_scale("scales", enable)
    pool = steady(client, "scales")
    assert (pool.enable_auto_scale, pool.auto_scale_formula) == (True, formula)
    assert pool.auto_scale_evaluation_interval == timedelta(minutes=6)
    assert pool.current_dedicated_nodes == 2
    assert pool.etag != before.etag
    assert pool.auto_scale_run is not None
    assert pool.auto_scale_run.results == (
        "$TargetDedicatedNodes=2;$TargetLowPriorityNodes=0;$NodeDeallocationOption=taskcompletion"
    )
    with pytest.raises(HttpResponseError) as error:
        client.enable_pool_auto_scale("scales", enable)
    assert (error.value.status_code, code(error)) == (503, "TooManyEnableAutoScaleRequests")
    with pytest.raises(HttpResponseError) as error:
        client.begin_resize_pool("scales", models.BatchPoolResizeOptions(target_dedicated_nodes=1))
    assert (error.value.status_code, code(error)) == (409, "OperationInvalidForCurrentState")

    def evaluate(text: str) -> models.AutoScaleRun:
        return client.evaluate_pool_auto_scale(
            "scales", models.BatchPoolEvaluateAutoScaleOptions(auto_scale_formula=text)
        )

    run = evaluate("x = 7 / 2; $TargetDedicatedNodes = x")
    assert run.error is None
    assert run.results == (
        "$TargetDedicatedNodes=3;$TargetLowPriorityNodes=0;$NodeDeallocationOption=requeue;x=3.5"
    )
    assert run.timestamp >= pool.auto_scale_run.timestamp
    run = evaluate("something_useless")
    assert run.error is not None
    assert run.error.code == "AutoScalingFormulaEvaluationError"
    assert run.error.error_values is not None
    assert [(pair.name, pair.value) for pair in run.error.error_values] == [
        ("Message", "Line 1, Col 1: Undefined symbol: something_useless")
    ]
    with pytest.raises(HttpResponseError) as error:
        evaluate("$TargetDedicatedNodes = (")
    assert (error.value.status_code, code(error)) == (400, "AutoScalingFormulaSyntaxError")
    assert client.get_pool("scales").etag == pool.etag

    client.disable_pool_auto_scale("scales")
    off = client.get_pool("scales")
    assert (off.enable_auto_scale, off.auto_scale_formula, off.auto_scale_run) == (False, None, None)
    assert (off.target_dedicated_nodes, off.current_dedicated_nodes) == (2, 2)


def test_a_pool_is_made_with_a_formula(client: BatchClient) -> None:
    wanted = bodies.pool("formula", enable_auto_scale=True, auto_scale_formula="$TargetDedicatedNodes=1")
    with pytest.raises(HttpResponseError) as error:
        client.create_pool(wanted)
    assert (error.value.status_code, code(error)) == (400, "InvalidAutoScalingSettings")
    wanted.target_dedicated_nodes = None
    client.create_pool(wanted)
    pool = steady(client, "formula")
    assert (pool.enable_auto_scale, pool.current_dedicated_nodes) == (True, 1)
    assert pool.auto_scale_evaluation_interval == timedelta(minutes=15)
