"""Tasks with container settings: the genuine SDK against the local service, with a real Docker daemon."""

from __future__ import annotations

import os
from datetime import timedelta
from typing import TYPE_CHECKING

import pytest
from azure.batch import models
from container_place import Place, container_place, failure_of, machine_of, pool_of, settled
from docker_daemon import free_port
from waiting import WITHIN

from azbatch_core import AccountSpec, AzureBatch, JobSpec, TaskSpec

if TYPE_CHECKING:
    from collections.abc import Iterator

    from docker_daemon import DockerPlace


@pytest.fixture(scope="module")
def place(docker: DockerPlace) -> Iterator[Place]:
    with container_place(docker) as made:
        yield made


def test_the_exit_code_and_output_are_the_container_s_and_it_is_removed(place: Place) -> None:
    task = place.run("sh -c 'echo out; echo err >&2; exit 7'")
    info = task.execution_info
    assert (info.exit_code, info.failure_info.code) == (7, "FailureExitCode")
    assert (place.said(task), place.said(task, "stderr.txt")) == ("out\n", "err\n")
    assert (info.container_info.state, info.container_info.error) == ("exited", "")
    assert len(info.container_info.container_id) == 64
    assert info.container_info.container_id not in place.docker.containers()


def test_success_and_run_options_as_published_clients_send_them(place: Place) -> None:
    options = (
        "--rm --name as-sent -v /tmp:/host-tmp:ro -e ONE=1 --env TWO=2 -u 0 --workdir /opt/here"
        " --cpu-shares 1024 --memory 64m --shm-size 16m --privileged=false --hostname other --ipc host"
        " --ulimit nofile=1024 --mount type=tmpfs,destination=/scratch --network host --entrypoint sh"
    )
    task = place.run("-c 'echo $ONE $TWO; pwd; ls -d /host-tmp /scratch'", options=options)
    assert task.execution_info.result == "success", task.execution_info
    assert place.said(task) == "1 2\n/opt/here\n/host-tmp\n/scratch\n"


def test_output_is_in_the_file_while_the_container_runs(place: Place) -> None:
    name = place.start("sh -c 'echo here; exec sleep 600'")

    def read() -> bytes:
        try:
            return b"".join(place.batch.download_task_file("j", name, "stdout.txt"))
        except Exception:  # noqa: BLE001 - the task has not begun
            return b""

    settled(read, lambda text: text == b"here\n")
    (container,) = place.docker.containers()
    info = place.batch.get_task("j", name).execution_info.container_info
    assert (info.container_id, info.state) == (container, "running")
    place.batch.terminate_task("j", name)
    task = place.end(name)
    assert (task.execution_info.exit_code, task.execution_info.failure_info.code) == (137, "TaskEnded")
    assert task.execution_info.container_info.container_id == container
    settled(place.docker.containers, lambda found: not found)


def test_wall_time_kills_the_container(place: Place) -> None:
    limit = models.BatchTaskConstraints(max_wall_clock_time=timedelta(seconds=1))
    task = place.run("sleep 600", task_constraints=limit)
    assert task.execution_info.failure_info.code == "TaskEnded"
    assert not place.docker.containers()


def test_batch_s_variables_and_the_user_s_are_set_and_path_is_the_image_s(place: Place) -> None:
    given = {
        "WORDS": "a b  'c'",
        "LINES": "one\ntwo",
        "HASH": "# no comment",
        "LONG": "x" * 70_000,
        "EMPTY": "",
    }
    settings = [models.EnvironmentSetting(name=name, value=value) for name, value in given.items()]
    task = place.run("env", task_environment_settings=settings)
    said = place.said(task)
    found = dict(line.partition("=")[::2] for line in said.splitlines())
    assert "\nLINES=one\ntwo\n" in f"\n{said}"
    assert {name: found[name] for name in given if name != "LINES"} == {
        name: value for name, value in given.items() if name != "LINES"
    }
    assert (found["AZ_BATCH_POOL_ID"], found["AZ_BATCH_TASK_ID"]) == ("p", task.id)
    assert found["PATH"] == "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
    assert not any(name.startswith("DOCKER") for name in found)


def test_the_node_s_root_is_mounted_and_wd_is_where_it_runs(place: Place) -> None:
    file = models.ResourceFile(http_url=f"{place.local.blob_endpoint}/none/x", file_path="x")
    assert failure_of(place.run("cat x", task_resource_files=[file]))[0].startswith("Blob")
    task = place.run("sh -c 'pwd; echo kept > made; echo shared > $AZ_BATCH_NODE_SHARED_DIR/from-container'")
    assert place.said(task).endswith(f"/workitems/j/job-1/{task.id}/wd\n")
    assert place.said(task, "wd/made") == "kept\n"
    other = place.run("sh -c 'cat $AZ_BATCH_NODE_SHARED_DIR/from-container; ls /home /root'")
    assert place.said(other) == "shared\n", "and nothing else of the machine is there"
    place.batch.delete_task_file("j", str(task.id), "wd/made")


