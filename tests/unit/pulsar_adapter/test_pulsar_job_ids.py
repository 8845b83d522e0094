"""The ids of Batch jobs: pure."""

from __future__ import annotations

import re

import pytest

from azbatch_pulsar import job_ids

FIRST = "galaxy-main-7"


@pytest.mark.parametrize("job_id", ["7", "123456", "f2db41e1fa331b3e", "a_b"])
def test_a_plain_id_is_seen_in_the_job_s(job_id: str) -> None:
    assert job_ids.first_id("main", job_id) == f"galaxy-main-{job_id}"


@pytest.mark.parametrize("job_id", ["a-2", "a b", "ü", "x" * 37, "../x", ""])
def test_another_one_is_replaced_by_a_hash(job_id: str) -> None:
    made = job_ids.first_id("main", job_id)
    assert re.fullmatch(r"galaxy-main-[0-9a-f]{16}", made)
    assert made == job_ids.first_id("main", job_id)
    assert made != job_ids.first_id("main", job_id + "x")


def test_the_longest_id_with_a_number_is_one_that_batch_takes() -> None:
    longest = job_ids.next_id(job_ids.first_id("x" * 16, "y" * 36), [job_ids.first_id("x" * 16, "y" * 36)])
    assert len(longest) <= 64


def test_runs_are_counted() -> None:
    assert job_ids.next_id(FIRST, []) == FIRST
    assert job_ids.next_id(FIRST, [FIRST]) == f"{FIRST}-2"
    assert job_ids.next_id(FIRST, [f"{FIRST}-9", FIRST, f"{FIRST}-10"]) == f"{FIRST}-11"
    assert job_ids.next_id(FIRST, ["galaxy-main-71", "galaxy-main-7x"]) == FIRST
    assert job_ids.latest(FIRST, []) == FIRST
    assert job_ids.latest(FIRST, [FIRST]) == FIRST
    assert job_ids.latest(FIRST, [f"{FIRST}-10", f"{FIRST}-9"]) == f"{FIRST}-10"


@pytest.mark.parametrize(
    ("name", "run"),
    [
        (FIRST, 1),
        (FIRST.upper(), 1),
        (f"{FIRST}-3", 3),
        (f"{FIRST}1", None),
        (f"{FIRST}-x", None),
        (f"{FIRST}-3-4", None),
        ("", None),
    ],
)
def test_which_run_it_is(name: str, run: int | None) -> None:
    assert job_ids.run_of(FIRST, name) == run


def test_a_batch_job_s_id_is_told_from_galaxy_s() -> None:
    assert job_ids.is_batch_id("main", FIRST)
    assert not job_ids.is_batch_id("main", "7")
    assert not job_ids.is_batch_id("main", "galaxy-other-7")


def test_a_galaxy_is_known_by_its_address() -> None:
    here = job_ids.instance_of("https://galaxy.example/api/jobs/7/files?job_key=1")
    assert here == job_ids.instance_of("https://galaxy.example/api/jobs/8/files?job_key=2")
    assert here != job_ids.instance_of("https://galaxy.example/other/api/jobs/7/files?job_key=1")
    assert re.fullmatch(r"[0-9a-f]{8}", here)
    by_nginx = "https://galaxy.example/_job_files?job_id={0}&job_key={0}"
    assert job_ids.instance_of(by_nginx.format(7)) == job_ids.instance_of(by_nginx.format(8))
    assert job_ids.instance_of(None) == job_ids.instance_of("") == "pulsar"
