"""Gangs from end to end: run, fail, retry, wait, and their output, by client and command line."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator
from datetime import timedelta
from typing import TYPE_CHECKING, Any

import pytest
from cli_shell import ROOT, Shell
from waiting import until

from azbatch_core import (
    AccountSpec,
    AzureBatch,
    FailureCategory,
    JobHandle,
    JobSpec,
    JobState,
    LogChunk,
    NotFound,
    SpecError,
    TaskState,
    load_job,
    shell,
)
from azbatch_core.plan.secrets import StorageRef
from azbatch_core.service.connect.storage import StorageResolver
from azbatch_core.service.documents import requests

if TYPE_CHECKING:
    from pathlib import Path

Make = Callable[..., JobSpec]
WITHIN = 60.0
SAY = shell("echo rank $AZBATCH_NODE_RANK of $AZBATCH_NODE_COUNT")


def gang(command: Any, nodes: int = 2, **more: Any) -> dict[str, Any]:
    return {"command": command, "gang": nodes, **more}


def by_member(chunks: Iterator[LogChunk], stream: str = "stdout") -> dict[int | None, str]:
    found: dict[int | None, str] = {}
    for chunk in chunks:
        if chunk.stream == stream:
            found[chunk.member] = found.get(chunk.member, "") + chunk.text
    return found


@pytest.fixture
def azbatch(tmp_path: Path) -> Iterator[Shell]:
    """The command with a home and a local service of its own."""
    made = Shell(tmp_path)
    yield made
    made.run("local", "stop")


@pytest.fixture
def pool(client: AzureBatch, job_name: str) -> Iterator[Callable[..., str]]:
    """Make a pool by hand, one that azbatch would not make."""
    made = []

    def make(nodes: int, **fields: Any) -> str:
        image = {"publisher": "canonical", "offer": "ubuntu-24_04-lts", "sku": "server"}
        machine = {"imageReference": image, "nodeAgentSKUId": "batch.node.ubuntu 24.04"}
        body = {
            "id": job_name,
            "vmSize": "standard_d2s_v3",
            "virtualMachineConfiguration": machine,
            "targetDedicatedNodes": nodes,
            "enableInterNodeCommunication": True,
            **fields,
        }
        requests.send(client._connection, "POST", "pools", body=body)
        made.append(job_name)
        return job_name

    yield make
    for pool_id in made:
        client.delete_pool(pool_id)


def test_the_command_runs_on_every_node_and_each_knows_its_place(client: AzureBatch, make_job: Make) -> None:
    job = client.submit(make_job(g=gang(SAY, 3))).job
    assert job.wait(WITHIN).state is JobState.SUCCEEDED
    assert by_member(job.logs("g")) == {rank: f"rank {rank} of 3\n" for rank in range(3)}
    assert by_member(job.logs("g", member=2)) == {2: "rank 2 of 3\n"}
    with pytest.raises(NotFound, match="has no member 3: they are 0 to 2"):
        list(job.logs("g", member=3))


def test_members_are_there_before_and_after(client: AzureBatch, make_job: Make) -> None:
    job = client.submit(make_job(g=gang(shell("echo up; exec sleep 60")))).job
    following = job.logs("g", follow=True)
    next(following)
    members = job.members("g")
    assert [member.rank for member in members] == [0, 1]
    assert len({member.node_id for member in members}) == 2
    job.cancel()
    assert job.wait(WITHIN).state is JobState.CANCELLED
    list(following)  # ends, too
    assert {member.state for member in job.members("g")} == {TaskState.CANCELLED}


def test_following_shows_all_members_while_they_run(
    client: AzureBatch, make_job: Make, tmp_path: Path
) -> None:
    script = f"echo up; while [ ! -e {tmp_path}/go ]; do sleep 0.05; done; printf last"
    job = client.submit(make_job(g=gang(shell(script), 3))).job
    chunks, up = [], set()
    for chunk in job.logs("g", follow=True):
        chunks.append(chunk)
        up |= {chunk.member} if chunk.text == "up\n" else set()
        if up == {0, 1, 2}:
            # They wait for this file: had their first lines not come live, they would wait for ever.
            (tmp_path / "go").touch()
    assert by_member(iter(chunks)) == dict.fromkeys(range(3), "up\nlast")


def test_one_member_that_fails_fails_the_whole(client: AzureBatch, make_job: Make) -> None:
    script = "if [ $AZBATCH_NODE_RANK = 1 ]; then echo 'no such data' >&2; exit 3; fi; exec sleep 60"
    job = client.submit(make_job(g=gang(shell(script), 3))).job
    status = job.wait(WITHIN)
    assert (status.state, status.reason) == (JobState.FAILED, "1 task failed: g (member 1: exit code 3)")
    (task,) = status.failures
    assert (task.member, task.exit_code, task.category) == (1, 3, FailureCategory.USER)
    (found,) = job.why()
    assert found.text == "the command failed: member 1: exit code 3\n  no such data"
    assert found.hint == f"azbatch logs {job.handle} g --member 1"
    states = [member.state for member in job.members("g")]
    assert states == [TaskState.CANCELLED, TaskState.FAILED, TaskState.CANCELLED]
    assert by_member(job.logs("g", "stderr"), "stderr") == {1: "no such data\n"}


def test_the_main_node_that_fails_fails_the_whole(client: AzureBatch, make_job: Make) -> None:
    job = client.submit(make_job(g=gang(shell("[ $AZBATCH_NODE_RANK != 0 ] && exec sleep 60; exit 4")))).job
    (task,) = job.wait(WITHIN).failures
    assert (task.member, task.message) == (0, "member 0: exit code 4")
    (found,) = job.why()
    assert found.hint == f"azbatch logs {job.handle} g --member 0"


def test_a_retry_runs_all_members_again(client: AzureBatch, make_job: Make, tmp_path: Path) -> None:
    script = (
        "echo try; if [ $AZBATCH_NODE_RANK = 1 ]; then"
        f" if [ ! -e {tmp_path}/tried ]; then touch {tmp_path}/tried; sleep 1; exit 9; fi;"
        f" touch {tmp_path}/again; fi; while [ ! -e {tmp_path}/again ]; do sleep 0.05; done"
    )
    job = client.submit(make_job(g=gang(shell(script), retry=1))).job
    chunks = list(job.logs("g", follow=True))
    assert job.wait(WITHIN).state is JobState.SUCCEEDED
    assert next(job.tasks()).retries == 1
    for member in (0, 1):
        ours = [(chunk.stream, chunk.text) for chunk in chunks if chunk.member == member]
        assert ours[0] == ours[-1] == ("stdout", "try\n")
        assert ours[1] == ("notice", "the task started again; so does its output")


def test_files_are_in_the_working_directory_of_every_node(
    client: AzureBatch, make_job: Make, account: AccountSpec
) -> None:
    first = client.submit(
        make_job(
            w={
                "command": shell("echo data > f.txt"),
                "output_files": [{"file_pattern": "f.txt", "container": "gangfiles", "path": "f.txt"}],
            }
        )
    ).job
    assert first.wait(WITHIN).state is JobState.SUCCEEDED
    url = StorageResolver(account, lifetime=timedelta(hours=1))(StorageRef("gangfiles", permission="rl"))
    files = [{"storage_container_url": str(url), "file_path": "in"}]
    job = client.submit(make_job(g=gang(["cat", "in/f.txt"], resource_files=files))).job
    assert job.wait(WITHIN).state is JobState.SUCCEEDED
    assert by_member(job.logs("g")) == {0: "data\n", 1: "data\n"}


def test_with_coordination_the_command_runs_on_the_main_node_only(client: AzureBatch, make_job: Make) -> None:
    spec = {"nodes": 2, "coordination": shell("echo ready $AZBATCH_NODE_RANK")}
    job = client.submit(make_job(g={"command": SAY, "gang": spec})).job
    assert job.wait(WITHIN).state is JobState.SUCCEEDED
    assert by_member(job.logs("g")) == {0: "ready 0\nrank 0 of 2\n", 1: "ready 1\n"}


def is_completed(job: JobHandle) -> bool:
    """Whether the job's release tasks have ended, too."""
    return job.documents()["job"]["state"] == "completed"


