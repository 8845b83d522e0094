"""Roles of several replicas on the local service: who is who, states, logs, retries, a lost node."""

from __future__ import annotations

import json
import os
import threading
from typing import TYPE_CHECKING, Any

import pytest
from conftest import WITHIN, Commands
from torchx.specs import AppState, RetryPolicy, macros
from torchx_apps import app_of, log, stdout, submit, until, wait

from azbatch_core import AzureBatch, JobSpec, ManagedPool, TaskSpec
from azbatch_core.service.documents import requests

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

SHOW = 'printf "%s\\n" "$@" "$OWN"; printf "%s\\n" "$TORCHX_REPLICA_ID" "$TORCHX_RANK0_HOST" "$PET_RDZV_CONF"'


@pytest.fixture(scope="module")
def pool(variables: dict[str, str]) -> Iterator[str]:
    """A pool of four nodes that gangs run on."""
    mine = {name: os.environ.get(name) for name in variables if name.startswith("AZBATCH")}
    os.environ.update({name: variables[name] for name in mine})
    try:
        with AzureBatch("here") as batch:
            own = ManagedPool(name="gangs", nodes=4, containers=True)
            filler = TaskSpec(command=("true",), container="alpine:3.20", gang=2)
            yield str(
                batch.submit(JobSpec(name="filler", pool=own, tasks=(filler,))).job.wait(WITHIN).pool_id
            )
    finally:
        for name, value in mine.items():
            if value is None:
                os.environ.pop(name)
            else:
                os.environ[name] = value


def test_each_replica_is_told_who_it_is_and_has_a_log_of_its_own(scheduler: Any, pool: str) -> None:
    words = [
        macros.app_id,
        f"it's '{macros.replica_id}'",
        f"$${{{macros.rank0_env}}}",
        macros.img_root,
        "$$E",
    ]
    app = app_of("sh", "-c", SHOW, "sh", *words, env={"OWN": f"r{macros.replica_id}"}, num_replicas=3)
    app_id = submit(scheduler, app, pool=pool)
    described = wait(scheduler, app_id, AppState.SUCCEEDED)
    assert described.roles[0].num_replicas == 3
    replicas = described.roles_statuses[0].replicas
    assert [(one.id, one.state) for one in replicas] == [(k, AppState.SUCCEEDED) for k in range(3)]
    assert len({one.hostname for one in replicas}) == 3
    logs = [[line.rstrip("\n") for line in stdout(scheduler, app_id, k=k)] for k in range(3)]
    main = logs[0][-2]
    for k, lines in enumerate(logs):
        arguments = [app_id, f"it's '{k}'", "${TORCHX_RANK0_HOST}", "", "$E", f"r{k}", str(k)]
        host = "true" if k == 0 else "false"
        assert lines == [*arguments, main, f"is_host={host},read_timeout=300"]
    assert main.startswith("127.")
    assert not log(scheduler, app_id, k=3)


def test_two_gangs_at_once_agree_on_ports_that_differ(scheduler: Any, pool: str, tmp_path: Path) -> None:
    word = f"$${{{macros.rank0_env}:=localhost}}:29500"
    # Each pair waits for the other one: they run at the same time.
    script = (
        'echo "$1"; touch "$2.$TORCHX_REPLICA_ID"; until [ -e "$3.0" ] && [ -e "$3.1" ]; do sleep 0.1; done'
    )
    marks = [str(tmp_path / name) for name in "ab"]
    ids = [
        submit(scheduler, app_of("sh", "-c", script, "sh", word, *pair, num_replicas=2), pool=pool)
        for pair in (marks, marks[::-1])
    ]
    said = []
    for app_id in ids:
        wait(scheduler, app_id, AppState.SUCCEEDED)
        of_both = [stdout(scheduler, app_id, k=k) for k in range(2)]
        assert of_both[0] == of_both[1]
        said.append(of_both[0][0])
    # The shell is not asked to expand the address: only the port is ours.
    assert said[0] != said[1]
    assert all(line.startswith("${TORCHX_RANK0_HOST:=localhost}:2") for line in said)


