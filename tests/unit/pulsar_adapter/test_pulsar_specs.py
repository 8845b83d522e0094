"""The Batch job of a launch, and the files that its nodes read: pure, without Pulsar."""

from __future__ import annotations

import base64
import json
import shlex
import subprocess
from dataclasses import replace
from typing import Any

import pytest

from azbatch_core import AutoPool, JobSpec, ManagedPool
from azbatch_core.specs.command import command_line
from azbatch_pulsar.destination import PREFIX, parse
from azbatch_pulsar.jobs import Launch, files_of, job_of, result_folder

SECRETS = ("key-0815", "broker-0815", "login-0815")
ODD = ["plain", "it's", 'say "x"', "$HOME `id` $(id)", "two\nlines", "ü\t\\", "#;&|<>*?[]{}~!%"]


def launch_of(tool_image: str = "tool:1", **given: Any) -> Launch:
    return Launch(
        batch_id="galaxy-main-7",
        staging="/mnt/pulsar_staging/galaxy-main-7",
        job_directory="/mnt/pulsar_staging/galaxy-main-7/7",
        destination=parse({PREFIX + name: value for name, value in given.items()}),
        pulsar_image="pulsar:1",
        tool_image=tool_image,
        arguments=("--manager", "main"),
        message={"job_id": "7", "url": "http://galaxy/api/jobs/7/files?job_key=key-0815"},
        app_config={"message_queue_url": "amqp://u:broker-0815@h//"},
    )


def settings_of(launch: Launch) -> dict[str, str]:
    """What a shell makes of the settings."""
    text = files_of(launch)["steps/settings.sh"].decode()
    names = [line.partition("=")[0] for line in text.splitlines() if line.partition("=")[0].isupper()]
    script = text + "".join(f'printf "%s\\0" "${name}"\n' for name in names if name.isidentifier())
    said = subprocess.run(["/bin/sh", "-u", "-c", script], capture_output=True, check=True).stdout.decode()
    return dict(zip([name for name in names if name.isidentifier()], said.split("\0"), strict=False))


@pytest.mark.parametrize("odd", ODD)
def test_settings_are_text_to_the_shell_whatever_is_in_them(odd: str) -> None:
    found = settings_of(replace(launch_of(odd), pulsar_image=odd, job_directory=odd))
    assert (found["TOOL_IMAGE"], found["PULSAR_IMAGE"], found["JOB_DIRECTORY"]) == (odd, odd, odd)


@pytest.mark.parametrize("odd", ODD[:4])
def test_options_and_volumes_are_words_of_their_own(odd: str) -> None:
    options = f"--network host -e {shlex.quote(f'X={odd}')}"
    found = settings_of(launch_of(docker_options=options, volumes=["/a b:/c"], memory="64MiB"))
    assert shlex.split(found["OPTIONS"]) == ["-v", "/a b:/c", "--network", "host", "-e", f"X={odd}"]
    assert found["TOOL_OPTIONS"] == "--memory=67108864"


def test_the_tool_gets_the_gpus_and_pulsar_does_not() -> None:
    found = settings_of(launch_of(gpus="1", memory="64MiB"))
    assert shlex.split(found["TOOL_OPTIONS"]) == ["--memory=67108864", "--gpus=all"]
    assert shlex.split(found["OPTIONS"]) == []


def test_what_the_scripts_know() -> None:
    found = settings_of(launch_of(cores="2.5", memory="2GiB", walltime="90m", stage_timeout="1h"))
    assert (found["SLOTS"], found["MEMORY_MB"]) == ("2", "2048")
    assert (found["TOOL_SECONDS"], found["STAGE_SECONDS"]) == ("5400", "3600")
    assert found["STAGE_LIMIT"] == "3660", "it ends by itself, and says why"
    assert found["PULSAR_ARGUMENTS"] == "--manager main"
    assert found["LABEL"] == "galaxy-main-7"
    bare = settings_of(launch_of())
    assert (bare["SLOTS"], bare["MEMORY_MB"], bare["TOOL_OPTIONS"]) == ("", "", "")
    assert bare["TOOL_SECONDS"] == str(7 * 86_400)
    assert settings_of(launch_of(cores="0.5"))["SLOTS"] == "1"


