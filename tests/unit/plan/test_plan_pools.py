"""Pools that a plan makes: VM size, image, slots, key, and what an account cannot make."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import datetime, timezone
from typing import Any

import pytest

from azbatch_core.errors import ConfigurationError, SpecError
from azbatch_core.local.rules.pools import check_new
from azbatch_core.local.wire.validate import validate
from azbatch_core.plan import AccountFacts, Plan, plan, reveal
from azbatch_core.plan.scaling import Scaling, formula
from azbatch_core.specs import JobSpec, Secret, TaskSpec, UrlSecret, shell

SUBNET = "/subscriptions/s/resourceGroups/g/providers/Microsoft.Network/virtualNetworks/v/subnets/n"
IDENTITY = (
    "/subscriptions/s/resourceGroups/g/providers/Microsoft.ManagedIdentity/userAssignedIdentities/reader"
)
GALLERY = "/subscriptions/s/resourceGroups/g/providers/Microsoft.Compute/galleries/g/images/i/versions/1.0.0"
DOCKER = {"publisher": "microsoft-dsvm", "offer": "ubuntu-hpc", "sku": "2404"}


def planned(facts: AccountFacts, pool: dict[str, Any] | None = None, **job: Any) -> Plan:
    """A plan of a one-task job on a pool of ours."""
    return plan(JobSpec(**{"name": "j", "tasks": [TaskSpec(command=["true"])], "pool": pool, **job}), facts)


def body(facts: AccountFacts, pool: dict[str, Any] | None = None, **job: Any) -> dict[str, Any]:
    """The pool's body."""
    made = planned(facts, pool, **job).pool.body
    assert made is not None
    return made


def test_a_job_without_a_pool_gets_a_managed_one_that_grows(local: AccountFacts):
    pool = planned(local).pool
    assert (pool.kind, pool.action, pool.nodes, pool.spot_nodes) == ("managed", "ensure", 4, 0)
    assert pool.scaling == Scaling(max_nodes=4, tasks_per_node=2, start_nodes=1, max_given=False)
    assert pool.id is not None
    assert pool.id.startswith("azb-d2a_v4-")
    assert pool.body == {
        "id": pool.id,
        "vmSize": "Standard_D2a_v4",
        "virtualMachineConfiguration": {
            "imageReference": {
                "publisher": "canonical",
                "offer": "ubuntu-24_04-lts",
                "sku": "server",
                "version": "latest",
            },
            "nodeAgentSKUId": "batch.node.ubuntu 24.04",
        },
        "taskSlotsPerNode": 2,
        "taskSchedulingPolicy": {"nodeFillType": "pack"},
        "enableInterNodeCommunication": False,
        "enableAutoScale": True,
        "autoScaleFormula": formula(pool.scaling),
        "autoScaleEvaluationInterval": "PT5M",
        "metadata": [
            {"name": "azbatch:fingerprint", "value": pool.id[-10:]},
            {"name": "azbatch:user", "value": "ada"},
        ],
    }


def test_a_managed_pool_with_everything(cloud: AccountFacts):
    made = body(
        cloud,
        {
            "name": "team-a",
            "vm_size": "d4s_v5",
            "nodes": 2,
            "spot_nodes": 3,
            "task_slots_per_node": 8,
            "node_fill": "spread",
            "start_task": {
                "command": {"shell": "apt-get update"},
                "environment": {"TOKEN": {"secret": "env:TOKEN"}},
                "resource_files": [{"auto_storage_container_name": "setup"}],
                "retry": 2,
                "elevated": True,
                "wait_for_success": False,
            },
            "registries": [{"server": "r.azurecr.io", "username": "u", "password": "hunter2"}],
            "container_images": ["r.azurecr.io/tool:1"],
            "inter_node_communication": True,
            "subnet_id": SUBNET,
            "resize_timeout": "30m",
            "metadata": {"team": "a"},
        },
        container="r.azurecr.io/tool:1",
    )
    assert made.pop("id").startswith("azb-team-a-")
    assert made.pop("metadata")[-1] == {"name": "team", "value": "a"}
    assert made == {
        "vmSize": "Standard_D4s_v5",
        "virtualMachineConfiguration": {
            "imageReference": {**DOCKER, "version": "latest"},
            "nodeAgentSKUId": "batch.node.ubuntu 24.04",
            "containerConfiguration": {
                "type": "dockerCompatible",
                "containerImageNames": ["r.azurecr.io/tool:1"],
                "containerRegistries": [
                    {"registryServer": "r.azurecr.io", "username": "u", "password": Secret("hunter2")}
                ],
            },
        },
        "taskSlotsPerNode": 8,
        "taskSchedulingPolicy": {"nodeFillType": "spread"},
        "enableInterNodeCommunication": True,
        "networkConfiguration": {"subnetId": SUBNET},
        "startTask": {
            "commandLine": "/bin/bash -c 'apt-get update'",
            "resourceFiles": [{"autoStorageContainerName": "setup"}],
            "environmentSettings": [{"name": "TOKEN", "value": Secret("env:TOKEN")}],
            "userIdentity": {"autoUser": {"scope": "pool", "elevationLevel": "admin"}},
            "maxTaskRetryCount": 2,
            "waitForSuccess": False,
        },
        "targetDedicatedNodes": 2,
        "targetLowPriorityNodes": 3,
        "resizeTimeout": "PT30M",
    }


