"""Conditional headers on every operation that takes them, by both clients of the SDK."""

from __future__ import annotations

import inspect
from datetime import datetime, timedelta, timezone
from typing import TYPE_CHECKING, Any

import pytest
import sdk_bodies as bodies
from azure.batch import BatchClient, models
from azure.core import MatchConditions
from azure.core.exceptions import HttpResponseError
from waiting import until

from azbatch_core.local.routes.table import OPERATIONS

if TYPE_CHECKING:
    from collections.abc import Callable

    from sdk_calls import Sdk

OTHER = "0x8DD365F370239D0"
LONG_AGO = datetime(2020, 1, 1, tzinfo=timezone.utc)
CONDITIONAL = [
    operation
    for operation in OPERATIONS
    if "if_modified_since" in inspect.signature(getattr(BatchClient, operation.name)).parameters
]
_POOL = models.BatchPoolInfo(pool_id="nowhere")
BODIES: dict[str, Any] = {
    "update_pool": models.BatchPoolUpdateOptions(display_name="new"),
    "enable_pool_auto_scale": models.BatchPoolEnableAutoScaleOptions(
        auto_scale_formula="$TargetDedicatedNodes=0;"
    ),
    "begin_resize_pool": models.BatchPoolResizeOptions(target_dedicated_nodes=0),
    "begin_remove_nodes": models.BatchNodeRemoveOptions(node_ids=["tvmps_nobody"]),
    "update_job": models.BatchJobUpdateOptions(priority=1),
    "replace_job": models.BatchJob(pool_info=_POOL, priority=1),
    "begin_disable_job": models.BatchJobDisableOptions(disable_tasks="requeue"),
    "begin_terminate_job": bodies.TERMINATE,
    "update_job_schedule": models.BatchJobScheduleUpdateOptions(metadata=[]),
    "replace_job_schedule": models.BatchJobSchedule(
        schedule=bodies.schedule("s").schedule, job_specification=bodies.schedule("s").job_specification
    ),
    "replace_task": models.BatchTask(constraints=models.BatchTaskConstraints(max_task_retry_count=1)),
}
FILES = [operation for operation in CONDITIONAL if "{filePath}" in operation.path]
TAGGED = [operation for operation in CONDITIONAL if operation not in FILES]


def name_of(operation: Any) -> str:
    return str(operation.name)


def test_the_table_names_a_resource_wherever_the_sdk_sends_conditions() -> None:
    assert {operation.name for operation in OPERATIONS if operation.subject} == set(map(name_of, TAGGED))


class Place:
    """One resource of each kind, as what an operation is about."""

    def __init__(self, sdk: Sdk, name: str) -> None:
        self.sdk = sdk
        self.ids = dict.fromkeys(("poolId", "jobId", "jobScheduleId"), name) | {"taskId": "t"}
        self.pool, self.job = name, name
        sdk.create_pool(bodies.pool(name))
        until(lambda: sdk.get_pool(name).allocation_state == "steady")
        sdk.create_job(bodies.job(name))
        sdk.create_task(name, bodies.task("t"))
        self.schedule = f"{name}-s"
        self.ids["jobScheduleId"] = self.schedule
        sdk.create_job_schedule(bodies.schedule(self.schedule))

    def arguments(self, operation: Any) -> list[Any]:
        """The positional arguments of a call."""
        names = [part.strip("{}") for part in operation.path.split("/") if part.startswith("{")]
        body = BODIES.get(operation.name)
        return [self.ids[name] for name in names] + ([] if body is None else [body])

    def written(self, operation: Any) -> tuple[str, datetime]:
        """The resource's tag, and when it was last written."""
        found = {
            "jobScheduleId": lambda: self.sdk.get_job_schedule(self.schedule),
            "taskId": lambda: self.sdk.get_task(self.job, "t"),
            "jobId": lambda: self.sdk.get_job(self.job),
            "poolId": lambda: self.sdk.get_pool(self.pool),
        }
        last = operation.path.rpartition("}")[0].rpartition("{")[2]
        resource = found[last]()
        return resource.etag, resource.last_modified

    def clear(self) -> None:
        """Delete what an operation has left."""
        assert code_of(self.sdk.begin_delete_job_schedule, self.schedule) in {"", "JobScheduleNotFound"}
        assert code_of(self.sdk.begin_delete_job, self.job) in {"", "JobNotFound"}
        assert code_of(self.sdk.begin_delete_pool, self.pool) in {"", "PoolNotFound"}