def test_secrets_are_in_the_files_for_secrets_alone() -> None:
    registry = {"server": "a.azurecr.io", "username": "u", "password": "login-0815"}
    launch = launch_of(registry=registry)
    files = files_of(launch)
    assert json.loads(files["secret/message.json"]) == launch.message
    assert json.loads(files["secret/app.json"]) == launch.app_config
    login = json.loads(files["secret/docker/config.json"])["auths"]["a.azurecr.io"]["auth"]
    assert base64.b64decode(login) == b"u:login-0815"
    others = b"".join(content for name, content in files.items() if not name.startswith("secret/")).decode()
    job = job_of(launch)
    for secret in SECRETS:
        assert secret not in others
        assert secret not in f"{launch!r} {launch!s} {job!r} {job!s} {job.model_dump()!r}"
        assert secret not in " ".join(command_line(task.command) for task in job.tasks)


def test_without_a_login_docker_has_an_empty_configuration() -> None:
    assert files_of(launch_of())["secret/docker/config.json"] == b"{}"


def test_one_task_on_a_shared_pool() -> None:
    job = job_of(launch_of(cores="2", memory="4GiB", priority="5", vm_size="standard_d4s_v5"))
    assert (job.id, job.priority) == ("galaxy-main-7", 5)
    assert isinstance(job.pool, ManagedPool)
    assert job.pool.host_docker
    (task,) = job.tasks
    assert task.elevated
    assert task.container is None
    assert command_line(task.command) == "/bin/sh galaxy-main-7/steps/single_task.sh"
    assert [file.blob_prefix for file in task.resource_files] == ["galaxy-main-7/"]
    for step in (job.preparation, job.release):
        assert step is not None
        assert step.elevated
        assert "label=azbatch.job=$AZ_BATCH_JOB_ID" in command_line(step.command)


def test_on_the_node_itself_nobody_is_an_administrator() -> None:
    job = job_of(launch_of(runtime="host", path="/opt/pulsar/bin"))
    for step in (job.preparation, job.release, job.tasks[0]):
        assert step is not None
        assert not step.elevated
        assert "docker" not in command_line(step.command)
    assert [(item.name, item.value) for item in job.tasks[0].environment] == [
        ("PATH", "/opt/pulsar/bin:/usr/local/bin:/usr/bin:/bin")
    ]


def test_three_tasks_on_a_node_of_their_own() -> None:
    job = job_of(
        launch_of(strategy="dependent_tasks", walltime="2h", stage_timeout="1h", volumes="/cvmfs:/cvmfs:ro")
    )
    assert isinstance(job.pool, AutoPool)
    assert (job.pool.nodes, job.pool.spot_nodes) == (1, 0)
    submit, tool, finish = job.tasks
    assert [task.id for task in job.tasks] == ["submit", "tool", "finish"]
    assert (submit.depends_on, tool.depends_on, finish.depends_on) == ((), ("submit",), ("tool",))
    assert {task.on_failure for task in job.tasks} == {"satisfy"}
    assert [str(task.wall_time) for task in job.tasks] == ["1:01:00", "2:00:00", "1:01:00"]
    assert [task.container.image for task in job.tasks if task.container] == [
        "pulsar:1",
        "tool:1",
        "pulsar:1",
    ]
    assert all(task.container and "/cvmfs:/cvmfs:ro" in task.container.run_options for task in job.tasks)
    assert not any(task.elevated for task in job.tasks)
    read = [[file.blob_prefix for file in task.resource_files] for task in job.tasks]
    both = ["galaxy-main-7/steps/", "galaxy-main-7/secret/"]
    assert read == [both, both[:1], both], "the tool reads no secret"
    assert [bool(task.output_files) for task in job.tasks] == [False, False, True]


def test_a_spot_node_of_their_own() -> None:
    pool = job_of(launch_of(strategy="dependent_tasks", spot="true")).pool
    assert isinstance(pool, AutoPool)
    assert (pool.nodes, pool.spot_nodes) == (0, 1)


def test_results_are_below_a_folder_that_no_node_reads() -> None:
    launch = launch_of()
    assert result_folder(launch.batch_id) == "results/galaxy-main-7"
    (task,) = job_of(launch).tasks
    assert {file.path for file in task.output_files} == {"results/galaxy-main-7"}
    assert isinstance(job_of(launch), JobSpec)