def test_the_service_takes_the_pool_as_it_is(local: AccountFacts):
    made = body(local, {"containers": True, "start_task": {"command": ["true"]}}, container="a:1")
    assert validate("BatchPoolCreateOptions", json.loads(json.dumps(reveal(made))))["id"] == made["id"]


def test_a_pool_whose_tasks_use_its_docker_has_it_and_no_container_configuration(cloud: AccountFacts):
    machine = body(cloud, {"kind": "managed", "host_docker": True})["virtualMachineConfiguration"]
    assert (
        machine["imageReference"]
        == body(
            cloud,
            {"kind": "managed", "container_images": ["a:1"]},
            tasks=[TaskSpec(command=["true"], container="a:1")],
        )["virtualMachineConfiguration"]["imageReference"]
    )
    assert machine["imageReference"] != body(cloud)["virtualMachineConfiguration"]["imageReference"]
    assert "containerConfiguration" not in machine


def test_an_auto_pool_lives_in_the_job(local: AccountFacts):
    whole = planned(local, {"kind": "auto", "id_prefix": "nightly", "nodes": 2, "metadata": {"a": "b"}})
    assert (whole.pool.kind, whole.pool.action, whole.pool.id) == ("auto", "auto", None)
    specification = whole.job_body["poolInfo"]["autoPoolSpecification"]
    assert specification["autoPoolIdPrefix"] == "nightly"
    assert specification["poolLifetimeOption"] == "job"
    assert specification["keepAlive"] is False
    assert specification["pool"]["targetDedicatedNodes"] == 2
    assert specification["pool"]["metadata"] == [{"name": "a", "value": "b"}]
    assert "id" not in specification["pool"]
    assert validate("BatchJobCreateOptions", whole.job_body)["poolInfo"]


def test_a_vm_is_chosen_for_the_biggest_task_with_reasons(cloud: AccountFacts):
    tasks = [
        TaskSpec(command=["true"], resources={"cpus": 3}),
        TaskSpec(command=["true"], resources={"cpus": 1, "memory": "30GiB"}),
    ]
    whole = planned(cloud, tasks=tasks)
    assert whole.pool.vm_size == "Standard_E4a_v4"
    assert whole.reasons[0].startswith("Standard_E4a_v4: the cheapest of ")
    assert "3 vCPUs, 30GiB memory" in whole.reasons[0]
    assert any(reason.startswith("not taken: ") for reason in whole.reasons)
    assert [one.body.get("requiredSlots", 1) for one in whole.tasks] == [3, 4]


def test_the_job_resources_count_for_tasks_that_name_none_and_for_later_ones(local: AccountFacts):
    assert planned(local, resources={"cpus": 4, "memory": "16GiB"}).pool.vm_size == "Standard_D4a_v4"
    assert planned(local, resources={"cpus": 4}, tasks=[]).pool.vm_size == "Standard_D4a_v4"
    own = [TaskSpec(command=["true"], resources={"cpus": 1})]
    assert planned(local, resources={"cpus": 64}, tasks=own).pool.vm_size == "Standard_D2a_v4"


def test_the_price_is_that_of_the_region_in_the_endpoint(cloud: AccountFacts, local: AccountFacts):
    pool = {"vm_size": "Standard_D4s_v5", "nodes": 3}
    assert planned(cloud, pool).hourly_price_usd == pytest.approx(3 * 0.23)
    assert planned(replace(cloud, region="East US"), pool).hourly_price_usd == pytest.approx(3 * 0.192)
    assert planned(replace(cloud, region="atlantis"), pool).hourly_price_usd is None
    assert planned(cloud, {"vm_size": "Standard_D4s_v5", "spot_nodes": 3}).hourly_price_usd is None
    assert planned(local, pool).hourly_price_usd is None


