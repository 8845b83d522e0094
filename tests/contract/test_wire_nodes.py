"""What users do to nodes, through the SDK."""

from __future__ import annotations

from datetime import datetime, timedelta, timezone
from typing import TYPE_CHECKING

import pytest
import sdk_bodies as bodies
from azure.batch import BatchClient, models
from azure.batch.models import _models as unlisted  # the options of node actions are not exported
from azure.core.credentials import AzureNamedKeyCredential
from azure.storage.blob import BlobServiceClient, generate_container_sas
from sdk_client import connect, refusal
from waiting import until
from wire_client import Wire

from azbatch_core.local import LocalBatch

if TYPE_CHECKING:
    from collections.abc import Iterator


@pytest.fixture(scope="module")
def batch() -> Iterator[LocalBatch]:
    with LocalBatch() as service:
        yield service


@pytest.fixture(scope="module")
def client(batch: LocalBatch) -> Iterator[BatchClient]:
    with connect(batch) as client:
        yield client


@pytest.fixture
def pool(client: BatchClient, request: pytest.FixtureRequest) -> Iterator[str]:
    """A pool of two nodes for one test."""
    pool_id = request.node.name.replace("[", "-").rstrip("]")[:60]
    client.create_pool(bodies.pool(pool_id, 2))
    until(lambda: [node.state for node in client.list_nodes(pool_id)] == ["idle", "idle"])
    yield pool_id
    client.begin_delete_pool(pool_id, polling_interval=0).wait()


def run(client: BatchClient, pool_id: str, node: str, command: str) -> str:
    """Run a task on a node, which may be one of its own; its job's id."""
    job_id = f"{pool_id}-job"[-60:]
    client.create_job(
        models.BatchJobCreateOptions(id=job_id, pool_info=models.BatchPoolInfo(pool_id=pool_id))
    )
    affinity = models.BatchAffinityInfo(affinity_id=f"TVM:{node}")
    client.create_task(
        job_id, models.BatchTaskCreateOptions(id="t", command_line=command, affinity_info=affinity)
    )
    until(lambda: client.get_task(job_id, "t").state in {"running", "completed"})
    return job_id


def test_a_node_reboots_and_runs_its_start_task_again(client: BatchClient, pool: str) -> None:
    client.update_pool(
        pool,
        models.BatchPoolUpdateOptions(start_task=models.BatchStartTask(command_line="/bin/echo started")),
    )
    node = next(iter(client.list_nodes(pool))).id
    before = client.get_node(pool, node)
    assert before.start_task_info is None
    client.begin_reboot_node(pool, node, bodies.REBOOT, polling_interval=0).wait()
    until(lambda: client.get_node(pool, node).state == "idle")
    after = client.get_node(pool, node)
    assert after.start_task_info is not None
    assert after.start_task_info.result == "success"
    assert after.allocation_time == before.allocation_time
    assert after.last_boot_time is not None
    assert before.last_boot_time is not None
    assert after.last_boot_time > before.last_boot_time
    assert b"".join(client.download_node_file(pool, node, "startup/stdout.txt")) == b"started\n"


def test_a_reboot_ends_tasks_and_the_processes_they_left(client: BatchClient, pool: str) -> None:
    node = next(iter(client.list_nodes(pool))).id
    left = "/bin/bash -c 'echo kept > $AZ_BATCH_NODE_SHARED_DIR/file; setsid sleep 600 & echo $!; sleep 600'"
    job_id = run(client, pool, node, left)
    until(lambda: b"".join(client.download_task_file(job_id, "t", "stdout.txt")) != b"")
    pid = int(b"".join(client.download_task_file(job_id, "t", "stdout.txt")))
    client.begin_reboot_node(
        pool, node, unlisted.BatchNodeRebootOptions(node_reboot_kind="terminate"), polling_interval=0
    ).wait()
    task = client.get_task(job_id, "t")
    assert task.state == "completed"
    assert task.execution_info is not None
    assert task.execution_info.failure_info is not None
    assert task.execution_info.failure_info.code == "TaskEnded"
    until(lambda: client.get_node(pool, node).state == "idle")
    with pytest.raises(ProcessLookupError):
        signal_of(pid)
    assert b"".join(client.download_node_file(pool, node, "shared/file")) == b"kept\n"
    client.begin_delete_job(job_id, polling_interval=0).wait()


