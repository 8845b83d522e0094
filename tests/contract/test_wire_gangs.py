"""Multi-instance tasks through the SDK, on nodes that run them."""

from __future__ import annotations

import os
import re
import signal
import sys
from datetime import timedelta
from typing import TYPE_CHECKING, Any

import pytest
import sdk_bodies as bodies
from azure.batch import BatchClient, models
from azure.core.credentials import AzureNamedKeyCredential
from azure.core.exceptions import HttpResponseError
from azure.storage.blob import ContainerClient
from cli_shell import Shell
from sdk_client import connect
from waiting import WITHIN, until

from azbatch_core.local import LocalBatch
from azbatch_core.local.runtime.reaper import find_marked
from azbatch_core.local.state import StateDirectory

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

NODES = 3

# Every member tells its address to the primary, whose address comes from the list and not from its place in
# it; the primary tells them all back.
MEET = """
import os, socket, sys
hosts = os.environ["AZ_BATCH_HOST_LIST"].split(",")
master = os.environ["AZ_BATCH_MASTER_NODE"].split(":")[0]
port = int(sys.argv[1])
if os.environ["AZ_BATCH_IS_CURRENT_NODE_MASTER"] == "true":
    server = socket.create_server((master, port), backlog=9)
    guests = [server.accept()[0] for _ in hosts[1:]]
    met = [master, *(guest.makefile().readline().strip() for guest in guests)]
    for guest in guests:
        guest.sendall((",".join(sorted(met)) + "\\n").encode())
else:
    own = next(host for host in hosts if host != master)
    while True:
        try:
            client = socket.create_connection((master, port), timeout=30, source_address=(own, 0))
            break
        except ConnectionRefusedError:
            pass
    client.sendall((own + "\\n").encode())
    met = client.makefile().readline().strip().split(",")
print("met", ",".join(sorted(met)))
"""


@pytest.fixture(scope="module")
def batch() -> Iterator[LocalBatch]:
    with LocalBatch() as service:
        yield service


@pytest.fixture(scope="module")
def client(batch: LocalBatch) -> Iterator[BatchClient]:
    with connect(batch) as client:
        client.create_pool(options("pool", NODES))
        yield client


@pytest.fixture
def job(client: BatchClient, request: pytest.FixtureRequest) -> Iterator[str]:
    yield (made := make_job(client, request.node.name, "pool"))
    client.begin_delete_job(made, polling_interval=0).wait()


def options(pool_id: str, nodes: int, **more: Any) -> models.BatchPoolCreateOptions:
    return bodies.pool(pool_id, nodes, **{"enable_inter_node_communication": True, **more})


def make_job(client: BatchClient, name: str, pool_id: str) -> str:
    job_id = re.sub(r"[^a-z0-9]+", "-", name)[:60]
    client.create_job(
        models.BatchJobCreateOptions(id=job_id, pool_info=models.BatchPoolInfo(pool_id=pool_id))
    )
    return job_id


def gang(
    client: BatchClient, job: str, coordination: str, command: str = "true", *, nodes: int = 2, **more: Any
) -> None:
    """Add the multi-instance task `g`; both commands are for a shell."""
    client.create_task(
        job,
        models.BatchTaskCreateOptions(
            id="g",
            command_line=f"/bin/sh -c '{command}'",
            multi_instance_settings=models.MultiInstanceSettings(
                number_of_instances=nodes,
                coordination_command_line=f"/bin/sh -c '{coordination}'",
                common_resource_files=more.pop("common_resource_files", None),
            ),
            **more,
        ),
    )


def in_state(client: BatchClient, job: str, state: str) -> models.BatchTask:
    until(lambda: client.get_task(job, "g").state == state)
    return client.get_task(job, "g")


def over(client: BatchClient, job: str) -> tuple[models.BatchTask, list[models.BatchSubtask]]:
    """The task and its subtasks, which complete a moment after it."""
    task = in_state(client, job, "completed")
    until(lambda: {item.state for item in client.list_subtasks(job, "g")} == {"completed"})
    return task, list(client.list_subtasks(job, "g"))


def read(client: BatchClient, subtask: models.BatchSubtask, path: str = "stdout.txt") -> str:
    """A file of a subtask, as clients have to go for it: by its node and root directory."""
    node = subtask.node_info
    assert node is not None
    assert node.pool_id is not None
    assert node.node_id is not None
    found = client.download_node_file(node.pool_id, node.node_id, f"{node.task_root_directory}/{path}")
    return b"".join(found).decode()


def alive(job: str) -> list[int]:
    """The processes of a job."""
    return find_marked([f"\0AZ_BATCH_JOB_ID={job}\0".encode()])


def output(client: BatchClient, job: str, path: str = "stdout.txt") -> str:
    return b"".join(client.download_task_file(job, "g", path)).decode()