def key(facts: AccountFacts, pool: dict[str, Any]) -> str:
    """The id of a managed pool."""
    made = planned(facts, pool, container="a:1" if "registries" in pool else None).pool.id
    assert made is not None
    return made


BASE: dict[str, Any] = {"vm_size": "Standard_D4s_v5", "start_task": {"command": ["setup"]}}


@pytest.mark.parametrize(
    "change",
    [
        {"vm_size": "Standard_D8s_v5"},
        {"task_slots_per_node": 1},
        {"node_fill": "spread"},
        {"start_task": {"command": ["setup", "KEY=2"]}},
        {"start_task": {"command": ["setup"], "environment": {"A": "1"}}},
        {"start_task": None},
        {"inter_node_communication": True},
        {
            "image": {
                "publisher": "canonical",
                "offer": "0001-com-ubuntu-server-jammy",
                "sku": "22_04-lts-gen2",
            }
        },
        {"subnet_id": SUBNET},
        {"name": "other"},
    ],
)
def test_what_batch_fixes_at_creation_makes_another_pool(cloud: AccountFacts, change: dict[str, Any]):
    assert key(cloud, {**BASE, **change}) != key(cloud, BASE)


@pytest.mark.parametrize(
    "change",
    [{"nodes": 50}, {"spot_nodes": 5, "nodes": 0}, {"resize_timeout": "1h"}, {"metadata": {"a": "b"}}],
)
def test_scale_does_not_make_another_pool(cloud: AccountFacts, change: dict[str, Any]):
    assert key(cloud, {**BASE, "nodes": 2, **change}) == key(cloud, {**BASE, "nodes": 2})


@pytest.mark.parametrize(
    "change",
    [{"max_nodes": 50}, {"min_nodes": 2}, {"idle_time": "1h"}, {"metadata": {"a": "b"}}],
)
def test_how_far_a_pool_grows_does_not_make_another_pool(cloud: AccountFacts, change: dict[str, Any]):
    assert key(cloud, {**BASE, **change}) == key(cloud, BASE)


def test_a_pool_that_shrinks_and_spot_nodes_are_not_for_those_who_ask_for_others(cloud: AccountFacts):
    kinds = [BASE, {**BASE, "spot": True}, {**BASE, "nodes": 4}]
    assert len({key(cloud, kind) for kind in kinds}) == len(kinds)


def test_commands_that_differ_in_what_is_masked_make_different_pools(cloud: AccountFacts):
    one = {"start_task": {"command": ["login", "token=aaa"]}}
    assert key(cloud, one) != key(cloud, {"start_task": {"command": ["login", "token=bbb"]}})


def test_another_password_makes_no_new_pool_but_another_reference_does(cloud: AccountFacts):
    def with_password(password: str) -> str:
        return key(cloud, {"registries": [{"server": "r.io", "username": "u", "password": password}]})

    assert with_password("old") == with_password("new")
    assert with_password("env:ONE") != with_password("env:TWO")


def test_a_new_signature_makes_no_new_pool(cloud: AccountFacts):
    def signed(signature: str) -> str:
        file = {"http_url": f"https://x.example/setup.sh?sp=r&sig={signature}", "file_path": "setup.sh"}
        return key(cloud, {"start_task": {"command": ["sh", "setup.sh"], "resource_files": [file]}})

    assert signed("aaa") == signed("bbb")


def test_containers_get_an_image_with_docker(local: AccountFacts):
    made = body(local, container="ubuntu:24.04")
    assert made["virtualMachineConfiguration"]["imageReference"] == {**DOCKER, "version": "latest"}
    assert made["virtualMachineConfiguration"]["containerConfiguration"] == {"type": "dockerCompatible"}


def test_an_old_vm_size_gets_the_old_generation_of_the_image(local: AccountFacts):
    made = body(local, {"vm_size": "Standard_D2_v3"})
    assert made["virtualMachineConfiguration"]["imageReference"]["sku"] == "server-gen1"
    with pytest.raises(SpecError, match="the catalog has no image for containers on Standard_D2_v3"):
        body(local, {"vm_size": "Standard_D2_v3"}, container="a:1")


def test_an_arm_size_gets_an_arm_image(local: AccountFacts):
    made = body(local, {"vm_size": "Standard_D2ps_v5"})
    assert made["virtualMachineConfiguration"]["nodeAgentSKUId"] == "batch.node.ubuntu 24.04-arm64"


