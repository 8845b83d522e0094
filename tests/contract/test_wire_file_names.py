"""Files whose names are not UTF-8, as any program on Linux may leave them: listed, read, uploaded around."""

from __future__ import annotations

from datetime import datetime, timedelta, timezone
from typing import Any

from azure.storage.blob import BlobServiceClient, generate_container_sas
from waiting import until
from wire_client import Wire

from azbatch_core.local import LocalBatch

POOL = {
    "id": "pool",
    "vmSize": "standard_d2s_v3",
    "targetDedicatedNodes": 1,
    "virtualMachineConfiguration": {
        "imageReference": {"publisher": "canonical", "offer": "ubuntu-24_04-lts", "sku": "server"},
        "nodeAgentSKUId": "batch.node.ubuntu 24.04",
    },
}
SCRIPT = r"""/bin/bash -c 'printf x > $(printf "a\\xff.dat"); printf y > b.dat'"""


def finished(wire: Wire) -> dict[str, Any]:
    until(lambda: wire.json("GET", "/jobs/job/tasks/task")["state"] == "completed")
    return wire.json("GET", "/jobs/job/tasks/task")


def test_a_name_that_is_not_text_is_shown_read_and_kept_from_blobs() -> None:
    with LocalBatch() as batch:
        wire = Wire(batch)
        credential = {"account_name": batch.blob_account, "account_key": batch.blob_key}
        with BlobServiceClient(batch.blob_endpoint, credential=credential, retry_total=0) as service:
            box = service.create_container("box")
            signature = generate_container_sas(
                batch.blob_account,
                "box",
                account_key=batch.blob_key,
                permission="w",
                expiry=datetime.now(timezone.utc) + timedelta(hours=1),
            )
            upload = {
                "filePattern": "*.dat",
                "destination": {"container": {"containerUrl": f"{batch.blob_endpoint}/box?{signature}"}},
                "uploadOptions": {"uploadCondition": "taskcompletion"},
            }
            wire.ask("POST", "/pools", POOL)
            wire.ask("POST", "/jobs", {"id": "job", "poolInfo": {"poolId": "pool"}})
            task = {"id": "task", "commandLine": SCRIPT, "outputFiles": [upload]}
            assert wire.ask("POST", "/jobs/job/tasks", task)[0].status == 201
            info = finished(wire)["executionInfo"]
            assert (info["exitCode"], info["failureInfo"]["code"]) == (0, "FileUploadMiscError")
            assert {"name": "FilePath", "value": "a\ufffd.dat"} in info["failureInfo"]["details"]
            assert [blob.name for blob in box.list_blobs()] == ["b.dat"]
        listed = wire.json("GET", "/jobs/job/tasks/task/files")["value"]
        assert "fileuploaderr.txt" in {entry["name"] for entry in listed}
        response, body = wire.ask("GET", "/jobs/job/tasks/task/files?recursive=true")
        assert (response.status, b"wd/a\xef\xbf\xbd.dat" in body) == (200, True)
        assert wire.ask("GET", "/jobs/job/tasks/task/files/wd%2Fa%FF.dat")[1] == b"x"
        wire.connection.close()
