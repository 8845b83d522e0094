"""Every operation on the account, by both clients of the SDK; and that all operations have their scenario."""

from __future__ import annotations

import ast
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from azure.core.exceptions import HttpResponseError, ResourceNotFoundError

from azbatch_core.local.routes.table import OPERATIONS

if TYPE_CHECKING:
    from sdk_calls import Sdk

    from azbatch_core.local import LocalBatch


def test_supported_images(sdk: Sdk) -> None:
    images = sdk.list_supported_images(filter="nodeAgentSKUId eq 'batch.node.ubuntu 24.04'")
    assert {image.node_agent_sku_id for image in images} == {"batch.node.ubuntu 24.04"}
    assert "DockerCompatible" in {able for image in images for able in image.capabilities or ()}


def test_usage_metrics_are_retired(sdk: Sdk) -> None:
    with pytest.raises(HttpResponseError) as caught:
        sdk.list_pool_usage_metrics()
    assert caught.value.status_code == 400
    assert caught.value.error.code == "PoolUsageMetricAPIRetired"


def test_applications(sdk: Sdk, local: LocalBatch) -> None:
    folder = local.state_dir / "applications" / "scenario"
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "1.0.zip").write_bytes(b"")
    assert "scenario" in [application.id for application in sdk.list_applications()]
    assert sdk.get_application("scenario").versions == ["1.0"]
    with pytest.raises(ResourceNotFoundError) as caught:
        sdk.get_application("nothing")
    assert caught.value.error.code == "ApplicationNotFound"


def test_every_operation_has_a_scenario() -> None:
    called = set()
    for path in Path(__file__).parent.glob("test_sdk_operations_*.py"):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
                named = node.func.value
                if isinstance(named, ast.Name) and named.id == "sdk":
                    called.add(node.func.attr)
    names = {operation.name for operation in OPERATIONS}
    assert len(names) == 72
    assert names - called == set()