def test_the_agent_of_a_named_image_is_looked_up(local: AccountFacts):
    image = {"publisher": "Canonical", "offer": "0001-com-ubuntu-server-jammy", "sku": "22_04-lts-gen2"}
    made = body(local, {"image": image})["virtualMachineConfiguration"]
    assert made["nodeAgentSKUId"] == "batch.node.ubuntu 22.04"
    assert made["imageReference"] == {**image, "version": "latest"}


@pytest.mark.parametrize(
    ("image", "text"),
    [
        (
            {
                "publisher": "canonical",
                "offer": "0001-com-ubuntu-server-jammy",
                "sku": "22_04-lts",
                "node_agent": "batch.node.ubuntu 24.04",
            },
            "needs the node agent 'batch.node.ubuntu 22.04', not 'batch.node.ubuntu 24.04'",
        ),
        (
            {"publisher": "microsoft-azure-batch", "offer": "ubuntu-server-container", "sku": "20-04-lts"},
            "ended its support .* on 2025-04-23",
        ),
        (
            {"publisher": "debian", "offer": "debian-13", "sku": "13"},
            "not in the catalog, so its node agent is not known",
        ),
    ],
)
def test_an_image_and_its_agent_must_fit(local: AccountFacts, image: dict[str, str], text: str):
    with pytest.raises(SpecError, match=text):
        planned(local, {"image": image})


def test_an_unknown_image_with_its_agent_is_taken(local: AccountFacts):
    image = {"publisher": "debian", "offer": "debian-13", "sku": "13", "node_agent": "batch.node.debian 13"}
    assert (
        body(local, {"image": image})["virtualMachineConfiguration"]["nodeAgentSKUId"]
        == "batch.node.debian 13"
    )


def test_an_image_without_docker_cannot_host_containers(local: AccountFacts):
    image = {"publisher": "canonical", "offer": "ubuntu-24_04-lts", "sku": "server"}
    with pytest.raises(SpecError, match=r"cannot host containers.*microsoft-dsvm ubuntu-hpc 2404"):
        planned(local, {"image": image}, container="a:1")


def test_an_image_of_the_wrong_generation_or_architecture_is_refused(local: AccountFacts):
    hpc = {"image": DOCKER, "vm_size": "Standard_D2_v3"}
    with pytest.raises(SpecError, match="is of generation 2, but Standard_D2_v3 boots 1"):
        planned(local, hpc)
    with pytest.raises(SpecError, match="is for x64, but Standard_D2ps_v5 is arm64"):
        planned(local, {"image": DOCKER, "vm_size": "Standard_D2ps_v5"})


def test_an_image_near_its_end_is_a_warning(local: AccountFacts):
    later = replace(local, now=datetime(2027, 3, 1, tzinfo=timezone.utc))
    image = {"publisher": "canonical", "offer": "0001-com-ubuntu-server-jammy", "sku": "22_04-lts-gen2"}
    assert any(
        "ends its support" in text and "2027-06-30" in text
        for text in planned(later, {"image": image}).warnings
    )
    assert not any("ends its support" in text for text in planned(local, {"image": image}).warnings)


def test_more_slots_than_batch_allows_are_refused(local: AccountFacts):
    with pytest.raises(SpecError, match="17 task slots on Standard_D4s_v5: at most 16"):
        planned(local, {"vm_size": "Standard_D4s_v5", "task_slots_per_node": 17})


def test_an_unknown_vm_size_is_taken_with_a_warning(local: AccountFacts):
    whole = planned(local, {"vm_size": "Standard_D4ss_v5"}, resources={"cpus": 4})
    assert whole.pool.vm_size == "Standard_D4ss_v5"
    assert whole.pool.task_slots_per_node == 1
    assert any("Standard_D4ss_v5" in text and "did you mean" in text for text in whole.warnings)
    assert any(text.startswith("task 1: its resources are not checked") for text in whole.warnings)


def test_a_retiring_vm_size_that_is_named_is_a_warning(local: AccountFacts):
    assert any(
        "retires on 2028-11-15" in text for text in planned(local, {"vm_size": "Standard_A2_v2"}).warnings
    )


@pytest.mark.parametrize(
    "pool", [{"subnet_id": SUBNET}, {"image": {"image_id": GALLERY, "node_agent": "batch.node.ubuntu 24.04"}}]
)
def test_a_shared_key_cannot_make_pools_that_need_entra_id(
    cloud: AccountFacts, local: AccountFacts, pool: dict[str, Any]
):
    with pytest.raises(ConfigurationError, match="needs Entra ID"):
        planned(replace(cloud, key_auth=True), pool)
    assert planned(cloud, pool).pool.body
    here = planned(local, pool)
    assert any("needs Entra ID, which the local service has not" in text for text in here.warnings)
    assert here.pool.body is not None
    check_new(here.pool.body)  # the local service takes it


