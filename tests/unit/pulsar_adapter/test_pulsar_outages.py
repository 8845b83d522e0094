"""What the log says of an outage, with many jobs that are asked about in turn."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from azbatch_pulsar.outages import Outages

if TYPE_CHECKING:
    import pytest

JOBS = [f"galaxy-main-{number}" for number in range(50)]


def meet(outages: Outages, *jobs: str, account: str = "research") -> None:
    for job in jobs:
        outages.met(account, job, OSError("no answer"))


def test_an_outage_is_two_lines_however_many_jobs_and_rounds(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.WARNING, "azbatch")
    now = [0.0]
    outages = Outages(lambda: now[0])
    for _ in range(20):
        meet(outages, *JOBS)
        now[0] += 30
    assert len(caplog.messages) == 1
    assert "research cannot be asked" in caplog.messages[0]
    assert "no answer" in caplog.messages[0]
    for job in JOBS:
        outages.passed("research", job)
    assert caplog.messages[1:] == ["account research answers again, after 600 s"]
    for job in JOBS:
        outages.passed("research", job)
    assert len(caplog.messages) == 2
    meet(outages, JOBS[0])
    assert len(caplog.messages) == 3, "the next one is said again"


def test_what_ails_some_jobs_only_is_not_said_each_round(caplog: pytest.LogCaptureFixture) -> None:
    """Where the storage alone is away, jobs that run are answered about, and those that ended are not."""
    caplog.set_level(logging.WARNING, "azbatch")
    outages = Outages()
    for _ in range(5):
        outages.passed("research", JOBS[0])
        meet(outages, JOBS[1])
    assert len(caplog.messages) == 1


def test_each_account_has_its_own(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.WARNING, "azbatch")
    outages = Outages()
    meet(outages, JOBS[0])
    meet(outages, JOBS[1], account="other")
    outages.passed("other", JOBS[1])
    assert [message.partition("account ")[2].partition(" ")[0] for message in caplog.messages] == [
        "research",
        "other",
        "other",
    ]