def signal_of(pid: int) -> None:
    """Raises ProcessLookupError if there is no such process, or only what is left of it."""
    import os
    from pathlib import Path

    os.kill(pid, 0)
    try:
        state = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()[0]
    except FileNotFoundError:
        raise ProcessLookupError from None
    if state == "Z":
        raise ProcessLookupError


def test_a_reimaged_node_has_a_fresh_disk(client: BatchClient, pool: str) -> None:
    node = next(iter(client.list_nodes(pool))).id
    job_id = run(client, pool, node, "/bin/bash -c 'echo x > $AZ_BATCH_NODE_SHARED_DIR/file'")
    until(lambda: client.get_task(job_id, "t").state == "completed")
    assert "shared/file" in [file.name for file in client.list_node_files(pool, node, recursive=True)]
    client.begin_reimage_node(pool, node, bodies.REIMAGE, polling_interval=0).wait()
    until(lambda: client.get_node(pool, node).state == "idle")
    names = [file.name for file in client.list_node_files(pool, node, recursive=True)]
    assert "shared" in names
    assert "shared/file" not in names
    assert refusal(lambda: list(client.list_task_files(job_id, "t")))[1] == "TaskFilesCleanedup"
    client.begin_delete_job(job_id, polling_interval=0).wait()


def test_a_node_is_deallocated_and_started(client: BatchClient, pool: str) -> None:
    node = next(iter(client.list_nodes(pool))).id
    assert refusal(lambda: client.begin_start_node(pool, node)) == (409, "OperationInvalidForCurrentState")
    client.begin_deallocate_node(pool, node, bodies.DEALLOCATE, polling_interval=0).wait()
    assert client.get_node(pool, node).state == "deallocated"
    [counts] = client.list_pool_node_counts(filter=f"poolId eq '{pool}'")
    assert counts.dedicated is not None
    assert (counts.dedicated.deallocated, counts.dedicated.idle, counts.dedicated.total) == (1, 1, 2)
    code = refusal(lambda: client.begin_reboot_node(pool, node, bodies.REBOOT, polling_interval=0))
    assert code == (409, "OperationInvalidForCurrentState")
    client.begin_start_node(pool, node, polling_interval=0).wait()
    until(lambda: client.get_node(pool, node).state == "idle")


def test_scheduling_is_disabled_and_enabled(client: BatchClient, pool: str) -> None:
    first, second = (node.id for node in client.list_nodes(pool))
    client.disable_node_scheduling(pool, first, bodies.DISABLE)
    offline = client.get_node(pool, first)
    assert (offline.state, offline.scheduling_state) == ("offline", "disabled")
    job_id = run(client, pool, first, "/bin/sleep 600")
    task = client.get_task(job_id, "t")
    assert task.node_info is not None
    assert task.node_info.node_id == second
    again = refusal(lambda: client.disable_node_scheduling(pool, first, bodies.DISABLE))
    assert again == (409, "NodeAlreadyInTargetSchedulingState")
    client.enable_node_scheduling(pool, first)
    client.disable_node_scheduling(pool, second, bodies.DISABLE)
    until(lambda: client.get_node(pool, second).state == "offline")
    until(lambda: client.get_task(job_id, "t").state == "running")
    task = client.get_task(job_id, "t")
    assert task.node_info is not None
    assert task.node_info.node_id == first
    client.begin_delete_job(job_id, polling_interval=0).wait()