def test_the_stand_in_for_an_image_by_id_has_its_agent_and_hosts_containers(local: AccountFacts):
    image = {"image_id": GALLERY, "node_agent": "batch.node.ubuntu 24.04"}
    made = body(local, {"image": image}, container="alpine")["virtualMachineConfiguration"]
    assert made["imageReference"]["offer"] == "ubuntu-hpc"
    assert made["nodeAgentSKUId"] == "batch.node.ubuntu 24.04"
    with pytest.raises(SpecError, match="no image with the node agent"):
        body(local, {"image": {**image, "node_agent": "batch.node.debian 9"}})


def test_a_gallery_image_is_named_by_its_id(cloud: AccountFacts):
    image = {"image_id": GALLERY, "node_agent": "batch.node.ubuntu 24.04"}
    made = body(cloud, {"image": image})["virtualMachineConfiguration"]
    assert made["imageReference"] == {"virtualMachineImageId": GALLERY}


def test_identities_need_the_management_plane(cloud: AccountFacts):
    with pytest.raises(ConfigurationError, match=r"management plane.*azbatch\[arm\]"):
        planned(cloud, {"kind": "managed", "identities": [IDENTITY]})


def test_a_file_opened_by_an_identity_needs_a_pool_that_has_it(cloud: AccountFacts):
    file = {"storage_container_url": "https://s.blob.core.windows.net/c", "identity": IDENTITY}
    with pytest.raises(ConfigurationError, match="a pool made by this version has none"):
        planned(cloud, tasks=[TaskSpec(command=["true"], resource_files=[file])])


def test_a_windows_image_gets_command_lines_for_windows(local: AccountFacts):
    image = {
        "publisher": "microsoftwindowsserver",
        "offer": "windowsserver",
        "sku": "2022-datacenter-g2",
        "node_agent": "batch.node.windows amd64",
    }
    whole = planned(local, {"image": image}, tasks=[TaskSpec(command=shell("echo %USERNAME%"))])
    assert whole.tasks[0].body["commandLine"] == 'cmd.exe /d /s /c "echo %USERNAME%"'
    assert any("commands for Windows fail there" in text for text in whole.warnings)


def test_a_start_task_with_a_signed_file_is_a_warning_and_with_an_ended_one_an_error(cloud: AccountFacts):
    def start(end: str) -> dict[str, Any]:
        url = f"https://s.blob.core.windows.net/c/setup.sh?sp=r&se={end}&sig=hunter2"
        return {"start_task": {"command": ["sh"], "resource_files": [{"http_url": url, "file_path": "s"}]}}

    whole = planned(cloud, start("2027-01-01T00:00:00Z"))
    assert any(
        "nodes that join after its end fail" in text and "hunter2" not in text for text in whole.warnings
    )
    with pytest.raises(SpecError, match="ended on 2026-01-01"):
        planned(cloud, start("2026-01-01T00:00:00Z"))


def test_the_signature_stays_a_secret_leaf(cloud: AccountFacts):
    url = "https://s.blob.core.windows.net/c/setup.sh?sp=r&sig=hunter2"
    pool = {"start_task": {"command": ["sh"], "resource_files": [{"http_url": url, "file_path": "s"}]}}
    assert body(cloud, pool)["startTask"]["resourceFiles"][0]["httpUrl"] == UrlSecret(url)


def test_a_size_that_was_never_seen_on_batch_is_a_warning(local: AccountFacts):
    whole = planned(local, resources={"gpus": 1, "gpu_model": "A100"})
    assert whole.pool.vm_size == "Standard_NC24ads_A100_v4"
    assert whole.warnings == ("VM size Standard_NC24ads_A100_v4 was not seen to work with Batch",)
    assert (
        body(local, resources={"gpus": 1})["virtualMachineConfiguration"]["imageReference"]["sku"] == "2404"
    )


def test_an_unknown_image_may_or_may_not_host_containers(cloud: AccountFacts):
    image = {"publisher": "debian", "offer": "debian-13", "sku": "13", "node_agent": "batch.node.debian 13"}
    whole = planned(cloud, {"image": image}, container="a:1")
    (text,) = [text for text in whole.warnings if "debian" in text]
    assert "'debian debian-13 13' is not in the catalog: whether it can host containers" in text