def gone(client: AzureBatch, job: JobHandle) -> None:
    """Take all nodes of the job's pool away, when the job is over."""
    pool_id = job.wait(WITHIN).pool_id
    assert pool_id is not None
    until(lambda: is_completed(job))
    client.resize_pool(pool_id, nodes=0)
    until(lambda: not list(client.nodes(pool_id)))


LOGS = [{"file_pattern": "../std*.txt", "container": "ganglogs"}]


PRINT = "echo out $AZBATCH_NODE_RANK; echo err $AZBATCH_NODE_RANK >&2"
WAIT = "touch $DIR/$AZBATCH_NODE_RANK; until [ $(ls $DIR | wc -l) = 4 ]; do sleep 0.05; done"
"""All are there before one fails and the others are killed."""


@pytest.mark.parametrize(
    "script",
    [PRINT, f"{PRINT}; {WAIT}; [ $AZBATCH_NODE_RANK = 2 ] && exit 3; sleep 60"],
    ids=["all succeed", "one fails"],
)
def test_the_output_of_every_member_outlives_its_node(
    client: AzureBatch, make_job: Make, tmp_path: Path, script: str
) -> None:
    own = {"kind": "managed", "name": "goes", "nodes": 4}
    command = shell(script.replace("$DIR", str(tmp_path)))
    job = client.submit(make_job(g=gang(command, 4, output_files=LOGS), job={"pool": own})).job
    gone(client, job)
    assert by_member(job.logs("g")) == {rank: f"out {rank}\n" for rank in range(4)}
    assert by_member(job.logs("g", "stderr"), "stderr") == {rank: f"err {rank}\n" for rank in range(4)}
    assert not [chunk for chunk in job.logs("g") if chunk.stream == "notice"]


