"""Users, remote login, logs and extensions of nodes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from engine_fakes import Service

from azbatch_core.local.errors import BatchError

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.asyncio

SECRET = "hunter2-in-plain-sight"


async def one(service: Service, **fields: Any) -> str:
    await service.pool(**fields)
    return str(service.nodes()[0]["id"])


async def test_users_are_kept_without_their_secrets(service: Service) -> None:
    node = await one(service)
    access = service.engine.node_access
    access.create_user(
        "pool", node, {"name": "ann", "password": SECRET, "sshPublicKey": SECRET, "isAdmin": True}
    )
    with pytest.raises(BatchError, match="NodeUserExists"):
        access.create_user("pool", node, {"name": "ann"})
    rows = service.engine.account.store.connection.execute("SELECT body FROM nodes").fetchall()
    assert b"ann" in rows[0][0]
    assert SECRET.encode() not in rows[0][0]
    heir = await service.killed()
    with pytest.raises(BatchError, match="NodeUserExists"):
        heir.engine.node_access.create_user("pool", node, {"name": "ann"})
    heir.engine.node_access.replace_user("pool", node, "ann", {"password": SECRET})
    heir.engine.node_access.delete_user("pool", node, "ann")
    with pytest.raises(BatchError, match="NodeUserNotFound"):
        heir.engine.node_access.delete_user("pool", node, "ann")
    with pytest.raises(BatchError, match="NodeUserNotFound"):
        heir.engine.node_access.replace_user("pool", node, "ann", {})
    await heir.engine.stop()


async def test_users_expire_after_a_day_or_when_they_are_to(service: Service) -> None:
    node = await one(service)
    access = service.engine.node_access
    access.create_user("pool", node, {"name": "day"})
    access.create_user("pool", node, {"name": "hour", "expiryTime": "2026-01-01T01:00:00Z"})
    await service.pass_time(3601)
    access.create_user("pool", node, {"name": "hour"})
    access.replace_user("pool", node, "day", {"expiryTime": "2026-01-05T00:00:00Z"})
    await service.pass_time(2 * 86400)
    access.delete_user("pool", node, "day")
    with pytest.raises(BatchError, match="NodeUserNotFound"):
        access.delete_user("pool", node, "hour")


async def test_reimaging_takes_users_away_and_rebooting_does_not(service: Service) -> None:
    node = await one(service)
    service.engine.node_access.create_user("pool", node, {"name": "ann"})
    service.engine.nodes.go_down("pool", node, "rebooting", "requeue")
    with pytest.raises(BatchError, match="NodeBeingRebooted"):
        service.engine.node_access.delete_user("pool", node, "ann")
    await service.pass_time()
    with pytest.raises(BatchError, match="NodeUserExists"):
        service.engine.node_access.create_user("pool", node, {"name": "ann"})
    service.engine.nodes.go_down("pool", node, "reimaging", "requeue")
    await service.pass_time()
    service.engine.node_access.create_user("pool", node, {"name": "ann"})


@pytest.mark.parametrize(
    ("body", "code"),
    [
        ({"name": ""}, "InvalidPropertyValue"),
        ({"name": "a b"}, "InvalidPropertyValue"),
        ({"name": "x" * 21}, "InvalidPropertyValue"),
        ({"name": "pooled"}, "NodeUserExists"),
        ({"name": "ann", "expiryTime": "2025-12-31T23:59:59Z"}, "InvalidPropertyValue"),
    ],
)
async def test_users_that_cannot_be_are_refused(service: Service, body: dict[str, Any], code: str) -> None:
    node = await one(service, userAccounts=[{"name": "pooled", "password": SECRET}])
    with pytest.raises(BatchError, match=code):
        service.engine.node_access.create_user("pool", node, body)


async def test_windows_wants_a_password_and_no_key(service: Service) -> None:
    image = {"publisher": "microsoftwindowsserver", "offer": "windowsserver", "sku": "2022-datacenter"}
    machine = {"imageReference": image, "nodeAgentSKUId": "batch.node.windows amd64"}
    node = await one(service, virtualMachineConfiguration=machine)
    create = service.engine.node_access.create_user
    with pytest.raises(BatchError, match="MissingRequiredProperty"):
        create("pool", node, {"name": "ann"})
    with pytest.raises(BatchError, match="InvalidPropertyValue") as error:
        create("pool", node, {"name": "ann", "password": SECRET, "sshPublicKey": SECRET})
    assert SECRET not in str(error.value)
    create("pool", node, {"name": "ann", "password": SECRET})


async def test_remote_login_goes_through_an_endpoint_of_the_pool(service: Service) -> None:
    def pool(name: str, port: int) -> dict[str, Any]:
        nat = {
            "name": name,
            "protocol": "tcp",
            "backendPort": port,
            "frontendPortRangeStart": 20000,
            "frontendPortRangeEnd": 20039,
        }
        return {"endpointConfiguration": {"inboundNATPools": [nat]}}

    node = await one(service, nodes=2, networkConfiguration=pool("ssh", 22))
    login = service.engine.node_access.remote_login
    settings = [login("pool", found["id"]) for found in service.nodes()]
    assert len({item["remoteLoginPort"] for item in settings}) == 2
    (endpoint,) = service.engine.nodes.get("pool", node)["endpointConfiguration"]["inboundEndpoints"]
    assert endpoint["name"].startswith("ssh.")
    assert settings[0] == {
        "remoteLoginIPAddress": endpoint["publicIPAddress"],
        "remoteLoginPort": endpoint["frontendPort"],
    }
    await service.pool("other", networkConfiguration=pool("web", 80))
    with pytest.raises(BatchError, match="OperationNotValidOnNode"):
        login("other", service.nodes("other")[0]["id"])


async def test_both_families_of_addresses_where_the_pool_has_both(service: Service) -> None:
    nat = {"name": "ssh", "protocol": "tcp", "backendPort": 22}
    network = {
        "endpointConfiguration": {
            "inboundNATPools": [{**nat, "frontendPortRangeStart": 20000, "frontendPortRangeEnd": 20039}]
        },
        "publicIPAddressConfiguration": {"ipFamilies": ["IPv4", "IPv6"]},
    }
    node = await one(service, networkConfiguration=network)
    found = service.engine.nodes.get("pool", node)
    ways = found["endpointConfiguration"]["inboundEndpoints"]
    assert [way["publicIPAddress"] for way in ways] == [found["ipAddress"], found["ipv6Address"]]
    login = service.engine.node_access.remote_login("pool", node)
    assert login["ipv6RemoteLoginIPAddress"] == found["ipv6Address"]
    assert login["ipv6RemoteLoginPort"] == login["remoteLoginPort"]


async def test_logs_are_those_of_the_node_and_the_time(service: Service) -> None:
    node = await one(service, startTask={"commandLine": "sleep 5"})
    service.job()
    service.task("t", "exit 3")
    await service.pass_time(3600)
    (service.folder / "service.log").write_text("a line\n")
    body = {"containerUrl": "http://127.0.0.1:1/box/logs?sig=secret", "startTime": "2026-01-01T00:00:00Z"}
    answer = service.engine.node_access.upload_logs("pool", node, body)
    url, _, files = service.runtime.sent.pop()
    assert (url, answer["numberOfFilesUploaded"]) == (body["containerUrl"], 2)
    folder = answer["virtualDirectoryName"]
    assert folder.startswith(f"pool/{node}/")
    assert set(files) == {f"{folder}/agent-debug.log", f"{folder}/service.log"}
    log = files[f"{folder}/agent-debug.log"].decode()
    assert "start task ended, success" in log
    assert "task t of job job ended, failure, exit code 3" in log
    times = [line.split()[0] for line in log.splitlines()]
    assert len(times) > 5
    later = {**body, "startTime": "2026-01-01T00:30:00Z"}
    assert service.engine.node_access.upload_logs("pool", node, later)["numberOfFilesUploaded"] == 1
    for wrong in (
        {**body, "endTime": "2025-01-01T00:00:00Z"},
        {**body, "containerUrl": "no URL, secret"},
        {**body, "containerUrl": "https:///logs?secret"},
    ):
        with pytest.raises(BatchError, match="InvalidPropertyValue") as error:
            service.engine.node_access.upload_logs("pool", node, wrong)
        assert "secret" not in str(error.value)


async def test_extensions_are_those_of_the_pool_and_show_no_secrets(tmp_path: Path) -> None:
    service = await Service(tmp_path, boot_time=10).start()
    extension = {"name": "Agent", "publisher": "p", "type": "t", "protectedSettings": {"key": SECRET}}
    image = {"publisher": "canonical", "offer": "ubuntu-24_04-lts", "sku": "server"}
    machine = {
        "imageReference": image,
        "nodeAgentSKUId": "batch.node.ubuntu 24.04",
        "extensions": [extension],
    }
    node = await one(service, virtualMachineConfiguration=machine)
    access = service.engine.node_access
    assert access.extension("pool", node, "Agent")["provisioningState"] == "Creating"
    await service.pass_time(11)
    found, own = access.extensions("pool", node)
    assert (found["provisioningState"], own["vmExtension"]["name"]) == ("Succeeded", "batchNodeExtension")
    assert found["vmExtension"] == {"name": "Agent", "publisher": "p", "type": "t"}
    assert SECRET not in str(service.engine.pools.get("pool"))
    with pytest.raises(BatchError, match="ResourceNotFound"):
        access.extension("pool", node, "other")
    await service.engine.stop()
