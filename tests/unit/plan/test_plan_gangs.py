"""Gangs: what is sent for them, on which pools they are refused, and what their nodes are told."""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
from dataclasses import replace
from typing import Any

import pytest

from azbatch_core.errors import SpecError
from azbatch_core.plan import AccountFacts, Plan, PoolFacts, plan
from azbatch_core.plan.gang_prelude import with_prelude
from azbatch_core.plan.scaling import Scaling
from azbatch_core.specs import Command, JobSpec, TaskSpec, shell

FILE = {"http_url": "https://host/data.csv", "file_path": "in/data.csv"}


def planned(facts: AccountFacts, *, pool: Any = None, job: dict[str, Any] | None = None, **task: Any) -> Plan:
    spec = TaskSpec(**{"command": ["train"], "gang": 2, **task})
    return plan(JobSpec(**{"name": "g", "pool": pool, "tasks": [spec], **(job or {})}), facts)


def fit(**changes: Any) -> PoolFacts:
    known = PoolFacts(
        id="mine",
        vm_size="standard_d4s_v5",
        dedicated_nodes=2,
        target_nodes=2,
        inter_node_communication=True,
    )
    return replace(known, **changes)


# What is sent


def test_the_command_runs_on_every_node(local: AccountFacts):
    body = planned(local, command=["train", "a b"], resource_files=[FILE]).tasks[0].body
    settings = body["multiInstanceSettings"]
    assert settings["numberOfInstances"] == 2
    assert shlex.split(settings["coordinationCommandLine"])[-2:] == ["train", "a b"]
    assert shlex.split(body["commandLine"]) == ["/bin/sh", "-c", ":"]
    # Common files count from the folder above the working directory.
    assert [file["filePath"] for file in settings["commonResourceFiles"]] == ["wd/in/data.csv"]
    assert "resourceFiles" not in body
    assert "requiredSlots" not in body


def test_files_of_a_container_go_into_the_working_directory(local: AccountFacts):
    body = planned(local, resource_files=[{"auto_storage_container_name": "inputs"}]).tasks[0].body
    (file,) = body["multiInstanceSettings"]["commonResourceFiles"]
    assert file == {"autoStorageContainerName": "inputs", "filePath": "wd"}


def test_with_coordination_the_command_runs_on_the_main_node(local: AccountFacts):
    gang = {"nodes": 3, "coordination": shell("daemon &"), "common_resource_files": [FILE]}
    body = planned(local, gang=gang, resource_files=[{**FILE, "file_path": "own"}]).tasks[0].body
    settings = body["multiInstanceSettings"]
    assert shlex.split(settings["coordinationCommandLine"])[-3:] == ["/bin/bash", "-c", "daemon &"]
    assert shlex.split(body["commandLine"])[-1] == "train"
    assert [file["filePath"] for file in settings["commonResourceFiles"]] == ["in/data.csv"]
    assert [file["filePath"] for file in body["resourceFiles"]] == ["own"]


def test_the_dry_run_shows_nodes_and_command_without_what_stands_before_it(local: AccountFacts):
    text = planned(local, command=["train", "--fast"]).to_table()
    head, row = text.splitlines()[-2:]
    assert head.split()[:4] == ["task", "slots", "nodes", "command"]
    assert row.split() == ["1", "1", "2", "on", "all:", "train", "--fast"]


def test_what_differs_from_a_plain_task_is_said(local: AccountFacts):
    warnings = planned(local, output_files=[{"file_pattern": "m.bin", "container": "out"}]).warnings
    assert any("uploaded from the main node only" in line for line in warnings)


def test_on_windows_the_command_runs_as_it_is(local: AccountFacts):
    image = {"publisher": "p", "offer": "o", "sku": "s", "node_agent": "batch.node.windows amd64"}
    made = planned(local, pool={"image": image}, command=["a.exe", "x y"])
    body = made.tasks[0].body
    assert body["multiInstanceSettings"]["coordinationCommandLine"] == 'a.exe "x y"'
    assert body["commandLine"] == 'cmd.exe /c "exit 0"'
    assert any("are set on Linux nodes only" in line for line in made.warnings)


# Pools of ours


@pytest.mark.parametrize("kind", ["managed", "auto"])
def test_a_pool_of_ours_is_made_to_fit(local: AccountFacts, kind: str):
    pool = planned(local, pool={"kind": kind}, gang=5).pool
    assert pool.body is not None
    body = pool.body["pool"] if kind == "auto" else pool.body
    assert body["enableInterNodeCommunication"] is True
    assert (body["taskSlotsPerNode"], pool.nodes) == (1, 5)
    assert body.get("targetDedicatedNodes", 5) == 5