def test_members_that_were_cancelled_leave_their_output(client: AzureBatch, make_job: Make) -> None:
    own = {"kind": "managed", "name": "goes", "nodes": 2}
    job = client.submit(
        make_job(g=gang(shell("echo up; exec sleep 60"), output_files=LOGS), job={"pool": own})
    ).job
    until(lambda: by_member(job.logs("g")) == {0: "up\n", 1: "up\n"})
    job.cancel()
    gone(client, job)
    assert by_member(job.logs("g")) == {0: "up\n", 1: "up\n"}


def test_a_copy_of_an_earlier_try_on_another_node_is_not_shown(
    client: AzureBatch, make_job: Make, account: AccountSpec
) -> None:
    own = {"kind": "managed", "name": "goes", "nodes": 2}
    job = client.submit(make_job(g=gang(SAY, output_files=LOGS), job={"pool": own})).job
    storage = StorageResolver(account, lifetime=timedelta(hours=1))
    assert job.wait(WITHIN).state is JobState.SUCCEEDED
    storage.put("ganglogs", f"{job.id}/g/member-1/another-node/stdout.txt", b"earlier\n")
    gone(client, job)
    assert by_member(job.logs("g", member=1)) == {1: "rank 1 of 2\n"}


def test_members_are_not_mistaken_when_some_of_their_nodes_are_gone(
    client: AzureBatch, make_job: Make, account: AccountSpec
) -> None:
    own = {"kind": "managed", "name": "goes", "nodes": 4}
    job = client.submit(make_job(g=gang(SAY, 4, output_files=LOGS), job={"pool": own})).job
    pool_id = str(job.wait(WITHIN).pool_id)
    until(lambda: is_completed(job))
    storage = StorageResolver(account, lifetime=timedelta(hours=1))
    for member in job.members("g")[1:]:
        name = f"{job.id}/g/member-{member.rank}/{member.node_id}/stdout.txt"
        storage.put("ganglogs", name, f"copy {member.rank}\n".encode(), replace=True)
    client.resize_pool(pool_id, nodes=2)
    until(lambda: len(list(client.nodes(pool_id))) == 2)
    # With only some of the addresses, nobody can tell which node was whose: not even those that are left.
    with AzureBatch(account) as fresh:
        read = by_member(fresh.job(job.handle).logs("g"))
    assert read == {0: "rank 0 of 4\n", **{rank: f"copy {rank}\n" for rank in (1, 2, 3)}}


def test_a_job_with_a_release_task_of_its_own_keeps_the_main_nodes_output_only(
    client: AzureBatch, make_job: Make
) -> None:
    own = {"kind": "managed", "name": "goes", "nodes": 2}
    parts = {"preparation": {"command": ["true"]}, "release": {"command": ["true"]}}
    job = client.submit(make_job(g=gang(SAY, output_files=LOGS), job={"pool": own, **parts})).job
    gone(client, job)
    chunks = list(job.logs("g"))
    assert by_member(iter(chunks)) == {0: "rank 0 of 2\n"}
    (notice,) = [chunk for chunk in chunks if chunk.member == 1]
    assert notice.text == "stdout is gone, because its node is gone; no copy of it was kept"


def test_plain_tasks_have_no_members(client: AzureBatch, make_job: Make) -> None:
    job = client.submit(make_job(a=["true"])).job
    job.wait(WITHIN)
    assert job.members("a") == ()
    with pytest.raises(NotFound, match="task a is no gang"):
        list(job.logs("a", member=0))


