"""Recorded exchanges replayed: what the real service answered, beside what the local one answers.

A session of `recorded/exchanges.json` is a list of exchanges in their order. `{time}` and the like stand for
values that differ from run to run; `later` are seconds since the exchange before; `answer changed` is a JSON
merge patch to the session's last answer to the same request. Every accepted difference is a row of
`recorded/differences.json`, with its reason.
"""

from __future__ import annotations

import json
import re
import time
from fnmatch import fnmatchcase
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.parse import quote

if TYPE_CHECKING:
    from collections.abc import Iterator

    from wire_client import Wire

FOLDER = Path(__file__).parent / "recorded"
RECORDED: dict[str, Any] = json.loads((FOLDER / "exchanges.json").read_text("utf-8"))
DIFFERENCES: list[dict[str, Any]] = json.loads((FOLDER / "differences.json").read_text("utf-8"))["accepted"]
SESSIONS: dict[str, list[dict[str, Any]]] = RECORDED["sessions"]
STANDING: dict[str, str] = RECORDED["standing headers"]
WITHIN = 20.0
"""Seconds for an answer to become the recorded one."""

_FORMS = {
    "{time}": r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{0,6}[1-9])?Z",
    "{date}": r"(Mon|Tue|Wed|Thu|Fri|Sat|Sun), \d\d [A-Z][a-z]{2} \d{4} \d\d:\d\d:\d\d GMT",
    "{etag}": r"0x[0-9A-F]{15}",
    "{guid}": r"[0-9A-Fa-f]{8}(-[0-9A-Fa-f]{4}){3}-[0-9A-Fa-f]{12}",
    "{node}": r"tvmps_[0-9a-f]{64}_[dp]",
    "{address}": r"\d+\.\d+\.\d+\.\d+",
    "{version}": r"\d+\.\d+\.\S+",
    "{length}": r"[1-9]\d*",
    "{host name}": r"[-a-z0-9.]+",
    "{bytes}": r"(?s).*",
    "{request}": r"\nRequestId:[0-9a-f-]{36}\nTime:\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{7}Z",
}


class Difference(NamedTuple):
    """One thing that the local service answers otherwise."""

    request: str
    at: str
    real: Any
    local: Any


class Replay:
    """A session on its way.

    Attributes:
        unexplained: differences that the table does not accept.
        used: the table's rows that accepted one.
    """

    def __init__(self, wire: Wire) -> None:
        self.wire = wire
        self.unexplained: list[Difference] = []
        self.used: set[int] = set()
        self._answers: dict[str, Any] = {}
        self._node = ""
        base = wire.batch.endpoint
        self._forms = {
            **_FORMS,
            "{base}": re.escape(base),
            "{quoted base}": re.escape(quote(base, safe="")),
        }

    def run(self, exchanges: list[dict[str, Any]]) -> None:
        """Send all requests in their order."""
        for exchange in exchanges:
            self._exchange(exchange)

    def _exchange(self, exchange: dict[str, Any]) -> None:
        self.wire.batch.advance(exchange.get("later", 0))
        request: str = exchange["request"]
        method, _, target = request.partition(" ")
        if "{node}" in target:
            target = target.replace("{node}", self._node)
        if "answer changed" in exchange:
            answer = merged(self._answers[request], exchange["answer changed"])
        else:
            answer = exchange.get("answer")
        if method == "GET":
            self._answers[request] = answer
        body = self._filled(exchange.get("body"))
        nearest: list[Difference] = []
        deadline = time.monotonic() + WITHIN
        for attempt in count():
            response, raw = self.wire.ask(
                method, target, body, version=RECORDED["api-version"], **exchange.get("sent", {})
            )
            got = parsed(response.getheader("content-type"), raw)
            found = [Difference(request, *item) for item in self._compare(exchange, answer, response, got)]
            wrong = [difference for difference in found if row_of(difference) is None]
            if not attempt or len(wrong) < len(nearest):
                nearest = wrong
            if method != "GET" or not wrong or time.monotonic() > deadline:
                break
            self.wire.batch.advance(1)
        if method == "GET" and target.endswith("/nodes"):
            self._node = got["value"][0]["id"]
        self.used |= {row for row in map(row_of, found) if row is not None}
        self.unexplained += nearest

    def _filled(self, body: Any) -> Any:
        return json.loads(json.dumps(body).replace("{node}", self._node))

    def _compare(
        self, exchange: dict[str, Any], answer: Any, response: Any, got: Any
    ) -> Iterator[tuple[str, Any, Any]]:
        if response.status != exchange["status"]:
            yield "status", exchange["status"], response.status
        headers = {name.lower(): value for name, value in response.getheaders()}
        wanted = {**{name.lower(): value for name, value in STANDING.items()}, **exchange["headers"]}
        yield from self._values("header", wanted, headers)
        yield from self._values("body", answer, got)

    def _values(self, at: str, real: Any, local: Any) -> Iterator[tuple[str, Any, Any]]:
        if isinstance(real, dict) and isinstance(local, dict):
            for name in sorted(real.keys() | local.keys()):
                # "nothing" is no value that JSON could hold.
                yield from self._values(f"{at}.{name}", real.get(name, "nothing"), local.get(name, "nothing"))
        elif isinstance(real, list) and isinstance(local, list):
            if len(real) != len(local):
                yield f"{at}.length", len(real), len(local)
            for wanted, got in zip(real, local, strict=False):
                yield from self._values(f"{at}.*", wanted, got)
        elif not self._same(real, local):
            yield at, real, local

    def _same(self, real: Any, local: Any) -> bool:
        if type(real) is not type(local):
            return False
        if not isinstance(real, str) or "{" not in real:
            return bool(real == local)
        pattern = re.escape(real)
        for form, expression in self._forms.items():
            pattern = pattern.replace(re.escape(form), expression)
        return re.fullmatch(pattern, local) is not None


def merged(old: Any, change: Any) -> Any:
    """`old` after a JSON merge patch (RFC 7386)."""
    if not isinstance(old, dict) or not isinstance(change, dict):
        return change
    kept = {name: value for name, value in old.items() if change.get(name, value) is not None}
    return kept | {name: merged(kept.get(name), value) for name, value in change.items() if value is not None}


def parsed(kind: str | None, raw: bytes) -> Any:
    """A body as it is compared."""
    if not raw:
        return None
    return json.loads(raw) if kind and kind.startswith("application/json") else raw.decode()


def row_of(difference: Difference) -> int | None:
    """The row of the table that accepts a difference."""
    for number, row in enumerate(DIFFERENCES):
        named = fnmatchcase(difference.request, row["request"]) and fnmatchcase(difference.at, row["at"])
        if named and row.get("real", difference.real) == difference.real:
            return number
    return None
