"""The variables that a task sees."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from azbatch_core.local.runtime.base import Launch, NodePlace, RuntimeConfig
from azbatch_core.local.runtime.directories import launch_directory
from azbatch_core.local.runtime.environment import docker_of_the_node, task_environment

ROOT = Path("/state/nodes/p/n")
NODE = NodePlace("Pool1", "tvmps_1", ROOT, "10.0.0.4")
CONFIG = RuntimeConfig(Path("/state"), "acct", "http://127.0.0.1:1/acct")
NODE_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"


def variables(kind: Any = "task", *, service_path: str = "", **fields: Any) -> dict[str, str]:
    values = {"node": NODE, "job_id": None if kind == "start" else "job", "task_id": "t1", **fields}
    launch = Launch(kind=kind, command_line="true", **values)
    return task_environment(CONFIG, launch, launch_directory(launch), service_path=service_path)


def test_a_task_sees_the_documented_variables_and_no_others() -> None:
    task = f"{ROOT}/workitems/job/job-1/t1"
    assert variables() == {
        "PATH": f"{NODE_PATH}:{ROOT}/shared:{task}/wd",
        "HOME": f"{task}/wd",
        "PWD": f"{task}/wd",
        "USER": "_azbatch",
        "AZ_BATCH_ACCOUNT_NAME": "acct",
        "AZ_BATCH_ACCOUNT_URL": "http://127.0.0.1:1/acct/",
        "AZ_BATCH_POOL_ID": "Pool1",
        "AZ_BATCH_JOB_ID": "job",
        "AZ_BATCH_TASK_ID": "t1",
        "AZ_BATCH_NODE_ID": "tvmps_1",
        "AZ_BATCH_NODE_IS_DEDICATED": "true",
        "AZ_BATCH_NODE_ROOT_DIR": str(ROOT),
        "AZ_BATCH_NODE_SHARED_DIR": f"{ROOT}/shared",
        "AZ_BATCH_NODE_STARTUP_DIR": f"{ROOT}/startup",
        "AZ_BATCH_NODE_STARTUP_WORKING_DIR": f"{ROOT}/startup/wd",
        "AZ_BATCH_NODE_MOUNTS_DIR": f"{ROOT}/fsmounts",
        "AZ_BATCH_TASK_DIR": task,
        "AZ_BATCH_TASK_WORKING_DIR": f"{task}/wd",
        "AZ_BATCH_CERTIFICATES_DIR": f"{task}/certs",
        "AZ_BATCH_TASK_USER": "_azbatch",
        "AZ_BATCH_TASK_USER_IDENTITY": "PoolNonAdmin",
        "AZ_BATCH_TASK_RESERVED_EPHEMERAL_DISK_SPACE_BYTES": "1073741824",
    }


def test_a_start_task_has_no_job_and_a_user_of_its_own() -> None:
    env = variables("start")
    assert "AZ_BATCH_JOB_ID" not in env
    assert "AZ_BATCH_TASK_ID" not in env
    assert env["AZ_BATCH_TASK_DIR"] == f"{ROOT}/startup"
    assert env["AZ_BATCH_TASK_USER"] == "_azbatchtask_start"
    assert env["AZ_BATCH_TASK_USER_IDENTITY"] == "TaskNonAdmin"


@pytest.mark.parametrize(("kind", "told"), [("task", True), ("release", True), ("preparation", False)])
def test_the_preparation_folder_is_told_to_those_after_it(kind: str, told: bool) -> None:  # noqa: FBT001 - a column of the table above
    env = variables(kind, job_prep_id="prep")
    folder = f"{ROOT}/workitems/job/job-1/prep"
    assert (env.get("AZ_BATCH_JOB_PREP_DIR") == folder) is told
    assert (env.get("AZ_BATCH_JOB_PREP_WORKING_DIR") == f"{folder}/wd") is told


def test_without_preparation_nothing_is_told_of_it() -> None:
    assert not any(name.startswith("AZ_BATCH_JOB_PREP") for name in variables())


@pytest.mark.parametrize(
    ("identity", "user", "words"),
    [
        ({"autoUser": {"scope": "pool", "elevationLevel": "admin"}}, "_azbatch", "PoolAdmin"),
        ({"autoUser": {"scope": "task", "elevationLevel": "nonadmin"}}, "_azbatchtask_1", "TaskNonAdmin"),
        ({"username": "ada"}, "ada", "PoolNonAdmin"),
    ],
)
def test_the_user_identity_shows(identity: dict[str, Any], user: str, words: str) -> None:
    env = variables(user_identity=identity)
    assert (env["USER"], env["AZ_BATCH_TASK_USER"]) == (user, user)
    assert env["AZ_BATCH_TASK_USER_IDENTITY"] == words


def test_settings_win_over_ordinary_variables_but_not_over_batch() -> None:
    env = variables(
        environment=(("HOME", "/elsewhere"), ("X", "1"), ("AZ_BATCH_POOL_ID", "fake")),
        extra_environment={"AZ_BATCH_HOST_LIST": "10.0.0.4,10.0.0.5"},
    )
    assert env["HOME"] == "/elsewhere"
    assert env["X"] == "1"
    assert env["AZ_BATCH_POOL_ID"] == "Pool1"
    assert env["AZ_BATCH_HOST_LIST"] == "10.0.0.4,10.0.0.5"


def test_a_spot_node_is_not_dedicated() -> None:
    node = NodePlace("Pool1", "n", ROOT, "10.0.0.5", is_dedicated=False)
    assert variables(node=node)["AZ_BATCH_NODE_IS_DEDICATED"] == "false"


def test_programs_of_this_machine_are_found_after_those_of_a_node() -> None:
    path = variables(service_path="/opt/tools:/usr/bin:relative:")["PATH"]
    assert path.startswith(NODE_PATH)
    assert path.split(":")[-1] == "/opt/tools"
    assert path.count("/usr/bin") == 1
    assert "relative" not in path


def test_nothing_of_the_service_leaks_in(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AZURE_BATCH_ACCESS_KEY", "very-secret")
    assert "very-secret" not in "".join(variables().values())


def test_the_service_s_docker_is_the_node_s_but_no_container_s(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DOCKER_HOST", "unix:///run/user/1000/docker.sock")
    assert docker_of_the_node() == {"DOCKER_HOST": "unix:///run/user/1000/docker.sock"}
    assert "DOCKER_HOST" not in variables()
    monkeypatch.delenv("DOCKER_HOST")
    assert docker_of_the_node() == {}