def test_the_image_s_own_folder_and_entry_point(place: Place) -> None:
    image = place.docker.echo
    assert place.said(place.run("", image)) == "entry cmd\n"
    assert place.said(place.run("'given words' x", image)) == "entry given words x\n"
    there = place.run("-c pwd", image, "--entrypoint /bin/sh", working_directory="containerImageDefault")
    assert place.said(there) == "/opt/here\n"
    here = place.run("-c pwd", image, "--entrypoint /bin/sh")
    assert place.said(here).endswith("/wd\n")


def test_narrowed_mounts_and_their_variables(place: Place) -> None:
    entry = models.ContainerHostBatchBindMountEntry
    look = "sh -c 'env; touch $AZ_BATCH_NODE_SHARED_DIR/x || echo refused; ls -d $AZ_BATCH_TASK_DIR'"
    task = place.run(
        look,
        container_host_batch_bind_mounts=[
            entry(source="Shared", is_read_only=True),
            entry(source="Task", is_read_only=False),
        ],
    )
    said = place.said(task)
    assert "refused" in said
    assert said.endswith(f"/job-1/{task.id}\n")
    names = {line.partition("=")[0] for line in said.splitlines()}
    assert {"AZ_BATCH_NODE_SHARED_DIR", "AZ_BATCH_TASK_DIR", "AZ_BATCH_TASK_WORKING_DIR"} <= names
    assert not {"AZ_BATCH_NODE_ROOT_DIR", "AZ_BATCH_NODE_STARTUP_DIR", "AZ_BATCH_NODE_MOUNTS_DIR"} & names


def test_no_mounts_at_all_go_with_the_image_s_own_folder_only(place: Place) -> None:
    task = place.run(
        "sh -c 'pwd; env'", working_directory="containerImageDefault", container_host_batch_bind_mounts=[]
    )
    said = place.said(task)
    assert said.startswith("/\n")
    assert "_DIR=" not in said
    code, why = failure_of(place.run("pwd", container_host_batch_bind_mounts=[]))
    assert (code, why) == (
        "ContainerInvalidSettings",
        "Without a mount of Task, workingDirectory must be containerImageDefault",
    )


@pytest.mark.parametrize(
    ("options", "why"),
    [
        ("--gpus all", "The option --gpus is not supported in containerRunOptions"),
        ("--runtime=nvidia", "The option --runtime is not supported in containerRunOptions"),
        ("--no-such-option", "unknown flag: --no-such-option"),
        ("--memory lots", "invalid argument"),
        ("-w $AZ_BATCH_TASK_WORKING_DIR", "absolute path"),
        ("-e 'A=1", "No closing quotation"),
        ("--rm busybox-here:1", "Unexpected argument busybox-here:1 in containerRunOptions"),
        ("--rm somebody/else ", "No such image: somebody/else:latest"),
    ],
)
def test_what_docker_or_batch_refuses(place: Place, options: str, why: str) -> None:
    task = place.run("echo x", options=options)
    code, said = failure_of(task)
    assert code == "ContainerInvalidSettings"
    assert why in said
    assert "--help" not in said
    assert task.execution_info.exit_code is None
    assert not place.docker.containers()


def test_a_program_that_is_not_in_the_image(place: Place) -> None:
    task = place.run("no-such-program")
    code, said = failure_of(task)
    assert code == "ContainerInvalidSettings"
    assert 'exec: "no-such-program": executable file not found' in said
    assert (task.execution_info.exit_code, task.execution_info.container_info.state) == (None, "created")


def test_preparation_and_release_tasks_run_in_containers(place: Place) -> None:
    container = models.BatchTaskContainerSettings(image_name=place.docker.image)
    where = "$AZ_BATCH_NODE_SHARED_DIR"
    place.batch.create_job(
        models.BatchJobCreateOptions(
            id="prepared",
            pool_info={"poolId": "p"},
            job_preparation_task=models.BatchJobPreparationTask(
                command_line=f"sh -c 'echo prepared > {where}/prepared'", container_settings=container
            ),
            job_release_task=models.BatchJobReleaseTask(
                command_line=f"sh -c 'echo released > {where}/released'", container_settings=container
            ),
        )
    )
    task = models.BatchTaskCreateOptions(
        id="t", command_line=f"sh -c 'cat {where}/prepared'", container_settings=container
    )
    place.batch.create_task("prepared", task)
    settled(lambda: place.batch.get_task("prepared", "t"), lambda found: found.state == "completed")
    assert b"".join(place.batch.download_task_file("prepared", "t", "stdout.txt")) == b"prepared\n"
    place.batch.begin_terminate_job("prepared", options={"terminateReason": "done"}).wait()
    (info,) = list(place.batch.list_job_preparation_and_release_task_status("prepared"))
    assert info.job_preparation_task_execution_info.container_info.state == "exited"
    assert info.job_release_task_execution_info.container_info.state == "exited"
    assert place.said(place.run(f"sh -c 'cat {where}/released'")) == "released\n"