def test_one_replica_that_fails_fails_all_and_all_are_tried_again(
    scheduler: Any, pool: str, tmp_path: Path
) -> None:
    flag = tmp_path / "flag"
    script = (
        f'[ "$TORCHX_REPLICA_ID" = 0 ] && sleep 0.3; test -e {flag} || {{ touch {flag}; exit 3; }}; echo ok'
    )
    retried = app_of("sh", "-c", script, num_replicas=2, max_retries=1, retry_policy=RetryPolicy.APPLICATION)
    app_id = submit(scheduler, retried, pool=pool)
    assert wait(scheduler, app_id, AppState.SUCCEEDED).num_restarts == 1
    assert [stdout(scheduler, app_id, k=k) for k in range(2)] == [["ok\n"], ["ok\n"]]

    failing = app_of("sh", "-c", 'test "$TORCHX_REPLICA_ID" = 0 && sleep 1000; exit 3', num_replicas=2)
    described = wait(scheduler, submit(scheduler, failing, pool=pool), AppState.FAILED)
    replicas = described.roles_statuses[0].replicas
    assert [one.state for one in replicas] == [AppState.CANCELLED, AppState.FAILED]
    assert json.loads(replicas[1].structured_error_msg)["message"]["errorCode"] == 3
    assert "member 1: exit code 3" in described.msg


def test_a_gang_that_loses_a_node_is_pending_and_runs_again(scheduler: Any, tmp_path: Path) -> None:
    flags = [tmp_path / str(k) for k in range(2)]
    script = f"F={tmp_path}/$TORCHX_REPLICA_ID; test -e $F || {{ touch $F; sleep 1000; }}; echo again"
    app = app_of("sh", "-c", script, num_replicas=2)
    with AzureBatch("here") as batch:
        own = ManagedPool(name="shrinking", nodes=2, containers=True)
        filler = TaskSpec(command=("true",), container="alpine:3.20", gang=2)
        job = batch.submit(JobSpec(name="filler", pool=own, tasks=(filler,))).job
        pool_id = str(job.wait(WITHIN).pool_id)
        app_id = submit(scheduler, app, pool=pool_id)
        until(lambda: all(flag.exists() for flag in flags), "the replicas did not start")
        batch.resize_pool(pool_id, nodes=1)
        described = wait(scheduler, app_id, AppState.PENDING)
        assert [one.state for one in described.roles_statuses[0].replicas] == [AppState.PENDING] * 2
        needs = "it has 1 node, and a gang needs 2 at once - azbatch pools resize"
        until(lambda: needs in scheduler.describe(app_id).msg, "it does not say what it waits for")
        batch.resize_pool(pool_id, nodes=2)
    assert wait(scheduler, app_id, AppState.SUCCEEDED).num_restarts == 1
    assert [stdout(scheduler, app_id, k=k) for k in range(2)] == [["again\n"]] * 2


def test_a_gang_that_never_starts_on_its_pool_is_refused_and_one_that_waits_says_why(
    torchx: Commands, pool: str
) -> None:
    for cfg, words in (
        (f"account=here,pool={pool}", "which has, or is to have, 4"),
        ("account=here,max_nodes=3", "never runs on a pool of at most 3"),
    ):
        ended = torchx("run", "-s", "azure_batch", "-cfg", cfg, "dist.ddp", "-j", "9x1", "-m", "none")
        assert (ended.code, "Traceback" in ended.err) == (1, False)
        assert words in ended.err


def test_an_app_that_waits_says_why(scheduler: Any, torchx: Commands, pool: str) -> None:
    first = submit(scheduler, app_of("sleep", "1000"), pool=pool)
    wait(scheduler, first, AppState.RUNNING)
    second = submit(scheduler, app_of("true", num_replicas=4), pool=pool)
    shown = torchx("status", f"azure_batch://torchx/{second}").out
    assert "Msg: task role: waits until 4 nodes are free at once: 3 of the 4 there are" in shown
    scheduler.cancel(first)
    assert wait(scheduler, second, AppState.SUCCEEDED).msg == ""


def test_a_preempted_node_is_told_of_while_the_app_waits(scheduler: Any, tmp_path: Path) -> None:
    script = 'F="$1/$TORCHX_REPLICA_ID"; test -e "$F" || { touch "$F"; sleep 1000; }; echo again'
    app = app_of("sh", "-c", script, "sh", str(tmp_path), num_replicas=2)
    app_id = submit(scheduler, app, spot=True)
    until(lambda: len(list(tmp_path.iterdir())) == 2, "the replicas did not start")
    fault = {"kind": "preempt", "job": app_id.partition(":")[2], "count": 1, "lasts": 1}
    with AzureBatch("here") as batch:
        requests.send(batch._connection, "POST", "_local", "faults", body=fault)
    described = wait(scheduler, app_id, AppState.PENDING)
    assert described.msg.startswith("task role: its node was taken away or lost, and it waits to start again")
    assert wait(scheduler, app_id, AppState.SUCCEEDED).num_restarts == 0


