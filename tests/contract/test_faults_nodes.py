"""Nodes, resizes and tries that fail on demand, as the SDK sees them: real processes, real files."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
import sdk_bodies as bodies
from azure.batch import BatchClient, models
from azure.core.exceptions import HttpResponseError
from sdk_client import connect
from waiting import until
from wire_client import Wire

from azbatch_core.local import LocalBatch

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator


@pytest.fixture(scope="module")
def service() -> Iterator[LocalBatch]:
    with LocalBatch(clock="virtual") as made:
        yield made


@pytest.fixture(scope="module")
def client(service: LocalBatch) -> Iterator[BatchClient]:
    with connect(service) as made:
        yield made


@pytest.fixture
def fault(service: LocalBatch) -> Iterator[Callable[..., None]]:
    """Set a fault that goes with the test."""
    wire = Wire(service)

    def add(kind: str, **fields: Any) -> None:
        assert wire.ask("POST", "/_local/faults", {"kind": kind, **fields})[0].status == 200

    yield add
    wire.json("DELETE", "/_local/faults")
    wire.connection.close()


@pytest.fixture
def pool(client: BatchClient, request: pytest.FixtureRequest) -> Iterator[Callable[..., str]]:
    """Make a pool of this test's own."""
    name = request.node.name.replace("[", "-").rstrip("]")[:60]

    def make(dedicated: int = 0, spot: int = 0, **more: Any) -> str:
        client.create_pool(bodies.pool(name, dedicated, target_low_priority_nodes=spot, **more))
        until(lambda: client.get_pool(name).allocation_state == "steady")
        return name

    yield make
    client.begin_delete_pool(name, polling_interval=0).wait()


@pytest.fixture
def setting(client: BatchClient, pool: Any, fault: Any) -> tuple[BatchClient, Any, Any]:
    """All three."""
    return client, pool, fault


def run(client: BatchClient, pool_id: str, command: str = "/bin/true", **more: Any) -> str:
    """Add a task to a job of its own on a pool; the job's id."""
    job = f"{pool_id}-j"[-60:]
    client.create_job(models.BatchJobCreateOptions(id=job, pool_info=models.BatchPoolInfo(pool_id=pool_id)))
    client.create_task(job, models.BatchTaskCreateOptions(id="t", command_line=command, **more))
    return job


def ended(client: BatchClient, job: str) -> models.BatchTaskExecutionInfo:
    until(lambda: client.get_task(job, "t").state == "completed")
    info = client.get_task(job, "t").execution_info
    assert info is not None
    return info


def code(info: models.BatchTaskExecutionInfo) -> str | None:
    return None if info.failure_info is None else info.failure_info.code


def test_a_preempted_node_comes_back_empty_and_its_task_runs_again(
    service: LocalBatch, client: BatchClient, pool: Any, fault: Any
) -> None:
    name = pool(spot=1)
    script = '/bin/sh -c "if [ -e $AZ_BATCH_NODE_SHARED_DIR/x ]; then exit 9; fi;'
    script += ' touch $AZ_BATCH_NODE_SHARED_DIR/x; sleep 600"'
    job = run(client, name, script)
    until(lambda: client.get_task(job, "t").state == "running")
    node = next(iter(client.list_nodes(name)))
    fault("preempt", task="t", job=job, count=1, lasts=60)
    until(lambda: client.get_node(name, node.id).state == "preempted")
    counts = next(found for found in client.list_pool_node_counts() if found.pool_id == name)
    assert counts.low_priority is not None
    assert counts.low_priority.preempted == 1
    until(lambda: client.get_task(job, "t").state == "active")
    with pytest.raises(HttpResponseError, match="OperationInvalidForCurrentState"):
        list(client.list_node_files(name, node.id))
    service.advance(60)
    until(lambda: client.get_task(job, "t").state == "running")
    task = client.get_task(job, "t")
    assert task.execution_info is not None
    assert (task.execution_info.retry_count, task.execution_info.requeue_count) == (0, 0)
    assert task.node_info is not None
    assert task.node_info.node_id == node.id
    client.begin_delete_job(job, polling_interval=0).wait()


def test_an_unusable_node_tells_why(client: BatchClient, pool: Any, fault: Any) -> None:
    name = pool(dedicated=2)
    fault("unusable", pool=name, count=1, code="DiskFull", message="The disk is full")
    until(lambda: any(node.state == "unusable" for node in client.list_nodes(name)))
    node = next(node for node in client.list_nodes(name) if node.state == "unusable")
    assert [(error.code, error.message) for error in node.errors or ()] == [("DiskFull", "The disk is full")]
    assert {node.state for node in client.list_nodes(name)} == {"idle", "unusable"}


def test_a_start_task_that_fails_on_demand_runs_no_command(
    client: BatchClient, pool: Any, fault: Any
) -> None:
    fault("start-task-failure", count=1, exit_code=3)
    command = '/bin/sh -c "touch $AZ_BATCH_NODE_SHARED_DIR/ran"'
    name = pool(dedicated=1, start_task=models.BatchStartTask(command_line=command))
    until(lambda: next(iter(client.list_nodes(name))).state == "starttaskfailed")
    node = next(iter(client.list_nodes(name)))
    assert node.start_task_info is not None
    assert (node.start_task_info.exit_code, node.start_task_info.result) == (3, "failure")
    assert "shared/ran" not in {file.name for file in client.list_node_files(name, node.id, recursive=True)}


