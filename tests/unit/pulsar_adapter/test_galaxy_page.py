"""What docs/galaxy.md and examples/galaxy say is what the adapter takes."""

from __future__ import annotations

import subprocess
import sys
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
import yaml

from azbatch_core.specs import ExistingPool, ManagedPool
from azbatch_pulsar.destination import PREFIX, Destination, parse

ROOT = Path(__file__).parents[3]
EXAMPLES = sorted((ROOT / "examples" / "galaxy").glob("*.yml"))
GIB = 1024**3


def document(name: str) -> Any:
    return yaml.safe_load((ROOT / "examples" / "galaxy" / name).read_text())


def environments(name: str) -> dict[str, dict[str, Any]]:
    """The environments of ours in one example."""
    found = document(name).get("execution", {}).get("environments", {})
    return {key: value for key, value in found.items() if any(word.startswith(PREFIX) for word in value)}


def destination(name: str, environment: str = "azure_batch") -> Destination:
    return parse(environments(name)[environment])


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.name)
def test_every_parameter_of_the_examples_is_one(path: Path) -> None:
    for params in environments(path.name).values():
        parse(params)
    for entry in document(path.name).get("destinations", {}).values():
        names = {key.removeprefix(PREFIX) for key in entry["params"] if key.startswith(PREFIX)}
        assert names <= set(Destination.model_fields)


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.name)
def test_environments_and_runners_that_are_named_are_there(path: Path) -> None:
    job_conf = document(path.name)
    if "execution" not in job_conf:
        return
    known = job_conf["execution"]["environments"]
    assert job_conf["execution"]["default"] in known
    named = {tool["environment"] for tool in job_conf["tools"]}
    for environment in known.values():
        assert environment["runner"] in {*job_conf["runners"], "dynamic"}
        named |= {rule["environment"] for rule in environment.get("resubmit", ()) if "environment" in rule}
    assert named <= set(known)


def test_the_examples_say_what_they_are_for() -> None:
    local = destination("local.yml")
    assert (local.account, local.runtime) == ("local", "host")
    assert isinstance(destination("existing_pool.yml").shared_pool(), ExistingPool)
    assert destination("queue.yml").message_queue_url is not None
    small, big = (destination("managed_pools.yml", name) for name in ("small", "big"))
    assert isinstance(small.shared_pool(), ManagedPool)
    assert (small.memory, big.memory) == (8 * GIB, 64 * GIB)
    assert (small.walltime, big.walltime) == (timedelta(hours=6), timedelta(hours=72))
    assert (small.spot, big.spot) == (True, False)
    account = destination("account.yml")
    assert account.volumes == ("/cvmfs:/cvmfs:ro",)
    assert account.registry is not None
    assert "env:REGISTRY_PASSWORD" in repr(account.registry.password)


def test_what_tpv_makes_of_the_rules_is_taken() -> None:
    """Total Perspective Vortex hands over text: floats where it has divided."""
    given = dict(document("tpv_rules.yml")["destinations"]["azure_batch"]["params"])
    filled = {
        key: value.format(cores="2.0", mem="7.6", gpus="0", walltime="12h") for key, value in given.items()
    }
    made = parse(filled)
    assert (made.cores, made.gpus, made.spot, made.max_nodes) == (2, 0, True, 20)
    assert made.memory is not None
    assert round(made.memory / GIB, 1) == 7.6
    assert made.walltime == timedelta(hours=12)


def test_the_table_of_parameters_is_current() -> None:
    tool = ROOT / "tools" / "render_galaxy_parameters.py"
    checked = subprocess.run([sys.executable, tool, "--check"], capture_output=True, text=True, check=False)
    assert (checked.returncode, checked.stderr) == (0, "")