# Pools


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"enableInterNodeCommunication": False}, "has no inter-node communication"),
        ({"taskSlotsPerNode": 2}, "has 2 task slots"),
    ],
)
def test_a_pool_that_is_not_for_gangs_is_refused_before_anything_is_made(
    client: AzureBatch, make_job: Make, pool: Callable[..., str], fields: dict[str, Any], words: str
) -> None:
    spec = make_job(g=gang(["true"]), job={"pool": pool(0, **fields), "id": "never-made"})
    with pytest.raises(SpecError, match=words):
        client.submit(spec)
    assert not client.job("never-made").exists()


def test_a_gang_that_is_larger_than_its_pool_is_refused_before_anything_is_made(
    client: AzureBatch, make_job: Make, pool: Callable[..., str]
) -> None:
    small = {"name": "small", "max_nodes": 2}
    grown = client.submit(make_job(g=gang(["true"]), job={"pool": small})).job.wait(WITHIN)
    for pool_id, words in ((pool(1), "is to have, 1"), (str(grown.pool_id), "grows to at most 2")):
        spec = make_job(g=gang(["true"], nodes=3), job={"pool": pool_id, "id": "never-made"})
        with pytest.raises(SpecError, match=words):
            client.submit(spec)
    assert not client.job("never-made").exists()


def test_a_gang_on_a_pool_that_shrank_is_explained(
    client: AzureBatch, make_job: Make, pool: Callable[..., str]
) -> None:
    pool_id = pool(2)
    plan = client.plan(make_job(g=gang(["true"]), job={"pool": pool_id}))
    client.resize_pool(pool_id, nodes=1)
    job = client.submit(plan).job
    status = job.wait(WITHIN)
    assert status.state is JobState.STUCK
    assert status.reason == f"the pool {pool_id} has 1 node, and a gang needs 2 at once"
    assert ("it has 1 node, and a gang needs 2 at once", f"azbatch pools resize {pool_id} --nodes 2") in [
        (found.text, found.hint) for found in job.why()
    ]
    client.resize_pool(pool_id, nodes=2)
    assert job_ends(job) is JobState.SUCCEEDED


def job_ends(job: JobHandle) -> JobState:
    """Wait through the verdict that nothing can run, which is over once the pool grows."""
    deadline = time.monotonic() + WITHIN
    while (state := job.status().state) is not JobState.SUCCEEDED:
        assert time.monotonic() < deadline
    return state


def test_a_gang_that_waits_for_busy_nodes_is_explained(
    client: AzureBatch, make_job: Make, pool: Callable[..., str]
) -> None:
    pool_id = pool(2)
    blocker = client.submit(make_job(a=shell("echo on; exec sleep 60"), job={"pool": pool_id})).job
    next(blocker.logs("a", follow=True))
    job = client.submit(make_job(g=gang(["true"]), job={"pool": pool_id})).job
    (found,) = job.why()
    assert found.text == "waits until 2 nodes are free at once: 1 of the 2 there is"
    blocker.cancel()
    assert job.wait(WITHIN).state is JobState.SUCCEEDED


# Job files and the command line


def test_the_example_meets(client: AzureBatch) -> None:
    job = client.submit(load_job(ROOT / "examples" / "gang.yaml")).job
    assert job.wait(WITHIN).state is JobState.SUCCEEDED
    said = by_member(job.logs())
    assert said[0].startswith("node 0 met 1 at 127.")
    assert said[1].startswith("node 1 met 0 at 127.")


def test_the_command_line_runs_shows_and_logs_a_gang(azbatch: Shell) -> None:
    ran = azbatch.run("run", "--nodes", "2", "--name", "g", "--shell", "--", "echo rank $AZBATCH_NODE_RANK")
    assert ran.returncode == 0, ran.stderr
    assert sorted(ran.stdout.splitlines()) == ["[0] rank 0", "[1] rank 1"]
    (listed,) = json.loads(azbatch.run("jobs", "--json").stdout)
    job = str(listed["id"])
    assert azbatch.run("logs", job, "1", "--member", "1").stdout == "rank 1\n"
    shown = azbatch.run("show", job).stdout.splitlines()
    assert [line.split()[:4] for line in shown[-2:]] == [
        ["1", "0", "succeeded", "0"],
        ["1", "1", "succeeded", "0"],
    ]


def test_the_command_line_exits_with_the_failed_members_code(azbatch: Shell) -> None:
    ran = azbatch.run(
        "run", "--nodes", "2", "--shell", "--", "[ $AZBATCH_NODE_RANK = 0 ] && exec sleep 60; exit 7"
    )
    assert ran.returncode == 7
    assert "member 1: exit code 7" in ran.stderr
    refused = azbatch.run("run", "--nodes", "0", "--", "true")
    assert "--nodes: nodes: 0 is out of range" in refused.stderr or "--nodes" in refused.stderr