_DETAILS = {
    "download-failure": {"BlobSource": "http://127.0.0.1:1/x", "FilePath": "x"},
    "image-pull": {"ImageName": "nothing/there"},
    "upload-failure": {"FilePath": "*", "Destination": "http://127.0.0.1:1/c"},
}
"""What real failures of that code tell besides a message."""


@pytest.mark.parametrize(
    ("kind", "fields", "task", "expected"),
    [
        ("disk-full", {"message": "no room"}, {}, ("DiskFull", None)),
        (
            "download-failure",
            {"code": "BlobAccessDenied"},
            {
                "resource_files": [
                    models.ResourceFile(http_url="http://127.0.0.1:1/x?sig=secret", file_path="x")
                ]
            },
            ("BlobAccessDenied", None),
        ),
        (
            "image-pull",
            {"message": "manifest unknown"},
            {"container_settings": models.BatchTaskContainerSettings(image_name="nothing/there")},
            ("ContainerInvalidImage", None),
        ),
        (
            "upload-failure",
            {},
            {
                "output_files": [
                    models.OutputFile(
                        file_pattern="*",
                        destination=models.OutputFileDestination(
                            container=models.OutputFileBlobContainerDestination(
                                container_url="http://127.0.0.1:1/c?sig=secret"
                            )
                        ),
                        upload_options=models.OutputFileUploadConfiguration(
                            upload_condition="taskcompletion"
                        ),
                    )
                ]
            },
            ("FileUploadMiscError", 0),
        ),
    ],
)
def test_tries_fail_where_they_are_told_to(
    setting: tuple[BatchClient, Any, Any],
    kind: str,
    fields: dict[str, Any],
    task: dict[str, Any],
    expected: tuple[str, int | None],
) -> None:
    client, pool, fault = setting
    fault(kind, task="t", count=1, **fields)
    more = {"virtual_machine_configuration": bodies.container_machine()} if kind == "image-pull" else {}
    info = ended(client, run(client, pool(dedicated=1, **more), **task))
    assert (code(info), info.exit_code, info.retry_count) == (*expected, 0)
    details = {item.name: item.value for item in info.failure_info.details or ()} if info.failure_info else {}
    assert details.get("Message") == fields.get("message")
    assert {name: value for name, value in details.items() if name != "Message"} == _DETAILS.get(kind, {})


def test_resizes_fall_short_and_the_next_one_makes_up(client: BatchClient, pool: Any, fault: Any) -> None:
    fault("allocation-failure", count=1, short=1)
    fault("quota", spot_cores=3)
    name = pool(dedicated=2, spot=2)
    made = client.get_pool(name)
    assert (made.current_dedicated_nodes, made.current_low_priority_nodes) == (1, 1)
    assert [error.code for error in made.resize_errors or ()] == [
        "AllocationFailed",
        "AccountSpotCoreQuotaReached",
    ]
    assert "Spot" in (made.resize_errors or ())[1].message
    client.begin_resize_pool(
        name, models.BatchPoolResizeOptions(target_dedicated_nodes=2), polling_interval=0
    ).wait()
    made = client.get_pool(name)
    assert (made.current_dedicated_nodes, made.resize_errors) == (2, None)


def test_quotas_refuse_pools_and_jobs(client: BatchClient, pool: Any, fault: Any) -> None:
    name = pool()
    fault("quota", pools=1, jobs=0)
    refusals = []
    for call in (
        lambda: client.create_pool(bodies.pool("more")),
        lambda: run(client, name),
    ):
        with pytest.raises(HttpResponseError) as caught:
            call()
        refusals.append((caught.value.status_code, caught.value.error.code if caught.value.error else None))
    assert refusals == [(409, "PoolQuotaReached"), (409, "ActiveJobAndScheduleQuotaReached")]


def test_boots_are_slow_on_the_virtual_clock() -> None:
    slow = {"kind": "slow-boot", "seconds": 600}
    preempt = {"kind": "preempt", "at": "2026-01-01T01:00:00Z", "lasts": 60}
    with LocalBatch(clock="virtual", faults=[slow, preempt]) as service:
        wire = Wire(service)
        body = {
            "id": "p",
            "vmSize": "standard_d2s_v3",
            "targetLowPriorityNodes": 1,
            "virtualMachineConfiguration": {
                "imageReference": {"publisher": "canonical", "offer": "ubuntu-24_04-lts", "sku": "server"},
                "nodeAgentSKUId": "batch.node.ubuntu 24.04",
            },
        }
        assert wire.ask("POST", "/pools", body)[0].status == 201

        def state() -> Any:
            return wire.json("GET", "/pools/p/nodes")["value"][0]["state"]

        for seconds, then in ((599, "starting"), (1, "idle"), (3000, "preempted")):
            service.advance(seconds)
            assert state() == then
        service.advance(660)
        until(lambda: state() == "idle")  # its disk is wiped in the machine's own time
        wire.connection.close()
