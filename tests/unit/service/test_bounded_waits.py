"""Waits for pools and deletions: they go on while they should, and have an end."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

import pytest

from azbatch_core.errors import Conflict, NotFound, QuotaExceeded, SpecError, WaitTimeout
from azbatch_core.service.connect.clock import Clock
from azbatch_core.service.documents import requests
from azbatch_core.service.manage import lifecycle, pools

if TYPE_CHECKING:
    from azbatch_core.service.connect.connection import Connection


class Hurried(Clock):
    """A clock on which sleeping takes no time."""

    def __init__(self) -> None:
        self.time = 0.0

    def monotonic(self) -> float:
        """Seconds slept so far."""
        return self.time

    def sleep(self, seconds: float) -> None:
        """Move on."""
        self.time += seconds


class Line:
    """As much of a connection as waiting needs."""

    is_local = False

    def __init__(self) -> None:
        self.clock = Hurried()


@pytest.fixture
def line() -> Connection:
    return cast("Connection", Line())


def resizing(monkeypatch: pytest.MonkeyPatch, pool: dict[str, Any], *answers: Exception | None) -> list[Any]:
    """A pool that answers requests for another size in turn, the last one for ever; what was asked for."""
    left, asked = list(answers), []

    def send(_: Any, method: str, *__: Any, body: Any = None, **___: Any) -> Any:
        if method == "GET":
            return pool
        asked.append(body)
        answer = left.pop(0) if len(left) > 1 else left[0]
        if answer is not None:
            raise answer
        return None

    monkeypatch.setattr(requests, "send", send)
    return asked


def test_a_resize_waits_for_the_one_before_it(line: Connection, monkeypatch: pytest.MonkeyPatch) -> None:
    pool = {"targetDedicatedNodes": 1, "targetLowPriorityNodes": 4}
    asked = resizing(monkeypatch, pool, *[Conflict("busy", code="PoolBeingResized")] * 3, None)
    pools.resize(line, "p", nodes=2, spot_nodes=None, timeout=120)
    assert asked == [{"targetDedicatedNodes": 2, "targetLowPriorityNodes": 4}] * 4
    assert 0 < line.clock.monotonic() < 10


def test_a_resize_does_not_wait_for_ever(line: Connection, monkeypatch: pytest.MonkeyPatch) -> None:
    resizing(monkeypatch, {}, Conflict("busy", code="PoolBeingResized"))
    with pytest.raises(WaitTimeout, match="another change of the pool p is still under way after 120 s"):
        pools.resize(line, "p", nodes=2, spot_nodes=0, timeout=120)
    assert line.clock.monotonic() == 120


def test_a_conflict_that_waiting_does_not_help_is_told_at_once(
    line: Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    resizing(monkeypatch, {}, QuotaExceeded("full", code="PoolQuotaReached"))
    with pytest.raises(QuotaExceeded):
        pools.resize(line, "p", nodes=2, spot_nodes=0, timeout=120)
    assert line.clock.monotonic() == 0


@pytest.mark.parametrize(("nodes", "spot_nodes"), [(None, None), (-1, None), (1, -1)])
def test_a_size_that_makes_no_sense_is_not_sent(
    line: Connection, monkeypatch: pytest.MonkeyPatch, nodes: int | None, spot_nodes: int | None
) -> None:
    asked = resizing(monkeypatch, {}, None)
    with pytest.raises(SpecError):
        pools.resize(line, "p", nodes=nodes, spot_nodes=spot_nodes, timeout=1)
    assert asked == []


def test_a_pool_that_a_formula_sizes_is_left_to_it(line: Connection, monkeypatch: pytest.MonkeyPatch) -> None:
    asked = resizing(monkeypatch, {"enableAutoScale": True}, None)
    with pytest.raises(Conflict, match="formula"):
        pools.resize(line, "p", nodes=2, spot_nodes=None, timeout=1)
    assert asked == []


def states(monkeypatch: pytest.MonkeyPatch, *found: Any) -> None:
    left = list(found)

    def send(*_: Any, **__: Any) -> Any:
        state = left.pop(0) if len(left) > 1 else left[0]
        if state is None:
            raise NotFound("gone", code="JobNotFound")
        return {"state": state}

    monkeypatch.setattr(requests, "send", send)


def test_a_deletion_is_waited_for(line: Connection, monkeypatch: pytest.MonkeyPatch) -> None:
    states(monkeypatch, "deleting", "Deleting", None)
    lifecycle._until_gone(line, "jobs", "j", 60)
    assert line.clock.monotonic() > 0


def test_a_new_job_of_the_same_name_ends_the_wait(line: Connection, monkeypatch: pytest.MonkeyPatch) -> None:
    states(monkeypatch, "active")
    lifecycle._until_gone(line, "jobs", "j", 60)


def test_a_deletion_that_takes_too_long_is_told(line: Connection, monkeypatch: pytest.MonkeyPatch) -> None:
    states(monkeypatch, "deleting")
    with pytest.raises(WaitTimeout, match="job j is still being deleted after 60 s"):
        lifecycle._until_gone(line, "jobs", "j", 60)
    assert line.clock.monotonic() == 60
