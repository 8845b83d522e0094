"""Roles of several replicas: what each node runs, tried in the shells that nodes and images have."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest
from torchx_fakes import App, Role

from azbatch_core import SpecError, TaskSpec
from azbatch_core.plan.gang_prelude import with_prelude
from azbatch_torchx import gangs, mapping
from azbatch_torchx.options import RunOptions

if TYPE_CHECKING:
    from pathlib import Path

SHELLS = [name for name in ("dash", "bash", "busybox") if shutil.which(name)]
SHOW = "import json, os, sys; print(json.dumps([sys.argv[1:], dict(os.environ)]))"
DDP = (
    "torchrun --rdzv_endpoint ${TORCHX_RANK0_HOST:=localhost}:29500 --rdzv_id 'here:app-1' --node_rank "
    f"'{gangs.REPLICA_ID}' train.py"
)
HOSTS = {"AZ_BATCH_HOST_LIST": "10.0.0.4,10.0.0.5", "AZ_BATCH_MASTER_NODE": "10.0.0.4:6000"}


@pytest.fixture(params=SHELLS)
def shell(request: pytest.FixtureRequest) -> list[str]:
    """A shell that is somewhere the `/bin/sh` of a node or an image."""
    return [request.param, "sh"] if request.param == "busybox" else [request.param]


def run_in(
    shell: list[str], words: tuple[str, ...], rank: int = 1, **variables: str
) -> tuple[list[str], dict[str, str]]:
    """What the program on one node of a gang of two was given: its arguments and variables."""
    told = {**HOSTS, "AZBATCH_NODE_ADDRESS": f"10.0.0.{4 + rank}", "PATH": "/usr/bin:/bin", **variables}
    prelude = with_prelude(words)
    command = [*shell, *prelude[1:4], *shell, *words[1:]]
    ended = subprocess.run(command, env=told, capture_output=True, text=True, check=False, timeout=20)
    assert ended.returncode == 0, ended.stderr
    assert not ended.stderr
    given, environment = json.loads(ended.stdout)
    return given, environment


def shown(*args: str, env: dict[str, str] | None = None) -> tuple[str, ...]:
    return gangs.command(sys.executable, ["-c", SHOW, *args], env or {})


def task_of(role: Role) -> TaskSpec:
    return mapping.to_job(App(), [role], "train-0a1b2c3d", RunOptions(), "0.7.0").job.tasks[0]


def test_a_role_of_several_replicas_is_a_gang() -> None:
    env = {"LR": "0.1", "ME": f"r{gangs.REPLICA_ID}"}
    task = task_of(Role(num_replicas=3, max_retries=2, env=env))
    assert task.gang is not None
    assert task.gang.nodes == 3
    assert task.retry is not None
    assert task.retry.max_retries == 2
    assert {one.name: one.value for one in task.environment} == {"LR": "0.1", "PYTHONUNBUFFERED": "1"}
    assert "\x01" not in str(task.command)


def test_output_is_kept_where_there_is_storage() -> None:
    for storage, keep, patterns in ((True, True, ["../std*.txt"]), (True, False, []), (False, True, [])):
        options = RunOptions(keep_logs=keep)
        job = mapping.to_job(App(), [Role()], "train-0a1b2c3d", options, "0.7.0", storage=storage).job
        assert [one.file_pattern for one in job.tasks[0].output_files] == patterns


@pytest.mark.parametrize("policy", ["REPLICA", "HOT_SPARE"])
def test_replicas_are_not_restarted_alone(policy: str) -> None:
    with pytest.raises(SpecError, match="Batch restarts all nodes of a gang together"):
        task_of(Role(num_replicas=2, max_retries=1, retry_policy=policy))
    assert task_of(Role(num_replicas=2, retry_policy=policy)).gang is not None


@pytest.mark.parametrize("rank", [0, 1])
def test_each_node_knows_which_replica_it_is(shell: list[str], rank: int) -> None:
    given, told = run_in(shell, shown("a", gangs.REPLICA_ID, f"--name={gangs.REPLICA_ID}-x"), rank)
    assert given == ["a", str(rank), f"--name={rank}-x"]
    assert told["TORCHX_REPLICA_ID"] == str(rank)
    assert told["TORCHX_RANK0_HOST"] == "10.0.0.4"
    assert told["PET_LOCAL_ADDR"] == f"10.0.0.{4 + rank}"
    assert told["PET_RDZV_CONF"] == f"is_host={'false' if rank else 'true'},read_timeout=300"


def test_arguments_and_variables_arrive_as_they_are(shell: list[str]) -> None:
    words = ["a b", "it's", '"', "$HOME", "$$", "`id`", '{"a": [1, "b c"]}', "", "\\", "*", "ü\n2", "'$x'"]
    values = {"A": f"it's {gangs.REPLICA_ID} $HOME `id`", "B": f'"{gangs.REPLICA_ID}\\n'}
    given, told = run_in(shell, shown(*words, env=values))
    assert given == words
    assert (told["A"], told["B"]) == ("it's 1 $HOME `id`", '"1\\n')


def test_what_torchx_renders_for_torchrun(shell: list[str]) -> None:
    words = gangs.command("bash", ["-c", DDP.replace("torchrun", f"'{sys.executable}' -c '{SHOW}'")], {})
    given, _ = run_in(shell, words)
    assert given[1:] == ["10.0.0.4:29500", "--rdzv_id", "here:app-1", "--node_rank", "1", "train.py"]


def test_gangs_of_one_machine_have_ports_of_their_own(shell: list[str]) -> None:
    def endpoint(main: str, rank: int, service: int = 1234) -> str:
        own = main if rank == 0 else "127.1.0.9"
        told = {"AZ_BATCH_HOST_LIST": f"{main},127.1.0.9", "AZ_BATCH_MASTER_NODE": f"{main}:6000"}
        url = f"http://127.0.0.1:{service}/"
        variables = {**told, "AZBATCH_NODE_ADDRESS": own, "AZ_BATCH_ACCOUNT_URL": url}
        words = shown("${TORCHX_RANK0_HOST:=localhost}:29500", "$TORCHX_RANK0_HOST:8080", "localhost:29500")
        given, _ = run_in(shell, words, **variables)
        assert given[2] == "localhost:29500"
        ports = [int(one.rpartition(":")[2]) for one in given[:2]]
        assert len({*ports}) == 2
        assert all(20000 <= port < 30000 for port in ports)
        return str(ports)

    assert endpoint("127.1.0.1", 0) == endpoint("127.1.0.1", 1)
    others = [("127.1.0.2", 1234), ("127.1.1.1", 1234), ("127.1.0.1", 1235)]
    assert len({endpoint("127.1.0.1", 0), *(endpoint(main, 0, port) for main, port in others)}) == 4


def test_what_the_user_set_stays(shell: list[str]) -> None:
    env = {"TORCHX_RANK0_HOST": "store.example", "TORCHX_REPLICA_ID": "7"}
    own = {"PET_RDZV_CONF": "timeout=9", "PET_LOCAL_ADDR": "10.9.9.9", "GLOO_SOCKET_IFNAME": "ib0", **env}
    _, told = run_in(shell, shown(env=env), **own)
    assert {name: told[name] for name in own} == own


@pytest.mark.parametrize(
    ("answer", "address", "card"),
    [
        ("10.0.0.5 node", "10.0.0.5", None),
        ("127.0.1.1 node", "10.0.0.5", "eth1"),
        ("", "10.0.0.5", "eth1"),
        ("", "172.16.0.9", "eth0"),
        ("::1 node", "127.1.0.2", "lo"),
    ],
)
def test_gloo_gets_the_card_of_the_node_s_address_where_the_name_of_the_host_misleads(
    shell: list[str], tmp_path: Path, answer: str, address: str, card: str | None
) -> None:
    ask = tmp_path / "getent"
    ask.write_text(f"#!/bin/sh\necho {answer}\n" if answer else "#!/bin/sh\nexit 2\n")
    ask.chmod(0o755)
    head = "Iface\tDestination\tGateway\tFlags\tRefCnt\tUse\tMetric\tMask\tMTU\tWindow\tIRTT\n"
    default = "eth0\t00000000\t0100000A\t0003\t0\t0\t0\t00000000\t0\t0\t0\n"
    own = "eth1\t0000000A\t00000000\t0001\t0\t0\t0\t00FFFFFF\t0\t0\t0\n"
    routes = tmp_path / "route"
    routes.write_text(head + default + own)
    words = [word.replace("/proc/net/route", str(routes)) for word in shown()]
    hosts = {"AZ_BATCH_HOST_LIST": f"10.0.0.4,{address}", "AZBATCH_NODE_ADDRESS": address}
    _, told = run_in(shell, tuple(words), **hosts, PATH=f"{tmp_path}:/usr/bin:/bin")
    assert told.get("GLOO_SOCKET_IFNAME") == card


def test_a_variable_that_no_shell_can_set() -> None:
    with pytest.raises(SpecError, match="no shell can set"):
        gangs.command("echo", [], {"a-b": gangs.REPLICA_ID})
