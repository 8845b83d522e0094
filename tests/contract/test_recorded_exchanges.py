"""What the real service answered, replayed: the local one differs where the table says, and nowhere else."""

from __future__ import annotations

import dataclasses
import json
from contextlib import contextmanager
from functools import cache
from typing import TYPE_CHECKING

import pytest
from recorded_replay import DIFFERENCES, SESSIONS, Replay
from wire_client import Wire, pool_body

from azbatch_core.local import LocalBatch

if TYPE_CHECKING:
    from collections.abc import Iterator

RESIZE_SECONDS = 2.0
BOOT_SECONDS = 120.0
"""About as long as the recorded pools took."""


@contextmanager
def service() -> Iterator[Wire]:
    with LocalBatch(clock="virtual", boot_time=BOOT_SECONDS) as batch:
        assert batch._service is not None
        assert batch._service.engine is not None
        account = batch._service.engine.account
        account.settings = dataclasses.replace(account.settings, resize_time=RESIZE_SECONDS)
        wire = Wire(batch)
        yield wire
        wire.connection.close()


@cache
def replayed(session: str) -> Replay:
    with service() as wire:
        replay = Replay(wire)
        replay.run(SESSIONS[session])
        return replay


@pytest.mark.parametrize("session", SESSIONS)
def test_recorded_answers_are_given_here_too(session: str) -> None:
    assert replayed(session).unexplained == []


def test_every_accepted_difference_has_its_reason_and_is_still_there() -> None:
    assert all(row["reason"] for row in DIFFERENCES)
    used = {row for session in SESSIONS for row in replayed(session).used}
    assert [row for number, row in enumerate(DIFFERENCES) if number not in used] == []


def test_documents_begin_with_their_metadata_and_refusals_hold_their_members_in_order() -> None:
    with service() as wire:
        _, raw = wire.ask("GET", "/pools")
        assert next(iter(json.loads(raw))) == "odata.metadata"
        _, raw = wire.ask("POST", "/pools", pool_body("p", vmSize="no size"))
    assert list(json.loads(raw)) == ["odata.metadata", "code", "message", "values"]
