"""Waits for pools and deletions: they go on while they should, and have an end."""

from __future__ import annotations

from typing import Any, cast

import pytest

from azbatch_core.errors import Conflict, NotFound, QuotaExceeded, WaitTimeout
from azbatch_core.service.connect.connection import Clock, Connection
from azbatch_core.service.documents import requests
from azbatch_core.service.manage import lifecycle, pools


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


def test_a_resize_waits_for_the_one_before_it(line: Connection) -> None:
    answers: list[Exception | None] = [Conflict("busy", code="PoolBeingResized")] * 3
    answers.append(None)

    def act() -> None:
        answer = answers.pop(0)
        if answer is not None:
            raise answer

    pools._when_steady(line, act)
    assert answers == []
    assert 0 < line.clock.monotonic() < 10


def test_a_resize_does_not_wait_for_ever(line: Connection) -> None:
    def act() -> None:
        raise Conflict("busy", code="PoolBeingResized")

    with pytest.raises(Conflict):
        pools._when_steady(line, act)
    assert 100 < line.clock.monotonic() < 200


def test_a_conflict_that_waiting_does_not_help_is_told_at_once(line: Connection) -> None:
    def act() -> None:
        raise QuotaExceeded("full", code="PoolQuotaReached")

    with pytest.raises(QuotaExceeded):
        pools._when_steady(line, act)
    assert line.clock.monotonic() == 0


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
