"""Every operation on files of tasks and nodes, by both clients of the SDK."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
import sdk_bodies as bodies
from azure.core.exceptions import HttpResponseError, ResourceNotFoundError
from waiting import until

if TYPE_CHECKING:
    from collections.abc import Iterator

    from sdk_calls import Sdk

WRITES = "/bin/sh -c 'echo hello; mkdir d; echo there > d/f'"


@pytest.fixture
def place(sdk: Sdk, request: pytest.FixtureRequest) -> Iterator[tuple[str, str, str]]:
    """The pool and node where a task of a job has written."""
    name = sdk.name(request.node.name.split("[")[0][-40:])
    sdk.create_pool(bodies.pool(name, 1))
    sdk.create_job(bodies.job(name, name))
    sdk.create_task(name, bodies.task("t", WRITES))
    task = until(lambda: (found := sdk.get_task(name, "t")).state == "completed" and found)
    assert task.execution_info.exit_code == 0
    yield name, task.node_info.node_id, task.node_info.task_root_directory
    sdk.begin_delete_job(name)
    sdk.begin_delete_pool(name)


def test_files_of_a_task(sdk: Sdk, place: tuple[str, str, str]) -> None:
    job_id, _, _ = place
    names = {found.name for found in sdk.list_task_files(job_id, "t", recursive=True)}
    assert {"stdout.txt", "stderr.txt", "wd", "wd/d", "wd/d/f"} <= names
    assert sdk.download_task_file(job_id, "t", "wd/d/f") == b"there\n"
    assert sdk.download_task_file(job_id, "t", "stdout.txt", ocp_range="bytes=1-2") == b"el"
    sdk.get_task_file_properties(job_id, "t", "stdout.txt")
    assert sdk.headers["content-length"] == "6"
    assert sdk.headers["ocp-batch-file-isdirectory"] == "False"
    with pytest.raises(HttpResponseError):
        sdk.delete_task_file(job_id, "t", "wd/d")
    sdk.delete_task_file(job_id, "t", "wd/d", recursive=True)
    with pytest.raises(ResourceNotFoundError):
        sdk.download_task_file(job_id, "t", "wd/d/f")


def test_files_of_a_node(sdk: Sdk, place: tuple[str, str, str]) -> None:
    pool_id, node_id, root = place
    names = {found.name for found in sdk.list_node_files(pool_id, node_id, recursive=True)}
    assert {"shared", "startup", f"{root}/stdout.txt"} <= names
    path = f"{root}/wd/d/f"
    assert sdk.download_node_file(pool_id, node_id, path) == b"there\n"
    sdk.get_node_file_properties(pool_id, node_id, path)
    assert sdk.headers["content-length"] == "6"
    sdk.delete_node_file(pool_id, node_id, path)
    with pytest.raises(ResourceNotFoundError):
        sdk.get_node_file_properties(pool_id, node_id, path)
