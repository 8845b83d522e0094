"""Ids: the service's rules are kept, and any name has a safe, deterministic id."""

from __future__ import annotations

import re
import subprocess
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st
from specs_refusals import refusal

from azbatch_core.specs import JobSpec, TaskSpec, check_id, fold_id, slug

VALID = re.compile(r"[A-Za-z0-9_-]{1,64}")
NASTY = [
    "a.b",
    "sample/1",
    "two words",
    "réseau",
    "x" * 65,
    "",
    "naïve.fastq",
    "名前",
    "a\nb",
    "-",
    "...",
    "é" * 70,
]


@pytest.mark.parametrize("value", ["a", "A-b_9", "x" * 64, "-", "_", "0"])
def test_a_valid_id_is_returned_unchanged(value: str):
    assert check_id("job", value) == value
    assert slug(value) == value


@pytest.mark.parametrize("value", [name for name in NASTY if name != "-"])
def test_a_nasty_name_is_refused_as_an_id_and_the_hint_is_a_valid_one(value: str):
    for make in (JobSpec, TaskSpec):
        extra = {"name": "x"} if make is JobSpec else {"command": ["x"]}
        error = refusal(make, id=value, **extra)
        assert error.field == "id"
        assert "1 to 64 ASCII letters, digits, '-' and '_'" in error.message
        if value:
            assert error.hint
            assert VALID.fullmatch(error.hint.split("'")[1])


@pytest.mark.parametrize("value", NASTY)
def test_a_nasty_name_has_a_valid_slug(value: str):
    assert VALID.fullmatch(slug(value))


def test_slugs_are_the_same_always_and_everywhere():
    assert slug("sample/1") == "sample-1-5671ba70"
    assert slug("réseau") == "reseau-ed2c1c46"
    assert slug("") == "unnamed-e3b0c442"
    assert slug("名前").startswith("unnamed-")
    code = "from azbatch_core.specs.names import slug; print(slug('sample/1'))"
    other = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert other.stdout.strip() == slug("sample/1")


def test_names_that_differ_only_in_what_is_replaced_get_different_slugs():
    assert len({slug(name) for name in ("a.b", "a/b", "a b", "a-b", "á-b")}) == 5


def test_names_that_are_the_same_text_in_another_unicode_form_get_the_same_slug():
    assert slug("re\u0301seau") == slug("r\u00e9seau")


def test_a_long_name_keeps_its_readable_start_and_leaves_the_room_that_is_asked_for():
    long = slug("chromosome-" * 10, suffix_room=10)
    assert len(long) <= 54
    assert long.startswith("chromosome-chromosome-")
    assert slug("x" * 60, suffix_room=4) == "x" * 60
    assert slug("x" * 61, suffix_room=4) != "x" * 61


def test_too_little_room_for_a_slug_is_a_mistake_of_the_caller():
    with pytest.raises(ValueError, match="room for 16"):
        slug("x", max_length=20, suffix_room=5)


@pytest.mark.parametrize("value", ["jobpreparation", "JobPreparation", "jobrelease", "JOBRELEASE"])
def test_reserved_ids_are_refused_for_tasks_whatever_the_case(value: str):
    error = refusal(TaskSpec, id=value, command=["x"])
    assert "reserved" in error.message
    assert slug(value) != value
    assert check_id("job", value) == value


def test_ids_are_compared_without_case():
    assert fold_id("Run1") == fold_id("run1")


def test_a_number_in_a_file_is_an_id():
    assert TaskSpec(id=7, command=["x"]).id == "7"
    assert "must be text" in refusal(TaskSpec, id=True, command=["x"]).message


@given(st.text(max_size=200), st.integers(0, 48))
def test_every_name_has_a_valid_slug_that_is_its_own_slug(name: str, room: int):
    made = slug(name, suffix_room=room)
    assert VALID.fullmatch(made)
    assert len(made) <= 64 - room
    assert slug(made, suffix_room=room) == made