def info(task: models.BatchTask) -> models.BatchTaskExecutionInfo:
    assert task.execution_info is not None
    return task.execution_info


def test_two_nodes_meet_over_tcp(client: BatchClient, job: str, tmp_path: Path) -> None:
    script = tmp_path / "meet.py"
    script.write_text(MEET)
    gang(client, job, f"{sys.executable} {script} 29500", "echo primary")
    task, (subtask,) = over(client, job)
    assert info(task).exit_code == 0, output(client, job, "stderr.txt")
    addresses = {node.id: node.ip_address for node in client.list_nodes("pool")}
    assert task.node_info is not None
    assert subtask.node_info is not None
    met = ",".join(sorted([addresses[task.node_info.node_id], addresses[subtask.node_info.node_id]]))
    assert output(client, job) == f"met {met}\nprimary\n"
    assert read(client, subtask) == f"met {met}\n"
    assert task.node_info.node_id != subtask.node_info.node_id
    assert (subtask.id, subtask.exit_code, subtask.result) == (1, 0, "success")
    assert subtask.start_time is not None
    assert subtask.end_time is not None
    assert info(task).end_time is not None
    assert subtask.previous_state == "running"


def test_files_common_to_all_and_those_of_the_primary(
    batch: LocalBatch, client: BatchClient, job: str
) -> None:
    key = AzureNamedKeyCredential(batch.blob_account, batch.blob_key)
    for name in ("common", "own"):
        with ContainerClient(batch.blob_endpoint, f"gang-{name}", credential=key) as container:
            container.create_container()
            container.upload_blob(f"{name}.txt", name)
    gang(
        client,
        job,
        "cat ../common.txt; echo; ls; echo $AZ_BATCH_TASK_SHARED_DIR; echo $PWD",
        "cat own.txt",
        common_resource_files=[models.ResourceFile(auto_storage_container_name="gang-common")],
        resource_files=[models.ResourceFile(auto_storage_container_name="gang-own")],
    )
    task, (subtask,) = over(client, job)
    assert info(task).exit_code == 0
    common, shared, wd = read(client, subtask).splitlines()
    assert (common, wd) == ("common", f"{shared}/wd"), "and no file of the primary's"
    assert output(client, job).splitlines()[-1] == "own"


def test_what_coordination_leaves_behind_lives_until_the_end(
    client: BatchClient, job: str, tmp_path: Path
) -> None:
    go = tmp_path / "go"
    gang(client, job, "setsid sleep 600 & sleep 600 &", f"while ! [ -e {go} ]; do sleep 0.01; done")
    in_state(client, job, "running")
    # Per node two sleepers, on the primary also the command.
    until(lambda: len(alive(job)) >= 5)
    (subtask,) = client.list_subtasks(job, "g")
    assert (subtask.state, subtask.previous_state, subtask.exit_code) == ("running", None, None)
    go.touch()
    over(client, job)
    assert alive(job) == []


def test_coordination_that_fails_on_one_node_is_tried_again(
    client: BatchClient, job: str, tmp_path: Path
) -> None:
    flag = tmp_path / "failed"
    # Once, on one of the nodes that are not the primary's; the other members wait for ever.
    fail = f"if [ $AZ_BATCH_IS_CURRENT_NODE_MASTER = false ] && mkdir {flag}; then exit 5; fi"
    gang(
        client,
        job,
        f"{fail}; [ -e {flag}/again ] || exec sleep 600",
        "echo ran",
        constraints=models.BatchTaskConstraints(max_task_retry_count=1),
    )
    until(flag.exists)
    (flag / "again").touch()
    task, (subtask,) = over(client, job)
    assert (info(task).exit_code, info(task).retry_count) == (0, 1)
    assert subtask.exit_code == 0
    assert output(client, job) == "ran\n"


def test_coordination_that_always_fails_fails_the_task(client: BatchClient, job: str) -> None:
    fail = "[ $AZ_BATCH_IS_CURRENT_NODE_MASTER = true ] || { echo no; exit 7; }"
    gang(client, job, f"{fail}; exec sleep 600", "echo ran")
    task, (subtask,) = over(client, job)
    assert info(task).failure_info is not None
    assert (info(task).exit_code, info(task).result) == (7, "failure")
    assert info(task).failure_info.code == "FailureExitCode"
    assert (subtask.exit_code, subtask.result) == (7, "failure")
    assert subtask.failure_info is not None
    assert subtask.failure_info.category == "UserError"
    assert read(client, subtask) == "no\n"
    assert alive(job) == []


def test_the_wall_time_ends_a_coordination_that_never_returns(client: BatchClient, job: str) -> None:
    limit = models.BatchTaskConstraints(max_wall_clock_time=timedelta(seconds=1))
    gang(client, job, "exec sleep 600", "echo ran", constraints=limit)
    task, (subtask,) = over(client, job)
    assert info(task).result == "failure"
    assert subtask.result == "failure"
    assert alive(job) == []


