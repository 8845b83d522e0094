"""Real training by torchrun and PyTorch: two nodes with two processes each. `-m training` selects it."""

from __future__ import annotations

import importlib.util
import os
import re
import shutil
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from torchx.specs import AppState
from torchx_apps import stdout

from azbatch_core import AzureBatch, JobSpec, ManagedPool, TaskSpec
from azbatch_core.local import LocalBatch
from azbatch_core.service.documents import requests

if TYPE_CHECKING:
    from collections.abc import Callable

    from conftest import Commands
    from docker_daemon import DockerPlace

pytestmark = pytest.mark.training
TRAINED_WITHIN = 240.0
SCRIPT = Path(__file__).parents[2] / "examples/torchx/train.py"
LOSS = re.compile(r"\[(\d)\]:rank (\d) epoch (\d+): loss (\d\.\d+)\n")
AGREE = re.compile(r"rank (\d): all 4 ranks agree, weights sum to (\S+)\n")


@pytest.fixture(autouse=True)
def tools(monkeypatch: pytest.MonkeyPatch) -> None:
    """PyTorch, which tasks find where this Python is."""
    if importlib.util.find_spec("torch") is None:
        pytest.fail("no torch") if os.environ.get("CI") else pytest.skip("no torch here")
    monkeypatch.setenv("PATH", f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}")


def wait(scheduler: Any, app_id: str, met: Callable[[Any], Any]) -> Any:
    """The app as soon as something is true of it."""
    import time

    deadline = time.monotonic() + TRAINED_WITHIN
    while time.monotonic() < deadline:
        described = scheduler.describe(app_id)
        if met(described):
            return described
        time.sleep(0.2)  # training happens in other processes
    raise AssertionError(f"{app_id} is {described.state}: {described.msg}; {logs_of(scheduler, app_id)}")


def ended(described: Any) -> bool:
    return described.state in {AppState.SUCCEEDED, AppState.FAILED, AppState.CANCELLED}


def logs_of(scheduler: Any, app_id: str) -> list[list[str]]:
    return [list(scheduler.log_iter(app_id, "train", k)) for k in range(2)]


def check(scheduler: Any, app_id: str) -> None:
    """The loss fell, all ranks agree, and each replica's log is its own."""
    described = wait(scheduler, app_id, ended)
    assert described.state == AppState.SUCCEEDED, logs_of(scheduler, app_id)
    ranks = []
    weights = set()
    for k in range(2):
        text = "".join(stdout(scheduler, app_id, role="train", k=k))
        assert set(re.findall(r"runs on replica (\d)", text)) == {str(k)}
        found = LOSS.findall(text)
        mine = sorted({rank for _, rank, _, _ in found})
        assert {process for process, *_ in found} == {"0", "1"}
        ranks += mine
        for rank in mine:
            losses = [float(loss) for _, one, _, loss in found if one == rank]
            assert losses == sorted(losses, reverse=True)
            assert losses[-1] < 0.9 * losses[0]
        weights |= {total for _, total in AGREE.findall(text)}
    assert sorted(ranks) == ["0", "1", "2", "3"]
    assert len(weights) == 1


def train(torchx: Commands, pool: str, *words: str, cfg: str = "account=here", pause: float = 0) -> str:
    shutil.copy(SCRIPT, torchx.folder)
    component = ("dist.ddp", "-j", "2x2", *words, "--script", "train.py", "--", "--pause", str(pause))
    return torchx.run(*component, cfg=f"{cfg},pool={pool}").rpartition("/")[2]


def pool_of(batch: AzureBatch, nodes: int, image: str = "alpine:3.20") -> str:
    own = ManagedPool(name=f"trains{nodes}", nodes=nodes, containers=True)
    filler = TaskSpec(command=("true",), container=image, gang=2)
    return str(batch.submit(JobSpec(name="filler", pool=own, tasks=(filler,))).job.wait(60).pool_id)


def test_two_gangs_train_at_once_and_one_loses_a_node_midway(scheduler: Any, torchx: Commands) -> None:
    with AzureBatch("here") as batch:
        pool = pool_of(batch, nodes=4)
        hit, other = train(torchx, pool, pause=0.5), train(torchx, pool, pause=0.1)
        wait(
            scheduler,
            hit,
            lambda _: any("epoch 10:" in line for log in logs_of(scheduler, hit) for line in log),
        )
        node = scheduler.describe(hit).roles_statuses[0].replicas[1].hostname
        job = batch.job(hit)
        (before,) = job.tasks()
        requests.send(batch._connection, "POST", "pools", pool, "nodes", node, "reboot", body={})
        # Batch counts neither as a retry nor as a requeue what a lost node was the cause of.
        wait(scheduler, hit, lambda _: next(job.tasks()).started not in {None, before.started})
        for app_id in (hit, other):
            check(scheduler, app_id)
        assert {task.state.value for one in (hit, other) for task in batch.job(one).tasks()} == {"succeeded"}


def test_in_containers(
    scheduler: Any, torchx: Commands, docker: DockerPlace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DOCKER_HOST", docker.host)
    root = tmp_path / "root"
    for name in ("etc", "tmp"):
        (root / name).mkdir(parents=True)
    for name in ("bin", "lib", "lib64", "sbin"):
        (root / name).symlink_to(f"usr/{name}")
    packed = shutil.make_archive(str(tmp_path / "image"), "tar", root)
    docker.docker("import", packed, "python-here:1")
    # Programs and libraries are this machine's; everything else is the container's own.
    mounts = ",".join(
        f"type=bind,src={path},dst={path},readonly" for path in ("/usr", sys.prefix, sys.base_prefix)
    )
    path = f"{Path(sys.executable).parent}:/usr/bin"
    words = ("--image", "python-here:1", "--mounts", mounts, "--env", f"PATH={path}")
    with LocalBatch(containers="docker") as local:
        config = str(tmp_path / "docker.toml")
        Path(config).write_text(
            f'[accounts.boxes]\nendpoint = "{local.endpoint}"\naccount_name = "{local.account_name}"\n'
            f'account_key = "{local.account_key}"\n[accounts.boxes.storage]\n'
            f'blob_endpoint = "{local.blob_endpoint}"\naccount_name = "{local.blob_account}"\n'
            f'account_key = "{local.blob_key}"\n'
        )
        monkeypatch.setenv("AZBATCH_CONFIG", config)
        monkeypatch.setitem(torchx.variables, "AZBATCH_CONFIG", config)
        with AzureBatch("boxes") as batch:
            pool = pool_of(batch, nodes=2, image=docker.image)
        app_id = train(torchx, pool, *words, cfg="account=boxes")
        check(scheduler, app_id)
        assert not any("does not run in" in line for log in logs_of(scheduler, app_id) for line in log)