def test_logs_of_replicas_are_followed_to_their_last_lines(scheduler: Any, pool: str, tmp_path: Path) -> None:
    script = (
        'echo "first $TORCHX_REPLICA_ID"; until [ -e "$1" ]; do sleep 0.05; done; '
        'printf "half"; sleep 0.3; printf " a\\rline \\377 \\303"; sleep 0.3; printf "\\244\\nlast"'
    )
    app_id = submit(
        scheduler, app_of("sh", "-c", script, "sh", str(tmp_path / "go"), num_replicas=2), pool=pool
    )
    seen: dict[int, list[str]] = {0: [], 1: []}

    def follow(k: int) -> None:
        from torchx.schedulers.api import Stream

        lines = scheduler.log_iter(app_id, "role", k, None, None, None, True, streams=Stream.STDOUT)
        seen[k].extend(lines)

    threads = [threading.Thread(target=follow, args=(k,)) for k in range(2)]
    for thread in threads:
        thread.start()
    until(lambda: all(seen.values()) or (tmp_path / "go").touch(), "nothing came")
    for thread in threads:
        thread.join(WITHIN)
    for k in range(2):
        assert seen[k] == [f"first {k}\n", "half a\rline \ufffd ä\n", "last\n"]


# The second fails where all are there and the others wait to be ended with it.
FAILS = 'touch "$1/$TORCHX_REPLICA_ID"; until [ $(ls "$1" | wc -l) = 4 ]; do sleep 0.05; done; '
FAILS += '[ "$TORCHX_REPLICA_ID" = 1 ] && exit 3; sleep 1000'


@pytest.mark.parametrize(
    "case",
    [
        (1, "true", AppState.SUCCEEDED),
        (4, "true", AppState.SUCCEEDED),
        (4, FAILS, AppState.FAILED),
        (4, "sleep 1000", AppState.CANCELLED),
    ],
    ids=["one", "four", "one of four fails", "four are cancelled"],
)
def test_output_is_read_from_storage_when_its_nodes_are_gone(
    scheduler: Any, caplog: pytest.LogCaptureFixture, tmp_path: Path, case: tuple[int, str, AppState]
) -> None:
    replicas, then, state = case
    script = f'echo "kept $TORCHX_REPLICA_ID"; echo "also $TORCHX_REPLICA_ID" >&2; {then}'
    app = app_of("sh", "-c", script, "sh", str(tmp_path), num_replicas=replicas)
    with AzureBatch("here") as batch:
        own = ManagedPool(name=f"goes{replicas}", nodes=replicas, containers=True)
        filler = TaskSpec(command=("true",), container="alpine:3.20", gang=replicas)
        job = batch.submit(JobSpec(name="filler", pool=own, tasks=(filler,))).job
        pool_id = str(job.wait(WITHIN).pool_id)
        app_id = submit(scheduler, app, pool=pool_id)
        until(lambda: all("kept" in str(log(scheduler, app_id, k=k)) for k in range(replicas)), "no output")
        if state is AppState.CANCELLED:
            scheduler.cancel(app_id)
        wait(scheduler, app_id, state)
        before = [log(scheduler, app_id, k=k) for k in range(replicas)]
        unkept = submit(
            scheduler, app_of("echo", "lost", num_replicas=replicas), pool=pool_id, keep_logs=False
        )
        wait(scheduler, unkept, AppState.SUCCEEDED)
        until(lambda: batch.job(app_id).documents()["job"]["state"] == "completed", "the job goes on")
        batch.delete_pool(pool_id, wait=True)
    after = [log(scheduler, app_id, k=k) for k in range(replicas)]
    assert after == before
    for k, lines in enumerate(after):
        assert sorted(line for line in lines if "azbatch" not in line) == [f"also {k}\n", f"kept {k}\n"]
    assert "no copy of it was kept" not in caplog.text
    assert stdout(scheduler, unkept, k=replicas - 1) == []
    assert "no copy of it was kept" in caplog.text