def test_terminating_the_task_ends_all_members(client: BatchClient, job: str) -> None:
    gang(client, job, "true", "exec sleep 600", nodes=3)
    in_state(client, job, "running")
    counts = client.get_job_task_counts(job)
    assert (counts.task_counts.running, counts.task_slot_counts.running) == (1, 3)
    client.terminate_task(job, "g")
    task, subtasks = over(client, job)
    assert info(task).failure_info is not None
    assert info(task).failure_info.code == "TaskEnded"
    assert [item.id for item in subtasks] == [1, 2]
    assert alive(job) == []


def test_a_node_that_is_taken_away_puts_the_task_on_others(
    client: BatchClient, request: pytest.FixtureRequest
) -> None:
    client.create_pool(options("losing", 3))
    job = make_job(client, request.node.name, "losing")
    gang(client, job, "true", "exec sleep 600")
    in_state(client, job, "running")
    node = next(iter(client.list_subtasks(job, "g"))).node_info
    assert node is not None
    assert node.node_id is not None
    lost = models.BatchNodeRemoveOptions(node_ids=[node.node_id])
    client.begin_remove_nodes("losing", lost, polling_interval=0).wait()
    until(lambda: info(client.get_task(job, "g")).requeue_count == 1)
    assert info(in_state(client, job, "running")).retry_count == 0
    nodes = {str(item.node_info and item.node_info.node_id) for item in client.list_subtasks(job, "g")}
    assert len(nodes) == 1
    assert node.node_id not in nodes
    client.begin_delete_job(job, polling_interval=0).wait()
    client.begin_delete_pool("losing", polling_interval=0).wait()


def test_nodes_show_their_members(client: BatchClient, job: str) -> None:
    gang(client, job, "true", "exec sleep 600", nodes=NODES)
    in_state(client, job, "running")
    nodes = list(client.list_nodes("pool"))
    assert [node.running_tasks_count for node in nodes] == [1] * NODES
    recent = [node.recent_tasks[-1] for node in nodes if node.recent_tasks]
    assert sorted(item.subtask_id for item in recent if item.subtask_id is not None) == [0, 1, 2]
    client.terminate_task(job, "g")
    over(client, job)


def test_a_pool_without_inter_node_communication_lets_it_wait(
    client: BatchClient, request: pytest.FixtureRequest
) -> None:
    client.create_pool(options("apart", 2, enable_inter_node_communication=False))
    job = make_job(client, request.node.name, "apart")
    gang(client, job, "true")
    client.create_task(job, models.BatchTaskCreateOptions(id="plain", command_line="true"))
    until(lambda: client.get_task(job, "plain").state == "completed")
    task = client.get_task(job, "g")
    assert task.state == "active"
    assert info(task).failure_info is None
    assert list(client.list_subtasks(job, "g")) == []
    assert list(client.list_subtasks(job, "plain")) == []
    client.begin_delete_job(job, polling_interval=0).wait()
    client.begin_delete_pool("apart", polling_interval=0).wait()


def test_settings_that_make_no_sense_are_refused(client: BatchClient, job: str) -> None:
    with pytest.raises(HttpResponseError) as error:
        gang(client, job, "true", nodes=0)
    assert error.value.error is not None
    assert error.value.error.code == "InvalidPropertyValue"
    body: Any = {"id": "g", "commandLine": "true", "multiInstanceSettings": {"numberOfInstances": 2}}
    with pytest.raises(HttpResponseError) as error:
        client.create_task(job, body)
    assert error.value.error is not None
    assert error.value.error.code == "MissingRequiredProperty"


def test_a_gang_of_a_killed_service_runs_again_as_a_whole(tmp_path: Path) -> None:
    shell = Shell(tmp_path)
    state = StateDirectory(shell.home / "local")
    assert shell.run("local", "start").returncode == 0
    ran = tmp_path / "ran"
    ran.mkdir()
    try:
        place = state.running()
        assert place is not None
        with connect(place) as client:
            client.create_pool(options("pool", 2))
            job = make_job(client, tmp_path.name, "pool")
            gang(client, job, "true", f"echo > {ran}/$$; exec sleep 600")
            until(lambda: len(list(ran.iterdir())) == 1)
        os.kill(place.pid, signal.SIGKILL)
        assert state.wait_until_free(WITHIN)
        assert shell.run("local", "start").returncode == 0
        place = state.running()
        assert place is not None
        with connect(place) as client:
            until(lambda: len(list(ran.iterdir())) == 2)
            assert len(alive(job)) == 1, "no process of the first try is left"
            task = in_state(client, job, "running")
            assert (info(task).retry_count, info(task).requeue_count) == (0, 0)
            assert len(list(client.list_subtasks(job, "g"))) == 1
    finally:
        shell.run("local", "stop")
