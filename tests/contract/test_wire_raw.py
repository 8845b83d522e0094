"""What goes over the wire, byte for byte where it matters, and the shapes that real answers have."""

from __future__ import annotations

import http.client
import json
import re
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

import pytest
from azure.batch import BatchClient
from wire_client import Wire

from azbatch_core.local import LocalBatch
from azbatch_core.local.routes.table import OPERATIONS

if TYPE_CHECKING:
    from collections.abc import Iterator

POOL = {
    "id": "xplatCreatedPool",
    "vmSize": "standard_d2s_v3",
    "virtualMachineConfiguration": {
        "imageReference": {
            "publisher": "canonical",
            "offer": "0001-com-ubuntu-server-focal",
            "sku": "20_04-lts",
        },
        "nodeAgentSKUId": "batch.node.ubuntu 20.04",
    },
}


@pytest.fixture(scope="module")
def wire() -> Iterator[Wire]:
    with LocalBatch() as batch:
        wire = Wire(batch)
        assert wire.ask("POST", "/pools", POOL)[0].status == 201
        job = {"id": "job", "poolInfo": {"poolId": "nowhere"}}
        assert wire.ask("POST", "/jobs", job)[0].status == 201
        task = {"id": "task", "commandLine": "sleep 60"}
        assert wire.ask("POST", "/jobs/job/tasks", task)[0].status == 201
        yield wire
        wire.connection.close()