def test_a_job_without_a_pool_gets_one_that_fits(local: AccountFacts):
    scaling = planned(local, job={"tasks": [TaskSpec(command=["train"], gang=nodes) for nodes in (2, 6, 3)]})
    assert scaling.pool.scaling == Scaling(max_nodes=6, tasks_per_node=1, start_nodes=6, max_given=False)
    scaling = planned(local, pool={"max_nodes": 20}, job={"tasks": [TaskSpec(command=["t"], gang=4)] * 3})
    assert scaling.pool.scaling == Scaling(max_nodes=20, tasks_per_node=1, start_nodes=12)


def test_a_larger_pool_stays_as_large(local: AccountFacts):
    assert planned(local, pool={"nodes": 5}).pool.nodes == 5
    pool = planned(local, pool={"spot_nodes": 2}).pool
    assert (pool.nodes, pool.spot_nodes) == (0, 2)


@pytest.mark.parametrize(
    ("pool", "field"),
    [
        ({"nodes": 1}, "pool.nodes"),
        ({"spot_nodes": 1}, "pool.nodes"),
        ({"max_nodes": 1}, "pool.max_nodes"),
        ({"task_slots_per_node": 2}, "pool.task_slots_per_node"),
        ({"inter_node_communication": False}, "pool.inter_node_communication"),
    ],
)
def test_a_pool_that_says_it_cannot_is_refused(local: AccountFacts, pool: dict[str, Any], field: str):
    with pytest.raises(SpecError) as caught:
        planned(local, pool=pool)
    assert caught.value.field == field


def test_a_later_gang_needs_a_pool_that_was_planned_for_gangs(local: AccountFacts):
    made = plan(JobSpec(name="g"), local, streaming=True)
    with pytest.raises(SpecError, match="has no inter-node communication"):
        made.plan_task(TaskSpec(command=["train"], gang=2))


# Existing pools


def test_an_existing_pool_that_fits_is_used(cloud: AccountFacts):
    assert planned(replace(cloud, pool=fit()), pool="mine").warnings == ()


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"inter_node_communication": False}, "'mine' has no inter-node communication"),
        ({"task_slots_per_node": 4}, "'mine' has 4 task slots, and gangs run only where it has one"),
    ],
)
def test_an_existing_pool_that_never_runs_it_is_refused(
    cloud: AccountFacts, changes: dict[str, Any], words: str
):
    with pytest.raises(SpecError, match=words) as caught:
        planned(replace(cloud, pool=fit(**changes)), pool="mine")
    assert caught.value.field == "gang"


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({}, "which has, or is to have, 2 - resize it first, or with pool: {max_nodes: 3}"),
        ({"target_nodes": 1}, "which has, or is to have, 2"),
        ({"target_nodes": None, "formula_nodes": 2}, "which grows to at most 2 - with pool: {max_nodes: 3}"),
        ({"target_nodes": None, "formula_nodes": 1}, "which grows to at most 2"),
    ],
)
def test_a_gang_that_is_larger_than_its_pool_gets_is_refused(
    cloud: AccountFacts, changes: dict[str, Any], words: str
):
    with pytest.raises(SpecError) as caught:
        planned(replace(cloud, pool=fit(**changes)), pool="mine", gang=3)
    assert f"a gang of 3 nodes never starts on pool 'mine', {words}" in str(caught.value)
    assert caught.value.field == "gang"


def test_a_later_gang_that_is_larger_than_the_pool_that_is_made_is_refused(local: AccountFacts):
    made = planned(local)
    with pytest.raises(SpecError, match="which grows to at most 4"):
        made.plan_task(TaskSpec(command=["train"], gang=5))


@pytest.mark.parametrize(
    "changes",
    [
        {"target_nodes": None, "formula_nodes": None},
        {"target_nodes": None, "formula_nodes": 3},
        {"target_nodes": 3},
        {"dedicated_nodes": 3},
    ],
)
def test_a_pool_that_may_grow_takes_a_gang(cloud: AccountFacts, changes: dict[str, Any]):
    assert planned(replace(cloud, pool=fit(**changes)), pool="mine", gang=3).warnings == ()


def test_a_pool_that_is_empty_until_somebody_resizes_it_takes_a_gang(cloud: AccountFacts):
    warnings = planned(replace(cloud, pool=fit(dedicated_nodes=0, target_nodes=0)), pool="mine").warnings
    assert any("waits until pool 'mine' has 2 nodes" in line for line in warnings)


