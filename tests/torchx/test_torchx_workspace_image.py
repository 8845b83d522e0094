"""The workspace in an image of its own: built by Docker, pushed to a registry, pulled by its digest."""

from __future__ import annotations

import base64
import json
from typing import TYPE_CHECKING, Any

import pytest
from torchx.specs import AppState
from torchx_apps import app_of, stdout, wait

from azbatch_core.local import LocalBatch

if TYPE_CHECKING:
    from pathlib import Path

    from docker_daemon import DockerPlace


@pytest.mark.filterwarnings("ignore::ResourceWarning")  # TorchX's Docker client leaves its connections open
@pytest.mark.parametrize("replicas", [1, 2])
def test_built_pushed_and_pulled_by_its_digest(
    scheduler: Any, docker: DockerPlace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, replicas: int
) -> None:
    from docker_daemon import PASSWORD, USER

    login = {docker.server: {"auth": base64.b64encode(f"{USER}:{PASSWORD}".encode()).decode()}}
    (tmp_path / "login").mkdir()
    (tmp_path / "login" / "config.json").write_text(json.dumps({"auths": login}))
    project = tmp_path / "project"
    project.mkdir()
    (project / "hello.txt").write_text(f"from the workspace {replicas}\n")
    (project / "secret.txt").write_text("not for nodes\n")
    (project / ".dockerignore").write_text("secret.txt\n")
    (project / "Dockerfile.torchx").write_text("ARG IMAGE\nFROM $IMAGE\nWORKDIR /app\nCOPY . .\n")
    monkeypatch.setenv("DOCKER_HOST", docker.host)
    with LocalBatch(containers="docker") as local:
        config = tmp_path / "config.toml"
        config.write_text(
            f'default = "boxes"\n[accounts.boxes]\nendpoint = "{local.endpoint}"\n'
            f'account_name = "{local.account_name}"\naccount_key = "{local.account_key}"\n'
        )
        monkeypatch.setenv("AZBATCH_CONFIG", str(config))
        monkeypatch.setenv("DOCKER_CONFIG", str(tmp_path / "login"))
        monkeypatch.setenv("AZBATCH_REGISTRY_PASSWORD", PASSWORD)
        cfg = {"image_repo": f"{docker.server}/mine/app", "registry": f"{USER}@{docker.server}"}
        app = app_of("sh", "-c", "cat /app/hello.txt; ls /app", image=docker.image, num_replicas=replicas)
        app_id = scheduler.submit(app, cfg, workspace=str(project))
        described = wait(scheduler, app_id, AppState.SUCCEEDED)
        for k in range(replicas):
            lines = stdout(scheduler, app_id, k=k)
            assert lines[0] == f"from the workspace {replicas}\n"
            assert "secret.txt\n" not in lines
        task = scheduler.describe_native(app_id).request["tasks"][0]
        image = task["containerSettings"]["imageName"]
        assert image.startswith(f"{docker.server}/mine/app@sha256:")
        assert described.state == AppState.SUCCEEDED
