"""What a fault may say, and what is said of one that cannot be."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from azbatch_core.local.faults import FaultError, Faults, read_fault, read_faults, read_file, read_words
from azbatch_core.local.faults.kinds import KINDS
from azbatch_core.local.faults.reading import FIELDS


@pytest.mark.parametrize(
    ("document", "said"),
    [
        ({"kind": "throtle"}, "did you mean throttle?"),
        ({"operation": "x"}, "kind is missing; it is one of throttle"),
        ({"kind": "throttle", "opration": "x"}, "throttle has no opration; did you mean operation?"),
        ({"kind": "throttle", "zzz": 1}, "it takes operation, method"),
        ({"kind": "slow"}, "slow needs seconds"),
        ({"kind": "slow", "seconds": -1}, "seconds is a number of seconds, 0 or more, not -1"),
        ({"kind": "slow", "seconds": True}, "not true"),
        ({"kind": "slow", "seconds": float("nan")}, "not NaN"),
        ({"kind": "throttle", "count": 0}, "count is a whole number, 1 or more, not 0"),
        ({"kind": "throttle", "probability": 2}, "probability is a number from 0 to 1"),
        ({"kind": "error", "code": "PoolQuotaReachd"}, "did you mean PoolQuotaReached?"),
        ({"kind": "error", "code": "TaskExists", "status": 200}, "status is a status from 400 to 599"),
        ({"kind": "upload-failure", "code": "BlobNotFound"}, "it is one of FileUploadMiscError"),
        ({"kind": "preempt", "at": "soon"}, "at is a moment like 2026-01-01T12:00:00Z"),
        ({"kind": "preempt", "at": "2026-01-01", "after": 1}, "give at or after, not both"),
        ({"kind": "slow-delete", "seconds": 1, "pool": "p", "job": "j"}, "nothing is pool and job at once"),
        ({"kind": "quota"}, "quota needs one of pools, jobs"),
        ({"kind": "unusable", "message": "x"}, "a message needs a code"),
        ({"kind": ["throttle"]}, "there is no kind"),
        ("throttle", "a fault is an object like"),
    ],
)
def test_what_cannot_be_is_refused_in_one_line(document: Any, said: str) -> None:
    with pytest.raises(FaultError) as caught:
        read_fault(document)
    assert said in str(caught.value)
    assert "\n" not in str(caught.value)


def test_every_field_of_every_kind_can_be_read() -> None:
    assert {name for kind in KINDS.values() for name in kind.fields} <= FIELDS.keys()
    assert all(set(kind.needs) <= set(kind.fields) for kind in KINDS.values())


def test_files_are_yaml_or_json_lists_of_faults(tmp_path: Path) -> None:
    file = tmp_path / "faults.yaml"
    file.write_text("faults:\n- {kind: preempt, pool: p*, after: 30}\n- {kind: slow, seconds: 0.5}\n")
    assert [fault.kind for fault in read_file(file)] == ["preempt", "slow"]
    file.write_text(json.dumps([{"kind": "quota", "pools": 2}]))
    assert read_file(file)[0].values == {"pools": 2}


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("[", "not YAML or JSON"),
        ("kind: slow", "a list of faults is expected"),
        (
            "- {kind: slow, seconds: 1}\n- {kind: slwo}",
            "fault 2: there is no kind 'slwo'; did you mean slow?",
        ),
        ("- {kind: reset, id: a}\n- {kind: reset, id: a}", "the id 'a' is taken"),
    ],
)
def test_a_bad_file_is_named_with_the_place(tmp_path: Path, text: str, said: str) -> None:
    file = tmp_path / "faults.yaml"
    file.write_text(text)
    with pytest.raises(FaultError) as caught:
        read_file(file)
    assert str(file) in str(caught.value)
    assert said in str(caught.value)


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(FaultError, match="No such file"):
        read_file(tmp_path / "none.yaml")


def test_words_of_a_command_line() -> None:
    words = ["operation=create_*", "count=3", "retry_after=1", "probability=0.5", "id=7"]
    assert read_words("throttle", words) == {
        "kind": "throttle",
        "operation": "create_*",
        "count": 3,
        "retry-after": 1,
        "probability": 0.5,
        "id": "7",
    }
    with pytest.raises(FaultError, match="name=value"):
        read_words("throttle", ["count"])


def _hits(fault: dict[str, Any], times: int) -> list[bool]:
    found = Faults([read_fault(fault)])
    kind = fault["kind"]
    return [found.strike(kind, operation="create_job") is not None for _ in range(times)]


def test_skip_and_count() -> None:
    assert _hits({"kind": "reset", "skip": 1, "count": 2}, 5) == [False, True, True, False, False]


def test_a_share_of_the_occasions_is_the_same_each_time() -> None:
    fault = {"kind": "reset", "probability": 0.5, "seed": 3}
    first = _hits(fault, 100)
    assert first == _hits(fault, 100)
    assert 30 < sum(first) < 70
    assert first != _hits({**fault, "seed": 4}, 100)


def test_globs_do_not_heed_case_and_all_must_match() -> None:
    fault = read_fault({"kind": "disk-full", "job": "Job-*", "task": "t?"})
    assert fault.befalls({"pool": "p", "job": "job-1", "task": "T1"})
    assert not fault.befalls({"pool": "p", "job": "job-1", "task": "t10"})
    assert not fault.befalls({"pool": "p"})


def test_faults_have_ids_and_are_taken_back() -> None:
    faults = Faults(
        read_faults([{"kind": "reset"}, {"kind": "reset", "id": "mine"}, {"kind": "slow", "seconds": 1}])
    )
    assert [fault.id for fault in faults] == ["reset-1", "mine", "slow-3"]
    assert faults.remove("mine")
    assert not faults.remove("mine")
    assert faults.clear() == 2
    assert not faults.of_requests


def test_the_last_quota_counts() -> None:
    faults = Faults(read_faults([{"kind": "quota", "pools": 2}, {"kind": "quota", "pools": 0, "jobs": 1}]))
    assert (faults.quota("pools", 9), faults.quota("jobs", 9), faults.quota("nodes", 9)) == (0, 1, 9)


_ROOT = Path(__file__).parents[3]


def test_the_example_can_be_read() -> None:
    assert len(read_file(_ROOT / "examples" / "faults.yaml")) == 8


def test_the_documentation_has_every_kind_with_its_fields() -> None:
    shared = {
        "operation",
        "method",
        "path",
        "pool",
        "node",
        "job",
        "schedule",
        "task",
        "count",
        "skip",
        "probability",
        "seed",
    }
    text = (_ROOT / "docs" / "trouble.md").read_text()
    rows = {line.split("`")[1]: line for line in text.splitlines() if line.startswith("| `")}
    for name, kind in KINDS.items():
        own = re.findall(r"`([a-z-]+)`", rows[name])
        assert set(kind.fields) - shared <= set(own), name
