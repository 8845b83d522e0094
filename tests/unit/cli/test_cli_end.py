from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from azbatch_core.cli.recent import remember, remembered
from azbatch_core.errors import Conflict
from azbatch_core.service.states import JobState
from azbatch_core.service.summaries import PoolSummary

if TYPE_CHECKING:
    from cli_fakes import Azbatch, FakeBatch


def test_cancel_keeps_the_record(batch: FakeBatch, azbatch: Azbatch) -> None:
    result = azbatch("cancel", "a", "prod:b")
    assert result.code == 0
    assert batch.fake_job.calls == [("cancel",), ("cancel",)]
    assert batch.opened == [None, "prod"]
    assert "cancelled local:a" in result.err


@pytest.mark.parametrize(
    ("state", "said"),
    [
        (JobState.SUCCEEDED, "local:a was over already: succeeded; `azbatch delete local:a` removes it"),
        (JobState.FAILED, "local:a was over already: failed; `azbatch delete local:a` removes it"),
        (JobState.RUNNING, "local:a is being ended already; `azbatch delete local:a` removes it"),
        (JobState.CANCELLED, "cancelled local:a; `azbatch delete local:a` removes it"),
    ],
)
def test_what_is_over_is_not_called_cancelled(
    batch: FakeBatch, azbatch: Azbatch, state: JobState, said: str
) -> None:
    batch.fake_job.goes_on, batch.fake_job.state = False, state
    result = azbatch("cancel", "a")
    assert (result.code, result.err) == (0, f"azbatch: {said}\n")


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


@pytest.mark.parametrize("verb", ["cancel", "delete"])
def test_what_became_of_each_job_as_json(verb: str, batch: FakeBatch, azbatch: Azbatch) -> None:
    result = azbatch(verb, "--json", "a", "prod:b")
    assert result.err == ""
    assert json.loads(result.out) == [
        {"name": "a", "ok": True, "error": None},
        {"name": "prod:b", "ok": True, "error": None},
    ]
    batch.fake_job.raises[verb] = Conflict("no", code="JobBusy")
    result = azbatch(verb, "--json", "a")
    assert (result.code, json.loads(result.out)) == (3, [{"name": "a", "ok": False, "error": "no [JobBusy]"}])


def test_pools_delete_as_json(batch: FakeBatch, azbatch: Azbatch) -> None:
    batch.found_pools = [PoolSummary(name, "active", "steady", "d2") for name in ("p1", "p2")]
    batch.raises["delete_pool p1"] = Conflict("in use")
    result = azbatch("pools", "delete", "p1", "p2", "--json")
    assert [document["ok"] for document in json.loads(result.out)] == [False, True]
    assert result.code == 3


def test_pools_resize(batch: FakeBatch, azbatch: Azbatch) -> None:
    result = azbatch("pools", "resize", "p1", "--nodes", "3", "--spot", "0")
    assert (result.code, result.out) == (0, "")
    assert batch.resized == [("p1", 3, 0)]
    assert "resizing pool p1 to 3 dedicated and 0 spot nodes" in result.err
    batch.found_pools = [PoolSummary("p1", "active", "resizing", "d2", target_dedicated_nodes=4)]
    document = json.loads(azbatch("pools", "resize", "p1", "--nodes", "4", "--json").out)
    assert document["target_dedicated_nodes"] == 4
    assert batch.resized[-1] == ("p1", 4, None)


@pytest.mark.parametrize("words", [(), ("--nodes", "-1"), ("--nodes", "many")])
def test_a_size_that_is_none_is_refused(words: tuple[str, ...], batch: FakeBatch, azbatch: Azbatch) -> None:
    assert azbatch("pools", "resize", "p1", *words).code == 2
    assert batch.resized == []


def test_a_verb_needs_a_job(azbatch: Azbatch) -> None:
    assert azbatch("cancel").code == 2
    assert azbatch("delete").code == 2


def test_pools_delete(batch: FakeBatch, azbatch: Azbatch) -> None:
    batch.found_pools = [PoolSummary(name, "active", "steady", "d2") for name in ("p1", "p2")]
    batch.raises["delete_pool p1"] = Conflict("in use")
    result = azbatch("pools", "delete", "p1", "p2", "--wait")
    assert result.code == 3
    assert batch.deleted_pools == [("p2", True)]
    assert "azbatch: error: p1: in use\n" in result.err
    assert "deleted pool p2" in result.err


@pytest.mark.parametrize("verb", ["cancel", "delete"])
def test_a_job_that_is_not_there_is_fine_and_said(verb: str, batch: FakeBatch, azbatch: Azbatch) -> None:
    batch.fake_job.there = False
    result = azbatch(verb, "nope")
    assert (result.code, result.out) == (0, "")
    assert result.err == f"azbatch: there is no job local:nope; nothing to {verb}\n"
    assert batch.fake_job.calls == ([("cancel",)] if verb == "cancel" else [])


def test_a_pool_that_is_not_there_is_fine_and_said(batch: FakeBatch, azbatch: Azbatch) -> None:
    result = azbatch("pools", "delete", "nope")
    assert (result.code, result.err) == (0, "azbatch: there is no pool nope; nothing to delete\n")
    assert batch.deleted_pools == []


@pytest.mark.parametrize("verb", ["cancel", "delete"])
def test_nothing_is_done_while_one_name_is_wrong(verb: str, batch: FakeBatch, azbatch: Azbatch) -> None:
    assert azbatch(verb, "good", "x/y").code == 2
    assert batch.fake_job.calls == []