def code_of(call: Callable[..., Any], *arguments: Any, **more: Any) -> str:
    """The code of the error that a call ends in; empty if it ends well."""
    try:
        call(*arguments, **more)
    except HttpResponseError as error:
        return str(error.error and error.error.code)
    return ""


@pytest.mark.parametrize("operation", TAGGED, ids=name_of)
def test_a_request_goes_ahead_only_while_its_condition_holds(sdk: Sdk, operation: Any) -> None:
    place = Place(sdk, sdk.name(operation.name[:40]))
    call, arguments = getattr(sdk, operation.name), place.arguments(operation)
    tag, modified = place.written(operation)
    reading = operation.method in ("GET", "HEAD")
    unmet: list[tuple[dict[str, Any], bool]] = [
        ({"etag": OTHER, "match_condition": MatchConditions.IfNotModified}, False),
        ({"etag": tag, "match_condition": MatchConditions.IfModified}, True),
        ({"match_condition": MatchConditions.IfMissing}, True),
        ({"if_unmodified_since": LONG_AGO}, False),
        ({"if_modified_since": modified + timedelta(seconds=1)}, True),
    ]
    for condition, known in unmet:
        with pytest.raises(HttpResponseError) as caught:
            call(*arguments, **condition)
        assert caught.value.status_code == (304 if reading and known else 412)
        if not reading:
            assert caught.value.error is not None
            assert caught.value.error.code == "ConditionNotMet"
    assert place.written(operation) == (tag, modified)
    met: list[dict[str, Any]] = [
        {"etag": tag, "match_condition": MatchConditions.IfNotModified},
        {"etag": OTHER, "match_condition": MatchConditions.IfModified},
        {"match_condition": MatchConditions.IfPresent},
        {"if_unmodified_since": modified + timedelta(seconds=1)},
        {"if_modified_since": LONG_AGO},
    ]
    for condition in met if reading else met[:1]:
        # It holds; the state may still forbid what is asked for.
        assert code_of(call, *arguments, **condition) != "ConditionNotMet"
    place.clear()


@pytest.mark.parametrize("operation", FILES, ids=name_of)
def test_files_are_read_only_while_the_condition_holds(sdk: Sdk, operation: Any) -> None:
    name = sdk.name(operation.name)
    sdk.create_pool(bodies.pool(name, 1))
    sdk.create_job(bodies.job(name, name))
    sdk.create_task(name, bodies.task("t"))
    task = until(lambda: (found := sdk.get_task(name, "t")).state == "completed" and found)
    arguments = [name, "t", "stdout.txt"]
    if "{nodeId}" in operation.path:
        root = task.node_info.task_root_directory
        arguments = [name, task.node_info.node_id, f"{root}/stdout.txt"]
    call = getattr(sdk, operation.name)
    later = datetime.now(timezone.utc) + timedelta(hours=1)
    for condition, status in (({"if_modified_since": later}, 304), ({"if_unmodified_since": LONG_AGO}, 412)):
        with pytest.raises(HttpResponseError) as caught:
            call(*arguments, **condition)
        assert caught.value.status_code == status
    for condition in ({"if_modified_since": LONG_AGO}, {"if_unmodified_since": later}):
        call(*arguments, **condition)
    sdk.begin_delete_job(name)
    sdk.begin_delete_pool(name)
