"""Roles in containers of their own, by Docker."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from torchx.specs import AppState, BindMount, DeviceMount, Resource, VolumeMount
from torchx_apps import app_of, log, stdout, until, wait

from azbatch_core import AzureBatch
from azbatch_core.local import LocalBatch

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from docker_daemon import DockerPlace


@pytest.fixture
def inside(
    docker: DockerPlace, scheduler: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Any]:
    """The scheduler, with an account `docker` on a service that has Docker."""
    monkeypatch.setenv("DOCKER_HOST", docker.host)
    with LocalBatch(containers="docker") as local:
        config = tmp_path / "config.toml"
        config.write_text(
            f'default = "docker"\n[accounts.docker]\nendpoint = "{local.endpoint}"\n'
            f'account_name = "{local.account_name}"\naccount_key = "env:AZBATCH_TEST_DOCKER_KEY"\n'
            f'[accounts.docker.storage]\nblob_endpoint = "{local.blob_endpoint}"\n'
            f'account_name = "{local.blob_account}"\naccount_key = "env:AZBATCH_TEST_DOCKER_STORAGE_KEY"\n'
        )
        monkeypatch.setenv("AZBATCH_CONFIG", str(config))
        monkeypatch.setenv("AZBATCH_TEST_DOCKER_KEY", local.account_key)
        monkeypatch.setenv("AZBATCH_TEST_DOCKER_STORAGE_KEY", local.blob_key)
        yield scheduler


def test_a_role_runs_in_its_image_with_what_it_mounts(
    inside: Any, docker: DockerPlace, tmp_path: Path
) -> None:
    (tmp_path / "in put").mkdir()
    (tmp_path / "in put" / "file").write_text("from the node")
    script = (
        "cat /data/file; echo; touch /data/x 2>/dev/null || echo read-only;"
        " test -c /dev/zero2 && echo device; df -k /dev/shm | tail -1 | { read -r _ size _; echo $size; };"
        " ls /bin/busybox"
    )
    app = app_of(
        *("sh", "-c", script),
        image=docker.image,
        resource=Resource(cpu=1, gpu=0, memMB=100),
        mounts=[
            BindMount(str(tmp_path / "in put"), "/data", read_only=True),
            DeviceMount("/dev/zero", "/dev/zero2"),
        ],
    )
    app_id = inside.submit(app, {})
    described = wait(inside, app_id, AppState.SUCCEEDED)
    assert described.roles[0].image == docker.image
    assert stdout(inside, app_id) == [
        "from the node\n",
        "read-only\n",
        "device\n",
        f"{100 * 1024}\n",
        "/bin/busybox\n",
    ]


def test_a_mount_of_the_pool_is_linked_where_the_role_wants_it(inside: Any, docker: DockerPlace) -> None:
    show = app_of("sh", "-c", 'mkdir "$AZ_BATCH_NODE_MOUNTS_DIR/share"; id -u', image=docker.image)
    made = inside.submit(show, {})
    wait(inside, made, AppState.SUCCEEDED)
    app = app_of("sh", "-c", "echo kept > /deep/data/file; readlink /deep/data; id -u", image=docker.image)
    app.roles[0].mounts = [VolumeMount("share", "/deep/data")]
    pool = {"pool": inside._look(made)[2].pool_id}
    app_id = inside.submit(app, pool)
    wait(inside, app_id, AppState.SUCCEEDED)
    link, user = stdout(inside, app_id)
    assert link.endswith("/fsmounts/share\n")
    assert user == "0\n"
    app.roles[0].mounts = [VolumeMount("other", "/data")]
    app_id = inside.submit(app, pool)
    assert "exit code 125" in wait(inside, app_id, AppState.FAILED).msg
    assert log(inside, app_id) == ["azbatch: the pool has no mount named other\n"]


def test_output_of_replicas_in_containers_outlives_their_nodes(inside: Any, docker: DockerPlace) -> None:
    app = app_of("sh", "-c", 'echo "kept $TORCHX_REPLICA_ID"', image=docker.image, num_replicas=3)
    app_id = inside.submit(app, {})
    wait(inside, app_id, AppState.SUCCEEDED)
    with AzureBatch("docker") as batch:
        job = batch.job(app_id)
        until(lambda: job.documents()["job"]["state"] == "completed", "the job goes on")
        batch.delete_pool(str(job.status().pool_id), wait=True)
    assert [stdout(inside, app_id, k=k) for k in range(3)] == [[f"kept {k}\n"] for k in range(3)]


def test_an_image_that_cannot_be_pulled_is_a_failure_with_its_reason(
    inside: Any, docker: DockerPlace
) -> None:
    app_id = inside.submit(app_of("true", image=f"{docker.server}/no/such:1"), {})
    described = wait(inside, app_id, AppState.FAILED)
    assert described.msg.startswith("image: ")
    assert log(inside, app_id) == []