def test_a_multi_instance_task_in_containers(place: Place) -> None:
    port = free_port()
    machine = machine_of(container_image_names=[place.docker.image])
    pool = pool_of("members", machine, enable_inter_node_communication=True)
    pool.target_dedicated_nodes, pool.task_slots_per_node = 2, 1
    place.batch.create_pool(pool)
    place.batch.create_job(models.BatchJobCreateOptions(id="meet", pool_info={"poolId": "members"}))
    serve = f"[ $AZ_BATCH_IS_CURRENT_NODE_MASTER = true ] || nc -l -p {port} -e echo hello > /dev/null 2>&1 &"
    others = "for there in ${AZ_BATCH_HOST_LIST//,/ }; do [ $there:6000 = $AZ_BATCH_MASTER_NODE ] ||"
    ask = f"until nc $there {port} < /dev/null; do sleep 0.1; done; done"
    task = models.BatchTaskCreateOptions(
        id="g",
        command_line=f"sh -c '{others} {ask}'",
        container_settings=models.BatchTaskContainerSettings(image_name=place.docker.image),
        multi_instance_settings=models.MultiInstanceSettings(
            number_of_instances=2, coordination_command_line=f"sh -c '{serve}'"
        ),
    )
    place.batch.create_task("meet", task)
    found = settled(lambda: place.batch.get_task("meet", "g"), lambda found: found.state == "completed")
    assert found.execution_info.result == "success", found.execution_info
    assert b"".join(place.batch.download_task_file("meet", "g", "stdout.txt")) == b"hello\n"
    (subtask,) = settled(
        lambda: list(place.batch.list_subtasks("meet", "g")), lambda found: found[0].state == "completed"
    )
    ids = {found.execution_info.container_info.container_id, subtask.container_info.container_id}
    assert len(ids) == 2
    assert not ids & set(place.docker.containers())


def test_files_of_a_container_s_root_end_as_the_service_s_own(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Only for the files: the service goes on as root, which could delete them anyway.
    monkeypatch.setattr(os, "getuid", lambda: 12345)
    monkeypatch.setattr(os, "getgid", lambda: 54321)
    admin = models.UserIdentity(auto_user=models.AutoUserSpecification(elevation_level="admin"))
    task = place.run("sh -c 'id; echo x > deep'", task_user_identity=admin)
    assert place.said(task) == "uid=0 gid=0 groups=0\n", task.execution_info
    plain = place.run("id")
    assert place.said(plain) == "uid=12345 gid=54321 groups=54321\n"
    (made,) = place.local.state_dir.glob(f"nodes/**/{task.id}/wd/deep")
    assert (made.stat().st_uid, made.stat().st_gid) == (12345, 54321)


def test_a_job_of_the_client_s_own_in_a_container(place: Place) -> None:
    account = AccountSpec(
        name="here",
        endpoint=place.local.endpoint,
        account_name=place.local.account_name,
        credential="shared_key",
        account_key=place.local.account_key,
    )
    tasks = (TaskSpec(command=["sh", "-c", "touch $AZ_BATCH_TASK_DIR/wd/x; exit 4"]),)
    spec = JobSpec(name="mine", container=place.docker.image, tasks=tasks)
    with AzureBatch(account) as client:
        handle = client.submit(spec).job
        assert handle.wait(WITHIN).exit_code == 1
        (task,) = handle.tasks()
        assert task.exit_code == 4


def test_a_gang_of_the_client_s_own_in_containers(place: Place) -> None:
    account = AccountSpec(
        name="here",
        endpoint=place.local.endpoint,
        account_name=place.local.account_name,
        credential="shared_key",
        account_key=place.local.account_key,
    )
    say = 'echo $AZBATCH_NODE_RANK "$0" $AZBATCH_NODE_LIST'
    task = TaskSpec(id="g", gang=3, command=["sh", "-c", say, "it's $(one)"])
    spec = JobSpec(name="members", container=place.docker.image, tasks=(task,), pool={"nodes": 3})
    with AzureBatch(account) as client:
        handle = client.submit(spec).job
        assert handle.wait(WITHIN).exit_code == 0
        lines = sorted(chunk.text for chunk in handle.logs("g"))
    assert [line.split(" ")[:3] for line in lines] == [[str(rank), "it's", "$(one)"] for rank in range(3)]
    assert len({line.split(" ")[3] for line in lines}) == 1
