"""Random requests to every operation: bodies by the schema, and now and then what no schema allows."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from azbatch_core.local.http.query import API_VERSIONS
from azbatch_core.local.odata.filters import FILTERS
from azbatch_core.local.routes.table import OPERATIONS
from azbatch_core.local.wire.schema import schema

if TYPE_CHECKING:
    from random import Random

    from azbatch_core.local.http.operation import Operation

IDS = [
    *("pool", "POOL", "job", "JOB", "task", "schedule", "1", "2", "nobody", "wd", "stdout.txt", "shared"),
    *("..", ".", "%00", "a%2Fb", "%2E%2E%2F..", "%C3%A9", "%FF", "$metadata", "x" * 65, "a:job-1", "%20"),
]
RIGHT_IDS = {
    "poolId": ["pool", "POOL"],
    "jobId": ["job", "job", "JOB", "schedule:job-1"],
    "jobScheduleId": ["schedule"],
    "taskId": ["task", "1", "2"],
    "filePath": ["stdout.txt", "wd", "shared", "workitems"],
    "userName": ["1", "2"],
}
ODD: list[Any] = [
    *(None, True, False, 0, -1, 257, 2**31 - 1, 2**31, 2**63, 1.5, 1e308, "", " ", "x y", "a" * 65, "a=b"),
    *("é\0", "\ud800", "PT0S", [], {}, [None], [[]], {"a": 1}, {"id": {"id": {}}}, "a" * 5000),
]
NAMES = ["pool", "job", "task", "schedule", "1", "2", "/bin/true", "no such program", "../up", "%00"]
PLAIN: dict[str, list[Any]] = {
    "string": NAMES,
    "bool": [True, False],
    "int": [-1, 0, 1, 2, 3],
    "int64": ["5", 5],
    "number": [0.5, 100],
    "time": ["2025-01-01T00:00:00Z", "0001-01-01T00:00:00+01:00", "9999-12-31T23:59:59.9999999Z"],
    "duration": ["PT1H", "PT5M", "PT0S", "P1D", "P10675199DT2H48M5.4775807S"],
    "map": [{"a": "b"}, {}],
}
USUAL: dict[str, list[Any]] = {
    "id": ["pool", "job", "task", "schedule", "1", "2"],
    "poolId": ["pool", "pool", "nowhere"],
    "vmSize": ["standard_d2s_v3"],
    "targetDedicatedNodes": [0, 1],
    "targetLowPriorityNodes": [0, 1],
    "applicationPackageReferences": [[]],
    "multiInstanceSettings": [{"coordinationCommandLine": "/bin/true"}],
    "containerSettings": [None],
    "containerConfiguration": [None],
    "autoScaleFormula": [
        "$TargetDedicatedNodes=1;",
        "$TargetDedicatedNodes=",
        "x=avg($CPUPercent.GetSample(1));",
    ],
    "commandLine": ["/bin/true", "/bin/sh -c 'echo out; exit 3'", "no such program", "sleep 1", "x\0y", ""],
}
QUERIES: dict[str, list[str]] = {
    "maxresults": ["1", "2", "0", "-5", "1000", "1001", "x", ""],
    "$select": ["id", "id,state", "eTag", ",", "id, id", "nothing", ""],
    "$expand": ["stats", "x", ""],
    "recursive": ["true", "false", "perhaps"],
    "force": ["true", "false", "no"],
    "timeout": ["30", "0", "-1", "x"],
    "starttime": ["2025-01-01T00:00:00Z", "x"],
    "endtime": ["2025-01-01T00:00:00Z", "x"],
    "nothing": ["1"],
}
LITERALS = [
    *("'active'", "'pool'", "''", "5", "-5", "1.5", "true", "null", "datetime'2025-01-01T00:00:00Z'"),
    *("datetime'x'", "'", "(", "1 eq 1", "'a''b'"),
]
OPERATORS = ["eq", "ne", "gt", "le", "has", "and", ""]
DATES = ["Thu, 16 Jan 2025 18:54:32 GMT", "Fri, 01 Jan 2100 00:00:00 GMT", "yesterday", ""]
TAGS = ["*", '"0x8DD365F370239D0"', "0x8DD365F370239D0", 'W/"x"', '"a", "b"', ""]
HEADERS: dict[str, list[str]] = {
    "if-match": TAGS,
    "if-none-match": TAGS,
    "if-modified-since": DATES,
    "if-unmodified-since": DATES,
    "ocp-range": ["bytes=0-1", "bytes=5-", "bytes=-5", "bytes=9-1", "lines=1-2", "bytes=" + "9" * 30 + "-"],
    "client-request-id": ["abc", "a" * 3000, "é"],
    "return-client-request-id": ["true", "false", "x"],
    "content-type": ["application/json", "text/plain", "application/json; charset=utf-16", ""],
    "expect": ["100-continue"],
    "accept": ["application/xml"],
}
RAW = [
    *(b"", b"{", b"[]", b"null", b"5", b'"text"', b"\xff\xfe", b"{" * 5000, b"[" * 100_000, b'{"a":1,"a":2}'),
    *(b'{"id":1e999}', b'{"id":NaN}', b'{"id":"\\ud800"}', b'\xef\xbb\xbf{"id":"x"}', b"{}x"),
]
SHALLOW = 3
ENDING = {
    *("begin_delete_pool", "begin_delete_job", "begin_delete_job_schedule", "begin_terminate_job"),
    *("begin_terminate_job_schedule", "begin_deallocate_node", "begin_remove_nodes", "begin_disable_job"),
}
"""Operations that leave the others little to work on."""


@dataclass
class FuzzRequest:
    """A request; `operation` is the one that it was made for."""

    operation: Operation
    method: str
    path: str
    query: str
    headers: dict[str, str] = field(default_factory=dict)
    body: bytes = b""


def fuzz_request(rng: Random, nodes: list[str]) -> FuzzRequest:
    """The next one; `nodes` are ids of nodes that there are."""
    operation = rng.choice(OPERATIONS)
    if operation.name in ENDING and rng.random() < 0.8:
        operation = rng.choice(OPERATIONS)
    method = (
        operation.method if rng.random() < 0.97 else rng.choice(["GET", "PUT", "PATCH", "BREW", "OPTIONS"])
    )
    body = _body(rng, operation)
    headers = {"host": "127.0.0.1", "content-type": "application/json; odata=minimalmetadata"}
    for name in rng.sample(sorted(HEADERS), rng.choice([0, 0, 0, 1, 2])):
        headers[name] = rng.choice(HEADERS[name])
    headers["content-length"] = str(len(body))
    return FuzzRequest(operation, method, _path(rng, operation, nodes), _query(rng, operation), headers, body)


def _path(rng: Random, operation: Operation, nodes: list[str]) -> str:
    right = {**RIGHT_IDS, "nodeId": nodes}

    def chosen(name: re.Match[str]) -> str:
        return rng.choice((rng.random() < 0.85 and right.get(name[1])) or IDS)

    path = re.sub(r"\{(\w+)\}", chosen, operation.path)
    if rng.random() < 0.03:
        place = rng.randrange(len(path))
        path = path[:place] + rng.choice(["/", "%", "//", "?", "", "%2F"]) + path[place + 1 :]
    return path


def _query(rng: Random, operation: Operation) -> str:
    version = rng.choice(API_VERSIONS) if rng.random() < 0.97 else rng.choice(["", "2010-01-01", "x"])
    parts = [f"api-version={version}"]
    if operation.filter and rng.random() < 0.3:
        parts.append("$filter=" + quote(_filter(rng, operation.filter)))
    names = sorted(QUERIES) if rng.random() < 0.03 else sorted(QUERIES.keys() & operation.parameters)
    if operation.paged and rng.random() < 0.05:
        parts.append(f"$skiptoken={rng.choice(['AAAA', '%00', 'eyJhIjoxfQ', '', 'MQ'])}")
    parts += [f"{name}={rng.choice(QUERIES[name])}" for name in names if rng.random() < 0.3]
    return "&".join(parts)


def _filter(rng: Random, rules: str) -> str:
    names = [*sorted(FILTERS[rules]), "nothing"]
    text = f"{rng.choice(names)} {rng.choice(OPERATORS)} {rng.choice(LITERALS)}"
    if rng.random() < 0.2:
        text = f"startswith({rng.choice(names)},{rng.choice(LITERALS)})"
    return f"{text} {rng.choice(['and', 'or'])} ({text})" if rng.random() < 0.2 else text


def _body(rng: Random, operation: Operation) -> bytes:
    if rng.random() < 0.03:
        return rng.choice(RAW)
    if not operation.body:
        return b""
    made = _object(rng, operation.body, 0)
    text = json.dumps(made).encode("utf-8", "surrogatepass")
    return text[: rng.randrange(len(text))] if rng.random() < 0.02 else text


def _object(rng: Random, model: str, depth: int) -> dict[str, Any]:
    made: dict[str, Any] = {}
    for name, (kind, flags) in schema()["models"][model].items():
        wanted = {"r": 0.99, "o": 0.001}.get(flags, 0.12 if depth < SHALLOW else 0.0)
        if rng.random() < wanted:
            made[name] = _value(rng, name, kind, depth)
    if rng.random() < 0.02:
        made["nothing"] = 1
    return made


def _value(rng: Random, name: str, kind: str, depth: int) -> Any:
    if rng.random() < 0.02:
        return rng.choice(ODD)
    if name in USUAL and rng.random() < 0.9:
        return rng.choice(USUAL[name])
    if kind.startswith("list:"):
        return [_value(rng, name, kind[5:], depth + 1) for _ in range(rng.choice([0, 1, 1, 2]))]
    if kind.startswith("enum:"):
        return rng.choice(schema()["enums"][kind[5:]])
    if kind.startswith("model:"):
        return _image(rng) if name == "imageReference" else _object(rng, kind[6:], depth + 1)
    return rng.choice(PLAIN[kind])


def _image(rng: Random) -> dict[str, str]:
    return {
        "publisher": "canonical",
        "offer": "ubuntu-24_04-lts",
        "sku": rng.choice(["server", "server", "x"]),
    }
