"""Clients of other lines and languages, and the SDK's own sample."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable
    from subprocess import CompletedProcess

    from azbatch_core.local import LocalBatch

    Run = Callable[..., CompletedProcess[str]]

HERE = Path(__file__).parent


def told(done: CompletedProcess[str]) -> dict[str, Any]:
    """The JSON object that a program printed."""
    assert done.returncode == 0, done.stderr
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def test_node_js(run: Run) -> None:
    found = told(run("node", HERE / "walk_node.cjs"))
    assert found.pop("images") > 10
    assert found == {
        "pool": ["p", "active", "server"],
        "added": ["Success", "Success"],
        "tasks": [["bad", 7], ["good", 0]],
        "stdout": "hello from node\n",
        "nodes": 2,
        "schedule": "active",
        "missing": [404, "JobNotFound"],
    }


def test_python_azure_batch_14(run: Run, python: str) -> None:
    assert told(run(python, HERE / "walk_python14.py", packages="azure-batch-14")) == {
        "pool": "steady",
        "added": ["success", "success"],
        "tasks": [["bad", 7], ["good", 0]],
        "stdout": "hello from 14\n",
        "counts": 2,
        "schedule": "active",
        "missing": [404, "JobNotFound"],
    }


def test_the_sample_of_the_sdk_unchanged_but_for_endpoint_and_key(
    run: Run, python: str, clients: Path, tmp_path: Path, local: LocalBatch
) -> None:
    sample = (clients / "azure-batch-source" / "samples" / "batch_samples_hello_world.py").read_text()
    by_login, by_key = "DefaultAzureCredential()", "AzureNamedKeyCredential(*KEY)"
    assert sample.count(by_login) == 1
    key = (local.account_name, local.account_key)
    preface = f"from azure.core.credentials import AzureNamedKeyCredential\nKEY = {key!r}\n"
    (tmp_path / "sample.py").write_text(preface + sample.replace(by_login, by_key))
    (tmp_path / "samples.cfg").write_text(f"[Batch]\nBATCH_ACCOUNT_ENDPOINT = {local.endpoint}\n")
    done = run(python, tmp_path / "sample.py", packages="azure-batch-15")
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
