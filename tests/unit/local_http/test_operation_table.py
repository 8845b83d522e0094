"""The table of operations."""

from __future__ import annotations

import re

import pytest

from azbatch_core.local.errors import BatchError
from azbatch_core.local.http.casing import POOL, TASK, recase
from azbatch_core.local.http.router import Router
from azbatch_core.local.odata.filters import FILTERS
from azbatch_core.local.routes.table import OPERATIONS
from azbatch_core.local.wire.schema import schema


def test_there_are_72_operations_and_each_is_reached_by_its_own_path():
    assert len({operation.name for operation in OPERATIONS}) == 72
    router = Router(OPERATIONS)
    for operation in OPERATIONS:
        path = re.sub(r"\{(\w+)\}", r"the%2F\1", operation.path)
        found, ids = router.match(operation.method, path)
        assert found is operation
        assert ids == {name: f"the/{name}" for name in re.findall(r"\{(\w+)\}", operation.path)}


def test_every_row_names_shapes_and_rules_that_exist():
    for operation in OPERATIONS:
        assert not operation.body or operation.body in schema()["models"]
        assert not operation.select or operation.select in schema()["models"]
        assert not operation.filter or operation.filter in FILTERS
        if operation.method == "GET" and operation.fragment:
            assert not operation.fragment.startswith("/")


def test_a_path_of_no_operation_is_told_from_a_wrong_verb():
    router = Router(OPERATIONS)
    for method, path, code in (
        ("GET", "/pools/a/b", "InvalidUri"),
        ("POST", "/pools/a", "UnsupportedHttpVerb"),
    ):
        with pytest.raises(BatchError) as caught:
            router.match(method, path)
        assert caught.value.code == code


def test_enumerations_go_out_in_the_wires_case_and_the_document_stays_as_it_was():
    stored = {
        "taskSchedulingPolicy": {"nodeFillType": "pack"},
        "virtualMachineConfiguration": {
            "dataDisks": [{"lun": 0, "caching": "readwrite"}, {"lun": 1}],
            "diskEncryptionConfiguration": {"targets": ["osdisk", "temporarydisk"]},
            "nodePlacementConfiguration": {"policy": "zonal"},
            "securityProfile": {"securityType": "trustedLaunch"},
        },
    }
    shown = recase(stored, POOL)
    assert shown["taskSchedulingPolicy"] == {"nodeFillType": "Pack"}
    machine = shown["virtualMachineConfiguration"]
    assert machine["dataDisks"] == [{"lun": 0, "caching": "ReadWrite"}, {"lun": 1}]
    assert machine["diskEncryptionConfiguration"] == {"targets": ["OsDisk", "TemporaryDisk"]}
    assert machine["nodePlacementConfiguration"] == {"policy": "Zonal"}
    assert machine["securityProfile"] == {"securityType": "trustedlaunch"}
    assert stored["taskSchedulingPolicy"] == {"nodeFillType": "pack"}
    assert stored["virtualMachineConfiguration"]["dataDisks"][0]["caching"] == "readwrite"


def test_a_task_without_such_enumerations_is_not_even_copied():
    task = {"id": "t", "state": "active"}
    assert recase(task, TASK) is task
    failed = {"executionInfo": {"failureInfo": {"category": "usererror"}}}
    assert recase(failed, TASK)["executionInfo"]["failureInfo"]["category"] == "UserError"