def test_nodes_are_removed(client: BatchClient, pool: str) -> None:
    first, second = (node.id for node in client.list_nodes(pool))
    job_id = run(client, pool, first, "/bin/sleep 600")
    client.begin_remove_nodes(
        pool, models.BatchNodeRemoveOptions(node_ids=[first]), polling_interval=0
    ).wait()
    assert [node.id for node in client.list_nodes(pool)] == [second]
    left = client.get_pool(pool)
    assert (left.target_dedicated_nodes, left.current_dedicated_nodes) == (1, 1)
    task = client.get_task(job_id, "t")
    assert task.execution_info is not None
    assert task.execution_info.requeue_count == 1
    gone = models.BatchNodeRemoveOptions(node_ids=[first])
    assert refusal(lambda: client.begin_remove_nodes(pool, gone)) == (404, "NodeNotFound")
    many = models.BatchNodeRemoveOptions(node_ids=[f"n{n}" for n in range(101)])
    assert refusal(lambda: client.begin_remove_nodes(pool, many)) == (400, "InvalidPropertyValue")
    client.begin_delete_job(job_id, polling_interval=0).wait()


def test_actions_answer_as_recorded(client: BatchClient, batch: LocalBatch, pool: str) -> None:
    wire = Wire(batch)
    node = next(iter(client.list_nodes(pool))).id
    target = f"/pools/{pool}/nodes/{node}"
    for action, status in (("disablescheduling", 200), ("enablescheduling", 200), ("reboot", 202)):
        response, body = wire.ask("POST", f"{target}/{action}")
        assert (response.status, body) == (status, b"")
        assert response.headers["DataServiceId"] == f"{batch.endpoint}{target}/{action}"
        assert "ETag" not in response.headers
    response, _ = wire.ask("POST", f"/pools/{pool}/removenodes", {"nodeList": [node]})
    assert response.status == 202
    assert response.headers["ETag"]
    error = wire.json("POST", f"{target}/reboot", {"nodeRebootOption": "never"})
    assert error["code"] == "InvalidPropertyValue"
    wire.connection.close()


def test_users_come_and_go(client: BatchClient, pool: str) -> None:
    node = next(iter(client.list_nodes(pool))).id
    client.create_node_user(pool, node, models.BatchNodeUserCreateOptions(name="ann", password="x-1-Y"))
    same = models.BatchNodeUserCreateOptions(name="ann", password="x-1-Y")
    assert refusal(lambda: client.create_node_user(pool, node, same)) == (409, "NodeUserExists")
    wrong = models.BatchNodeUserCreateOptions(name="a b")
    assert refusal(lambda: client.create_node_user(pool, node, wrong)) == (400, "InvalidPropertyValue")
    client.replace_node_user(pool, node, "ann", models.BatchNodeUserReplaceOptions(password="z-2-Y"))
    client.delete_node_user(pool, node, "ann")
    missing = (404, "NodeUserNotFound")
    assert refusal(lambda: client.delete_node_user(pool, node, "ann")) == missing
    replacement = models.BatchNodeUserReplaceOptions(password="z-2-Y")
    assert refusal(lambda: client.replace_node_user(pool, node, "ann", replacement)) == missing


def test_remote_login_needs_an_endpoint(client: BatchClient, pool: str) -> None:
    node = next(iter(client.list_nodes(pool))).id
    closed = refusal(lambda: client.get_node_remote_login_settings(pool, node))
    assert closed == (409, "OperationNotValidOnNode")
    nat = models.BatchInboundNatPool(
        name="ssh",
        protocol="tcp",
        backend_port=22,
        frontend_port_range_start=20000,
        frontend_port_range_end=20100,
    )
    network = models.NetworkConfiguration(
        endpoint_configuration=models.BatchPoolEndpointConfiguration(inbound_nat_pools=[nat])
    )
    client.create_pool(bodies.pool("open", 1, network_configuration=network))
    until(lambda: [found.state for found in client.list_nodes("open")] == ["idle"])
    [found] = client.list_nodes("open")
    assert found.endpoint_configuration is not None
    [endpoint] = found.endpoint_configuration.inbound_endpoints
    assert (endpoint.backend_port, endpoint.protocol) == (22, "tcp")
    settings = client.get_node_remote_login_settings("open", found.id)
    assert settings.remote_login_ip_address == endpoint.public_ip_address
    assert settings.remote_login_port == endpoint.frontend_port
    assert 20000 <= settings.remote_login_port <= 20100