# What nodes are told


SHELLS = [[path] for name in ("sh", "dash", "bash") if (path := shutil.which(name))]
SHELLS += [[path, "sh"] for path in [shutil.which("busybox")] if path]


def told(command: Command, given: dict[str, str], run_by: list[str]) -> subprocess.CompletedProcess[str]:
    _, *words = with_prelude(command)
    env = {"PATH": os.environ["PATH"], **given}
    return subprocess.run([*run_by, *words], env=env, capture_output=True, text=True, check=False, timeout=60)


def member(hosts: list[str], main: str, own: str = "") -> dict[str, str]:
    known = {
        "AZ_BATCH_HOST_LIST": ",".join(hosts),
        "AZ_BATCH_NODE_LIST": ";".join(hosts),
        "AZ_BATCH_MASTER_NODE": f"{main}:6000",
        "AZ_BATCH_IS_CURRENT_NODE_MASTER": "true" if own == main else "false",
    }
    return {**known, "AZBATCH_NODE_ADDRESS": own} if own else known


SAY = shell(
    "echo $AZBATCH_NODE_RANK $AZBATCH_NODE_COUNT $AZBATCH_NODE_LIST $AZBATCH_MAIN_NODE $AZBATCH_NODE_ADDRESS"
)


@pytest.mark.parametrize("run_by", SHELLS, ids=lambda words: words[0])
def test_ranks_count_from_the_main_node_whatever_the_lists_order(run_by: list[str]):
    hosts = ["10.0.0.10", "10.0.0.9", "10.0.1.2", "10.0.0.200"]
    whole = "10.0.1.2,10.0.0.9,10.0.0.10,10.0.0.200"
    for rank, own in enumerate(whole.split(",")):
        for order in (hosts, hosts[::-1]):
            ran = told(SAY, member(order, "10.0.1.2", own), run_by)
            assert (ran.stdout, ran.stderr) == (f"{rank} 4 {whole} 10.0.1.2 {own}\n", "")


@pytest.mark.parametrize("run_by", SHELLS, ids=lambda words: words[0])
def test_every_argument_stays_as_it_was(run_by: list[str]):
    nasty = ["a b", "", "it's", '"$HOME" `id` $(id)', "line\nbreak\n", "*", "\\", "-n", "ü"]
    command = ("printf", "%s|", *nasty)
    ran = told(command, member(["10.0.0.4"], "10.0.0.4", "10.0.0.4"), run_by)
    assert ran.stdout == "".join(f"{word}|" for word in nasty)


def test_the_main_node_and_the_other_of_two_need_no_address_of_their_own():
    hosts = ["10.9.9.9", "10.9.9.8"]
    main = {**member(hosts, "10.9.9.9"), "AZ_BATCH_IS_CURRENT_NODE_MASTER": "true"}
    assert told(SAY, main, ["/bin/sh"]).stdout == "0 2 10.9.9.9,10.9.9.8 10.9.9.9 10.9.9.9\n"
    other = told(SAY, member(hosts, "10.9.9.9"), ["/bin/sh"])
    assert other.stdout == "1 2 10.9.9.9,10.9.9.8 10.9.9.9 10.9.9.8\n"


def test_a_node_finds_itself_by_its_interfaces():
    # Loopback is an interface of every machine.
    given = member(["203.0.113.1", "127.0.0.1", "203.0.113.2"], "203.0.113.1")
    assert told(SAY, given, ["/bin/sh"]).stdout.startswith("1 3 ")


def test_a_node_that_is_none_of_them_says_so():
    ran = told(SAY, member(["203.0.113.1", "203.0.113.2", "203.0.113.3"], "203.0.113.1"), ["/bin/sh"])
    assert (ran.returncode, ran.stdout) == (1, "")
    assert ran.stderr == (
        "azbatch: no address of this node is among those of the gang: 203.0.113.1,203.0.113.2,203.0.113.3\n"
    )


def test_a_gang_of_one_is_its_own_main_node():
    assert (
        told(SAY, member(["10.0.0.4"], "10.0.0.4"), ["/bin/sh"]).stdout == "0 1 10.0.0.4 10.0.0.4 10.0.0.4\n"
    )
    assert told(SAY, {}, ["/bin/sh"]).stdout == "0 1 localhost localhost localhost\n"


def test_exit_codes_are_the_commands_own():
    assert told(shell("exit 7"), {}, ["/bin/sh"]).returncode == 7
