"""The commands that look at pools, nodes and accounts."""

from __future__ import annotations

import json
from datetime import datetime, timezone
from typing import TYPE_CHECKING

import pytest

from azbatch_core.errors import NotFound
from azbatch_core.service.summaries import (
    AccountCheck,
    CheckItem,
    NodeSummary,
    PoolSummary,
)

if TYPE_CHECKING:
    from pathlib import Path

    from cli_fakes import Azbatch, FakeBatch

T0 = datetime(2026, 3, 1, tzinfo=timezone.utc)


POOL = PoolSummary(
    "p1",
    "active",
    "resizing",
    "STANDARD_D2S_V5",
    1,
    2,
    0,
    0,
    4,
    errors=("AllocationFailed: none left",),
    created=T0,
)


def test_pools(batch: FakeBatch, azbatch: Azbatch) -> None:
    batch.found_pools = [POOL]
    for words in (("pools",), ("pools", "list")):
        row = azbatch(*words).out.splitlines()[1].split()
        assert row[:6] == ["p1", "resizing", "1/2", "0/0", "4", "d2s_v5"]
        assert row[-1] == "left"
    assert json.loads(azbatch("pools", "--json").out)[0]["target_dedicated_nodes"] == 2


def test_pools_show(batch: FakeBatch, azbatch: Azbatch) -> None:
    batch.found_pools = [POOL]
    batch.found_nodes = [NodeSummary("n1", "p1", "idle", ip="10.0.0.4")]
    result = azbatch("pools", "show", "P1")
    assert "1 of 2 wanted" in result.out
    assert "n1    idle       0  dedicated  10.0.0.4" in result.out
    assert "AllocationFailed" in result.err
    assert json.loads(azbatch("pools", "show", "p1", "--json").out)["nodes"][0]["id"] == "n1"
    missing = azbatch("pools", "show", "p2")
    assert missing.code == 3
    assert "has no pool 'p2'" in missing.err


def test_nodes(batch: FakeBatch, azbatch: Azbatch) -> None:
    batch.found_nodes = [
        NodeSummary(
            "n1", "p1", "running", 3, is_dedicated=False, ip=None, errors=("StartTaskFailed: exit 1",)
        )
    ]
    row = azbatch("nodes", "p1").out.splitlines()[1]
    assert row.split(maxsplit=5) == ["n1", "running", "3", "spot", "-", "StartTaskFailed: exit 1"]


def test_nodes_of_no_pool(batch: FakeBatch, azbatch: Azbatch) -> None:
    batch.raises["nodes"] = NotFound("there is no pool p9", code="PoolNotFound")
    result = azbatch("nodes", "p9")
    assert result.code == 3
    assert result.err == "azbatch: error: there is no pool p9 - `azbatch pools` lists them\n"


def test_account_check(batch: FakeBatch, azbatch: Azbatch) -> None:
    good = CheckItem("reach", ok=True, text="answers in 3 ms")
    bad = CheckItem("log in", ok=False, text="401", hint="az login")
    batch.account_check = AccountCheck("prod", "https://x", is_local=False, items=(good,))
    assert azbatch("account", "check", "prod").code == 0
    batch.account_check = AccountCheck("prod", "https://x", is_local=False, items=(good, bad))
    result = azbatch("account", "check", "prod")
    assert result.code == 3
    assert "FAIL log in: 401\n       try: az login\n" in result.out
    assert json.loads(azbatch("account", "check", "--json").out)["ok"] is False
    assert batch.opened[0] == "prod"


@pytest.fixture
def config(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("AZURE_BATCH_ENDPOINT", "AZURE_BATCH_ACCOUNT", "AZURE_BATCH_ACCESS_KEY"):
        monkeypatch.delenv(name, raising=False)
    path = tmp_path / "config.toml"
    path.write_text(
        'default = "prod"\n[accounts.prod]\nendpoint = "https://b.westeurope.batch.azure.com"\n'
        'credential = "shared_key"\naccount_key = "aHVzaA=="\n'
    )
    path.chmod(0o600)
    monkeypatch.setenv("AZBATCH_CONFIG", str(path))
    monkeypatch.setenv("AZBATCH_LOCAL_DIR", str(tmp_path / "local"))


@pytest.mark.usefixtures("config")
def test_account_show_hides_the_key(azbatch: Azbatch) -> None:
    for option in ((), ("--json",)):
        result = azbatch("account", "show", *option)
        assert result.code == 0
        assert "b.westeurope.batch.azure.com" in result.out
        assert "aHVzaA==" not in result.out + result.err
        assert "***" in result.out


@pytest.mark.usefixtures("config")
def test_account_list_marks_the_one_in_use(azbatch: Azbatch, monkeypatch: pytest.MonkeyPatch) -> None:
    rows = {line.split()[0]: line.split() for line in azbatch("account", "list").out.splitlines()[1:]}
    assert rows["prod"][1] == "*"
    assert rows["local"][1] == "-"
    assert rows["local"][-2:] == ["not", "running"]
    monkeypatch.setenv("AZBATCH_ACCOUNT", "local")
    document = json.loads(azbatch("account", "list", "--json").out)
    assert {item["name"]: item["in_use"] for item in document} == {"local": True, "prod": False}


@pytest.mark.usefixtures("config")
def test_account_show_of_an_unknown_one(azbatch: Azbatch) -> None:
    result = azbatch("account", "show", "prd")
    assert result.code == 2
    assert "prod" in result.err
