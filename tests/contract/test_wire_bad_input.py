"""Random requests: none is answered by a server's error, and a refused one changes nothing."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from wire_client import Wire

from azbatch_core.local import LocalBatch
from azbatch_core.local.odata.filters import FILTERS
from azbatch_core.local.routes.table import OPERATIONS
from azbatch_core.local.wire.schema import schema

if TYPE_CHECKING:
    from collections.abc import Iterator

    from azbatch_core.local.http.operation import Operation

LIMITS = settings(
    max_examples=400,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
IDS = st.sampled_from(
    ["pool", "POOL", "job", "JOB", "task", "1", "nobody", "stdout.txt", "wd", "..", "%00", "a%2Fb"]
)
ODD = st.sampled_from(
    [
        None,
        True,
        0,
        -1,
        257,
        2**31 - 1,
        2**31,
        1.5,
        "",
        "x y",
        "a" * 65,
        "é\u0000",
        [],
        {},
        [None],
        {"a": 1},
        "PT0S",
    ]
)
NEW_NODES = {"targetDedicatedNodes", "targetLowPriorityNodes"}


def values(kind: str, depth: int = 0) -> st.SearchStrategy[Any]:
    """Mostly what the kind is, now and then something odd."""
    if kind.startswith("list:"):
        return st.lists(values(kind[5:], depth + 1), max_size=2) | ODD
    if kind.startswith("enum:"):
        return st.sampled_from(schema()["enums"][kind[5:]]) | ODD
    if kind.startswith("model:"):
        return bodies(kind[6:], depth + 1) | ODD
    plain: dict[str, st.SearchStrategy[Any]] = {
        "string": st.sampled_from(["pool", "job", "task", "1", "2", "/bin/true", "no such program"]),
        "bool": st.booleans(),
        "int": st.integers(-1, 3),
        "int64": st.just("5"),
        "number": st.floats(0, 100),
        "time": st.sampled_from(["2025-01-01T00:00:00Z", "0001-01-01T00:00:00+01:00"]),
        "duration": st.sampled_from(["PT1H", "PT5M", "PT0S", "P10675199DT2H48M5.4775807S"]),
        "map": st.just({"a": "b"}),
    }
    return plain[kind] | ODD


def bodies(model: str, depth: int = 0) -> st.SearchStrategy[dict[str, Any]]:
    """A body of a model: all that is required, and some of the rest unless it lies deep."""
    required, optional = {}, {}
    for name, (kind, flags) in schema()["models"][model].items():
        if flags == "r":
            required[name] = st.deferred(lambda kind=kind: values(kind, depth))
        elif flags == "" and depth < 3 and name not in NEW_NODES:
            optional[name] = st.deferred(lambda kind=kind: values(kind, depth))
    return st.fixed_dictionaries(required, optional=optional)


@st.composite
def requests(draw: st.DrawFn) -> tuple[Operation, str, Any]:
    """An operation, a target, and a body if the operation has one."""
    operation = draw(st.sampled_from(OPERATIONS))
    path = re.sub(r"\{\w+\}", lambda _: draw(IDS), operation.path)
    query = []
    if operation.filter and draw(st.booleans()):
        name = draw(st.sampled_from(sorted(FILTERS[operation.filter])))
        text = f"{name} {draw(st.sampled_from(['eq', 'ne', 'gt', 'le']))} {draw(st.sampled_from(LITERALS))}"
        query.append("$filter=" + quote(text))
    for option, choices in OPTIONS.items():
        if option in operation.parameters and draw(st.booleans()):
            query.append(f"{option}={draw(st.sampled_from(choices))}")
    body = draw(bodies(operation.body)) if operation.body else None
    return operation, path + ("?" + "&".join(query) if query else ""), body


LITERALS = ["'active'", "5", "true", "null", "datetime'2025-01-01T00:00:00Z'"]
OPTIONS = {
    "maxresults": ["1", "0", "1000", "x"],
    "$select": ["id", "id,state", "eTag", ","],
    "$expand": ["stats", "x"],
    "$skiptoken": ["AAAA", "%00"],
    "recursive": ["true", "false", "perhaps"],
    "force": ["true", "no"],
}


IMAGE = {
    "imageReference": {"publisher": "canonical", "offer": "ubuntu-24_04-lts", "sku": "server"},
    "nodeAgentSKUId": "batch.node.ubuntu 24.04",
}
POOL = {
    "id": "pool",
    "vmSize": "standard_d2s_v3",
    "virtualMachineConfiguration": IMAGE,
    "targetDedicatedNodes": 1,
}
JOB = {"id": "job", "poolInfo": {"poolId": "pool"}}


@pytest.fixture(scope="module")
def wire() -> Iterator[Wire]:
    with LocalBatch() as batch:
        wire = Wire(batch)
        yield wire
        wire.connection.close()


MEANT = {"NotImplemented", "TooManyEnableAutoScaleRequests"}
"""The codes whose status is 5xx by the service's own table."""


def tags(wire: Wire) -> dict[str, str]:
    """The tag of every pool, job and task: what any write of a user would change."""
    found = {}
    lists = ["/pools", "/jobs"]
    for target in lists:
        for item in wire.json("GET", f"{target}?$select=id,eTag")["value"]:
            found[f"{target}/{item['id']}"] = item["eTag"]
            if target == "/jobs":
                lists.append(f"/jobs/{item['id']}/tasks")
    return found


@LIMITS
@given(requests())
def test_no_request_breaks_the_service(wire: Wire, request: tuple[Operation, str, Any]) -> None:
    operation, target, body = request
    wire.ask("POST", "/pools", POOL)
    wire.ask("POST", "/jobs", JOB)
    before = tags(wire)
    answer, raw = wire.ask(operation.method, target, body)
    code = json.loads(raw)["code"] if answer.status >= 400 and raw else ""
    assert answer.status < 500 or code in MEANT, raw
    if answer.status >= 400:
        # What was being deleted before may be gone meanwhile; nothing is new or changed.
        assert tags(wire).items() <= before.items()