def test_the_checked_in_shapes_are_those_of_the_installed_sdk() -> None:
    script = Path(__file__).parents[2] / "tools" / "generate_wire_schema.py"
    done = subprocess.run([sys.executable, script, "--check"], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


def test_every_operation_of_the_sdk_is_in_the_table() -> None:
    client_side = {"close", "create_tasks", "send_request"}
    methods = {name for name in dir(BatchClient) if not name.startswith("_")} - client_side
    assert {operation.name for operation in OPERATIONS} == methods


def test_a_new_pool_has_the_members_that_a_real_one_had(wire: Wire) -> None:
    pool = wire.json("GET", "/pools/xplatCreatedPool")
    assert set(pool) >= {
        "odata.metadata", "id", "url", "eTag", "lastModified", "creationTime", "state", "stateTransitionTime",
        "allocationState", "allocationStateTransitionTime", "vmSize", "virtualMachineConfiguration",
        "resizeTimeout", "currentDedicatedNodes", "currentLowPriorityNodes", "targetDedicatedNodes",
        "targetLowPriorityNodes", "enableAutoScale", "enableInterNodeCommunication", "taskSlotsPerNode",
        "taskSchedulingPolicy",
    }  # fmt: skip
    assert next(iter(pool)) == "odata.metadata"
    assert pool["taskSchedulingPolicy"] == {"nodeFillType": "Spread"}
    assert pool["resizeTimeout"] == "PT15M"
    assert pool["virtualMachineConfiguration"]["imageReference"]["version"] == "latest"
    assert re.fullmatch(r"0x[0-9A-F]+", pool["eTag"])


def test_a_new_job_has_the_members_that_a_real_one_had(wire: Wire) -> None:
    job = wire.json("GET", "/jobs/job")
    assert set(job) >= {
        "odata.metadata", "id", "url", "eTag", "lastModified", "creationTime", "state", "stateTransitionTime",
        "priority", "allowTaskPreemption", "maxParallelTasks", "usesTaskDependencies", "constraints",
        "poolInfo", "executionInfo", "onAllTasksComplete", "onTaskFailure",
    }  # fmt: skip
    assert job["constraints"] == {"maxWallClockTime": "P10675199DT2H48M5.4775807S", "maxTaskRetryCount": 0}
    assert (job["onAllTasksComplete"], job["onTaskFailure"]) == ("noaction", "noaction")
    assert (job["maxParallelTasks"], job["allowTaskPreemption"]) == (-1, False)


def test_a_new_task_has_the_members_that_a_real_one_had(wire: Wire) -> None:
    task = wire.json("GET", "/jobs/job/tasks/task")
    assert set(task) == {
        "odata.metadata", "id", "url", "eTag", "lastModified", "creationTime", "state", "stateTransitionTime",
        "commandLine", "constraints", "executionInfo", "requiredSlots", "userIdentity",
    }  # fmt: skip
    assert task["constraints"] == {
        "maxWallClockTime": "P10675199DT2H48M5.4775807S",
        "retentionTime": "P7D",
        "maxTaskRetryCount": 0,
    }
    assert task["executionInfo"] == {"requeueCount": 0, "retryCount": 0}
    assert task["userIdentity"] == {"autoUser": {"elevationLevel": "nonadmin", "scope": "pool"}}


@pytest.mark.parametrize(
    ("target", "fragment"),
    [
        ("/pools", "pools"),
        ("/pools/xplatCreatedPool", "pools/@Element"),
        ("/pools/xplatCreatedPool/nodes", "nodes"),
        ("/nodecounts", "poolnodecounts"),
        ("/supportedimages", "supportedimages"),
        ("/jobs", "jobs"),
        ("/jobs/job", "jobs/@Element"),
        ("/jobs/job/tasks", "tasks"),
        ("/jobs/job/tasks/task", "tasks/@Element"),
        ("/jobs/job/tasks/task/subtasksinfo", "subtaskinfo"),
        ("/jobs/job/taskcounts", "taskcountsresult/@Element"),
    ],
)
def test_every_body_begins_with_its_metadata(wire: Wire, target: str, fragment: str) -> None:
    _, body = wire.ask("GET", target)
    assert body.startswith(f'{{"odata.metadata":"{wire.batch.endpoint}/$metadata#{fragment}"'.encode())


def test_successes_are_chunked_and_refusals_are_not(wire: Wire) -> None:
    shown, _ = wire.ask("GET", "/pools/xplatCreatedPool")
    assert shown.getheader("Transfer-Encoding") == "chunked"
    refused, body = wire.ask("GET", "/pools/nobody")
    assert refused.getheader("Content-Length") == str(len(body))
    assert refused.getheader("Transfer-Encoding") is None
    assert body.count(b"\r\n") >= 4


def test_the_headers_that_every_answer_has(wire: Wire) -> None:
    for target in ("/pools", "/pools/nobody"):
        answer, _ = wire.ask("GET", target)
        assert answer.getheader("Server") == "Microsoft-HTTPAPI/2.0"
        assert answer.getheader("DataServiceVersion") == "3.0"
        assert answer.getheader("X-Content-Type-Options") == "nosniff"
        assert answer.getheader("Strict-Transport-Security") == "max-age=31536000; includeSubDomains"
        assert answer.getheader("Date")
        assert answer.getheader("Content-Type") == "application/json;odata=minimalmetadata"


def test_older_clients_are_understood(wire: Wire) -> None:
    body = {**POOL, "id": "older", "resourceTags": {"dept": "finance"}, "certificateReferences": []}
    assert wire.ask("POST", "/pools", body, version="2024-02-01.19.0")[0].status == 201
    body = {"resizeTimeout": "PT20M00S", "targetDedicatedNodes": "0", "targetLowPriorityNodes": "0"}
    while wire.json("GET", "/pools/older")["allocationState"] != "steady":
        pass
    assert wire.ask("POST", "/pools/older/resize", body, version="2024-02-01.19.0")[0].status == 202
    task = {"constraints": {"maxTaskRetryCount": "3", "maxWallClockTime": "PT0H20M"}}
    task["constraints"]["retentionTime"] = "P3Y6M4DT12H30M5S"
    assert wire.ask("POST", "/jobs/job/tasks", {"id": "older", "commandLine": "true"})[0].status == 201
    assert wire.ask("PUT", "/jobs/job/tasks/older", task, version="2024-07-01.20.0")[0].status == 200
    assert wire.json("GET", "/jobs/job/tasks/older")["constraints"] == {
        "maxTaskRetryCount": 3,
        "maxWallClockTime": "PT20M",
        "retentionTime": "P1279DT12H30M5S",
    }


def test_a_body_that_is_too_large_is_answered_and_the_connection_goes_on(wire: Wire) -> None:
    tasks = {"value": [{"id": "big", "commandLine": "x" * 1_100_000}]}
    answer, body = wire.ask("POST", "/jobs/job/addtaskcollection", tasks)
    assert answer.status == 413
    assert json.loads(body)["values"] == [{"key": "MaxLimit", "value": "1048576"}]
    assert wire.ask("GET", "/jobs/job")[0].status == 200


def test_a_name_that_points_here_from_elsewhere_is_refused(wire: Wire) -> None:
    answer, body = wire.ask("GET", "/pools", host="rebound.example")
    assert (answer.status, json.loads(body)["code"]) == (400, "InvalidHeaderValue")
    blobs = f"/{wire.batch.blob_account}/container"
    assert wire.ask("GET", blobs, host="rebound.example")[0].status == 400


def test_what_is_no_http_does_not_disturb_the_service(wire: Wire) -> None:
    place = urlsplit(wire.batch.endpoint)
    other = http.client.HTTPConnection(str(place.hostname), place.port, timeout=60)
    other.connect()
    assert other.sock is not None
    other.sock.sendall(b"\x16\x03\x01 this is TLS, more or less\r\n\r\n")
    other.sock.recv(1000)
    other.close()
    assert wire.ask("GET", "/pools")[0].status == 200