def test_logs_of_a_node_are_uploaded(client: BatchClient, batch: LocalBatch, pool: str) -> None:
    node = next(iter(client.list_nodes(pool)))
    account = BlobServiceClient(
        batch.blob_endpoint, AzureNamedKeyCredential(batch.blob_account, batch.blob_key), retry_total=0
    )
    signature = generate_container_sas(
        batch.blob_account,
        "logs",
        batch.blob_key,
        permission="w",
        expiry=datetime.now(timezone.utc) + timedelta(hours=1),
    )
    assert node.allocation_time is not None
    with account, account.create_container("logs") as container:
        answer = client.upload_node_logs(
            pool,
            node.id,
            models.UploadBatchServiceLogsOptions(
                container_url=f"{batch.blob_endpoint}/logs?{signature}", start_time=node.allocation_time
            ),
        )
        assert answer.number_of_files_uploaded == 1
        blob = container.get_blob_client(f"{answer.virtual_directory_name}/agent-debug.log")
        until(blob.exists)
        assert node.id in blob.download_blob().readall().decode()


def test_extensions_are_listed(client: BatchClient) -> None:
    wanted = bodies.pool("extended", 1)
    assert wanted.virtual_machine_configuration is not None
    wanted.virtual_machine_configuration.extensions = [
        models.VMExtension(name=name, publisher="Microsoft", type="X") for name in ("one", "two")
    ]
    client.create_pool(wanted)
    until(lambda: [found.state for found in client.list_nodes("extended")] == ["idle"])
    [node] = client.list_nodes("extended")
    found = list(client.list_node_extensions("extended", node.id, max_results=1))
    assert [item.vm_extension.name for item in found if item.vm_extension] == [
        "one",
        "two",
        "batchNodeExtension",
    ]
    one = client.get_node_extension("extended", node.id, "one")
    assert one.provisioning_state == "Succeeded"
    assert one.instance_view is not None
    assert one.instance_view.statuses is not None
    assert one.instance_view.statuses[0].level == "Info"
    missing = refusal(lambda: client.get_node_extension("extended", node.id, "three"))
    assert missing == (404, "ResourceNotFound")


def test_a_reboot_takes_the_boot_time_of_a_virtual_clock() -> None:
    with LocalBatch(clock="virtual", boot_time=600) as batch, connect(batch) as client:
        client.create_pool(bodies.pool("slow", 1))
        batch.advance(601)
        [node] = client.list_nodes("slow")
        assert node.state == "idle"
        client.begin_reboot_node("slow", node.id, bodies.REBOOT)
        batch.advance(599)
        assert client.get_node("slow", node.id).state == "rebooting"
        batch.advance(2)
        until(lambda: client.get_node("slow", node.id).state == "idle")


def test_a_reimage_goes_on_after_a_restart_of_the_service() -> None:
    with LocalBatch(clock="virtual", boot_time=600) as batch, connect(batch) as client:
        start = models.BatchStartTask(command_line="/bin/true")
        client.create_pool(bodies.pool("restarted", 1, start_task=start))
        batch.advance(601)
        until(lambda: [found.state for found in client.list_nodes("restarted")] == ["idle"])
        [node] = client.list_nodes("restarted")
        client.begin_reimage_node("restarted", node.id, bodies.REIMAGE)
        batch.advance(300)
        batch.restart()
        assert client.get_node("restarted", node.id).state == "reimaging"
        batch.advance(601)
        until(lambda: client.get_node("restarted", node.id).state == "idle")
        again = client.get_node("restarted", node.id)
        assert again.start_task_info is not None
        assert again.last_boot_time is not None
        assert node.last_boot_time is not None
        assert again.last_boot_time > node.last_boot_time
