"""Every operation on nodes, by both clients of the SDK."""

from __future__ import annotations

from datetime import datetime, timedelta, timezone
from typing import TYPE_CHECKING

import pytest
import sdk_bodies as bodies
from azure.batch import models
from azure.core.exceptions import ResourceNotFoundError
from azure.storage.blob import BlobServiceClient
from waiting import until

from azbatch_core.local.blobs.auth import service_sas

if TYPE_CHECKING:
    from collections.abc import Iterator

    from sdk_calls import Sdk

    from azbatch_core.local import LocalBatch


@pytest.fixture
def node(sdk: Sdk, request: pytest.FixtureRequest) -> Iterator[tuple[str, str]]:
    """An idle node and its pool."""
    pool_id = sdk.name(request.node.name.split("[")[0][-40:])
    sdk.create_pool(bodies.pool(pool_id, 1))
    found = until(lambda: [node for node in sdk.list_nodes(pool_id) if node.state == "idle"])
    yield pool_id, found[0].id
    sdk.begin_delete_pool(pool_id)


def test_a_node_is_shown_and_restarted(sdk: Sdk, node: tuple[str, str]) -> None:
    pool_id, node_id = node
    assert bodies.shown(sdk.get_node(pool_id, node_id, select=["id"])) == {"id": node_id}
    booted = sdk.get_node(*node).last_boot_time
    sdk.begin_reboot_node(*node, bodies.REBOOT)
    until(lambda: sdk.get_node(*node).state == "idle")
    assert sdk.get_node(*node).last_boot_time > booted
    sdk.begin_reimage_node(*node, bodies.REIMAGE)
    until(lambda: sdk.get_node(*node).state == "idle")


def test_a_node_is_given_back_and_started_again(sdk: Sdk, node: tuple[str, str]) -> None:
    sdk.begin_deallocate_node(*node, bodies.DEALLOCATE)
    until(lambda: sdk.get_node(*node).state == "deallocated")
    sdk.begin_start_node(*node)
    until(lambda: sdk.get_node(*node).state == "idle")


def test_a_node_takes_no_tasks_for_a_while(sdk: Sdk, node: tuple[str, str]) -> None:
    sdk.disable_node_scheduling(*node, bodies.DISABLE)
    assert sdk.get_node(*node).scheduling_state == "disabled"
    sdk.enable_node_scheduling(*node)
    assert sdk.get_node(*node).scheduling_state == "enabled"


def test_users_of_a_node(sdk: Sdk, node: tuple[str, str]) -> None:
    sdk.create_node_user(*node, models.BatchNodeUserCreateOptions(name="u", password="made-Up-1"))
    sdk.replace_node_user(*node, "u", models.BatchNodeUserReplaceOptions(password="made-Up-2"))
    sdk.delete_node_user(*node, "u")
    with pytest.raises(ResourceNotFoundError) as caught:
        sdk.delete_node_user(*node, "u")
    assert caught.value.error.code == "NodeUserNotFound"


def test_how_a_node_is_reached(sdk: Sdk) -> None:
    nat = models.BatchInboundNatPool(
        name="ssh",
        protocol="tcp",
        backend_port=22,
        frontend_port_range_start=20000,
        frontend_port_range_end=20100,
    )
    network = models.NetworkConfiguration(
        endpoint_configuration=models.BatchPoolEndpointConfiguration(inbound_nat_pools=[nat])
    )
    pool_id = sdk.name("reached")
    sdk.create_pool(bodies.pool(pool_id, 1, network_configuration=network))
    [node] = until(lambda: sdk.list_nodes(pool_id))
    settings = sdk.get_node_remote_login_settings(pool_id, node.id)
    assert settings.remote_login_ip_address
    assert 20000 <= settings.remote_login_port <= 20100
    sdk.begin_delete_pool(pool_id)


def test_extensions_of_a_node(sdk: Sdk, node: tuple[str, str]) -> None:
    [own] = sdk.list_node_extensions(*node)
    assert own.vm_extension.name == "batchNodeExtension"
    assert sdk.get_node_extension(*node, "batchNodeExtension").vm_extension == own.vm_extension
    with pytest.raises(ResourceNotFoundError):
        sdk.get_node_extension(*node, "nothing")


def test_the_logs_of_a_node_are_uploaded(sdk: Sdk, node: tuple[str, str], local: LocalBatch) -> None:
    expiry = datetime.now(timezone.utc) + timedelta(hours=1)
    sas = service_sas(local.blob_account, local.blob_key, "logs", "rcwl", expiry)
    with BlobServiceClient(local.blob_endpoint, local.blob_key) as storage:
        if not storage.get_container_client("logs").exists():
            storage.create_container("logs")
    wanted = models.UploadBatchServiceLogsOptions(
        container_url=f"{local.blob_endpoint}/logs?{sas}",
        start_time=datetime(2025, 1, 1, tzinfo=timezone.utc),
    )
    result = sdk.upload_node_logs(*node, wanted)
    assert result.virtual_directory_name
    assert result.number_of_files_uploaded >= 0
