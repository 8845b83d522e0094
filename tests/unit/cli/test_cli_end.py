from __future__ import annotations

from typing import TYPE_CHECKING

from azbatch_core.cli.recent import remember, remembered
from azbatch_core.errors import Conflict

if TYPE_CHECKING:
    from cli_fakes import Azbatch, FakeBatch


def test_cancel_keeps_the_record(batch: FakeBatch, azbatch: Azbatch) -> None:
    result = azbatch("cancel", "a", "prod:b")
    assert result.code == 0
    assert batch.fake_job.calls == [("cancel",), ("cancel",)]
    assert batch.opened == [None, "prod"]
    assert "cancelled local:a" in result.err


def test_one_that_fails_does_not_keep_the_others(batch: FakeBatch, azbatch: Azbatch) -> None:
    batch.fake_job.raises["cancel"] = Conflict("no")
    result = azbatch("cancel", "a", "b")
    assert result.code == 3
    assert len(batch.fake_job.calls) == 2
    assert result.err == "azbatch: error: a: no\nazbatch: error: b: no\n"


def test_delete_forgets_the_job(batch: FakeBatch, azbatch: Azbatch) -> None:
    remember("local:a")
    assert azbatch("delete", "a").code == 0
    assert azbatch("delete", "a", "--wait").code == 0
    assert batch.fake_job.calls == [("delete", False), ("delete", True)]
    assert remembered() == []


def test_a_verb_needs_a_job(azbatch: Azbatch) -> None:
    assert azbatch("cancel").code == 2
    assert azbatch("delete").code == 2


def test_pools_delete(batch: FakeBatch, azbatch: Azbatch) -> None:
    batch.raises["delete_pool p1"] = Conflict("in use")
    result = azbatch("pools", "delete", "p1", "p2", "--wait")
    assert result.code == 3
    assert batch.deleted_pools == [("p2", True)]
    assert "azbatch: error: p1: in use\n" in result.err
    assert "deleted pool p2" in result.err
